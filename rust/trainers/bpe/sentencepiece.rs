//! `SentencePieceBpeTrainer`: pieces with scores, as SentencePiece trains BPE.
//!
//! What differs from [`super::BpeTrainer`]: the alphabet is what covers a share
//! of all characters, and what is outside cuts a word; a piece keeps the rules
//! of scripts, digits and spaces; a text that is a piece already is not made
//! again from other parts. The result has no list of merges: pieces have scores
//! 0, -1, -2, ..., and characters come after them, as in SentencePiece 0.2.3.
//!
//! Words are cut as for Unigram ([`crate::sentencepiece_rules`]), and merged by
//! the engine of the other trainer ([`crate::trainers::pair_merging`]).

use std::collections::BTreeMap;

use crate::corpus::word_counts::LINE_END;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::sentencepiece_rules::characters::{Characters, CountedWords};
use crate::sentencepiece_rules::rules::Rules;
use crate::sentencepiece_rules::segments::Segments;
pub use crate::sentencepiece_rules::{PieceOptions, TrainedPiece};
use crate::trainers::pair_merging::by_count::{ByCount, TieBreak};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, MergeStop, by_weight};
pub use crate::vocab::PieceKind;
use crate::vocab::TokenId;
use crate::{trainers::pair_merging::merger, trainers::pair_merging::merger::Reuse};

/// Scores are of 32 bits, which tell no more whole numbers apart.
const MAX_VOCAB: usize = 1 << 24;

/// The options of training. The defaults are SentencePiece's, but that a
/// vocabulary smaller than asked for is not an error.
///
/// ```
/// use sentitok::Progress;
/// use sentitok::trainers::bpe::SentencePieceBpeTrainer;
///
/// let mut trainer = SentencePieceBpeTrainer::default();
/// trainer.vocab_size = 10;
/// let words = [("▁low".as_bytes(), 9), ("▁lot".as_bytes(), 4)];
/// let trained = trainer.train(words, &mut Progress::silent()).unwrap();
/// let pieces: Vec<_> = trained.pieces.iter().map(|piece| (piece.text.as_str(), piece.score)).collect();
/// assert_eq!(pieces[3..6], [("lo", 0.0), ("▁lo", -1.0), ("l", -2.0)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SentencePieceBpeTrainer {
    /// The size of the vocabulary, special and byte tokens included. Never exceeded.
    pub vocab_size: usize,
    /// The least count of a pair that is merged; 0 is the same as 1.
    pub min_frequency: u64,
    /// What pieces are made of, and those that get the first ids.
    pub pieces: PieceOptions,
    /// Threads to count with; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for SentencePieceBpeTrainer {
    fn default() -> Self {
        Self { vocab_size: 8000, min_frequency: 0, pieces: PieceOptions::default(), threads: None }
    }
}

/// What training gives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoredTrained {
    /// The vocabulary by id: special tokens, byte tokens, pieces in order of
    /// their making, then characters, the most frequent first.
    pub pieces: Vec<TrainedPiece>,
    /// How many of them were made by merging.
    pub n_merges: usize,
    /// Why training ended.
    pub stop: MergeStop,
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
        self.pieces.check(self.vocab_size)?;
        if self.vocab_size > MAX_VOCAB {
            return Err(Error::Option {
                option: "vocab_size",
                value: self.vocab_size.to_string(),
                reason: format!("scores tell {MAX_VOCAB} pieces apart; ask for a smaller vocabulary"),
            });
        }
        let rules = Rules::of(&self.pieces);
        let words = CountedWords::new(&self.pieces, pieces)?;
        let characters = Characters::of(&self.pieces, &words, Some(LINE_END), progress)?;
        self.pieces.check_size(self.vocab_size, characters.required.len())?;
        let segments = Segments::of(&words, &characters, &rules, |_, _| (), progress)?;
        drop(words);

        let mut tokens = Tokens::by_rules(rules);
        let mut layout = lay_out(&segments, &characters, &mut tokens)?;
        drop(segments);
        let reserved: Vec<TrainedPiece> = self.pieces.reserved().collect();
        let limits = Limits::new(self.vocab_size - reserved.len(), self.min_frequency, self.threads);
        let order = ByCount::new(TieBreak::SentencePiece);
        let (merges, stop) = merger::run(order, &mut layout, &mut tokens, &limits, Reuse::Skip, progress)?;
        progress.report(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;

        let made = merges.iter().map(|merge| String::from_utf8_lossy(tokens.bytes(merge.id)).into_owned());
        let chars = characters.required.iter().map(|seen| seen.0.to_string());
        let normal = made.chain(chars).enumerate();
        let normal =
            normal.map(|(n, text)| TrainedPiece { text, score: -(n as f64), kind: PieceKind::Normal });
        let pieces = self.pieces.arranged(reserved.into_iter().chain(normal).collect())?;
        Ok(ScoredTrained { pieces, n_merges: merges.len(), stop, dropped: characters.dropped })
    }
}

/// Writes segments as characters; each gets an id.
fn lay_out(
    segments: &Segments<'_, ()>,
    characters: &Characters,
    tokens: &mut Tokens,
) -> Result<SymbolLayout> {
    let mut ids: BTreeMap<char, TokenId> = BTreeMap::new();
    for &(c, _) in &characters.required {
        let id = tokens.intern(c.to_string().as_bytes());
        tokens.set_length(id, 1);
        ids.insert(c, id);
    }
    let texts = segments.texts.iter().map(|text| text.as_bytes());
    let pieces = by_weight(texts.zip(segments.weights.iter().copied()))?;
    let mut layout = SymbolLayout::with_capacity(&pieces)?;
    let mut run = Vec::new();
    for &(piece, weight) in &pieces {
        run.extend(String::from_utf8_lossy(piece).chars().filter_map(|c| ids.get(&c).copied()));
        layout.push_run(&mut run, weight);
    }
    layout.check()
}
