//! `BpeTrainer`: trains merges from counted pieces, which [`crate::WordCounts`] collects from text.
//!
//! Merges follow one of the documented total orders ([`TieBreak`]). The default gives the same
//! ids as Hugging Face's `BpeTrainer` 0.23. `pair_merging` does the work.

mod sentencepiece;

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::pipeline::hex;
use crate::progress::Progress;
use crate::text::byte_level;
use crate::trainers::checkpoint::{Checkpoint, OptionText, Options};
use crate::trainers::pair_merging::by_count::ByCount;
pub use crate::trainers::pair_merging::by_count::TieBreak;
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::merger::{Reuse, SavedMerges};
use crate::trainers::pair_merging::symbols::{FirstSymbols, SymbolOptions};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, Start, by_weight};
pub use crate::trainers::pair_merging::{Merge, MergeStop, TrainedMerges, Unit};
use crate::trainers::replay::{self, Replay};
use crate::vocab::TokenId;
pub use sentencepiece::{PieceKind, PieceOptions, ScoredTrained, SentencePieceBpeTrainer, TrainedPiece};

/// The options of BPE training.
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
    /// The size of the vocabulary, including special tokens. Never exceeded.
    pub vocab_size: usize,
    /// Pairs with a lower count are not merged; 0 means 1.
    pub min_frequency: u64,
    /// Tokens that get the first ids (with `extend`, the first after the base).
    pub special_tokens: Vec<String>,
    /// The units of a piece before the first merge: bytes or characters.
    pub unit: Unit,
    /// Symbols that are in the vocabulary even if no piece contains them.
    pub initial_alphabet: Alphabet,
    /// The maximum number of initial symbols. Symbols of `initial_alphabet` are kept first, then
    /// the most frequent; of equal counts the lower code point.
    pub limit_alphabet: Option<usize>,
    /// Only pairs whose token has fewer symbols than this are merged (two initial symbols always
    /// may be), as in Hugging Face's trainer.
    pub max_token_length: Option<usize>,
    /// Written before each symbol except the first of a piece, and dropped from the right part of a
    /// merge: `##` in WordPiece.
    pub continuing_subword_prefix: Option<String>,
    /// Written after the last symbol of a piece: `</w>`.
    pub end_of_word_suffix: Option<String>,
    /// With [`Unit::Chars`]: adds the 256 tokens `<0x00>` to `<0xFF>` after the special tokens. No
    /// pair then crosses a character outside the alphabet. Without this option such a character is
    /// left out, and its neighbours become adjacent.
    pub byte_fallback: bool,
    /// Which of two pairs with equal counts is merged first.
    pub tie_break: TieBreak,
    /// A vocabulary to extend. Its ids stay.
    pub extend: Option<Base>,
    /// The number of threads; the result is the same for any number.
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

/// Symbols that are in the vocabulary even if no piece contains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Only symbols that occur in pieces.
    Seen,
    /// All 256 bytes. With [`Unit::Chars`], the 256 characters that represent bytes.
    ByteLevel,
    /// These characters. With [`Unit::Bytes`], each represents a byte
    /// ([`crate::text::byte_level`]).
    Chars(Vec<char>),
}

/// A trained vocabulary to extend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The tokens by id. `None` for an id that no merge can produce: a gap, or a special token that
    /// is not a byte string of the model.
    pub tokens: Vec<Option<Vec<u8>>>,
    /// The left, right and resulting id of each merge, in order of rank.
    pub merges: Vec<(TokenId, TokenId, TokenId)>,
    /// Special tokens with their ids.
    pub special_tokens: Vec<(String, TokenId)>,
}

