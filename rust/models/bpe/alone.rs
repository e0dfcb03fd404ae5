//! `Alone`: the ids of each character that is merged alone, by code point.
//!
//! Most runs that [`Cuts`](crate::models::bpe::merge_boundaries::Cuts) leaves of a script without spaces are
//! one character, whose ids are asked for here in place of a cache. Each is merged
//! when it is first met, by whichever thread, and good for all: two threads that
//! meet it at once write the same.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Bpe;
use super::few_units::FewUnits;
use crate::piece_table::Value;
use crate::{models::bpe::short_merge, models::bpe::short_merge::Few};

/// Code points that may be known: those of up to three bytes.
const N_KNOWN: usize = 1 << 16;
/// Bits of an id; three of them are one number.
const ID_BITS: u32 = 21;
const ID_MASK: u64 = (1 << ID_BITS) - 1;

/// Up to three ids for each character, plus one each, the first in the low bits; 0 of
/// one that was not met. Half a megabyte, from the first character on.
#[derive(Default)]
pub(super) struct Alone(OnceLock<Box<[AtomicU64]>>);

impl Clone for Alone {
    /// A model that is changed has ids of its own: nothing is known.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Bpe {
    /// The ids of a character, and their number; `None` of 0, of what is no character,
    /// and where symbols are not bytes.
    #[inline(always)]
    pub(super) fn alone(&self, c: u32) -> Option<Value> {
        // By its number alone: what is asked of memory would be waited for.
        if c == 0 || c & !0x7FF == 0xD800 || !self.has_alone() {
            return None;
        }
        let known = self.alone.0.get_or_init(|| (0..N_KNOWN).map(|_| AtomicU64::new(0)).collect());
        let place = known.get(c as usize)?;
        let ids = match place.load(Ordering::Relaxed) {
            0 => self.merge_alone(c, place),
            ids => ids,
        };
        let [first, second, third] = [0, 1, 2].map(|n| (ids >> (n * ID_BITS) & ID_MASK) as u32);
        let n = 1 + u32::from(second != 0) + u32::from(third != 0);
        Some([first.wrapping_sub(1), second.wrapping_sub(1), third.wrapping_sub(1), n])
    }

    /// Whether symbols are bytes, and ids and ranks small enough.
    #[inline(always)]
    fn has_alone(&self) -> bool {
        matches!(self.few_units(), FewUnits::Bytes) && self.vocab.id_limit() < ID_MASK as usize
    }

    /// Merges a character that was not met.
    #[cold]
    fn merge_alone(&self, c: u32, place: &AtomicU64) -> u64 {
        let c = char::from_u32(c).unwrap_or_default();
        let (mut ids, mut few) = ([0; short_merge::MOST], Few::default());
        self.push_few(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut few);
        few.merge(&self.pairs);
        let n = few.write(&mut ids);
        let ids = ids[..n].iter().rev().fold(0, |all, &id| all << ID_BITS | (u64::from(id) + 1));
        place.store(ids, Ordering::Relaxed);
        ids
    }
}

#[cfg(test)]
mod tests {
    use crate::models::bpe::{Bpe, BpeOptions, MergeOrder};
    use crate::vocab::Vocab;

    #[test]
    fn characters_alone_are_what_merging_makes() {
        let tokens = (0..=255_u8).map(|byte| vec![byte]);
        let tokens = tokens.chain(["é", "語", "誠"].map(|token| token.as_bytes().to_vec()));
        let tokens = tokens.chain([b"\xE7\x95".to_vec(), b"\xE8\xAA".to_vec()]);
        let vocab = Vocab::from_tokens(tokens).unwrap();
        let bpe = Bpe::new(vocab, MergeOrder::Ranks, BpeOptions::default()).unwrap();
        for c in "語aé語誠界€\u{1}\u{d7ff}\u{e000}\u{ffff}".chars() {
            let [ids @ .., n] = bpe.alone(c.into()).unwrap();
            assert_eq!(ids[..n as usize], bpe.encode(c.to_string().as_bytes()), "{c}");
        }
        let barring = bpe.barring(&[bpe.vocab.id("語".as_bytes()).unwrap()]).unwrap();
        let [first, _, _, n] = barring.alone('語'.into()).unwrap();
        assert_eq!((n, first), (2, bpe.vocab.id(b"\xE8\xAA").unwrap()));
        for other in [0, 0xD800, 0xDFFF, 0x1_F600] {
            assert_eq!(bpe.alone(other), None, "{other:X}");
        }
    }
}
