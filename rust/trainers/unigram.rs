//! `UnigramTrainer`: trains pieces with log-probabilities from counted words, which
//! [`crate::WordCounts`] collects from text split by the Metaspace pre-tokenizer.
//!
//! The algorithm is SentencePiece's (0.2.3): start from many seeds, then alternately run EM and
//! drop the pieces whose loss costs least.
//!
//! The implementation differs. Words are cut where no piece may cross (`sentencepiece_rules`),
//! substrings are searched in the distinct segments that result (`seeds`), and each pass over the
//! corpus reads flat arrays (`lattices`). All sums are f64 in an order that does not depend on
//! threads (`blocks`), with a portable logarithm (`logarithm`), so the result has the same bytes on
//! every run and machine.
//!
//! Source: Kudo 2018, "Subword Regularization"; google/sentencepiece 0.2.3.

mod blocks;
mod expectation;
mod finish;
mod followers;
mod lattices;
mod logarithm;
mod model;
mod prune;
mod seeds;
mod single;

use std::path::Path;

use crate::corpus::word_counts::{LINE_END, WordCounts};
use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::sentencepiece_rules::characters::{Characters, CountedWords};
use crate::sentencepiece_rules::rules::Rules;
use crate::sentencepiece_rules::segments::{After, Segments};
pub use crate::sentencepiece_rules::{PieceOptions, TrainedPiece};
use crate::trainers::checkpoint::{Checkpoint, Options, SavedRound, piece_options};
pub use crate::vocab::PieceKind;
use crate::vocab::TokenId;

use lattices::{GONE, Lattices};
use model::Model;

/// The options of Unigram training. The defaults are SentencePiece's, except for
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
    /// The size of the vocabulary, including special and byte tokens. Never exceeded.
    pub vocab_size: usize,
    /// The alphabet, the rules for pieces, and the special pieces.
    pub pieces: PieceOptions,
    /// Which strings are seeds, and what a character without a piece costs.
    pub method: Method,
    /// The maximum number of seeds, in addition to the characters.
    pub seed_size: usize,
    /// The share of the pieces that a round keeps.
    pub shrinking_factor: f64,
    /// The number of EM steps per round.
    pub n_sub_iterations: usize,
    /// Whether a vocabulary smaller than `vocab_size` is an error.
    pub hard_vocab_limit: bool,
    /// The number of threads; the result is the same for any number.
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

/// Two ways to train. They differ where SentencePiece misses good pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// A seed is any string that different characters follow, or that ends a word. A character
    /// whose piece was dropped counts as a piece with count 0.
    #[default]
    Full,
    /// Exactly as SentencePiece 0.2.3. Its seeds are the inner nodes of a suffix tree of bytes, so
    /// they miss strings that are always followed by a space, or by letters with the same first
    /// byte. Characters without a piece are counted for the most frequent character. Its tree also
    /// sees where lines end: count words with
    /// [`line_ends`](crate::corpus::word_counts::CountOptions), or a tenth of the pieces differ.
    SentencePiece,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnigramStop {
    /// The vocabulary has the requested size.
    VocabFull,
    /// No further piece improves the model: the corpus is too small for this size.
    NoPieces {
        /// The number of seeds, including characters.
        seeds: usize,
    },
}

/// The result of Unigram training.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainedUnigram {
    /// The vocabulary by id: special tokens, byte tokens, then pieces by score, of equal scores by
    /// text.
    pub pieces: Vec<TrainedPiece>,
    /// Why training ended.
    pub stop: UnigramStop,
    /// The characters outside the alphabet with their counts, the most frequent first.
    pub dropped: Vec<(char, u64)>,
}

/// The state of a round.
struct Round {
    model: Model,
    /// The number of EM steps made.
    n_steps: usize,
    /// Whether its pruning gives the vocabulary.
    is_last: bool,
}

impl Round {
    /// The state that a checkpoint stores.
    fn saved(&self) -> SavedRound {
        SavedRound {
            seeds: self.model.remaining().to_vec(),
            scores: self.model.scores.iter().map(|score| score.to_bits()).collect(),
            n_steps: self.n_steps,
            is_last: self.is_last,
        }
    }

    /// Continues from a checkpoint. The model must hold all seeds.
    fn restore(&mut self, saved: SavedRound, lattices: &mut Lattices, threads: usize) -> Result<()> {
        let SavedRound { seeds, scores, n_steps, is_last } = saved;
        let is_seed = seeds.iter().all(|&seed| (seed as usize) < self.model.len());
        if !is_seed || seeds.len() != scores.len() {
            return Err(Error::format(
                "checkpoint",
                "its pieces are not among the seeds; delete the checkpoint",
            ));
        }
        let numbers = self.model.keep(&seeds);
        self.model.scores = scores.into_iter().map(f64::from_bits).collect();
        (self.n_steps, self.is_last) = (n_steps, is_last);
        lattices.renumber(threads, &numbers)
    }
}

