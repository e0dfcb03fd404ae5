//! `BpeTrainer`: from counted pieces to merges.
//!
//! Not a place for text: pieces come counted, from [`crate::WordCounts`].
//! The order of merges is one of three documented total orders ([`TieBreak`]);
//! the default gives what Hugging Face's `BpeTrainer` 0.23 gives, id for id.
//!
//! A merge costs what it touches: `window` knows where the frequent pairs are,
//! `merger` rewrites those places and nothing else. Symbols lie in one flat
//! array with fixed coordinates (`layout`), so long pieces cost no more per
//! byte than short ones. Counts are checked `u64`.

pub(crate) mod alphabet;
mod heap;
pub(crate) mod layout;
mod literal;
pub(crate) mod merger;
mod replay;
pub(crate) mod rewrite;
pub(crate) mod scan;
mod scored;
pub(crate) mod tokens;
mod window;

pub use super::Unit;
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;
pub use scored::{ScoredTrained, SentencePieceBpeTrainer};

use alphabet::Symbols;
use layout::Layout;
use merger::{End, Limits, Merger, Reuse};
use tokens::Tokens;

/// The options of training.
///
/// ```
/// use sentitok::bpe::trainer::{Alphabet, BpeTrainer};
/// use sentitok::Progress;
///
/// let trainer = BpeTrainer { vocab_size: 4, initial_alphabet: Alphabet::Seen, ..BpeTrainer::default() };
/// let pieces = [(&b"aab"[..], 3), (&b"ab"[..], 2)];
/// let trained = trainer.train(pieces, &mut Progress::silent()).unwrap();
/// assert_eq!(trained.tokens[2].as_deref(), Some(&b"ab"[..]));
/// assert_eq!(trained.tokens[3].as_deref(), Some(&b"aab"[..]));
/// assert_eq!((trained.merges[0].left, trained.merges[0].right, trained.merges[0].count), (0, 1, 5));
/// ```
#[derive(Clone, Debug, PartialEq)]
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
    /// A vocabulary to go on from: its ids stay.
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
    /// All 256 bytes; over characters, the 256 characters that stand for bytes.
    ByteLevel,
    /// These characters; over bytes, each stands for a byte ([`crate::byte_level`]).
    Chars(Vec<char>),
}

/// Which pair is merged first. All begin with the greatest count, and all
/// count each place where the pair stands: `aaa` holds `a a` twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// Then the smaller pair of ids, as in Hugging Face `tokenizers`.
    HuggingFace,
    /// Then the greater pair of byte strings, as in the CS336 reference.
    Bytes,
    /// Then fewer symbols, then the smaller string, as in SentencePiece.
    SentencePiece,
}

/// A trained vocabulary to go on from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The tokens by id; `None` for an id no merge can reach (a gap, or a
    /// special token that is no byte string of the model).
    pub tokens: Vec<Option<Vec<u8>>>,
    /// Left, right and resulting id of each merge, in order of rank.
    pub merges: Vec<(TokenId, TokenId, TokenId)>,
    /// Special tokens with their ids.
    pub special_tokens: Vec<(String, TokenId)>,
}

/// One merge, with the count its pair had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The left token.
    pub left: TokenId,
    /// The right token.
    pub right: TokenId,
    /// The token they become.
    pub id: TokenId,
    /// How often the pair stood in the corpus when it was merged.
    pub count: u64,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The vocabulary has the size asked for.
    VocabFull,
    /// No two symbols stand side by side any more that may be merged.
    NoPairs,
    /// The most frequent pair is rarer than `min_frequency`.
    BelowMinFrequency {
        /// Its count.
        count: u64,
    },
    /// No pair left makes the corpus more likely (`likelihood` of WordPiece).
    NoGain,
}

/// What training gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trained {
    /// The tokens by id. `None` only for a special token that no sequence of
    /// bytes can become: over bytes, one with a character that stands for no
    /// byte, such as a blank. (With `extend`, also for the base's gaps.)
    pub tokens: Vec<Option<Vec<u8>>>,
    /// Special tokens with their ids, those of the base first. Over bytes a
    /// special token spelled like a token's byte-level characters shares its id.
    pub special_tokens: Vec<(String, TokenId)>,
    /// The merges in order of rank, without those of the base.
    pub merges: Vec<Merge>,
    /// How many ids there were before the first merge.
    pub n_initial: usize,
    /// Why training ended.
    pub stop: Stop,
    /// What `limit_alphabet` left out, with counts, the most frequent first.
    pub dropped: Vec<(Vec<u8>, u64)>,
}

