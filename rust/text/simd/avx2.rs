//! Blocks as two vectors of 32 bytes.
//!
//! The intrinsics used here access no memory by address, except for one load from an array; their
//! only requirement is a processor with AVX2.

use std::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set1_epi8, _mm256_sub_epi8,
};

use super::Kernel;
use super::block::{Block, Bytes, Load};
use super::fill::{self, Tiles, Words};
use super::spaces::{self, Room};
use crate::text::Piece;

/// Proves that the processor has AVX2, LZCNT, BMI and POPCNT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

impl Avx2 {
    /// The proof, if the processor has them.
    pub(super) fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Self(()))
    }
}

/// Runs a kernel, compiled for AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn run(proof: Avx2, kernel: impl Kernel) {
    kernel.run(proof);
}

/// [`fill::tiles`], compiled for AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn tiles<F: Tiles>(
    proof: Avx2,
    family: &F,
    bytes: &[u8],
    at: &mut usize,
    out: &mut [Piece],
) -> usize {
    fill::tiles(proof, family, bytes, at, out)
}

/// [`spaces::spell`], compiled for AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn spell_spaces(proof: Avx2, bytes: &[u8], out: &mut Room) -> (usize, usize) {
    spaces::spell(proof, bytes, out)
}

/// [`fill::words`], compiled for AVX2.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn words<F: Words>(
    proof: Avx2,
    family: &F,
    bytes: &[u8],
    at: &mut usize,
    out: &mut [Piece],
) -> usize {
    fill::words(proof, family, bytes, at, out)
}

/// The bytes. Only [`Avx2::load`] creates them, so the processor has AVX2.
pub(super) struct Halves(__m256i, __m256i);

impl Load for Avx2 {
    type Block = Halves;

    #[inline(always)]
    fn load(self, bytes: &Bytes) -> Halves {
        let low: *const __m256i = bytes.as_ptr().cast();
        // SAFETY: `self` proves AVX2. The two unaligned loads of 32 bytes read the 64 bytes of a
        // borrowed array.
        unsafe { Halves(_mm256_loadu_si256(low), _mm256_loadu_si256(low.add(1))) }
    }
}

/// The mask of the bytes whose highest bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(low: __m256i, high: __m256i) -> u64 {
    let (low, high) = (_mm256_movemask_epi8(low) as u32, _mm256_movemask_epi8(high) as u32);
    u64::from(low) | u64::from(high) << 32
}

/// All ones in each byte from `first` to `last`.
#[inline]
#[target_feature(enable = "avx2")]
fn between(half: __m256i, first: u8, last: u8) -> __m256i {
    let past = _mm256_sub_epi8(half, _mm256_set1_epi8(first as i8));
    _mm256_cmpeq_epi8(_mm256_min_epu8(past, _mm256_set1_epi8((last - first) as i8)), past)
}

impl Block for Halves {
    #[inline(always)]
    fn eq(&self, byte: u8) -> u64 {
        // SAFETY: `Halves` exist only if the processor has AVX2.
        unsafe {
            let byte = _mm256_set1_epi8(byte as i8);
            mask(_mm256_cmpeq_epi8(self.0, byte), _mm256_cmpeq_epi8(self.1, byte))
        }
    }

    #[inline(always)]
    fn either(&self, one: u8, other: u8) -> u64 {
        // SAFETY: as in `eq`.
        unsafe {
            let (one, other) = (_mm256_set1_epi8(one as i8), _mm256_set1_epi8(other as i8));
            let either = |half| _mm256_or_si256(_mm256_cmpeq_epi8(half, one), _mm256_cmpeq_epi8(half, other));
            mask(either(self.0), either(self.1))
        }
    }

    #[inline(always)]
    fn range(&self, first: u8, last: u8) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { mask(between(self.0, first, last), between(self.1, first, last)) }
    }

    #[inline(always)]
    fn letters(&self) -> u64 {
        // SAFETY: as in `eq`.
        unsafe {
            let fold = _mm256_set1_epi8(0x20);
            let (low, high) = (_mm256_or_si256(self.0, fold), _mm256_or_si256(self.1, fold));
            mask(between(low, b'a', b'z'), between(high, b'a', b'z'))
        }
    }

    #[inline(always)]
    fn long(&self) -> u64 {
        // SAFETY: as in `eq`.
        unsafe { mask(self.0, self.1) }
    }
}
