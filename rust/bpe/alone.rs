//! `Alone`: the ids of each character that is merged alone, by code point.
//!
//! Most runs that [`Cuts`](super::cuts::Cuts) leaves of a script without spaces are
//! one character, whose ids are asked for here in place of a cache. Made by the
//! block of 64 when one is first met, and good for all workers.

use std::sync::OnceLock;

use super::Bpe;
use super::few::Few;
use crate::piece_table::Value;

/// Code points of a block.
const BLOCK: usize = 64;
/// Code points that may be known: those of up to three bytes.
const N_KNOWN: usize = 1 << 16;

/// The ids of characters; up to three of them, and their number.
#[derive(Clone, Default)]
pub(super) struct Alone(Box<[OnceLock<Box<[Value; BLOCK]>>]>);

impl Alone {
    /// For a model in which symbols are bytes.
    pub(super) fn new() -> Self {
        Self(vec![OnceLock::new(); N_KNOWN / BLOCK].into())
    }

    /// For the same model with other merges: nothing is known of it yet.
    pub(super) fn anew(&self) -> Self {
        Self(vec![OnceLock::new(); self.0.len()].into())
    }

    /// The ids of a character, and their number; `None` of 0, of what is no character,
    /// and where symbols are not bytes.
    #[inline(always)]
    pub(super) fn of(&self, bpe: &Bpe, c: u32) -> Option<Value> {
        // By its number alone: what is asked of memory would be waited for.
        if c == 0 || c & !0x7FF == 0xD800 {
            return None;
        }
        let block = self.0.get(c as usize / BLOCK)?;
        Some(block.get_or_init(|| bpe.block_alone(c))[c as usize % BLOCK])
    }
}

impl Bpe {
    /// The block of a character.
    #[cold]
    fn block_alone(&self, c: u32) -> Box<[Value; BLOCK]> {
        let mut few = Few::default();
        let first = c - c % BLOCK as u32;
        Box::new(std::array::from_fn(|at| {
            let Some(c) = char::from_u32(first + at as u32) else { return Value::default() };
            let (ids, n) = self.merge_few(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut few);
            [ids[0], ids[1], ids[2], n as u32]
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::bpe::{Bpe, BpeOptions, MergeOrder};
    use crate::vocab::Vocab;

    #[test]
    fn characters_alone_are_what_merging_makes() {
        let tokens = (0..=255_u8).map(|byte| vec![byte]);
        let tokens = tokens.chain(["é", "語", "誠"].map(|token| token.as_bytes().to_vec()));
        let tokens = tokens.chain([b"\xE7\x95".to_vec(), b"\xE8\xAA".to_vec()]);
        let vocab = Vocab::from_tokens(tokens).unwrap();
        let bpe = Bpe::new(vocab, MergeOrder::Ranks, BpeOptions::default()).unwrap();
        for c in "aé語誠界€\u{1}\u{d7ff}\u{e000}\u{ffff}".chars() {
            let [ids @ .., n] = bpe.alone.of(&bpe, c.into()).unwrap();
            assert_eq!(ids[..n as usize], bpe.encode(c.to_string().as_bytes()), "{c}");
        }
        let barring = bpe.barring(&[bpe.vocab.id("語".as_bytes()).unwrap()]).unwrap();
        let [first, _, _, n] = barring.alone.of(&barring, '語'.into()).unwrap();
        assert_eq!((n, first), (2, bpe.vocab.id(b"\xE8\xAA").unwrap()));
        for other in [0, 0xD800, 0xDFFF, 0x1_F600] {
            assert_eq!(bpe.alone.of(&bpe, other), None, "{other:X}");
        }
    }
}
