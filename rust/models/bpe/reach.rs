//! Which tokens no piece becomes.
//!
//! By the proof in `last_merge`, a token that its own text does not become is
//! made nowhere. In addition to such tokens, symbols that represent other text than their
//! own may take part in merges: the unknown token and the bytes of a fallback.
//! Results of their merges count as reachable.

use hashbrown::HashMap;

use super::{Bpe, Unit, chars};
use crate::vocab::TokenId;

impl Bpe {
    /// Tokens that no piece becomes, ids ascending: tokens that are neither a
    /// first symbol, nor a whole piece, nor what their own text merges into.
    ///
    /// Left out are tokens that do not represent text: the unknown one, bytes of
    /// a fallback, control and unused pieces. With prefix or suffix, the tokens
    /// that no merge results in.
    pub fn unreachable(&self) -> Vec<TokenId> {
        if self.emits_whole_tokens() {
            return Vec::new();
        }
        let mut is_reached: Vec<bool> = if self.has_affixes() {
            vec![false; self.vocab.id_limit()]
        } else {
            self.last_pairs().iter().map(Option::is_some).collect()
        };
        let mut reach = |id: TokenId| {
            if let Some(slot) = is_reached.get_mut(id as usize) {
                *slot = true;
            }
        };
        if self.has_affixes() {
            self.pairs.iter().for_each(|(_, _, merged)| reach(merged.id));
        }
        let apart: Vec<TokenId> = self.unk_id.into_iter().chain(self.fallback_tokens()).collect();
        if self.scored.is_none() {
            self.merged_from(apart.clone()).into_iter().for_each(&mut reach);
        }
        let options = &self.options;
        let pieces = [&options.control, &options.unused, &options.user_defined];
        apart.into_iter().chain(pieces.into_iter().flatten().copied()).for_each(&mut reach);
        let tokens = self.vocab.iter();
        tokens
            .filter(|&(id, token)| !is_reached[id as usize] && !self.is_first_symbol(token))
            .map(|(id, _)| id)
            .collect()
    }

    /// Whether a token is one unit, with prefix, suffix, both or none.
    fn is_first_symbol(&self, token: &[u8]) -> bool {
        let affixes = [&self.options.continuing_subword_prefix, &self.options.end_of_word_suffix];
        let [prefix, suffix] = affixes.map(|affix| affix.as_deref().unwrap_or("").as_bytes());
        let is_unit = |text: &[u8]| match self.options.unit {
            Unit::Bytes => text.len() == 1,
            Unit::Chars => chars(text).take(2).count() == 1,
        };
        [Some(token), token.strip_prefix(prefix)]
            .into_iter()
            .flatten()
            .any(|inside| [Some(inside), inside.strip_suffix(suffix)].into_iter().flatten().any(is_unit))
    }

    /// The tokens that merges make of `open`, of what these make, and so on.
    fn merged_from(&self, mut open: Vec<TokenId>) -> Vec<TokenId> {
        let mut results: HashMap<TokenId, Vec<TokenId>> = HashMap::new();
        for (left, right, merged) in self.pairs.iter() {
            results.entry(left).or_default().push(merged.id);
            results.entry(right).or_default().push(merged.id);
        }
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            let formed = results.remove(&id).unwrap_or_default();
            found.extend_from_slice(&formed);
            open.extend(formed);
        }
        found
    }
}
