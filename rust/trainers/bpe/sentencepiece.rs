//! `SentencePieceBpeTrainer`: trains BPE as SentencePiece does, with scores.
//!
//! Unlike in [`super::BpeTrainer`], the alphabet covers a given share of all characters, and a
//! character outside it cuts a word; pieces keep the rules for scripts, digits and spaces; and a
//! piece is not formed again from other parts. The result has no list of merges: pieces have the
//! scores 0, -1, -2, ..., and characters come after them, as in SentencePiece 0.2.3.
//!
//! Words are cut as for Unigram ([`crate::sentencepiece_rules`]) and merged by the shared engine
//! ([`crate::trainers::pair_merging`]).

use std::collections::BTreeMap;
use std::path::Path;

use crate::corpus::word_counts::{LINE_END, WordCounts};
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::sentencepiece_rules::characters::{Characters, CountedWords};
use crate::sentencepiece_rules::rules::Rules;
use crate::sentencepiece_rules::segments::Segments;
pub use crate::sentencepiece_rules::{PieceOptions, TrainedPiece};
use crate::trainers::checkpoint::{Checkpoint, Options, piece_options};
use crate::trainers::pair_merging::by_count::{ByCount, TieBreak};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::merger::{self, Reuse, SavedMerges};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::{Limits, Merge, MergeStop, by_weight};
use crate::trainers::replay::{self, Replay, Written};
pub use crate::vocab::PieceKind;
use crate::vocab::TokenId;

/// Scores have 32 bits, which represent no more whole numbers exactly.
const MAX_VOCAB: usize = 1 << 24;

/// The options of SentencePiece BPE training. The defaults are SentencePiece's, except that a
/// vocabulary smaller than requested is allowed.
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
    /// The size of the vocabulary, including special and byte tokens. Never exceeded.
    pub vocab_size: usize,
    /// Pairs with a lower count are not merged; 0 means 1.
    pub min_frequency: u64,
    /// The alphabet, the rules for pieces, and the special pieces.
    pub pieces: PieceOptions,
    /// The number of threads; the result is the same for any number.
    pub threads: Option<usize>,
}

impl Default for SentencePieceBpeTrainer {
    fn default() -> Self {
        Self { vocab_size: 8000, min_frequency: 0, pieces: PieceOptions::default(), threads: None }
    }
}

/// The result of SentencePiece BPE training.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoredTrained {
    /// The vocabulary by id: special tokens, byte tokens, pieces in the order of their merges, then
    /// characters, the most frequent first.
    pub pieces: Vec<TrainedPiece>,
    /// The number of pieces made by merging.
    pub n_merges: usize,
    /// Why training ended.
    pub stop: MergeStop,
    /// The characters outside the alphabet with their counts, the most frequent first.
    pub dropped: Vec<(char, u64)>,
}

