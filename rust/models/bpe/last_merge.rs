//! Which two tokens a token is made of.
//!
//! In rank order a token may be cut in many ways, but only one of them ever
//! happens. Proof: when a pair `x y` becomes the token `T` somewhere, no merge
//! has crossed the borders of `T`'s bytes there, so the merges inside came in
//! the order in which they come in `T` alone; that order is fixed, and so is
//! its last pair. Equal ranks change nothing, as the leftmost place is the same
//! inside the token and in a text. Hence the list of these pairs, one a token, by ascending id,
//! merges every text as the ranks do: the pair of lowest rank is always in it.

use super::merge::Symbols;
use super::{Bpe, MergeOrder, Unit, chars};
use crate::vocab::TokenId;

impl Bpe {
    /// The pairs that merge, in order of rank: of a vocabulary in rank order,
    /// the last merge of each token, which encode the same.
    pub fn merge_list(&self) -> Vec<(TokenId, TokenId)> {
        match &self.order {
            MergeOrder::List(merges) => merges.clone(),
            MergeOrder::Ranks => self.last_merges().into_iter().flatten().collect(),
            MergeOrder::Scores(_) => self.merges_of_scores(),
        }
    }

    /// The last merge of each token when its bytes are merged alone, by id;
    /// `None` where merging does not make the token, or makes it of a character
    /// that is not a token.
    ///
    /// Prefix and suffix of the options are not put on.
    pub fn last_merges(&self) -> Vec<Option<(TokenId, TokenId)>> {
        let limit = self.vocab.id_limit();
        let are_tokens = |(left, right): &(TokenId, TokenId)| (*left.max(right) as usize) < limit;
        self.last_pairs().into_iter().map(|pair| pair.filter(are_tokens)).collect()
    }

    /// As [`Bpe::last_merges`]; ids from the limit of the vocabulary on are
    /// characters that are not tokens.
    pub(crate) fn last_pairs(&self) -> Vec<Option<(TokenId, TokenId)>> {
        let mut last = vec![None; self.vocab.id_limit()];
        let mut symbols = Symbols::default();
        for (id, bytes) in self.vocab.iter() {
            symbols.clear();
            if !self.push_first_symbols(bytes, &mut symbols) {
                continue;
            }
            let done = symbols.merge_down_to(2, &self.pairs);
            symbols.note(done);
            symbols.insist();
            if let [first, second] = symbols.ids[..]
                && self.pairs.get(first, second).id == id
            {
                last[id as usize] = Some((first, second));
            }
        }
        last
    }

    /// Pushes what the merging of a token begins with; `false` if that is not
    /// all known.
    fn push_first_symbols(&self, bytes: &[u8], symbols: &mut Symbols) -> bool {
        if let Some(scored) = &self.scored {
            scored.push_symbols(bytes, symbols);
            return true;
        }
        match self.options.unit {
            Unit::Bytes => self.push_known(bytes.chunks(1), symbols),
            Unit::Chars => self.push_known(chars(bytes), symbols),
        }
    }

    fn push_known<'a>(&self, units: impl Iterator<Item = &'a [u8]>, symbols: &mut Symbols) -> bool {
        units.into_iter().all(|unit| {
            let id = self.vocab.id(unit);
            if let Some(id) = id {
                symbols.push(id, unit.len() as u32);
            }
            id.is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::models::bpe::{Bpe, BpeOptions, MergeOrder};
    use crate::vocab::Vocab;

    proptest! {
        #[test]
        fn the_list_of_last_merges_is_the_rank_order(
            tokens in proptest::collection::hash_set("[ab]{2,7}", 0..24),
            texts in proptest::collection::vec("[ab]{0,200}", 8),
        ) {
            let tokens = ["a", "b"].into_iter().map(str::to_owned).chain(tokens);
            let vocab = Vocab::from_tokens(tokens).unwrap();
            let ranks = Bpe::new(vocab.clone(), MergeOrder::Ranks, BpeOptions::default()).unwrap();
            let merges = ranks.last_merges().into_iter().flatten().collect();
            let options = BpeOptions { ignore_merges: true, ..BpeOptions::default() };
            let list = Bpe::new(vocab, MergeOrder::List(merges), options).unwrap();
            for text in texts {
                prop_assert_eq!(ranks.encode(text.as_bytes()), list.encode(text.as_bytes()));
            }
        }
    }
}
