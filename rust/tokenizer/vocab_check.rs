//! Mistakes in a vocabulary: tokens that no text can become.
//!
//! Not a judgement of quality, which needs text (`eval`); only what follows
//! from the model and the splitter.

use std::collections::HashSet;

use super::Tokenizer;
use crate::error::Result;
use crate::models::Model;
use crate::text::SPACE_MARK;
use crate::vocab::TokenId;

/// What [`Tokenizer::doctor`] finds; ids ascend in each list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Tokens that the model makes of no piece.
    pub unreachable: Vec<TokenId>,
    /// Tokens that the model can make, but whose text the normalizer changes
    /// or the splitter cuts.
    pub split: Vec<TokenId>,
    /// Tokens that are not whole characters: a byte-level model needs some.
    pub partial: Vec<TokenId>,
    /// Ids below the greatest that no token has.
    pub gaps: Vec<TokenId>,
}

impl Tokenizer {
    /// Looks for tokens that no text can become.
    ///
    /// Added tokens and the unknown token are left out: text does not make them.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] when a user's pattern hits its step limit.
    pub fn doctor(&self) -> Result<Diagnosis> {
        self.model.vocab().check_room()?;
        let added: HashSet<TokenId> = self.added.tokens().iter().map(|token| token.id).collect();
        let vocab = self.model.vocab();
        let mut found = Diagnosis {
            unreachable: self.unreachable(),
            gaps: (0..=self.max_id()).filter(|&id| self.id_to_bytes(id).is_none()).collect(),
            ..Diagnosis::default()
        };
        found.unreachable.extend(vocab.unreachable());
        found.unreachable.sort_unstable();
        found.unreachable.retain(|id| !added.contains(id));
        let unreachable: HashSet<TokenId> = found.unreachable.iter().copied().collect();
        for (id, bytes) in vocab.iter() {
            if added.contains(&id) || unreachable.contains(&id) || self.model.stands_for_nothing(id) {
                continue;
            }
            if std::str::from_utf8(bytes).is_err() {
                found.partial.push(id);
            } else if !self.is_in_a_piece(bytes)? {
                found.split.push(id);
            }
        }
        Ok(found)
    }

    /// Tokens that the model makes of no piece, whether special tokens in a text are text or not.
    fn unreachable(&self) -> Vec<TokenId> {
        let mut found = self.model.unreachable();
        // Where they are text, a token may win that otherwise loses to one of them.
        let without = self.policies.model_without_specials();
        if !std::ptr::eq(without, &*self.model) {
            let too: HashSet<TokenId> = without.unreachable().into_iter().collect();
            found.retain(|id| too.contains(id));
        }
        found
    }

    /// Whether some piece of the text that `token` represents holds all of it:
    /// alone, after a space, after a letter, or before one.
    fn is_in_a_piece(&self, token: &[u8]) -> Result<bool> {
        for token in self.model.spellings(token) {
            let text = String::from_utf8_lossy(token);
            // The mark of a space may stand for itself, where no stage replaces spaces.
            let with_space = text.contains(SPACE_MARK).then(|| text.replace(SPACE_MARK, " "));
            for text in with_space.as_deref().into_iter().chain([&*text]) {
                for (head, tail) in [("", ""), (" ", ""), ("a", ""), ("", "a"), ("a", "a")] {
                    let mut found = false;
                    self.pipeline.for_each_piece(&format!("{head}{text}{tail}"), |piece| {
                        // The search reads all of the token first, however short the piece.
                        found |= piece.len() >= token.len() && memchr::memmem::find(piece, token).is_some();
                        Ok(())
                    })?;
                    if found {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

impl Model {
    /// Tokens that this model makes of no piece, ids ascending.
    fn unreachable(&self) -> Vec<TokenId> {
        match self {
            Self::Bpe(model) => model.unreachable(),
            Self::WordPiece(model) => model.unreachable(),
            Self::Unigram(model) => model.unreachable(),
        }
    }

    /// How words spell the token: without a prefix, a suffix, or both, and as it is.
    fn spellings<'a>(&self, token: &'a [u8]) -> Vec<&'a [u8]> {
        let (prefix, suffix) = match self {
            Self::WordPiece(model) => (&*model.options().continuing_subword_prefix, ""),
            Self::Bpe(model) => {
                let options = model.options();
                let prefix = options.continuing_subword_prefix.as_deref();
                (prefix.unwrap_or(""), options.end_of_word_suffix.as_deref().unwrap_or(""))
            }
            Self::Unigram(_) => ("", ""),
        };
        let inner = token.strip_prefix(prefix.as_bytes()).unwrap_or(token);
        let without_suffix = |text: &'a [u8]| text.strip_suffix(suffix.as_bytes()).unwrap_or(text);
        let mut found = vec![without_suffix(inner), inner, without_suffix(token), token];
        found.dedup();
        found.retain(|text| !text.is_empty());
        found
    }

    /// Whether a token represents no text: the unknown token, a byte
    /// where bytes are a fallback.
    fn stands_for_nothing(&self, id: TokenId) -> bool {
        let unk = self.unk_token().and_then(|token| self.vocab().id(token.as_bytes()));
        unk == Some(id) || self.fallback_byte(id).is_some()
    }
}
