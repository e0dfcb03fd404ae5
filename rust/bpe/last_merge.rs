//! Which two tokens a token is made of.
//!
//! In rank order a token may be cut in many ways, but only one of them ever
//! happens. Proof: when a pair `x y` becomes the token `T` somewhere, no merge
//! has crossed the borders of `T`'s bytes there, so the merges inside came in
//! the order in which they come in `T` alone; that order is fixed, and so is
//! its last pair. Hence the list of these pairs, one a token, by ascending id,
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
    /// `None` where merging does not make the token.
    ///
    /// Prefix and suffix of the options are not put on.
    pub fn last_merges(&self) -> Vec<Option<(TokenId, TokenId)>> {
        let mut last = vec![None; self.vocab.id_limit()];
        let mut symbols = Symbols::default();
        for (id, bytes) in self.vocab.iter() {
            symbols.clear();
            let known = match self.options.unit {
                Unit::Bytes => self.push_known(bytes.chunks(1), &mut symbols),
                Unit::Chars => self.push_known(chars(bytes), &mut symbols),
            };
            if !known || symbols.ids.len() < 2 {
                continue;
            }
            // Each merge makes one symbol less, so the last is known by its number.
            let mut left = symbols.ids.len() - 1;
            symbols.merge_with_dropout(&self.pairs, &mut || {
                left -= 1;
                left == 0
            });
            if let [first, second] = symbols.ids[..]
                && self.pairs.get(first, second).id == id
            {
                last[id as usize] = Some((first, second));
            }
        }
        last
    }

    /// Tokens that no piece becomes, ids ascending: those that are neither a
    /// first symbol, nor a whole piece, nor what their own bytes merge into.
    ///
    /// By the proof above, a token that its bytes alone do not become is made
    /// nowhere. With prefix or suffix, tokens that no merge results in.
    pub fn unreachable(&self) -> Vec<TokenId> {
        if self.emits_whole_tokens() {
            return Vec::new();
        }
        let is_made: Vec<bool> = if self.has_affixes() {
            let mut made = vec![false; self.vocab.id_limit()];
            self.pairs.iter().for_each(|(_, _, merged)| made[merged.id as usize] = true);
            made
        } else {
            self.last_merges().iter().map(Option::is_some).collect()
        };
        let affixes = [&self.options.continuing_subword_prefix, &self.options.end_of_word_suffix];
        let is_first = |token: &[u8]| {
            let [prefix, suffix] = affixes.map(|affix| affix.as_deref().unwrap_or("").as_bytes());
            let token = token.strip_prefix(prefix).unwrap_or(token);
            let token = token.strip_suffix(suffix).unwrap_or(token);
            match self.options.unit {
                Unit::Bytes => token.len() == 1,
                Unit::Chars => chars(token).count() == 1,
            }
        };
        let stands_apart = |id: TokenId| Some(id) == self.unk_id || self.fallback_byte(id).is_some();
        let tokens = self.vocab.iter();
        tokens
            .filter(|&(id, token)| !is_made[id as usize] && !is_first(token) && !stands_apart(id))
            .map(|(id, _)| id)
            .collect()
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

    use crate::bpe::{Bpe, BpeOptions, MergeOrder};
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
