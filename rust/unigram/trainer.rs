//! `UnigramTrainer`: from counted pieces of text to pieces with log-probabilities.
//!
//! Not a place for text: words come counted, from [`crate::WordCounts`], as the
//! Metaspace pre-tokenizer gives them. The plan is SentencePiece's (0.2.3): many
//! seeds, then in turn EM and dropping the pieces whose loss costs least.
//!
//! What differs is where the work is done. Words are cut where no piece may
//! cross (`segments`), substrings are sought in what is then distinct
//! (`seeds`), and each pass over the corpus reads flat arrays (`lattices`). All
//! sums are f64, in an order that does not depend on threads (`team`), with a
//! logarithm of our own (`logarithm`): the same bytes on every run and machine.
//!
//! Source: Kudo 2018, "Subword Regularization"; google/sentencepiece 0.2.3.

mod expectation;
mod finish;
mod lattices;
mod logarithm;
mod model;
mod prune;
pub(crate) mod rules;
mod seeds;
pub(crate) mod segments;
mod team;

pub use super::Kind;
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

use lattices::GONE;
use rules::Rules;
use segments::{Alphabet, Segments, Words};

/// The options of training. The defaults are SentencePiece's, but for
/// `hard_vocab_limit`.
///
/// ```
/// use sentitok::Progress;
/// use sentitok::unigram::trainer::UnigramTrainer;
///
/// let trainer = UnigramTrainer { vocab_size: 12, ..UnigramTrainer::default() };
/// let words = [("▁low".as_bytes(), 9), ("▁lower".as_bytes(), 5), ("▁slow".as_bytes(), 4)];
/// let trained = trainer.train(words, &mut Progress::silent()).unwrap();
/// let texts: Vec<&str> = trained.pieces.iter().map(|piece| piece.text.as_str()).collect();
/// assert_eq!(texts[..4], ["<unk>", "<s>", "</s>", "▁low"]);
/// assert_eq!(texts.len(), 12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UnigramTrainer {
    /// The size of the vocabulary, special and byte tokens included. Never exceeded.
    pub vocab_size: usize,
    /// Tokens that get the first ids. Their text, where it stands in a word, is
    /// no part of any other piece. At most one is [`Kind::Unknown`].
    pub special_tokens: Vec<(String, Kind)>,
    /// What counts as a seed, and what a character without a piece costs.
    pub method: Method,
    /// Adds the 256 tokens `<0x00>` to `<0xFF>` after the special tokens, for
    /// characters outside the alphabet.
    pub byte_fallback: bool,
    /// The share of all characters that the alphabet covers; rarer characters
    /// are left out. 1 keeps all.
    pub character_coverage: f64,
    /// Characters that are in the alphabet whatever their count.
    pub required_chars: Vec<char>,
    /// The most seeds, beside characters.
    pub seed_size: usize,
    /// What share of the pieces a round keeps.
    pub shrinking_factor: f64,
    /// Steps of EM in a round.
    pub n_sub_iterations: usize,
    /// The most characters of a piece.
    pub max_piece_length: usize,
    /// Whether a piece has characters of one script; Han and kana count as one.
    pub split_by_unicode_script: bool,
    /// Whether a digit counts as of a script of its own, that of punctuation.
    pub split_by_number: bool,
    /// Whether `▁` stands only at the start of a piece; if not, also inside.
    pub split_by_whitespace: bool,
    /// Whether a digit is always a piece of its own.
    pub split_digits: bool,
    /// Whether a vocabulary smaller than `vocab_size` is an error.
    pub hard_vocab_limit: bool,
    /// Threads to train with; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for UnigramTrainer {
    fn default() -> Self {
        let special = |text: &str, kind| (text.to_owned(), kind);
        Self {
            vocab_size: 8000,
            special_tokens: vec![
                special("<unk>", Kind::Unknown),
                special("<s>", Kind::Control),
                special("</s>", Kind::Control),
            ],
            method: Method::Full,
            byte_fallback: false,
            character_coverage: 0.9995,
            required_chars: Vec::new(),
            seed_size: 1_000_000,
            shrinking_factor: 0.75,
            n_sub_iterations: 2,
            max_piece_length: 16,
            split_by_unicode_script: true,
            split_by_number: true,
            split_by_whitespace: true,
            split_digits: false,
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
    /// that are no piece for the most frequent one. Its nodes also see where
    /// lines end: count with [`line_ends`](crate::word_counts::CountOptions), or
    /// a tenth of the pieces differs.
    SentencePiece,
}

/// One entry of the vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its text, with `▁` for a space.
    pub text: String,
    /// Its log-probability; 0 for all that is not [`Kind::Normal`].
    pub score: f64,
    /// What it is for.
    pub kind: Kind,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
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
pub struct Trained {
    /// The vocabulary by id: special tokens, byte tokens, then by score, of
    /// equal scores by text.
    pub pieces: Vec<Piece>,
    /// Why training ended.
    pub stop: Stop,
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
    ) -> Result<Trained> {
        self.check()?;
        let threads = parallel::n_threads(self.threads);
        let rules = Rules::of(self);
        let words = Words::new(self, pieces)?;
        let alphabet = Alphabet::of(self, &words, progress)?;
        let n_reserved = self.special_texts().count();
        let minimum = (n_reserved + alphabet.required.len()) as u64;
        if (self.vocab_size as u64) < minimum {
            return Err(Error::VocabSize { requested: self.vocab_size as u64, minimum });
        }
        let segments = Segments::of(self.method, &words, &alphabet, &rules, progress)?;
        drop(words);
        let (mut model, mut lattices) = seeds::find(self, &alphabet, &rules, &segments, threads, progress)?;
        drop(segments);

        let seeds = model.len();
        // What is counted for the first piece, the most frequent character, beside its own.
        let foreign: Option<u64> = match self.method {
            Method::Full => None,
            Method::SentencePiece => Some(alphabet.dropped.iter().map(|dropped| dropped.1).sum()),
        };
        // SentencePiece leaves a tenth for the last cut, which is by score.
        let desired = self.vocab_size + self.vocab_size / 10;
        let total = seeds.saturating_sub(desired) as u64;
        loop {
            let done = seeds.saturating_sub(model.len().max(desired)) as u64;
            let mut tick = || progress.tick(Stage::Prune, done, total);
            for _ in 0..self.n_sub_iterations {
                let expected = expectation::expected(&lattices, &model, foreign, threads, &mut tick)?;
                let numbers = model.estimate(&expected);
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
        finish::finish(self, model, alphabet, seeds)
    }

    /// The texts of special and byte tokens, by id.
    pub(crate) fn special_texts(&self) -> impl Iterator<Item = String> {
        let bytes = if self.byte_fallback { 0..256 } else { 0..0 };
        let specials = self.special_tokens.iter().map(|token| token.0.clone());
        specials.chain(bytes.map(|byte| format!("<0x{byte:02X}>")))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |option, value: String, reason: &str| {
            Err(Error::Option { option, value, reason: reason.to_owned() })
        };
        if !(self.character_coverage > 0.0 && self.character_coverage <= 1.0) {
            let value = self.character_coverage.to_string();
            return wrong("character_coverage", value, "a share is more than 0 and at most 1");
        }
        if !(self.shrinking_factor > 0.0 && self.shrinking_factor < 1.0) {
            let value = self.shrinking_factor.to_string();
            return wrong("shrinking_factor", value, "a share to keep is between 0 and 1; 0.75 is usual");
        }
        if self.n_sub_iterations == 0 {
            return wrong("n_sub_iterations", "0".to_owned(), "scores need at least 1 step; 2 is usual");
        }
        if !(1..=usize::from(u8::MAX)).contains(&self.max_piece_length) {
            let value = self.max_piece_length.to_string();
            return wrong("max_piece_length", value, "a piece has 1 to 255 characters; 16 is usual");
        }
        if self.vocab_size >= TokenId::MAX as usize / 2 {
            let value = self.vocab_size.to_string();
            return wrong("vocab_size", value, "ids end at 2^31; ask for a smaller vocabulary");
        }
        let mut texts = std::collections::BTreeSet::new();
        if let Some(twice) = self.special_texts().find(|text| text.is_empty() || !texts.insert(text.clone()))
        {
            return wrong("special_tokens", format!("{twice:?}"), "a token has a text, and only once");
        }
        if self.special_tokens.iter().filter(|token| token.1 == Kind::Unknown).count() > 1 {
            let value = "two of kind Unknown".to_owned();
            return wrong("special_tokens", value, "one token stands for what is unknown");
        }
        if let Some((text, kind)) =
            self.special_tokens.iter().find(|token| matches!(token.1, Kind::Normal | Kind::Byte))
        {
            let value = format!("{text:?} of kind {kind:?}");
            return wrong("special_tokens", value, "special tokens are Unknown, Control or UserDefined");
        }
        Ok(())
    }
}
