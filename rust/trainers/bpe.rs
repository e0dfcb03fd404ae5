//! `BpeTrainer`: from counted pieces to merges.
//!
//! Not a place for text: pieces come counted, from [`crate::WordCounts`].
//! The order of merges is one of three documented total orders ([`TieBreak`]);
//! the default gives what Hugging Face's `BpeTrainer` 0.23 gives, id for id.
//! The work is done by `pair_merging`.

mod replay;
mod sentencepiece;

use crate::error::Result;
use crate::progress::Progress;
use crate::text::byte_level;
use crate::trainers::pair_merging::by_count::ByCount;
pub use crate::trainers::pair_merging::by_count::TieBreak;
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::merger::Reuse;
use crate::trainers::pair_merging::symbols::{FirstSymbols, SymbolOptions};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, Start, by_weight};
pub use crate::trainers::pair_merging::{Merge, MergeStop, TrainedMerges, Unit};
use crate::vocab::TokenId;
pub use sentencepiece::{PieceKind, PieceOptions, ScoredTrained, SentencePieceBpeTrainer, TrainedPiece};

/// The options of training.
///
/// ```
/// use sentitok::trainers::bpe::{Alphabet, BpeTrainer};
/// use sentitok::Progress;
///
/// let mut trainer = BpeTrainer::default();
/// trainer.vocab_size = 4;
/// trainer.initial_alphabet = Alphabet::Seen;
/// let pieces = [(&b"aab"[..], 3), (&b"ab"[..], 2)];
/// let trained = trainer.train(pieces, &mut Progress::silent()).unwrap();
/// assert_eq!(trained.tokens[2].as_deref(), Some(&b"ab"[..]));
/// assert_eq!(trained.tokens[3].as_deref(), Some(&b"aab"[..]));
/// assert_eq!((trained.merges[0].left, trained.merges[0].right, trained.merges[0].count), (0, 1, 5));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BpeTrainer {
    /// The size of the vocabulary, special tokens included. Never exceeded.
    pub vocab_size: usize,
    /// The least count of a pair that is merged; 0 is the same as 1.
    pub min_frequency: u64,
    /// Tokens that get the first ids (with `extend`: the first after the base).
    pub special_tokens: Vec<String>,
    /// What a piece is made of before the first merge.
    pub unit: Unit,
    /// Symbols that are in the vocabulary whether the pieces hold them or not.
    pub initial_alphabet: Alphabet,
    /// The most symbols to begin with: the most frequent stay, of equal counts
    /// the lesser code points; those of `initial_alphabet` come first.
    pub limit_alphabet: Option<usize>,
    /// Pairs whose token would have at least this many symbols are not formed
    /// (pairs of two first symbols always may), as in Hugging Face's trainer.
    pub max_token_length: Option<usize>,
    /// Written before each symbol that does not begin its piece, and dropped
    /// from the right part of a merge: `##` in WordPiece.
    pub continuing_subword_prefix: Option<String>,
    /// Written after each symbol that ends its piece: `</w>`.
    pub end_of_word_suffix: Option<String>,
    /// With [`Unit::Chars`]: adds the 256 tokens `<0x00>` to `<0xFF>` after the
    /// special tokens. A character outside the alphabet then ends a run of
    /// symbols; without it the character is left out and its neighbours meet.
    pub byte_fallback: bool,
    /// Which of two pairs is merged first.
    pub tie_break: TieBreak,
    /// A vocabulary to continue from: its ids stay.
    pub extend: Option<Base>,
    /// Threads to count with; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for BpeTrainer {
    fn default() -> Self {
        Self {
            vocab_size: 30_000,
            min_frequency: 0,
            special_tokens: Vec::new(),
            unit: Unit::Bytes,
            initial_alphabet: Alphabet::ByteLevel,
            limit_alphabet: None,
            max_token_length: None,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            byte_fallback: false,
            tie_break: TieBreak::HuggingFace,
            extend: None,
            threads: None,
        }
    }
}

/// Symbols that are in the vocabulary whether the pieces hold them or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// None: only what the pieces hold.
    Seen,
    /// All 256 bytes; over characters, the 256 characters that represent bytes.
    ByteLevel,
    /// These characters; over bytes, each represents a byte ([`crate::text::byte_level`]).
    Chars(Vec<char>),
}

/// A trained vocabulary to continue from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The tokens by id; `None` for an id no merge can reach (a gap, or a
    /// special token that is not a byte string of the model).
    pub tokens: Vec<Option<Vec<u8>>>,
    /// Left, right and resulting id of each merge, in order of rank.
    pub merges: Vec<(TokenId, TokenId, TokenId)>,
    /// Special tokens with their ids.
    pub special_tokens: Vec<(String, TokenId)>,
}

impl BpeTrainer {
    /// Trains on distinct pieces with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`](crate::Error::VocabSize) when special tokens and alphabet do not fit;
    /// - [`Error::Option`](crate::Error::Option) for options or pieces that do not go together;
    /// - [`Error::CountOverflow`](crate::Error::CountOverflow) when a pair's count passes 2^64 - 1;
    /// - [`Error::Cancelled`](crate::Error::Cancelled) when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<TrainedMerges> {
        let pieces = by_weight(pieces)?;
        let affix = |option, text: &Option<String>| match text {
            None => Ok(Vec::new()),
            Some(text) => self.unit.affix(option, text),
        };
        let prefix = affix("continuing_subword_prefix", &self.continuing_subword_prefix)?;
        let suffix = affix("end_of_word_suffix", &self.end_of_word_suffix)?;
        let mut tokens = Tokens::new(self.unit, prefix.clone(), self.max_token_length);
        if let Some(base) = &self.extend {
            base.write(&mut tokens)?;
        }
        let options = SymbolOptions {
            unit: self.unit,
            special_tokens: &self.special_tokens,
            byte_fallback: self.byte_fallback,
            required: self.initial_alphabet.chars(),
            limit: self.limit_alphabet,
            prefix: &prefix,
            suffix: &suffix,
        };
        let symbols = FirstSymbols::new(options, &pieces, &mut tokens, progress)?;
        let limits = Limits::new(self.vocab_size, self.min_frequency, self.threads);
        // With a base, a vocabulary that gains nothing is a mistake.
        let adds_none = self.extend.as_ref().is_some_and(|base| base.tokens.len() == tokens.len());
        limits.check(tokens.len() + usize::from(adds_none))?;
        let layout = match &self.extend {
            None => SymbolLayout::new(&pieces, &symbols, progress)?,
            Some(base) => replay::replay(base, &pieces, &symbols, &mut tokens, progress)?,
        };
        drop(pieces);
        let is_literal = self.tie_break == TieBreak::HuggingFace && self.extend.is_none();
        let reuse = if is_literal { Reuse::Literal } else { Reuse::Merge };
        let start = Start { tokens, symbols, layout, limits };
        start.train(ByCount::new(self.tie_break), reuse, progress)
    }
}

impl Alphabet {
    /// The characters, over bytes those that represent them.
    fn chars(&self) -> Vec<char> {
        match self {
            Self::Seen => Vec::new(),
            Self::ByteLevel => byte_level::BYTE_TO_CHAR.to_vec(),
            Self::Chars(chars) => chars.clone(),
        }
    }
}

impl Base {
    /// Gives its tokens their ids.
    fn write(&self, tokens: &mut Tokens) -> Result<()> {
        for token in &self.tokens {
            tokens.push_base(token.as_deref())?;
        }
        for (text, id) in &self.special_tokens {
            tokens.name_special(text, *id)?;
        }
        Ok(())
    }
}
