//! `UnigramTrainer`: from counted pieces of text to pieces with log-probabilities.
//!
//! Not a place for text: words come counted, from [`crate::WordCounts`], as the
//! Metaspace pre-tokenizer gives them. The plan is SentencePiece's (0.2.3): many
//! seeds, then in turn EM and dropping the pieces whose loss costs least.
//!
//! What differs is where the work is done. Words are cut where no piece may
//! cross (`sentencepiece_rules`), substrings are sought in what is then distinct
//! (`seeds`), and each pass over the corpus reads flat arrays (`lattices`). All
//! sums are f64, in an order that does not depend on threads (`team`), with a
//! logarithm of our own (`logarithm`): the same bytes on every run and machine.
//!
//! Source: Kudo 2018, "Subword Regularization"; google/sentencepiece 0.2.3.

mod expectation;
mod finish;
mod followers;
mod lattices;
mod logarithm;
mod model;
mod prune;
mod seeds;
mod single;
mod team;

use crate::corpus::word_counts::LINE_END;
use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::sentencepiece_rules::characters::{Characters, CountedWords};
use crate::sentencepiece_rules::rules::Rules;
use crate::sentencepiece_rules::segments::{After, Segments};
pub use crate::sentencepiece_rules::{PieceOptions, TrainedPiece};
pub use crate::vocab::PieceKind;
use crate::vocab::TokenId;

use lattices::GONE;

/// The options of training. The defaults are SentencePiece's, except for
/// `hard_vocab_limit`.
///
/// ```
/// use sentitok::Progress;
/// use sentitok::trainers::unigram::UnigramTrainer;
///
/// let mut trainer = UnigramTrainer::default();
/// trainer.vocab_size = 12;
/// let words = [("▁low".as_bytes(), 9), ("▁lower".as_bytes(), 5), ("▁slow".as_bytes(), 4)];
/// let trained = trainer.train(words, &mut Progress::silent()).unwrap();
/// let texts: Vec<&str> = trained.pieces.iter().map(|piece| piece.text.as_str()).collect();
/// assert_eq!(texts[..4], ["<unk>", "<s>", "</s>", "▁low"]);
/// assert_eq!(texts.len(), 12);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnigramTrainer {
    /// The size of the vocabulary, special and byte tokens included. Never exceeded.
    pub vocab_size: usize,
    /// What pieces are made of, and those that get the first ids.
    pub pieces: PieceOptions,
    /// What counts as a seed, and what a character without a piece costs.
    pub method: Method,
    /// The most seeds, beside characters.
    pub seed_size: usize,
    /// What share of the pieces a round keeps.
    pub shrinking_factor: f64,
    /// Steps of EM in a round.
    pub n_sub_iterations: usize,
    /// Whether a vocabulary smaller than `vocab_size` is an error.
    pub hard_vocab_limit: bool,
    /// Threads to train with; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for UnigramTrainer {
    fn default() -> Self {
        Self {
            vocab_size: 8000,
            pieces: PieceOptions::default(),
            method: Method::Full,
            seed_size: 1_000_000,
            shrinking_factor: 0.75,
            n_sub_iterations: 2,
            hard_vocab_limit: false,
            threads: None,
        }
    }
}

/// Two ways to train, which differ where SentencePiece forgoes good pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// A seed is any string that different characters follow, or that ends a
    /// word. A character whose piece was dropped counts as a piece of count 0.
    #[default]
    Full,
    /// What SentencePiece 0.2.3 does. Its seeds are the inner nodes of a suffix
    /// tree of bytes, so that strings always followed by a space, or by letters
    /// with the same first byte, are not among them; and it takes characters
    /// that are not a piece for the most frequent one. Its nodes also see where
    /// lines end: count with [`line_ends`](crate::corpus::word_counts::CountOptions), or
    /// a tenth of the pieces differs.
    SentencePiece,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnigramStop {
    /// The vocabulary has the size asked for.
    VocabFull,
    /// No further piece was worth its place: the corpus is small for this size.
    NoPieces {
        /// How many seeds there were, characters included.
        seeds: usize,
    },
}

