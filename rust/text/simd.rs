//! Splits 64 bytes at a time with the vector instructions of the machine.
//!
//! A window of 64 bytes begins where a piece does. Its bytes become masks with one bit per byte
//! (`Block`, `classes`). Each family of splitters computes from the masks where pieces start
//! (`Tiles`), or start and end (`Words`); these rules are next to the scalar rules in
//! `pre_tokenizer`. `fill` writes the pieces, and the next window begins at the last start. So no
//! state is carried from one window to the next. A window that decides nothing is left to the
//! scalar rule, which is the reference implementation.
//!
//! There are two forms, AVX2 and words of 64 bits (`portable`); the choice is made once. The
//! `unsafe` code consists of calls into `avx2`, which are sound because a token proves that the
//! processor has AVX2; the hint of `prefetch`, which reads nothing; and the advice of `huge_pages`,
//! which touches no memory.
#![allow(
    unsafe_code,
    reason = "2026-11: functions compiled for AVX2 cannot be called otherwise; each block has its proof"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod block;
mod classes;
mod fill;
pub(crate) mod huge_pages;
mod portable;
mod prefetch;
mod spaces;

use std::sync::OnceLock;

pub(crate) use self::block::{Block, EARLY, Load, WINDOW, Window, bits};
pub(crate) use self::classes::{ByLead, Shape, long, long_by_lead};
pub(crate) use self::fill::{Places, Starts, Tiles, Words};
pub(crate) use self::prefetch::prefetch;
pub(crate) use self::spaces::Room;
use super::Piece;

/// A set of vector instructions that this machine has.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Level(Form);

/// A loop that the compiler may turn into vector code, or that loads blocks.
pub(crate) trait Kernel {
    /// Runs the loop. Must be inlined into every caller.
    fn run(self, load: impl Load);
}

#[derive(Clone, Copy, Debug)]
enum Form {
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    Portable,
}