impl UnigramTrainer {
    /// Trains on distinct words with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] if special tokens, bytes and alphabet do not fit;
    /// - [`Error::Option`] for options out of range, for words that are not UTF-8, and with
    ///   `hard_vocab_limit` for a size that cannot be reached;
    /// - [`Error::CountOverflow`] if the number of all characters exceeds 2^64 - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<TrainedUnigram> {
        self.run(pieces, None, progress)
    }

    /// A checkpoint of this training in the folder `dir`.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub fn checkpoint(&self, dir: &Path, resume: bool) -> Result<Checkpoint> {
        let Self {
            vocab_size,
            pieces,
            method,
            seed_size,
            shrinking_factor,
            n_sub_iterations,
            hard_vocab_limit,
            threads: _,
        } = self;
        let mut options: Options<'_> = vec![
            ("vocab_size", vocab_size),
            ("method", method),
            ("seed_size", seed_size),
            ("shrinking_factor", shrinking_factor),
            ("sub_iterations", n_sub_iterations),
            ("hard_vocab_limit", hard_vocab_limit),
        ];
        options.extend(piece_options(pieces));
        Checkpoint::open(dir, resume, "Unigram", &options)
    }

    /// Trains as [`UnigramTrainer::train`] does, and saves the pieces that remain to `checkpoint`,
    /// from which training continues if they were saved before. The seeds are found again.
    ///
    /// # Errors
    /// As [`UnigramTrainer::train`]; see [`Checkpoint`].
    pub fn train_resumable(
        &self,
        counts: &WordCounts,
        checkpoint: &mut Checkpoint,
        progress: &mut Progress,
    ) -> Result<TrainedUnigram> {
        checkpoint.begin(counts)?;
        self.run(counts.iter(), Some(checkpoint), progress)
    }

    fn run<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        mut checkpoint: Option<&mut Checkpoint>,
        progress: &mut Progress,
    ) -> Result<TrainedUnigram> {
        self.check()?;
        let threads = parallel::n_threads(self.threads);
        let rules = Rules::of(&self.pieces);
        let words = CountedWords::new(&self.pieces, pieces)?;
        // SentencePiece uses line ends as context, but not as a character of its alphabet.
        let uncounted = (self.method == Method::SentencePiece).then_some(LINE_END);
        let characters = Characters::of(&self.pieces, &words, uncounted, progress)?;
        self.pieces.check_size(self.vocab_size, characters.required.len())?;
        // If spaces end words, the next word may begin with any character.
        let any_next = self.pieces.treat_whitespace_as_suffix;
        let note = |before: Option<&_>, after| match after {
            After::Word if any_next => followers::MANY,
            after => self.method.note(before, after),
        };
        let segments = Segments::of(&words, &characters, &rules, note, progress)?;
        drop(words);
        let (model, mut lattices) = seeds::find(self, &characters, &rules, &segments, threads, progress)?;
        drop(segments);

        let seeds = model.len();
        // A pass needs four lists as long as the model, and two per thread.
        memory::check_room(seeds, size_of::<f64>() * (4 + 2 * threads))?;
        // Characters that are counted for the first piece, the most frequent character, in addition
        // to its own.
        let foreign: Option<u64> = match self.method {
            Method::Full => None,
            Method::SentencePiece => Some(characters.dropped.iter().map(|dropped| dropped.1).sum()),
        };
        // As in SentencePiece: prune to a tenth more, because the last cut is by score.
        let desired = self.vocab_size + self.vocab_size / 10;
        let total = seeds.saturating_sub(desired) as u64;
        let mut round = Round { model, n_steps: 0, is_last: false };
        if let Some(saved) = checkpoint.as_deref_mut().and_then(Checkpoint::take_round) {
            round.restore(saved, &mut lattices, threads)?;
        }
        loop {
            let done = seeds.saturating_sub(round.model.len().max(desired)) as u64;
            let mut tick = || progress.tick(Stage::Prune, done, total);
            match self.step(&mut round, &mut lattices, foreign, desired, threads, &mut tick) {
                Ok(false) => {
                    if let Some(checkpoint) =
                        checkpoint.as_deref_mut().filter(|checkpoint| checkpoint.is_due())
                    {
                        checkpoint.save_round(round.saved())?;
                    }
                }
                Ok(true) => break,
                Err(Error::Cancelled) => {
                    if let Some(checkpoint) = checkpoint {
                        checkpoint.save_round(round.saved())?;
                    }
                    return Err(Error::Cancelled);
                }
                Err(error) => return Err(error),
            }
        }
        progress.report(Stage::Prune, total, total)?;
        finish::finish(self, round.model, characters, seeds)
    }

    /// Makes the next step of a round: an EM step, or the pruning at its end. Returns whether no
    /// further round is needed.
    fn step(
        &self,
        round: &mut Round,
        lattices: &mut Lattices,
        foreign: Option<u64>,
        desired: usize,
        threads: usize,
        tick: &mut dyn FnMut() -> Result<()>,
    ) -> Result<bool> {
        let model = &mut round.model;
        let share = (self.shrinking_factor * model.len() as f64) as usize;
        if round.n_steps == self.n_sub_iterations {
            let kept = prune::keep(lattices, model, foreign, desired.max(share), threads, tick)?;
            let numbers = model.keep(&kept);
            round.n_steps = 0;
            if model.len() <= desired {
                return Ok(true);
            }
            lattices.renumber(threads, &numbers)?;
            return Ok(false);
        }
        if round.n_steps == 0 {
            round.is_last = share <= desired;
        }
        let expect = match self.method {
            Method::SentencePiece if round.is_last => single::expected,
            _ => expectation::expected,
        };
        let expected = expect(lattices, model, foreign, threads, tick)?;
        let numbers = model.estimate(&expected, self.method == Method::SentencePiece);
        round.n_steps += 1;
        if numbers.contains(&GONE) {
            lattices.renumber(threads, &numbers)?;
        }
        Ok(false)
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
