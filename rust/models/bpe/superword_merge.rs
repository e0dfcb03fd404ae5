//! `Superwords`: encodes pieces of several words word by word, where superwords come last in the
//! list of merges.
//!
//! Merges before the first whose token has several words ([`has_several_words`]) make words; the rest
//! join them. A piece is encoded with the merges of words, which cuts it into short runs that repeat
//! and are cached; then its tokens are joined.
//!
//! Proof. The lowest rank merges first, so no other merge is made while one of words can be. A token
//! of the other merges is not part of a merge of words ([`Superwords::new`] checks it), so no merge of
//! words can be made after the first other one. So the tokens of words come first, then the other
//! merges. Each of these joins a token that ends in some token of words with one that begins with
//! another. A token has one merge, so both are always the same, and are kept in a set: between two
//! neighbours that are not in it nothing is joined.

use super::pairs::PairTable;
use super::worker::Scratch;
use super::{Bpe, BpeOptions, MergeOrder, Merged};
use crate::error::Result;
use crate::models::bpe::Symbols;
use crate::text::Piece;
use crate::vocab::{TokenId, Vocab};

/// Whether a token holds a space behind a letter, digit or punctuation character of ASCII.
pub(crate) fn has_several_words(token: &[u8]) -> bool {
    token.windows(2).any(|pair| pair[0].is_ascii_graphic() && pair[1] == b' ')
}

/// A model of words, and the merges that join them.
#[derive(Clone)]
pub(super) struct Superwords {
    words: Bpe,
    pairs: PairTable,
    neighbours: Neighbours,
}

/// A Bloom filter of one hash of the neighbours that a merge joins.
#[derive(Clone)]
struct Neighbours {
    bits: Vec<u64>,
    shift: u32,
}

/// Bits of the filter for each merge.
const BITS: usize = 16;

impl Neighbours {
    fn new(n: usize) -> Self {
        let size = (n * BITS).next_power_of_two().max(64);
        Self { bits: vec![0; size / 64], shift: u64::BITS - size.trailing_zeros() }
    }

    #[inline]
    fn bit(&self, left: TokenId, right: TokenId) -> usize {
        let key = u64::from(left) << 32 | u64::from(right);
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    fn insert(&mut self, left: TokenId, right: TokenId) {
        let bit = self.bit(left, right);
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    #[inline]
    fn may_hold(&self, left: TokenId, right: TokenId) -> bool {
        let bit = self.bit(left, right);
        self.bits[bit / 64] >> (bit % 64) & 1 != 0
    }
}

impl Superwords {
    /// `None` if no token is of several words, or if a merge of words follows on others.
    ///
    /// # Errors
    /// As [`Bpe::new`].
    pub(super) fn new(
        vocab: &Vocab,
        merges: &[(TokenId, TokenId)],
        pairs: &PairTable,
        options: &BpeOptions,
    ) -> Result<Option<Box<Self>>> {
        let id_of = |&(left, right): &(TokenId, TokenId)| pairs.get(left, right).id;
        let is_superword =
            |merge: &(TokenId, TokenId)| vocab.bytes(id_of(merge)).is_some_and(has_several_words);
        let Some(first) = merges.iter().position(is_superword) else { return Ok(None) };
        let (words, others) = merges.split_at(first);
        let n_ids = vocab.id_limit();
        let (mut is_made, mut is_part, mut is_joined) =
            (vec![false; n_ids], vec![false; n_ids], vec![false; n_ids]);
        for merge in words {
            is_made[id_of(merge) as usize] = true;
            (is_part[merge.0 as usize], is_part[merge.1 as usize]) = (true, true);
        }
        // The first and the last token of words of each token.
        let mut ends: Vec<(TokenId, TokenId)> = (0..n_ids as TokenId).map(|id| (id, id)).collect();
        let mut joining = PairTable::with_capacity(others.len());
        let mut neighbours = Neighbours::new(others.len());
        for (at, &(left, right)) in others.iter().enumerate() {
            let merged = pairs.get(left, right);
            let id = merged.id as usize;
            // A pair that is listed twice has its last rank.
            if is_made[id] || is_part[id] || merged.rank as usize != first + at {
                return Ok(None);
            }
            (is_made[id], is_joined[id]) = (true, true);
            ends[id] = (ends[left as usize].0, ends[right as usize].1);
            neighbours.insert(ends[left as usize].1, ends[right as usize].0);
            joining.insert(left, right, Merged { rank: at as u32, id: merged.id });
        }
        let kept = vocab.iter().filter(|(id, _)| !is_joined[*id as usize]).map(|(id, bytes)| (bytes, id));
        let kept = Vocab::from_pairs(kept.collect())?;
        let words = Bpe::new(kept, MergeOrder::List(words.to_vec()), options.clone())?.cutting_words();
        Ok(Some(Box::new(Self { words, pairs: joining, neighbours })))
    }

    /// Appends the ids of pieces. `scratch` is that of the words.
    pub(super) fn encode(
        &self,
        scratch: &mut Scratch,
        symbols: &mut Symbols,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) {
        for piece in pieces {
            let from = ids.len();
            scratch.encode_chunk(&self.words, text, std::slice::from_ref(piece), ids);
            self.join(symbols, from, ids);
        }
    }

    /// Joins the tokens of words from `from` on.
    fn join(&self, symbols: &mut Symbols, from: usize, ids: &mut Vec<TokenId>) {
        let (mut read, mut written) = (from, from);
        while read < ids.len() {
            let mut end = read + 1;
            while end < ids.len() && self.neighbours.may_hold(ids[end - 1], ids[end]) {
                end += 1;
            }
            if end == read + 1 {
                ids[written] = ids[read];
                written += 1;
            } else {
                symbols.clear();
                ids[read..end].iter().for_each(|&id| symbols.push(id, 0));
                symbols.merge(&self.pairs);
                let n = symbols.ids.len();
                ids[written..written + n].copy_from_slice(&symbols.ids);
                written += n;
            }
            read = end;
        }
        ids.truncate(written);
    }
}
