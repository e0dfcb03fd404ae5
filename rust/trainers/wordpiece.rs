//! `WordPieceTrainer`: from counted words to a WordPiece vocabulary.
//!
//! Merges pairs of symbols as byte-pair encoding does, but chooses the pair by
//! a [`Score`]. `likelihood` is the WordPiece of Schuster and Nakajima (2012)
//! as far as it is published: the pair whose merge gains most for a unigram
//! model of the corpus. Google's own trainer was never released. `pmi` is the
//! ratio that the Hugging Face course teaches, `frequency` what their
//! `WordPieceTrainer` does: byte-pair encoding with a prefix.
//!
//! Not the encoder: a trained word is cut by longest match, which may cut it
//! otherwise than the merges did. Ids: special tokens, alphabet by code point,
//! the alphabet with prefix, then the merges in order. The result is the same
//! for any number of threads.

mod by_score;
mod queue;
mod score;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::trainers::pair_merging::by_count::{ByCount, TieBreak};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::merger::Reuse;
use crate::trainers::pair_merging::symbols::{FirstSymbols, SymbolOptions};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, Start, Unit, by_weight};
pub use crate::trainers::pair_merging::{Merge, MergeStop, TrainedMerges};
use by_score::ByScore;
use score::{Likelihood, Pmi};

/// Pieces between two looks at the clock.
const TICK: usize = 1 << 12;

/// Which pair is merged first; ties go to the smaller pair of ids.
///
/// count(x) is how often a symbol, or a pair of neighbours, stands in the
/// corpus at the time; places of a pair may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// The greatest count(ab) · log(count(ab) · N / (count(a) · count(b))), where
    /// N is the number of all symbols at the time. Pairs that gain nothing are
    /// not merged.
    Likelihood,
    /// The greatest count(ab) / (count(a) · count(b)). Prefers pairs of rare
    /// symbols: use a `min_frequency`.
    Pmi,
    /// The greatest count(ab), as in Hugging Face's `WordPieceTrainer`.
    Frequency,
}

impl Score {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Likelihood, "likelihood"), (Self::Pmi, "pmi"), (Self::Frequency, "frequency")];
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(score, _)| score == self).map_or("", |named| named.1);
        f.write_str(name)
    }
}

impl FromStr for Score {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::NAMES.iter().find(|named| named.1 == name).map(|named| named.0).ok_or_else(|| Error::Option {
            option: "score",
            value: format!("{name:?}"),
            reason: "it is 'likelihood', 'pmi' or 'frequency'".to_owned(),
        })
    }
}

/// The options of training.
///
/// ```
/// use sentitok::trainers::wordpiece::{Score, WordPieceTrainer};
/// use sentitok::Progress;
///
/// let mut trainer = WordPieceTrainer::default();
/// trainer.vocab_size = 6;
/// trainer.special_tokens = vec!["[UNK]".to_owned()];
/// let trained = trainer.train([(&b"aab"[..], 3), (&b"ab"[..], 2)], &mut Progress::silent()).unwrap();
/// let tokens: Vec<_> = trained.tokens.iter().flatten().map(|token| String::from_utf8_lossy(token)).collect();
/// assert_eq!(tokens, ["[UNK]", "a", "b", "##a", "##b", "aa"]);
/// assert_eq!("pmi".parse::<Score>().unwrap(), Score::Pmi);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WordPieceTrainer {
    /// The size of the vocabulary, special tokens included. Never exceeded.
    pub vocab_size: usize,
    /// The least count of a pair that is merged; 0 is the same as 1.
    pub min_frequency: u64,
    /// Tokens that get the first ids.
    pub special_tokens: Vec<String>,
    /// Which pair is merged first. By default `frequency`: on held-out text its
    /// words are cut into the fewest tokens (`benches/wordpiece_scores.py`).
    pub score: Score,
    /// Characters that are in the vocabulary whether the words hold them or not.
    pub initial_alphabet: Vec<char>,
    /// The most characters to begin with: the most frequent stay, of equal
    /// counts the lesser code points; those of `initial_alphabet` come first.
    /// A character left out vanishes from its word, and its neighbours meet.
    pub limit_alphabet: Option<usize>,
    /// What each token that does not begin a word begins with.
    pub continuing_subword_prefix: String,
    /// Pairs whose token would have at least this many characters are not
    /// formed, the prefix not counted (pairs of two characters always may).
    pub max_token_length: Option<usize>,
    /// Threads to count with; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for WordPieceTrainer {
    fn default() -> Self {
        Self {
            vocab_size: 30_000,
            min_frequency: 0,
            special_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned).to_vec(),
            score: Score::Frequency,
            initial_alphabet: Vec::new(),
            limit_alphabet: None,
            continuing_subword_prefix: "##".to_owned(),
            max_token_length: None,
            threads: None,
        }
    }
}

