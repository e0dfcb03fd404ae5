//! `Atoms`: characters that may be taken as one symbol before merging starts.
//!
//! Text outside ASCII has two to four bytes a character, and most of its merges
//! only rebuild the characters. A character whose inner merges all come before
//! any merge that could cross its borders is an *atom*: starting from its token
//! gives the same result as starting from its bytes. So must the merges of its
//! token: in a list out of order they may come before those that build it.
//!
//! Proof. Let `last` be the greatest rank among the merges that build the
//! character alone. Until it is built, a merge across its left border has on its
//! right side a token that is a proper prefix of the character, and one across
//! its right border has on its left side a proper suffix. All such merges rank
//! above `last`, so the lowest merge inside the character comes before them, and
//! the merges inside happen as in the character alone. Now compare a text with
//! the same text in which all atoms are built. If the lowest merge of the first
//! is inside an atom, the second is as if it had been done. If not, each atom
//! that is not built waits for a merge that ranks no lower, so its `last` does
//! not either; what the second may merge beside is a pair with such an atom,
//! which ranks above that `last`. So the second does the same merge, and the two
//! stay alike until all is merged.

use super::merge::Symbols;
use super::pairs::{Merged, PairTable};
use crate::text::single_char;
use crate::vocab::{TokenId, Vocab};

/// No atom: the character is pushed byte by byte.
const NONE: TokenId = TokenId::MAX;

/// The atoms of the Basic Multilingual Plane by code point; empty if none.
#[derive(Clone, Default)]
pub(super) struct Atoms {
    ids: Vec<TokenId>,
}

impl Atoms {
    pub(super) fn new(vocab: &Vocab, pairs: &PairTable, byte_ids: &[TokenId; 256]) -> Self {
        // The least rank at which each token merges as a left and a right side.
        let mut as_left = vec![u32::MAX; vocab.id_limit()];
        let mut as_right = vec![u32::MAX; vocab.id_limit()];
        for (left, right, merged) in pairs.iter() {
            let (left, right) = (&mut as_left[left as usize], &mut as_right[right as usize]);
            *left = merged.rank.min(*left);
            *right = merged.rank.min(*right);
        }
        let mut ids = Vec::new();
        let mut symbols = Symbols::default();
        for (id, bytes) in vocab.iter() {
            if !(2..=3).contains(&bytes.len()) {
                continue;
            }
            let Some(c) = single_char(bytes) else { continue };
            symbols.clear();
            bytes.iter().for_each(|&byte| symbols.push(byte_ids[usize::from(byte)], 1));
            let Some(last) = last_rank(&symbols, pairs) else { continue };
            symbols.merge(pairs);
            symbols.insist();
            if symbols.ids != [id] {
                continue;
            }
            let crossing = (1..bytes.len()).any(|cut| {
                let (head, tail) = bytes.split_at(cut);
                vocab.id(head).is_some_and(|head| as_right[head as usize] <= last)
                    || vocab.id(tail).is_some_and(|tail| as_left[tail as usize] <= last)
            });
            let built = as_left[id as usize].min(as_right[id as usize]);
            if !crossing && built > last {
                if ids.is_empty() {
                    ids = vec![NONE; 1 << 16];
                }
                ids[c as usize] = id;
            }
        }
        Self { ids }
    }

    /// Pushes the symbols of a piece and the bytes that each covers: atoms where
    /// there are, bytes elsewhere.
    #[inline(always)]
    pub(super) fn push_symbols(
        &self,
        piece: &[u8],
        byte_ids: &[TokenId; 256],
        mut push: impl FnMut(TokenId, u32),
    ) {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            let id = byte_ids[usize::from(byte)];
            let (atom, len) = if byte < 0xC2 { (NONE, 1) } else { self.atom(&piece[at..]) };
            push(if atom == NONE { id } else { atom }, len);
            at += len as usize;
        }
    }

    /// The atom that text not of ASCII begins with, or [`NONE`], and its bytes.
    #[inline]
    fn atom(&self, bytes: &[u8]) -> (TokenId, u32) {
        let (c, len) = match *bytes {
            [a @ 0xC2..=0xDF, b @ 0x80..=0xBF, ..] => (u32::from(a & 0x1F) << 6 | u32::from(b & 0x3F), 2),
            [a @ 0xE0..=0xEF, b @ 0x80..=0xBF, c @ 0x80..=0xBF, ..] => {
                (u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F), 3)
            }
            _ => return (NONE, 1),
        };
        // An overlong form or a surrogate names no atom of its own bytes.
        match self.ids.get(c as usize) {
            Some(&id) if id != NONE && (len == 2 || c >= 0x800) => (id, len),
            _ => (NONE, 1),
        }
    }
}

/// The greatest rank among the merges that rebuild a character of 2 or 3 bytes;
/// `None` if its bytes do not merge into one symbol.
fn last_rank(symbols: &Symbols, pairs: &PairTable) -> Option<u32> {
    let last = match symbols.ids[..] {
        [a, b] => pairs.get(a, b),
        [a, b, c] => {
            let (head, tail) = (pairs.get(a, b), pairs.get(b, c));
            if head.rank <= tail.rank {
                pairs.get(head.id, c).max(head)
            } else {
                pairs.get(a, tail.id).max(tail)
            }
        }
        _ => Merged::NEVER,
    };
    (last.rank != u32::MAX).then_some(last.rank)
}