impl BpeTrainer {
    /// Trains on distinct pieces with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] if special tokens and alphabet do not fit;
    /// - [`Error::Option`] for invalid options or pieces, or options that
    ///   exclude each other;
    /// - [`Error::CountOverflow`] if the count of a pair exceeds 2^64
    ///   - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<TrainedMerges> {
        self.run(pieces, None, progress)
    }

    /// A checkpoint of this training in the folder `dir`.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub fn checkpoint(&self, dir: &Path, resume: bool) -> Result<Checkpoint> {
        self.checkpoint_of("BPE", &Options::new(), dir, resume)
    }

    /// A checkpoint of a training that begins with this one and has more options.
    pub(crate) fn checkpoint_of(
        &self,
        trainer: &str,
        more: &Options<'_>,
        dir: &Path,
        resume: bool,
    ) -> Result<Checkpoint> {
        let Self {
            vocab_size,
            min_frequency,
            special_tokens,
            unit,
            initial_alphabet,
            limit_alphabet,
            max_token_length,
            continuing_subword_prefix,
            end_of_word_suffix,
            byte_fallback,
            tie_break,
            extend,
            threads: _,
        } = self;
        let mut options: Options<'_> = vec![
            ("vocab_size", vocab_size),
            ("min_frequency", min_frequency),
            ("special_tokens", special_tokens),
            ("unit", unit),
            ("initial_alphabet", initial_alphabet),
            ("limit_alphabet", limit_alphabet),
            ("max_token_length", max_token_length),
            ("continuing_subword_prefix", continuing_subword_prefix),
            ("end_of_word_suffix", end_of_word_suffix),
            ("byte_fallback", byte_fallback),
            ("tie_break", tie_break),
            ("extend", extend),
        ];
        options.extend(more);
        Checkpoint::open(dir, resume, trainer, &options)
    }

    /// Trains as [`BpeTrainer::train`] does, and saves the merges made so far to `checkpoint`, from
    /// which training continues if they were saved before.
    ///
    /// # Errors
    /// As [`BpeTrainer::train`]; see [`Checkpoint`].
    pub fn train_resumable(
        &self,
        counts: &WordCounts,
        checkpoint: &mut Checkpoint,
        progress: &mut Progress,
    ) -> Result<TrainedMerges> {
        checkpoint.begin(counts)?;
        self.run(counts.iter(), Some(checkpoint), progress)
    }

    fn run<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        checkpoint: Option<&mut Checkpoint>,
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
        // A vocabulary that extends a base must have room for at least one more token.
        let adds_none = self.extend.as_ref().is_some_and(|base| base.tokens.len() == tokens.len());
        limits.check(tokens.len() + usize::from(adds_none))?;
        let is_literal = self.tie_break == TieBreak::HuggingFace && self.extend.is_none();
        let saved = SavedMerges::before(checkpoint, tokens.len());
        let layout = if self.extend.is_none() && saved.merges.is_empty() {
            SymbolLayout::new(&pieces, &symbols, progress)?
        } else {
            let mut replay = Replay::new(is_literal);
            if let Some(base) = &self.extend {
                base.check_ids()?;
                replay.add_stage(base.merges.iter().copied());
            }
            replay.add(&saved.merges);
            let (base, size) = (self.extend.is_some(), limits.vocab_size as u64);
            let done = (tokens.len() + saved.merges.len()) as u64;
            let written = replay::written(&pieces, &symbols);
            // Tokens of the base have the lengths with which they first occur.
            let seen = |stage, ids: &[TokenId], lens: &[u32], _| {
                if base && stage == 0 {
                    ids.iter().zip(lens).for_each(|(&id, &len)| tokens.set_length(id, len as usize));
                }
            };
            let layout = replay.layout(written, seen, (done, size), progress)?;
            replay::add_tokens(&mut tokens, &saved.merges)?;
            layout
        };
        drop(pieces);
        let reuse = if is_literal { Reuse::Literal } else { Reuse::Merge };
        let start = Start { tokens, symbols, layout, limits, saved };
        start.train(ByCount::new(self.tie_break), reuse, progress)
    }
}

impl Alphabet {
    /// The required characters. With [`Unit::Bytes`] they represent bytes.
    pub(crate) fn chars(&self) -> Vec<char> {
        match self {
            Self::Seen => Vec::new(),
            Self::ByteLevel => byte_level::BYTE_TO_CHAR.to_vec(),
            Self::Chars(chars) => chars.clone(),
        }
    }
}

impl Base {
    /// Refuses merges of ids that the base does not have.
    fn check_ids(&self) -> Result<()> {
        let unknown = |&id: &TokenId| id as usize >= self.tokens.len();
        match self.merges.iter().flat_map(|&(left, right, id)| [left, right, id]).find(unknown) {
            Some(id) => {
                Err(Error::UnknownId { id: id.into(), max: (self.tokens.len() as TokenId).saturating_sub(1) })
            }
            None => Ok(()),
        }
    }

    /// Adds the tokens and special tokens of the base with their ids.
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

/// A base is given as a file; a checkpoint tells one base from another by their hash.
impl OptionText for Base {
    fn option_text(&self) -> String {
        let hash = hex(&Sha256::digest(format!("{self:?}")));
        format!("a tokenizer of {} tokens (SHA-256 {hash})", self.tokens.len())
    }
}
