//! `MarkedWords`: how many tokens each word of a text becomes, told by the ids alone.
//!
//! SentencePiece's normalizer writes the words of most texts one behind the other, a `▁` in front of
//! each, whatever becomes of their characters. Where tokens are whole characters and hold a `▁` in front
//! alone, the tokens of a word are those from one that begins with `▁` to the next. Not for texts of which
//! a rule makes or unmakes spaces: their tokens are followed back (`spans`).

use super::Tokenizer;
use crate::models::Model;
use crate::models::bpe::Unit;
use crate::normalizer::{Normalizer, SentencePiece};
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::added_tokens::{AddedToken, Specials};
use crate::vocab::TokenId;

/// What stands in front of each word.
const MARK: &[u8] = "▁".as_bytes();

/// What a token is to the word it is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It goes on with a word.
    Inside,
    /// It begins one.
    First,
    /// It is a `▁` alone, in front of a word.
    Mark,
}

/// What is known of the tokens of words.
pub(crate) struct MarkedWords<'a> {
    normalizer: &'a SentencePiece,
    /// By id.
    places: Vec<Place>,
}

impl Tokenizer {
    /// What ids tell of words; `None` where that is nothing.
    pub(crate) fn marked_words(&self, specials: Specials<'_>) -> Option<MarkedWords<'_>> {
        let (Some(Normalizer::SentencePiece(normalizer)), PreTokenizer::Bytes) =
            (&self.pipeline.normalizer, &self.pipeline.pre_tokenizer)
        else {
            return None;
        };
        // What is found in the text is a word, or part of one, without a mark.
        let is_text = |token: &AddedToken| token.special && matches!(specials, Specials::None);
        let finds_tokens = !self.added.tokens().iter().all(is_text);
        // Tokens are whole characters, as they stand in the text.
        let are_text = match &*self.model {
            Model::Unigram(_) => true,
            Model::Bpe(bpe) => bpe.options().unit == Unit::Chars && !bpe.has_affixes(),
            Model::WordPiece(_) => false,
        };
        if !normalizer.marks_words() || !are_text || finds_tokens || self.model.dropout().is_some() {
            return None;
        }
        // A `▁` is a token, or begins one: it is never unknown, nor spelled in bytes.
        let vocab = self.model.vocab();
        let mark = vocab.id(MARK).filter(|&id| self.choices.barred_model().encode(MARK) == [id])?;
        let mut places = vec![Place::Inside; vocab.id_limit()];
        let marks = memchr::memmem::Finder::new(MARK);
        for (id, token) in vocab.iter() {
            let rest = token.strip_prefix(MARK);
            if marks.find(rest.unwrap_or(token)).is_some() {
                return None;
            }
            if rest.is_some() {
                places[id as usize] = Place::First;
            }
        }
        places[mark as usize] = Place::Mark;
        Some(MarkedWords { normalizer, places })
    }
}

impl MarkedWords<'_> {
    /// Whether the ids of a text tell how many are of each word.
    pub(crate) fn are_told(&self, text: &str) -> bool {
        self.normalizer.keeps_words(text)
    }

    /// How many of the ids that `ids` begins with touch the word that they are of; takes them away.
    #[inline]
    pub(crate) fn next(&self, ids: &mut &[TokenId]) -> u64 {
        let place = |id: TokenId| self.places.get(id as usize).copied().unwrap_or(Place::Inside);
        let Some((&first, rest)) = ids.split_first() else { return 0 };
        let n = rest.iter().take_while(|&&id| place(id) == Place::Inside).count();
        *ids = &rest[n..];
        n as u64 + u64::from(place(first) != Place::Mark)
    }
}
