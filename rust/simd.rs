//! Splitting 64 bytes at a time, with the vectors of the machine.
//!
//! A window of 64 bytes begins where a piece does. Its bytes become masks, one
//! bit a byte ([`Block`], [`classes`]); each family of splitters turns masks
//! into the places where pieces start ([`Tiles`]) or start and end ([`Words`]),
//! beside its scalar rule in `pre_tokenizer`; [`fill`] writes the pieces, and
//! the next window begins at the last of these places. So nothing is carried
//! from one window to the next, and a window that decides nothing is left to
//! the scalar rule, which is the definition and the oracle of all this.
//!
//! There are two forms, AVX2 and words of 64 bits ([`portable`]), and the
//! choice is made once. This is the one module with `unsafe` code: calls into
//! [`avx2`], which are sound where the processor has AVX2, as its token proves.
#![allow(
    unsafe_code,
    reason = "2026-11: functions compiled for AVX2 cannot be called otherwise; each block has its proof"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod block;
mod classes;
mod fill;
mod portable;

use std::sync::OnceLock;

pub(crate) use self::block::{Block, EARLY, WINDOW, Window, bits};
pub(crate) use self::classes::{Shape, long};
pub(crate) use self::fill::{CHUNK, Piece, Places, Starts, Tiles, Words};

/// What splits; made only where it can run.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Level(Form);

#[derive(Clone, Copy, Debug)]
enum Form {
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    Portable,
}

impl Level {
    /// Every form this machine runs, the quickest first.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        all.extend(avx2::Avx2::detect().map(|proof| Self(Form::Avx2(proof))));
        all.push(Self(Form::Portable));
        all
    }

    /// What a form is called.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(_) => "avx2",
            Form::Portable => "portable",
        }
    }

    /// The quickest form; found once.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().first().copied().unwrap_or(Self(Form::Portable)))
    }

    /// Writes the next pieces of a text, from `at` on, and moves `at` behind
    /// them; returns how many, none only at the end of the text.
    ///
    /// `bytes` are those of a text of at most 4 GiB, `at` lies where a piece
    /// starts or at its end.
    pub(crate) fn tiles<F: Tiles>(
        self,
        family: &F,
        bytes: &[u8],
        at: &mut usize,
        out: &mut [Piece; CHUNK],
    ) -> usize {
        match self.0 {
            // SAFETY: an `Avx2` exists only where the processor has what this is compiled for.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(proof) => unsafe { avx2::tiles(proof, family, bytes, at, out) },
            Form::Portable => fill::tiles(portable::Portable, family, bytes, at, out),
        }
    }

    /// The same for pieces with blanks between them; `at` lies in no piece.
    pub(crate) fn words<F: Words>(
        self,
        family: &F,
        bytes: &[u8],
        at: &mut usize,
        out: &mut [Piece; CHUNK],
    ) -> usize {
        match self.0 {
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(proof) => unsafe { avx2::words(proof, family, bytes, at, out) },
            Form::Portable => fill::words(portable::Portable, family, bytes, at, out),
        }
    }
}
