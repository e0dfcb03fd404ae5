//! `SentencePieceBpeTrainer`: pieces with scores, as SentencePiece trains BPE.
//!
//! What differs from [`super::BpeTrainer`]: the alphabet is what covers a share
//! of all characters, and what is outside cuts a word; a piece keeps the rules
//! of scripts, digits and spaces; a text that is a piece already is not made
//! again from other parts. The result has no list of merges: pieces have scores
//! 0, -1, -2, ..., and characters come after them, as in SentencePiece 0.2.3.
//!
//! Words are cut as for Unigram (`unigram::trainer::segments`), and merged by
//! the loop of the other trainer.

use std::collections::BTreeMap;

use super::layout::Layout;
use super::merger::{End, Limits, Merger, Reuse};
use super::tokens::Tokens;
use super::{Stop, TieBreak, by_weight};
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::unigram::Kind;
use crate::unigram::trainer::rules::Rules;
use crate::unigram::trainer::segments::{Alphabet, Segments, Words};
use crate::unigram::trainer::{Method, Piece, UnigramTrainer};
use crate::vocab::TokenId;

/// Scores are of 32 bits, which tell no more whole numbers apart.
const MAX_VOCAB: usize = 1 << 24;

/// The options of training. The defaults are SentencePiece's, but that a
/// vocabulary smaller than asked for is no error.
///
/// ```
/// use sentitok::Progress;
/// use sentitok::bpe::trainer::SentencePieceBpeTrainer;
///
/// let trainer = SentencePieceBpeTrainer { vocab_size: 10, ..SentencePieceBpeTrainer::default() };
/// let words = [("▁low".as_bytes(), 9), ("▁lot".as_bytes(), 4)];
/// let trained = trainer.train(words, &mut Progress::silent()).unwrap();
/// let pieces: Vec<_> = trained.pieces.iter().map(|piece| (piece.text.as_str(), piece.score)).collect();
/// assert_eq!(pieces[3..6], [("lo", 0.0), ("▁lo", -1.0), ("l", -2.0)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SentencePieceBpeTrainer {
    /// The size of the vocabulary, special and byte tokens included. Never exceeded.
    pub vocab_size: usize,
    /// The least count of a pair that is merged; 0 is the same as 1.
    pub min_frequency: u64,
    /// Tokens that get the first ids. Their text, where it stands in a word, is
    /// no part of any other piece. At most one is [`Kind::Unknown`].
    pub special_tokens: Vec<(String, Kind)>,
    /// Adds the 256 tokens `<0x00>` to `<0xFF>` after the special tokens, for
    /// characters outside the alphabet.
    pub byte_fallback: bool,
    /// The share of all characters that the alphabet covers; rarer characters
    /// are left out. 1 keeps all.
    pub character_coverage: f64,
    /// Characters that are in the alphabet whatever their count.
    pub required_chars: Vec<char>,
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
    /// Threads to count with; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for SentencePieceBpeTrainer {
    fn default() -> Self {
        let UnigramTrainer {
            vocab_size,
            special_tokens,
            byte_fallback,
            character_coverage,
            required_chars,
            max_piece_length,
            split_by_unicode_script,
            split_by_number,
            split_by_whitespace,
            split_digits,
            threads,
            ..
        } = UnigramTrainer::default();
        Self {
            vocab_size,
            min_frequency: 0,
            special_tokens,
            byte_fallback,
            character_coverage,
            required_chars,
            max_piece_length,
            split_by_unicode_script,
            split_by_number,
            split_by_whitespace,
            split_digits,
            threads,
        }
    }
}

/// What training gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredTrained {
    /// The vocabulary by id: special tokens, byte tokens, pieces in order of
    /// their making, then characters, the most frequent first.
    pub pieces: Vec<Piece>,
    /// How many of them were made by merging.
    pub n_merges: usize,
    /// Why training ended.
    pub stop: Stop,
    /// The characters left out of the alphabet, with counts, the most frequent first.
    pub dropped: Vec<(char, u64)>,
}