impl SentencePieceBpeTrainer {
    /// Trains on distinct words with their counts, in any order.
    ///
    /// # Errors
    /// - [`Error::VocabSize`] if special tokens, bytes and alphabet do not fit;
    /// - [`Error::Option`] for options out of range, and for words that are not UTF-8;
    /// - [`Error::CountOverflow`] if a count exceeds 2^64 - 1;
    /// - [`Error::Cancelled`] when `progress` asks to stop.
    pub fn train<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        progress: &mut Progress,
    ) -> Result<ScoredTrained> {
        self.run(pieces, None, progress)
    }

    /// A checkpoint of this training in the folder `dir`.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub fn checkpoint(&self, dir: &Path, resume: bool) -> Result<Checkpoint> {
        let Self { vocab_size, min_frequency, pieces, threads: _ } = self;
        let mut options: Options<'_> = vec![("vocab_size", vocab_size), ("min_frequency", min_frequency)];
        options.extend(piece_options(pieces));
        Checkpoint::open(dir, resume, "BPE by SentencePiece's rules", &options)
    }

    /// Trains as [`SentencePieceBpeTrainer::train`] does, and saves the merges made so far to
    /// `checkpoint`, from which training continues if they were saved before.
    ///
    /// # Errors
    /// As [`SentencePieceBpeTrainer::train`]; see [`Checkpoint`].
    pub fn train_resumable(
        &self,
        counts: &WordCounts,
        checkpoint: &mut Checkpoint,
        progress: &mut Progress,
    ) -> Result<ScoredTrained> {
        checkpoint.begin(counts)?;
        self.run(counts.iter(), Some(checkpoint), progress)
    }

    fn run<'a>(
        &self,
        pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
        checkpoint: Option<&mut Checkpoint>,
        progress: &mut Progress,
    ) -> Result<ScoredTrained> {
        self.pieces.check(self.vocab_size)?;
        if self.vocab_size > MAX_VOCAB {
            return Err(Error::Option {
                option: "vocab_size",
                value: self.vocab_size.to_string(),
                reason: format!(
                    "scores can differ for {MAX_VOCAB} pieces at most; ask for a smaller vocabulary"
                ),
            });
        }
        let rules = Rules::of(&self.pieces);
        let words = CountedWords::new(&self.pieces, pieces)?;
        let characters = Characters::of(&self.pieces, &words, Some(LINE_END), progress)?;
        self.pieces.check_size(self.vocab_size, characters.required.len())?;
        let segments = Segments::of(&words, &characters, &rules, |_, _| (), progress)?;
        drop(words);

        let mut tokens = Tokens::by_rules(rules);
        let ids = first_ids(&characters, &mut tokens);
        let saved = SavedMerges::before(checkpoint, tokens.len());
        let mut layout = lay_out(&segments, &ids, &saved.merges, progress)?;
        drop(segments);
        replay::add_tokens(&mut tokens, &saved.merges)?;
        let reserved: Vec<TrainedPiece> = self.pieces.reserved().collect();
        let limits = Limits::new(self.vocab_size - reserved.len(), self.min_frequency, self.threads);
        let order = ByCount::new(TieBreak::SentencePiece);
        let (merges, stop) =
            merger::run(order, &mut layout, &mut tokens, &limits, Reuse::Skip, saved, progress)?;
        progress.report(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;

        let merged = merges.iter().map(|merge| String::from_utf8_lossy(tokens.bytes(merge.id)).into_owned());
        let chars = characters.required.iter().map(|seen| seen.0.to_string());
        let normal = merged.chain(chars).enumerate();
        let normal =
            normal.map(|(n, text)| TrainedPiece { text, score: -(n as f64), kind: PieceKind::Normal });
        let pieces = self.pieces.arranged(reserved.into_iter().chain(normal).collect())?;
        Ok(ScoredTrained { pieces, n_merges: merges.len(), stop, dropped: characters.dropped })
    }
}

/// Gives each character of the alphabet an id.
fn first_ids(characters: &Characters, tokens: &mut Tokens) -> BTreeMap<char, TokenId> {
    let id = |c: char| {
        let id = tokens.intern(c.to_string().as_bytes());
        tokens.set_length(id, 1);
        (c, id)
    };
    characters.required.iter().map(|seen| seen.0).map(id).collect()
}

/// Writes segments as character ids into a layout, after the merges of a checkpoint.
fn lay_out(
    segments: &Segments<'_, ()>,
    ids: &BTreeMap<char, TokenId>,
    merges: &[Merge],
    progress: &mut Progress,
) -> Result<SymbolLayout> {
    let texts = segments.texts.iter().map(|text| text.as_bytes());
    let pieces = by_weight(texts.zip(segments.weights.iter().copied()))?;
    let symbols = |piece: &[u8], f: &mut dyn FnMut(Option<TokenId>)| {
        String::from_utf8_lossy(piece).chars().for_each(|c| f(ids.get(&c).copied()));
        Ok(())
    };
    let mut replay = Replay::new(false);
    replay.add(merges);
    let written = Written { pieces: &pieces, symbols, unknown_breaks: false };
    replay.layout(written, |_, _, _, _| (), (merges.len() as u64, 0), progress)
}