impl WordPieceTrainer {
    /// Trains on distinct words with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] when special tokens and alphabet do not fit;
    /// - [`Error::Option`] for a word that is not UTF-8;
    /// - [`Error::CountOverflow`] when a count passes 2^64 - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<TrainedMerges> {
        let pieces = by_weight(pieces)?;
        if let Some((word, _)) = pieces.iter().find(|(word, _)| std::str::from_utf8(word).is_err()) {
            return Err(Error::Option {
                option: "pieces",
                value: format!("{:?}", String::from_utf8_lossy(word)),
                reason:
                    "WordPiece is made of characters, and this is not UTF-8; replace invalid bytes while \
                         reading"
                        .to_owned(),
            });
        }
        let prefix = self.continuing_subword_prefix.as_bytes();
        let mut tokens = Tokens::new(Unit::Chars, prefix.to_vec(), self.max_token_length);
        let options = SymbolOptions {
            unit: Unit::Chars,
            special_tokens: &self.special_tokens,
            byte_fallback: false,
            required: self.initial_alphabet.clone(),
            limit: self.limit_alphabet,
            prefix,
            suffix: &[],
        };
        let symbols = FirstSymbols::new(options, &pieces, &mut tokens, progress)?;
        let limits = Limits::new(self.vocab_size, self.min_frequency, self.threads);
        limits.check(tokens.len())?;
        let counts = match self.score {
            Score::Frequency => Vec::new(),
            Score::Likelihood | Score::Pmi => count_symbols(&symbols, tokens.len(), &pieces, progress)?,
        };
        let layout = SymbolLayout::new(&pieces, &symbols, progress)?;
        drop(pieces);
        let start = Start { tokens, symbols, layout, limits };
        match self.score {
            Score::Frequency => start.train(ByCount::new(TieBreak::HuggingFace), Reuse::Literal, progress),
            Score::Likelihood => {
                start.train(ByScore::new(Likelihood::new(), &counts), Reuse::Merge, progress)
            }
            Score::Pmi => start.train(ByScore::new(Pmi, &counts), Reuse::Merge, progress),
        }
    }
}

/// How often each symbol stands in the words, by id. Words of one symbol have no
/// pair, but they are of the corpus too.
fn count_symbols(
    symbols: &FirstSymbols,
    n_tokens: usize,
    pieces: &[(&[u8], u64)],
    progress: &mut Progress,
) -> Result<Vec<u64>> {
    let mut counts = vec![0u64; n_tokens];
    let mut total = Some(0u64);
    for (at, &(piece, weight)) in pieces.iter().enumerate() {
        if at % TICK == 0 {
            progress.tick(Stage::Merge, 0, 0)?;
        }
        symbols.for_each(piece, |id| {
            if let Some(id) = id {
                // No count passes the total, which is checked.
                counts[id as usize] = counts[id as usize].wrapping_add(weight);
                total = total.and_then(|total| total.checked_add(weight));
            }
        })?;
    }
    match total {
        Some(_) => Ok(counts),
        None => Err(Error::CountOverflow { what: "all symbols".to_owned() }),
    }
}
