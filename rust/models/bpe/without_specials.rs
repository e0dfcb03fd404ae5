//! A model that makes none of some tokens of text: special ones, which a call
//! does not take.

use super::pairs::{Merged, PairTable};
use super::{Bpe, Unit, chars};
use crate::text::SPACE_MARK_BYTES;
use crate::vocab::TokenId;

impl Bpe {
    /// This model, which makes none of `specials` (ids ascending) of text: no
    /// piece is one as a whole, no merge has to do with one, and no character, with
    /// its prefix and suffix, is one. `None` if it is so already. A byte stays a
    /// byte: there is nothing else to write it with.
    pub(crate) fn without_specials(&self, specials: &[TokenId]) -> Option<Self> {
        let is_byte = |id: TokenId| self.vocab.bytes(id).is_some_and(|bytes| bytes.len() == 1);
        let stays = |id: &TokenId| self.options.unit == Unit::Bytes && is_byte(*id);
        let excluded: Vec<TokenId> = specials.iter().copied().filter(|id| !stays(id)).collect();
        let is_excluded = |id: TokenId| excluded.binary_search(&id).is_ok();
        let stands_in = |&(left, right, merged): &(TokenId, TokenId, Merged)| {
            is_excluded(left) || is_excluded(right) || is_excluded(merged.id)
        };
        let merges = !excluded.is_empty() && self.pairs.iter().any(|pair| stands_in(&pair));
        let by_name = self.options.unit == Unit::Chars || self.has_affixes();
        let starts = by_name && excluded.iter().any(|&id| self.is_unit(id));
        if self.excluded == excluded || !(merges || starts || self.emits_whole_tokens()) {
            return None;
        }
        let cuts_words = self.cuts_words && !self.vocab.id(&SPACE_MARK_BYTES).is_some_and(is_excluded);
        let mut model = Self { excluded: excluded.clone(), cuts_words, ..self.clone() };
        if merges {
            model.superwords = None;
            model.pairs = PairTable::with_capacity(self.pairs.len());
            for (left, right, merged) in self.pairs.iter().filter(|pair| !stands_in(pair)) {
                model.pairs.insert(left, right, merged);
            }
        }
        Some(model)
    }

    /// Whether a token is one character, with or without prefix and suffix.
    fn is_unit(&self, id: TokenId) -> bool {
        let affix = |affix: &Option<String>| affix.clone().unwrap_or_default().into_bytes();
        let (prefix, suffix) =
            (affix(&self.options.continuing_subword_prefix), affix(&self.options.end_of_word_suffix));
        let Some(bytes) = self.vocab.bytes(id) else { return false };
        let rests = [Some(bytes), bytes.strip_prefix(&prefix[..])].into_iter().flatten();
        rests
            .flat_map(|rest| [Some(rest), rest.strip_suffix(&suffix[..])])
            .flatten()
            .any(|rest| chars(rest).take(2).count() == 1)
    }
}