/// What training has before the first merge, whatever the score of a merge.
pub(crate) struct Start {
    pub(crate) tokens: Tokens,
    pub(crate) symbols: Symbols,
    pub(crate) limits: Limits,
}

/// Pieces that count, the most frequent first.
///
/// Positions then ascend while weights descend: a weight is found by a cursor
/// over the few distinct ones, not stored for each place.
pub(crate) fn by_weight<'a>(pieces: impl IntoIterator<Item = (&'a [u8], u64)>) -> Vec<(&'a [u8], u64)> {
    let mut pieces: Vec<(&[u8], u64)> = pieces.into_iter().filter(|piece| piece.1 > 0).collect();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.1));
    pieces
}

impl BpeTrainer {
    /// Trains on distinct pieces with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] when special tokens and alphabet do not fit;
    /// - [`Error::Option`] for options or pieces that do not go together;
    /// - [`Error::CountOverflow`] when a pair's count passes 2^64 - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<Trained> {
        let pieces = by_weight(pieces);
        let Start { mut tokens, symbols, limits } = self.start(&pieces, progress)?;
        let n_initial = tokens.len();
        let mut layout = match &self.extend {
            None => Layout::new(&pieces, &symbols, progress)?,
            Some(base) => replay::replay(base, &pieces, &symbols, &mut tokens, progress)?,
        };
        drop(pieces);
        let reuse_is_literal = self.tie_break == TieBreak::HuggingFace && self.extend.is_none();
        let reuse = if reuse_is_literal { Reuse::Stop } else { Reuse::Merge };
        let mut merger = Merger::new(&mut layout, &mut tokens, self.tie_break, limits);
        let (merges, stop) = match merger.run(reuse, progress)? {
            End::Stopped(stop) => (merger.into_merges(), stop),
            End::Reused => {
                let merges = merger.into_merges();
                layout.unmerge(&merges);
                tokens.truncate(n_initial);
                literal::train(&layout, &mut tokens, &limits, progress)?
            }
        };
        progress.report(Stage::Merge, tokens.len() as u64, self.vocab_size as u64)?;
        let (tokens, special_tokens) = tokens.into_parts();
        Ok(Trained { tokens, special_tokens, merges, n_initial, stop, dropped: symbols.into_dropped() })
    }

    /// Finds the alphabet of pieces and checks the options.
    pub(crate) fn start(&self, pieces: &[(&[u8], u64)], progress: &mut Progress) -> Result<Start> {
        let mut tokens = self.base_tokens()?;
        let symbols = Symbols::new(self, pieces, &mut tokens, progress)?;
        self.check_size(&tokens)?;
        let limits = Limits {
            vocab_size: self.vocab_size,
            min_frequency: self.min_frequency.max(1),
            max_token_length: self.max_token_length.unwrap_or(usize::MAX),
            threads: parallel::n_threads(self.threads),
        };
        Ok(Start { tokens, symbols, limits })
    }

    /// The vocabulary before the alphabet: the base's tokens, if there is one.
    fn base_tokens(&self) -> Result<Tokens> {
        let prefix = match (&self.continuing_subword_prefix, self.unit) {
            (None, _) => Vec::new(),
            (Some(prefix), unit) => unit.affix("continuing_subword_prefix", prefix)?,
        };
        let mut tokens = Tokens::new(self.unit, prefix, self.max_token_length.unwrap_or(usize::MAX));
        if let Some(base) = &self.extend {
            for token in &base.tokens {
                tokens.push_base(token.as_deref())?;
            }
            for (text, id) in &base.special_tokens {
                tokens.name_special(text, *id)?;
            }
        }
        Ok(tokens)
    }

    fn check_size(&self, tokens: &Tokens) -> Result<()> {
        // With a base, a vocabulary that gains nothing is a mistake.
        let least = match &self.extend {
            Some(base) if base.tokens.len() == tokens.len() => tokens.len() + 1,
            _ => tokens.len(),
        };
        if self.vocab_size < least {
            return Err(Error::VocabSize { requested: self.vocab_size as u64, minimum: least as u64 });
        }
        if self.vocab_size > layout::MAX_ID as usize {
            return Err(Error::Option {
                option: "vocab_size",
                value: self.vocab_size.to_string(),
                reason: format!("ids end at {}; ask for a smaller vocabulary", layout::MAX_ID),
            });
        }
        Ok(())
    }
}