impl SentencePieceBpeTrainer {
    /// Trains on distinct words with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] when special tokens, bytes and alphabet do not fit;
    /// - [`Error::Option`] for options out of range, and for words that are not
    ///   UTF-8;
    /// - [`Error::CountOverflow`] when a count passes 2^64 - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<ScoredTrained> {
        let shared = self.shared();
        shared.check()?;
        if self.vocab_size > MAX_VOCAB {
            return Err(Error::Option {
                option: "vocab_size",
                value: self.vocab_size.to_string(),
                reason: format!("scores tell {MAX_VOCAB} pieces apart; ask for a smaller vocabulary"),
            });
        }
        let rules = Rules::of(&shared);
        let words = Words::new(&shared, pieces)?;
        let alphabet = Alphabet::of(&shared, &words, progress)?;
        let reserved = reserved(&shared);
        let minimum = reserved.len() + alphabet.required.len();
        if self.vocab_size < minimum {
            return Err(Error::VocabSize { requested: self.vocab_size as u64, minimum: minimum as u64 });
        }
        let segments = Segments::of(Method::Full, &words, &alphabet, &rules, progress)?;
        drop(words);

        let mut tokens = Tokens::by_rules(rules);
        let mut layout = lay_out(&segments, &alphabet, &mut tokens)?;
        let limits = Limits {
            vocab_size: self.vocab_size - reserved.len(),
            min_frequency: self.min_frequency.max(1),
            max_token_length: usize::MAX,
            threads: parallel::n_threads(self.threads),
        };
        let mut merger = Merger::new(&mut layout, &mut tokens, TieBreak::SentencePiece, limits);
        let End::Stopped(stop) = merger.run(Reuse::Skip, progress)? else {
            return Err(Error::Internal("a trainer that skips what is made twice stopped there".to_owned()));
        };
        let merges = merger.into_merges();
        progress.report(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;

        let made = merges.iter().map(|merge| String::from_utf8_lossy(tokens.bytes(merge.id)).into_owned());
        let chars = alphabet.required.iter().map(|seen| seen.0.to_string());
        let normal = made.chain(chars).enumerate();
        let normal = normal.map(|(n, text)| Piece { text, score: -(n as f64), kind: Kind::Normal });
        let pieces = reserved.into_iter().chain(normal).collect();
        Ok(ScoredTrained { pieces, n_merges: merges.len(), stop, dropped: alphabet.dropped })
    }

    /// What the Unigram trainer has of the same names.
    fn shared(&self) -> UnigramTrainer {
        UnigramTrainer {
            method: Method::SentencePiece,
            vocab_size: self.vocab_size,
            special_tokens: self.special_tokens.clone(),
            byte_fallback: self.byte_fallback,
            character_coverage: self.character_coverage,
            required_chars: self.required_chars.clone(),
            max_piece_length: self.max_piece_length,
            split_by_unicode_script: self.split_by_unicode_script,
            split_by_number: self.split_by_number,
            split_by_whitespace: self.split_by_whitespace,
            split_digits: self.split_digits,
            ..UnigramTrainer::default()
        }
    }
}

/// The pieces before those that are learnt.
fn reserved(options: &UnigramTrainer) -> Vec<Piece> {
    let kinds = options.special_tokens.iter().map(|token| token.1).chain(std::iter::repeat(Kind::Byte));
    let texts = options.special_texts().zip(kinds);
    texts.map(|(text, kind)| Piece { text, score: 0.0, kind }).collect()
}

/// Writes segments as characters; each gets an id.
fn lay_out(segments: &Segments<'_>, alphabet: &Alphabet, tokens: &mut Tokens) -> Result<Layout> {
    let mut ids: BTreeMap<char, TokenId> = BTreeMap::new();
    for &(c, _) in &alphabet.required {
        let id = tokens.intern(c.to_string().as_bytes());
        tokens.set_length(id, 1);
        ids.insert(c, id);
    }
    let texts = segments.texts.iter().map(|text| text.as_bytes());
    let pieces = by_weight(texts.zip(segments.weights.iter().copied()));
    let mut layout = Layout::with_capacity(&pieces);
    let mut run = Vec::new();
    for &(piece, weight) in &pieces {
        run.extend(String::from_utf8_lossy(piece).chars().filter_map(|c| ids.get(&c).copied()));
        layout.push_run(&mut run, weight);
    }
    layout.check()
}
