//! `WordPieceTrainer`: trains a WordPiece vocabulary from counted words.
//!
//! Merges pairs of symbols as byte-pair encoding does, but chooses the pair by a [`Score`].
//! `likelihood` is the WordPiece of Schuster and Nakajima (2012) as far as it is published: it
//! merges the pair that increases the likelihood of a unigram model of the corpus most. Google's
//! trainer was never released. `pmi` is the ratio that the Hugging Face course teaches. `frequency`
//! is what Hugging Face's `WordPieceTrainer` does: byte-pair encoding with a prefix.
//!
//! The encoder then cuts a word by longest match, which may differ from the merges. Order of ids:
//! special tokens, alphabet by code point, the alphabet with prefix, then the merges in order. The
//! result is the same for any number of threads.

mod by_score;
mod queue;
mod score;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::trainers::checkpoint::{Checkpoint, Options};
use crate::trainers::pair_merging::by_count::{ByCount, TieBreak};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::merger::{Reuse, SavedMerges};
use crate::trainers::pair_merging::symbols::{FirstSymbols, SymbolOptions};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, Start, Unit, by_weight};
pub use crate::trainers::pair_merging::{Merge, MergeStop, TrainedMerges};
use crate::trainers::replay::{self, Replay};
use crate::vocab::TokenId;
use by_score::ByScore;
use score::{Likelihood, Pmi};

/// How many pieces are processed between two checks for progress.
const TICK: usize = 1 << 12;

/// Which pair is merged first; of equal scores, the smaller pair of ids.
///
/// count(x) is how often a symbol or a pair of neighbours currently occurs in the corpus;
/// occurrences of a pair may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// The greatest count(ab) · log(count(ab) · N / (count(a) · count(b))), where N is the current
    /// number of all symbols. Pairs without a gain are not merged.
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
    /// The size of the vocabulary, including special tokens. Never exceeded.
    pub vocab_size: usize,
    /// Pairs with a lower count are not merged; 0 means 1.
    pub min_frequency: u64,
    /// Tokens that get the first ids.
    pub special_tokens: Vec<String>,
    /// Which pair is merged first. The default is `frequency`, because it cuts words of held-out
    /// text into the fewest tokens (`benches/wordpiece_scores.py`).
    pub score: Score,
    /// Characters that are in the vocabulary even if no word contains them.
    pub initial_alphabet: Vec<char>,
    /// The maximum number of initial characters. Characters of `initial_alphabet` are kept first,
    /// then the most frequent; of equal counts the lower code point. A character outside vanishes
    /// from its word, and its neighbours become adjacent.
    pub limit_alphabet: Option<usize>,
    /// The prefix of each token that does not begin a word.
    pub continuing_subword_prefix: String,
    /// Only pairs whose token has fewer characters than this, not counting the prefix, are merged
    /// (two single characters always may be).
    pub max_token_length: Option<usize>,
    /// The number of threads; the result is the same for any number.
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
    /// - [`Error::VocabSize`] if special tokens and alphabet do not fit;
    /// - [`Error::Option`] for a word that is not UTF-8;
    /// - [`Error::CountOverflow`] if a count exceeds 2^64 - 1;
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
        let Self {
            vocab_size,
            min_frequency,
            special_tokens,
            score,
            initial_alphabet,
            limit_alphabet,
            continuing_subword_prefix,
            max_token_length,
            threads: _,
        } = self;
        let options: Options<'_> = vec![
            ("vocab_size", vocab_size),
            ("min_frequency", min_frequency),
            ("special_tokens", special_tokens),
            ("score", score),
            ("initial_alphabet", initial_alphabet),
            ("limit_alphabet", limit_alphabet),
            ("continuing_subword_prefix", continuing_subword_prefix),
            ("max_token_length", max_token_length),
        ];
        Checkpoint::open(dir, resume, "WordPiece", &options)
    }

    /// Trains as [`WordPieceTrainer::train`] does, and saves the merges made so far to
    /// `checkpoint`, from which training continues if they were saved before.
    ///
    /// # Errors
    /// As [`WordPieceTrainer::train`]; see [`Checkpoint`].
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
        let saved = SavedMerges::before(checkpoint, tokens.len());
        let mut counts = match self.score {
            Score::Frequency => Vec::new(),
            Score::Likelihood | Score::Pmi => count_symbols(&symbols, tokens.len(), &pieces, progress)?,
        };
        let layout = if saved.merges.is_empty() {
            SymbolLayout::new(&pieces, &symbols, progress)?
        } else {
            replay::add_tokens(&mut tokens, &saved.merges)?;
            let mut replay = Replay::new(self.score == Score::Frequency);
            replay.add(&saved.merges);
            let written = replay::written(&pieces, &symbols);
            if self.score != Score::Frequency {
                counts = vec![0; tokens.len()];
            }
            let last = replay.n_stages() - 1;
            let seen = |stage, ids: &[TokenId], _: &[u32], weight| {
                if stage == last && !counts.is_empty() {
                    // Merging only lowers the total, which did not overflow.
                    ids.iter().for_each(|&id| counts[id as usize] += weight);
                }
            };
            replay.layout(written, seen, (tokens.len() as u64, limits.vocab_size as u64), progress)?
        };
        drop(pieces);
        let start = Start { tokens, symbols, layout, limits, saved };
        match self.score {
            Score::Frequency => start.train(ByCount::new(TieBreak::HuggingFace), Reuse::Literal, progress),
            Score::Likelihood => {
                start.train(ByScore::new(Likelihood::new(), &counts), Reuse::Merge, progress)
            }
            Score::Pmi => start.train(ByScore::new(Pmi, &counts), Reuse::Merge, progress),
        }
    }
}

/// How often each symbol occurs in the words, by id. Words of one symbol have no pair, but their
/// symbols are counted too.
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
                // No count exceeds the total, whose overflow is checked.
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