/// What training gives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainedUnigram {
    /// The vocabulary by id: special tokens, byte tokens, then by score, of
    /// equal scores by text.
    pub pieces: Vec<TrainedPiece>,
    /// Why training ended.
    pub stop: UnigramStop,
    /// The characters left out of the alphabet, with counts, the most frequent first.
    pub dropped: Vec<(char, u64)>,
}

impl UnigramTrainer {
    /// Trains on distinct words with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] when special tokens, bytes and alphabet do not fit;
    /// - [`Error::Option`] for options out of range, for words that are not
    ///   UTF-8, and with `hard_vocab_limit` for a size that cannot be reached;
    /// - [`Error::CountOverflow`] when all characters are more than 2^64 - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<TrainedUnigram> {
        self.check()?;
        let threads = parallel::n_threads(self.threads);
        let rules = Rules::of(&self.pieces);
        let words = CountedWords::new(&self.pieces, pieces)?;
        // SentencePiece knows where lines end, but not as a character.
        let uncounted = (self.method == Method::SentencePiece).then_some(LINE_END);
        let characters = Characters::of(&self.pieces, &words, uncounted, progress)?;
        self.pieces.check_size(self.vocab_size, characters.required.len())?;
        // Where spaces end words, the next one may begin with anything.
        let any_next = self.pieces.treat_whitespace_as_suffix;
        let note = |before: Option<&_>, after| match after {
            After::Word if any_next => followers::MANY,
            after => self.method.note(before, after),
        };
        let segments = Segments::of(&words, &characters, &rules, note, progress)?;
        drop(words);
        let (mut model, mut lattices) = seeds::find(self, &characters, &rules, &segments, threads, progress)?;
        drop(segments);

        let seeds = model.len();
        // A pass has four lists as long as the model, and two on each thread.
        memory::check_room(seeds, size_of::<f64>() * (4 + 2 * threads))?;
        // What is counted for the first piece, the most frequent character, beside its own.
        let foreign: Option<u64> = match self.method {
            Method::Full => None,
            Method::SentencePiece => Some(characters.dropped.iter().map(|dropped| dropped.1).sum()),
        };
        // SentencePiece leaves a tenth for the last cut, which is by score.
        let desired = self.vocab_size + self.vocab_size / 10;
        let total = seeds.saturating_sub(desired) as u64;
        loop {
            let done = seeds.saturating_sub(model.len().max(desired)) as u64;
            let mut tick = || progress.tick(Stage::Prune, done, total);
            let is_last = (self.shrinking_factor * model.len() as f64) as usize <= desired;
            let expect = match self.method {
                Method::SentencePiece if is_last => single::expected,
                _ => expectation::expected,
            };
            for _ in 0..self.n_sub_iterations {
                let expected = expect(&lattices, &model, foreign, threads, &mut tick)?;
                let numbers = model.estimate(&expected, self.method == Method::SentencePiece);
                if numbers.contains(&GONE) {
                    lattices.renumber(threads, &numbers)?;
                }
            }
            let share = (self.shrinking_factor * model.len() as f64) as usize;
            let most = desired.max(share);
            let kept = prune::keep(&lattices, &model, foreign, most, threads, &mut tick)?;
            let numbers = model.keep(&kept);
            if model.len() <= desired {
                break;
            }
            lattices.renumber(threads, &numbers)?;
        }
        progress.report(Stage::Prune, total, total)?;
        finish::finish(self, model, characters, seeds)
    }

    fn check(&self) -> Result<()> {
        self.pieces.check(self.vocab_size)?;
        let wrong = |option, value: String, reason: &str| {
            Err(Error::Option { option, value, reason: reason.to_owned() })
        };
        if !(self.shrinking_factor > 0.0 && self.shrinking_factor < 1.0) {
            let value = self.shrinking_factor.to_string();
            return wrong("shrinking_factor", value, "a share to keep is between 0 and 1; 0.75 is usual");
        }
        if self.n_sub_iterations == 0 {
            return wrong("n_sub_iterations", "0".to_owned(), "scores need at least 1 step; 2 is usual");
        }
        if self.vocab_size >= TokenId::MAX as usize / 2 {
            let value = self.vocab_size.to_string();
            return wrong("vocab_size", value, "ids end at 2^31; ask for a smaller vocabulary");
        }
        Ok(())
    }
}