impl Level {
    /// Every form that this machine can run, the fastest first.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        all.extend(avx2::Avx2::detect().map(|proof| Self(Form::Avx2(proof))));
        all.push(Self(Form::Portable));
        all
    }

    /// The name of the form.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(_) => "avx2",
            Form::Portable => "portable",
        }
    }

    /// The fastest form; detected once.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().first().copied().unwrap_or(Self(Form::Portable)))
    }

    /// Runs a kernel compiled for this form.
    #[inline]
    pub(crate) fn run(self, kernel: impl Kernel) {
        match self.0 {
            // SAFETY: an `Avx2` exists only if the processor has the features that this is compiled
            // for.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(proof) => unsafe { avx2::run(proof, kernel) },
            Form::Portable => kernel.run(portable::Portable),
        }
    }

    /// Writes the next pieces of a text from `at` on, and moves `at` after them. Returns how many;
    /// 0 only at the end of the text.
    ///
    /// `bytes` must be those of a text of at most 4 GiB, and `at` the start of a piece or the end
    /// of the text.
    pub(crate) fn tiles<F: Tiles>(
        self,
        family: &F,
        bytes: &[u8],
        at: &mut usize,
        out: &mut [Piece],
    ) -> usize {
        match self.0 {
            // SAFETY: as in `run`.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(proof) => unsafe { avx2::tiles(proof, family, bytes, at, out) },
            Form::Portable => fill::tiles(portable::Portable, family, bytes, at, out),
        }
    }

    /// Copies the ASCII words at the start of a text and writes `▁` for single spaces between them,
    /// while there is room and text left. Returns how many bytes were read and how many written.
    /// Stops one byte before a longer character.
    pub(crate) fn spell_spaces(self, bytes: &[u8], out: &mut Room) -> (usize, usize) {
        match self.0 {
            // SAFETY: as in `run`.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(proof) => unsafe { avx2::spell_spaces(proof, bytes, out) },
            Form::Portable => spaces::spell(portable::Portable, bytes, out),
        }
    }

    /// [`Level::tiles`] for pieces with blanks between them; `at` must not be inside a piece.
    pub(crate) fn words<F: Words>(
        self,
        family: &F,
        bytes: &[u8],
        at: &mut usize,
        out: &mut [Piece],
    ) -> usize {
        match self.0 {
            // SAFETY: as in `run`.
            #[cfg(target_arch = "x86_64")]
            Form::Avx2(proof) => unsafe { avx2::words(proof, family, bytes, at, out) },
            Form::Portable => fill::words(portable::Portable, family, bytes, at, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::block::Bytes;
    use super::*;
    use crate::PreTokenizer;

    /// Windows in which every byte occurs, with different neighbours.
    fn windows() -> impl Iterator<Item = Bytes> {
        (0..=255_u8)
            .step_by(if cfg!(miri) { 51 } else { 1 })
            .map(|first| std::array::from_fn(|at| first.wrapping_add((at as u8).wrapping_mul(37))))
    }

    fn mask(bytes: &Bytes, is_set: impl Fn(u8) -> bool) -> u64 {
        bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u64::from(is_set(*byte)) << at)
    }

    fn masks_are_those_of_the_bytes(load: impl Load) {
        for bytes in windows() {
            let block = load.load(&bytes);
            for byte in 0..=255 {
                assert_eq!(block.eq(byte), mask(&bytes, |b| b == byte), "{byte}");
            }
            assert_eq!(block.either(b'\n', b'\r'), mask(&bytes, |b| b == b'\n' || b == b'\r'));
            for (first, last) in [(0, 0x7F), (9, 13), (b'0', b'9'), (b'!', b'~'), (0x80, 0xBF), (0xE5, 0xFF)]
            {
                let expected = mask(&bytes, |b| (first..=last).contains(&b));
                assert_eq!(block.range(first, last), expected, "{first}..={last}");
            }
            assert_eq!(block.letters(), mask(&bytes, |b| b.is_ascii_alphabetic()));
            assert_eq!(block.long(), mask(&bytes, |b| !b.is_ascii()));
        }
    }

    #[test]
    fn masks_of_words() {
        masks_are_those_of_the_bytes(portable::Portable);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn masks_of_vectors() {
        if let Some(proof) = avx2::Avx2::detect() {
            masks_are_those_of_the_bytes(proof);
        }
    }

    #[test]
    fn shapes_of_characters() {
        let text = "aé中😀b\u{3000}é中中中中中中中中中中中中中中中中中中中中";
        let bytes: Bytes = *text.as_bytes().first_chunk().unwrap();
        let window =
            Window { block: portable::Portable.load(&bytes), bytes: text.as_bytes(), at: 0, len: 64 };
        let flags = [crate::text::unicode::flag::LETTER, crate::text::unicode::flag::SPACE];
        let ([letters, spaces], shape) = long(&window, flags, crate::text::unicode::flags_of_long);
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).take_while(|at| *at < 64).collect();
        let mask_of = |places: &[usize]| places.iter().fold(0_u64, |mask, at| mask | 1 << at);
        assert_eq!(shape.first(u64::MAX), mask_of(&starts));
        // The character after the last one is outside the window.
        assert_eq!(shape.next(mask_of(&starts)), mask_of(&starts[1..]));
        assert_eq!(spaces, 0b111 << 11);
        assert_eq!(shape.back(1 << 13 | 1 << 0 | 1 << 2), 1 << 11 | 1 << 0 | 1 << 1);
        assert_eq!(letters & 0xFF_FFFF, 0b1111_1111_1100_0000_0011_1110);
        assert_eq!(shape.last(), starts[starts.len() - 1]);
    }

    #[test]
    fn forms_agree_with_the_scalar_rules() {
        let text =
            "It's 12345 words,\tnot  more.\n \n// x/\n/y 中文，字\u{3000}é😀 don'T ABCdef ▁a▁\u{301}b ";
        for name in PreTokenizer::names() {
            let pre_tokenizer = PreTokenizer::from_name(name).unwrap();
            for start in text.char_indices().map(|(at, _)| at).step_by(if cfg!(miri) { 9 } else { 1 }) {
                let text = text[start..].repeat(2);
                let pieces = |form| {
                    let mut pieces = Vec::new();
                    let result = pre_tokenizer.for_each_piece_by(form, &text, |piece| {
                        pieces.push(piece);
                        Ok(())
                    });
                    result.map(|()| pieces).unwrap()
                };
                for level in Level::all() {
                    assert_eq!(pieces(Some(level)), pieces(None), "{name} by {} on {text:?}", level.name());
                }
            }
        }
    }
}
