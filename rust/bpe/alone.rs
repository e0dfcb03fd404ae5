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

/// The ids of characters; up to three of them, and their number. None of those that
/// are not known, which are all where symbols are not bytes.
#[derive(Clone, Default)]
pub(super) struct Alone(Box<[OnceLock<Box<[Value; BLOCK]>>]>);

impl Alone {
    /// For a model in which symbols are bytes.
    pub(super) fn new() -> Self {
        Self(vec![OnceLock::new(); N_KNOWN / BLOCK].into())
    }

    /// The ids of a character, and their number: 0 where it is not known.
    #[inline(always)]
    pub(super) fn of(&self, bpe: &Bpe, c: u32) -> Value {
        let Some(block) = self.0.get(c as usize / BLOCK) else { return Value::default() };
        block.get_or_init(|| bpe.block_alone(c))[c as usize % BLOCK]
    }
}

impl Bpe {
    /// The block of a character.
    #[cold]
    fn block_alone(&self, c: u32) -> Box<[Value; BLOCK]> {
        let mut few = Few::default();
        let first = c - c % BLOCK as u32;
        Box::new(std::array::from_fn(|at| {
            // ASCII is never cut, and 0 stands for what is no character.
            let c = char::from_u32(first + at as u32).filter(|c| !c.is_ascii());
            let Some(c) = c else { return Value::default() };
            let (ids, n) = self.encode_few(c.encode_utf8(&mut [0; 4]).as_bytes(), false, &mut few);
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
        for c in "aé語誠界€\0\u{d7ff}\u{ffff}".chars() {
            let [ids @ .., n] = bpe.alone.of(&bpe, c.into());
            let merged = bpe.encode(c.to_string().as_bytes());
            assert_eq!(ids[..n as usize], if c.is_ascii() { vec![] } else { merged }, "{c}");
        }
        assert_eq!(bpe.alone.of(&bpe, 0xD800), [0; 4]);
        assert_eq!(bpe.alone.of(&bpe, 0x1_F600), [0; 4]);
    }
}
