//! `WordPiece`: longest match first in one word, exactly as BERT's tokenizers do.
//!
//! A word is cut from its start into the longest tokens there are; all but the
//! first carry a prefix in the vocabulary (`##`). A word that cannot be cut to
//! its end, or has too many characters, is the unknown token as a whole.
//!
//! The model sees words, not texts; for BERT it also takes words that are not cleaned up yet, and the caller
//! brings what cleans them (`raw_words`). Sources: Devlin et al. 2019; huggingface/tokenizers 0.23; the search
//! is in `trie`.

mod raw_words;
mod trie;
mod worker;

use std::fmt;

pub(crate) use raw_words::{Cleaner, is_ideograph};
use trie::Trie;
pub(crate) use worker::Scratch;
pub use worker::Worker;

use crate::error::{Error, Result};
use crate::token_lengths::{TokenLengths, Unknown};
use crate::vocab::{TokenId, Vocab};

/// Options of a model in addition to its tokens. The defaults are BERT's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WordPieceOptions {
    /// The token of words that no other tokens make up.
    pub unk_token: String,
    /// The prefix of tokens that continue a word; any text, or none.
    pub continuing_subword_prefix: String,
    /// The most characters of a word that is not unknown.
    pub max_input_chars_per_word: usize,
    /// Whether tokens are whole words alone, so that none continues a word: Hugging
    /// Face's `WordLevel`.
    pub whole_words: bool,
}

impl WordPieceOptions {
    /// The options of `WordLevel`: a word is a token, or unknown, however long.
    pub fn whole_words(unk_token: impl Into<String>) -> Self {
        Self {
            unk_token: unk_token.into(),
            continuing_subword_prefix: String::new(),
            max_input_chars_per_word: usize::MAX,
            whole_words: true,
        }
    }

    /// The prefix of tokens that continue a word; no token begins with a byte that is
    /// in no character.
    fn prefix(&self) -> &[u8] {
        if self.whole_words { b"\xFF" } else { self.continuing_subword_prefix.as_bytes() }
    }
}

impl Default for WordPieceOptions {
    fn default() -> Self {
        Self {
            unk_token: "[UNK]".into(),
            continuing_subword_prefix: "##".into(),
            max_input_chars_per_word: 100,
            whole_words: false,
        }
    }
}

/// A WordPiece model.
///
/// ```
/// use sentitok::{Vocab, models::wordpiece::{WordPiece, WordPieceOptions}};
/// let vocab = Vocab::from_tokens(["[UNK]", "un", "##aff", "##able"]).unwrap();
/// let model = WordPiece::new(vocab, WordPieceOptions::default()).unwrap();
/// assert_eq!(model.encode(b"unaffable"), [1, 2, 3]);
/// assert_eq!(model.encode(b"unfair"), [0]);
/// ```
pub struct WordPiece {
    vocab: Vocab,
    options: WordPieceOptions,
    /// `None` if the unknown token is not in the vocabulary: then no word may be unknown.
    unk_id: Option<TokenId>,
    trie: Trie,
    /// The token of each character from U+4000 to U+9FFF as a separate word.
    ideographs: Box<[TokenId]>,
    /// Tokens that no word equals: special tokens, ids ascending.
    excluded: Vec<TokenId>,
}

const N_IDEOGRAPHS: usize = 0xA000 - 0x4000;

/// Where in [`WordPiece::ideographs`] a word is that is one character of it.
#[inline(always)]
fn ideograph(word: &[u8]) -> Option<usize> {
    match *word {
        [a @ 0xE4..=0xE9, b, c] => {
            let low = |byte: u8| usize::from(byte & 0x3F);
            Some((usize::from(a & 0x0F) << 12 | low(b) << 6 | low(c)) - 0x4000)
        }
        _ => None,
    }
}

