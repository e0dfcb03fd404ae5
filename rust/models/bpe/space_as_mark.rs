//! The same model for text in which a space is a space, not `▁`.
//!
//! A model over characters knows a text by the symbols of its characters. Where a space has the symbol
//! of `▁`, a text becomes the ids of the same text with a `▁` for each space: the two differ in how one
//! character is spelled. So a text need not be rewritten, and its words have keys that are shorter by
//! two bytes. Nothing is said of texts that hold a `▁`.

use crate::text::{SPACE_MARK, SPACE_MARK_STR};
use std::sync::OnceLock;

use super::{Bpe, Unit};

/// The model for text with spaces, once it was asked for.
#[derive(Default)]
pub(super) struct SpaceAsMark(OnceLock<Option<Box<Bpe>>>);

impl Clone for SpaceAsMark {
    /// A model that is changed has another.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Bpe {
    /// This model for text with spaces; `None` where there is none.
    pub(crate) fn space_as_mark(&self) -> Option<&Self> {
        // Nobody waits for another who makes it.
        if !self.has_space_as_mark() {
            let _ = self.space_as_mark.0.set(self.make_space_as_mark().map(Box::new));
        }
        self.space_as_mark.0.get()?.as_deref()
    }

    /// Whether it is known if there is one.
    pub(crate) fn has_space_as_mark(&self) -> bool {
        self.space_as_mark.0.get().is_some()
    }

    fn make_space_as_mark(&self) -> Option<Self> {
        // Neither unknown, nor excluded, nor taken apart.
        let mark = self
            .vocab
            .id(SPACE_MARK_STR.as_bytes())
            .filter(|&id| self.encode(SPACE_MARK_STR.as_bytes()) == [id])?;
        let knows_by_symbols = self.options.unit == Unit::Chars
            && !self.has_affixes()
            && !self.emits_whole_tokens()
            && self.options.user_defined.is_empty();
        if !knows_by_symbols || self.vocab.iter().any(|(_, token)| token.contains(&b' ')) {
            return None;
        }
        self.vocab.check_room().ok()?;
        let mut marking = Self { cuts_words: false, ..self.clone() };
        match &mut marking.scored {
            Some(scored) => scored.take_space_for(SPACE_MARK),
            None => marking.symbols.chars.set(usize::from(b' '), mark),
        }
        if let Some(boundaries) = &mut marking.boundaries {
            let tokens = self.vocab.iter().filter_map(|(_, token)| std::str::from_utf8(token).ok());
            boundaries.take_space_for(SPACE_MARK, tokens.filter(|token| token.contains(SPACE_MARK)));
        }
        Some(marking)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{BpeOptions, MergeOrder};
    use super::*;
    use crate::vocab::{TokenId, Vocab};

    fn order(scores: bool, tokens: &[String]) -> MergeOrder {
        let id = |text: &str| tokens.iter().position(|token| token == text).map(|id| id as TokenId);
        // Each token by each of its cuts, in order of the ids.
        let cuts = |token: &String| -> Vec<_> {
            let places = token.char_indices().map(|(at, _)| at).skip(1);
            places.filter_map(|at| Some((id(&token[..at])?, id(&token[at..])?))).collect()
        };
        match scores {
            true => MergeOrder::Scores((0..tokens.len()).map(|n| -((n / 2) as f32)).collect()),
            false => MergeOrder::List(tokens.iter().flat_map(cuts).collect()),
        }
    }

    proptest! {
        #[test]
        fn a_space_is_what_a_mark_was(
            found in prop::collection::btree_set("▁{0,3}[abé]{0,3}|[ab]{2}▁[ab]", 1..40),
            scores: bool,
            fallback: bool,
            others in prop::collection::vec(3_u32..20, 2),
            excluded in prop::collection::btree_set(1_u32..20, 0..3),
            text in "( {0,3}[abéc]{0,9}){0,9}",
        ) {
            let bytes = (0..if fallback { 256 } else { 0 }).map(|byte| format!("<0x{byte:02X}>"));
            let all = ["<unk>", "▁", "a", "b"].map(str::to_owned).into_iter().chain(found).chain(bytes);
            let mut tokens: Vec<String> = Vec::new();
            for token in all.filter(|token| !token.is_empty()) {
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
            let n = tokens.len() as TokenId - if fallback { 256 } else { 0 };
            let [control, unused] = [0, 1].map(|at| Some(others[at]).filter(|id| scores && *id < n));
            let options = BpeOptions {
                unit: Unit::Chars,
                unk_token: Some("<unk>".into()),
                fuse_unk: scores,
                byte_fallback: fallback,
                control: control.into_iter().collect(),
                unused: unused.into_iter().filter(|id| control != Some(*id)).collect(),
                ..BpeOptions::default()
            };
            let bpe = Bpe::new(Vocab::from_tokens(&tokens).unwrap(), order(scores, &tokens), options).unwrap();
            let excluded: Vec<_> = excluded.into_iter().filter(|id| *id < n).collect();
            let bpe = bpe.without_specials(&excluded).unwrap_or(bpe);
            let expected = bpe.encode(text.replace(' ', "▁").as_bytes());
            let Some(with_marks) = bpe.space_as_mark() else {
                // A mark that is not a token is spelled by its own bytes.
                prop_assert!(bpe.encode("▁".as_bytes()) != [1]);
                return Ok(());
            };
            prop_assert_eq!(with_marks.encode(text.as_bytes()), expected.clone());
            let mut ids = Vec::new();
            with_marks.worker().encode(text.as_bytes(), 0, text.len(), &mut ids);
            prop_assert_eq!(ids, expected);
        }
    }

    #[test]
    fn models_of_which_nothing_is_known() {
        let of = |tokens: &[&str], unit| {
            let options = BpeOptions { unit, ..BpeOptions::default() };
            Bpe::new(Vocab::from_tokens(tokens).unwrap(), MergeOrder::List(Vec::new()), options).unwrap()
        };
        assert!(of(&["▁", "a"], Unit::Chars).space_as_mark().is_some());
        assert!(of(&["▁", "a"], Unit::Chars).without_specials(&[0]).unwrap().space_as_mark().is_none());
        assert!(of(&["a"], Unit::Chars).space_as_mark().is_none());
        assert!(of(&["▁", "a "], Unit::Chars).space_as_mark().is_none());
        assert!(of(&["▁", "a"], Unit::Bytes).space_as_mark().is_none());
        let options = BpeOptions { unit: Unit::Chars, user_defined: vec![1], ..BpeOptions::default() };
        let vocab = Vocab::from_tokens(["▁", "a"]).unwrap();
        assert!(
            Bpe::new(vocab, MergeOrder::Scores(vec![0.0; 2]), options).unwrap().space_as_mark().is_none()
        );
    }
}
