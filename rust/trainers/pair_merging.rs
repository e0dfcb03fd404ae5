//! The merging engine that the BPE and WordPiece trainers share.
//!
//! Counted pieces are written as initial symbols (`symbols`) into one flat array (`layout`). Then,
//! until the vocabulary is full, the loop (`merger`) takes the best pair of a `window` of frequent
//! pairs, rewrites its occurrences and updates the counts (`rewrite`). A window is filled by
//! scanning the whole layout (`scan`). An [`Order`](window::Order) decides which pair is best:
//! `by_count` is byte-pair encoding; WordPiece has its own scores.
//!
//! The cost of a merge is proportional to the occurrences of its pair, because the window records
//! the positions of frequent pairs. Symbols do not move, so long pieces cost no more per byte than
//! short ones. Counts are checked `u64`. The result is the same for any number of threads.
//!
//! Options, defaults and results belong to the trainers in [`crate::trainers::bpe`] and
//! [`crate::trainers::wordpiece`].

pub(crate) mod by_count;
pub(crate) mod layout;
mod literal;
pub(crate) mod merger;
pub(crate) mod pairs;
pub(crate) mod rewrite;
pub(crate) mod scan;
pub(crate) mod symbols;
pub(crate) mod tokens;
pub(crate) mod window;
pub(crate) mod word_shape;

use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;
pub use crate::vocab::Unit;
use layout::SymbolLayout;
pub(crate) use literal::last_of_each;
use merger::SavedMerges;
use symbols::FirstSymbols;
use tokens::Tokens;
use window::Order;

/// One merge, with the count of its pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The left token.
    pub left: TokenId,
    /// The right token.
    pub right: TokenId,
    /// The resulting token.
    pub id: TokenId,
    /// How often the pair occurred in the corpus when it was merged.
    pub count: u64,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStop {
    /// The vocabulary has the requested size.
    VocabFull,
    /// No adjacent symbols are left that may be merged.
    NoPairs,
    /// The most frequent pair is rarer than `min_frequency`.
    BelowMinFrequency {
        /// Its count.
        count: u64,
    },
    /// No remaining pair makes the corpus more likely (`likelihood` of WordPiece).
    NoGain,
}

/// The result of training merges.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrainedMerges {
    /// The tokens by id. `None` only for a special token that is not a sequence of bytes: with
    /// [`Unit::Bytes`], one with a character that represents no byte, such as a space.
    /// (With `extend`, also for gaps of the base.)
    pub tokens: Vec<Option<Vec<u8>>>,
    /// Special tokens with their ids, those of the base first. Over bytes, a
    /// special token spelled like the byte-level characters of a token shares its id.
    pub special_tokens: Vec<(String, TokenId)>,
    /// The merges in order of rank, without those of the base.
    pub merges: Vec<Merge>,
    /// The number of ids before the first merge.
    pub n_initial: usize,
    /// Why training ended.
    pub stop: MergeStop,
    /// The symbols that `limit_alphabet` left out, with counts, the most frequent first.
    pub dropped: Vec<(Vec<u8>, u64)>,
}

/// The limits of training.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) vocab_size: usize,
    /// At least 1.
    pub(crate) min_frequency: u64,
    pub(crate) threads: usize,
}

impl Limits {
    /// Limits for the options of a trainer.
    pub(crate) fn new(vocab_size: usize, min_frequency: u64, threads: Option<usize>) -> Self {
        let threads = parallel::n_threads(threads);
        Self { vocab_size, min_frequency: min_frequency.max(1), threads }
    }

    /// Refuses a vocabulary with fewer ids than `least`, or with more than a symbol can hold.
    ///
    /// # Errors
    /// [`Error::VocabSize`], [`Error::Option`].
    pub(crate) fn check(&self, least: usize) -> Result<()> {
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

/// The state before the next merge.
pub(crate) struct Start<'a> {
    pub(crate) tokens: Tokens,
    pub(crate) symbols: FirstSymbols,
    pub(crate) layout: SymbolLayout,
    pub(crate) limits: Limits,
    pub(crate) saved: SavedMerges<'a>,
}

impl Start<'_> {
    /// Merges pairs in the given order until the vocabulary is full or no pair is left.
    ///
    /// # Errors
    /// As [`merger::run`].
    pub(crate) fn train(
        self,
        order: impl Order,
        reuse: merger::Reuse,
        progress: &mut Progress,
    ) -> Result<TrainedMerges> {
        let Self { mut tokens, symbols, mut layout, limits, saved } = self;
        let n_initial = saved.n_initial;
        let (merges, stop) = merger::run(order, &mut layout, &mut tokens, &limits, reuse, saved, progress)?;
        progress.report(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        let (tokens, special_tokens) = tokens.into_parts();
        Ok(TrainedMerges { tokens, special_tokens, merges, n_initial, stop, dropped: symbols.into_dropped() })
    }
}

/// The pieces with a positive count, the most frequent first.
///
/// Weights then descend while positions ascend, so a cursor over the few distinct weights finds the
/// weight of a position, and none is stored per position.
///
/// # Errors
/// [`Error::Memory`] if they do not fit.
pub(crate) fn by_weight<'a>(
    pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
) -> Result<Vec<(&'a [u8], u64)>> {
    let mut sorted: Vec<(&[u8], u64)> = Vec::new();
    for piece in pieces.into_iter().filter(|piece| piece.1 > 0) {
        memory::push(&mut sorted, piece)?;
    }
    // A stable sort allocates a copy, and aborts the process if it cannot.
    if !memory::has_room(size_of_val(sorted.as_slice())) {
        return Err(memory::missing::<(&[u8], u64)>(sorted.len()));
    }
    sorted.sort_by_key(|piece| std::cmp::Reverse(piece.1));
    Ok(sorted)
}