impl fmt::Debug for WordPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordPiece")
            .field("vocab_size", &self.vocab.len())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl WordPiece {
    /// Makes a model of a vocabulary and options.
    ///
    /// # Errors
    /// [`Error::Format`] for a token that is not UTF-8, or more than 1 GiB of tokens.
    pub fn new(vocab: Vocab, options: WordPieceOptions) -> Result<Self> {
        Self::excluding(vocab, options, Vec::new())
    }

    /// This model, in which no word becomes one of `specials` (ids ascending) by
    /// being its text; `None` if it is so already.
    ///
    /// # Errors
    /// As [`WordPiece::new`], which took the same before: only for want of memory.
    pub(crate) fn without_specials(&self, specials: &[TokenId]) -> Result<Option<Self>> {
        if self.excluded == specials {
            return Ok(None);
        }
        Self::excluding(self.vocab.clone(), self.options.clone(), specials.to_vec()).map(Some)
    }

    fn excluding(vocab: Vocab, options: WordPieceOptions, excluded: Vec<TokenId>) -> Result<Self> {
        let unk_id = vocab.id(options.unk_token.as_bytes());
        let mut n_bytes = 0;
        for (id, bytes) in vocab.iter() {
            n_bytes += bytes.len();
            // Matches then end between characters, because tokens do.
            if std::str::from_utf8(bytes).is_err() {
                return Err(Error::format("$.model.vocab", format!("token {id} is not UTF-8: {bytes:?}")));
            }
        }
        if n_bytes > 1 << 30 {
            return Err(Error::format(
                "$.model.vocab",
                format!("{n_bytes} bytes of tokens; at most {} are taken", 1 << 30),
            ));
        }
        let trie = Trie::new(&vocab, options.prefix(), &excluded);
        let mut ideographs = vec![unk_id.unwrap_or(TokenId::MAX); N_IDEOGRAPHS].into_boxed_slice();
        for (id, token) in vocab.iter().filter(|(id, _)| excluded.binary_search(id).is_err()) {
            if let Some(at) = ideograph(token).filter(|_| options.max_input_chars_per_word > 0) {
                ideographs[at] = id;
            }
        }
        Ok(Self { vocab, options, unk_id, trie, ideographs, excluded })
    }

    /// The tokens.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The options.
    pub fn options(&self) -> &WordPieceOptions {
        &self.options
    }

    /// The id of the unknown token; `None` if it is not in the vocabulary, so that no word may be
    /// unknown.
    pub fn unk_id(&self) -> Option<TokenId> {
        self.unk_id
    }

    /// Whether the tokens make up a word.
    pub(crate) fn knows(&self, piece: &[u8]) -> bool {
        piece.is_empty() || self.has_few_chars(piece) && self.trie.encode(piece, &mut Vec::new())
    }

    /// Tokens with more characters than a word may have, ids ascending. Every
    /// other is the longest match in the word that is its text.
    pub fn unreachable(&self) -> Vec<TokenId> {
        let prefix = self.options.continuing_subword_prefix.as_bytes();
        let max = self.options.max_input_chars_per_word;
        let n_chars = |text: &[u8]| String::from_utf8_lossy(text).chars().count();
        let is_too_long = |token: &[u8]| {
            // After at least one other character, the prefix is not text.
            let inside = token.strip_prefix(prefix).map_or(usize::MAX, |rest| n_chars(rest) + 1);
            token.is_empty() || n_chars(token).min(inside) > max
        };
        let others = self.vocab.iter().filter(|(id, _)| Some(*id) != self.unk_id);
        others.filter(|(_, token)| is_too_long(token)).map(|(id, _)| id).collect()
    }

    /// Encodes one word without a cache: the reference implementation of every fast path.
    /// Bytes that are not UTF-8 are unknown.
    pub fn encode(&self, piece: &[u8]) -> Vec<TokenId> {
        let mut ids = Vec::new();
        self.push_ids(piece, &mut ids);
        ids
    }

    /// Appends the ids of a word; whether it is known.
    fn push_ids(&self, piece: &[u8], ids: &mut Vec<TokenId>) -> bool {
        if piece.is_empty() {
            return true;
        }
        let known = self.has_few_chars(piece) && self.trie.encode(piece, ids);
        if !known {
            ids.extend(self.unk_id);
        }
        known
    }

    /// How far ids reach.
    pub(crate) fn token_lengths(&self) -> TokenLengths {
        let prefix = self.options.continuing_subword_prefix.len();
        let mut token_lengths = TokenLengths::new(&self.vocab);
        if let Some(unk) = self.unk_id {
            token_lengths = token_lengths.with_unknown(unk, Unknown::Piece, &self.vocab);
        }
        token_lengths.with_prefix(prefix)
    }

    fn has_few_chars(&self, piece: &[u8]) -> bool {
        let max = self.options.max_input_chars_per_word;
        piece.len() <= max || std::str::from_utf8(piece).is_ok_and(|text| text.chars().count() <= max)
    }
}
