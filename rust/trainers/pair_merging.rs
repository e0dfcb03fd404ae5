//! The engine of every trainer that merges pairs of symbols.
//!
//! Counted pieces are written as first symbols (`symbols`) into one flat array
//! (`layout`). Then, until the vocabulary is full, the loop (`merger`) takes the
//! best pair of a `window` of frequent ones, rewrites its places and sums up what
//! that changes (`rewrite`). A window is filled by reading the whole layout
//! (`scan`); which of its pairs is best is for an [`Order`](window::Order) to say:
//! `by_count` is byte-pair encoding, the scores of WordPiece are its own.
//!
//! A merge costs what it touches: the window knows where the frequent pairs are,
//! and those places are rewritten and nothing else. Symbols have fixed
//! coordinates, so long pieces cost no more per byte than short ones. Counts are
//! checked `u64`, and the result is the same for any number of threads.
//!
//! Not a trainer: options, defaults and results are those of its clients in
//! [`crate::trainers::bpe`] and [`crate::trainers::wordpiece`], which know nothing
//! of each other.

pub(crate) mod by_count;
pub(crate) mod layout;
mod literal;
pub(crate) mod merger;
pub(crate) mod pairs;
mod rewrite;
mod scan;
pub(crate) mod symbols;
pub(crate) mod tokens;
pub(crate) mod window;

use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;
pub use crate::vocab::Unit;
use layout::SymbolLayout;
use symbols::FirstSymbols;
use tokens::Tokens;
use window::Order;

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
pub enum MergeStop {
    /// The vocabulary has the size asked for.
    VocabFull,
    /// No two symbols are adjacent any more that may be merged.
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
#[non_exhaustive]
pub struct TrainedMerges {
    /// The tokens by id. `None` only for a special token that no sequence of
    /// bytes can become: over bytes, one with a character that represents no
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
    pub stop: MergeStop,
    /// What `limit_alphabet` left out, with counts, the most frequent first.
    pub dropped: Vec<(Vec<u8>, u64)>,
}

/// What bounds training.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) vocab_size: usize,
    /// At least 1.
    pub(crate) min_frequency: u64,
    pub(crate) threads: usize,
}

impl Limits {
    /// As trainers report it.
    pub(crate) fn new(vocab_size: usize, min_frequency: u64, threads: Option<usize>) -> Self {
        let threads = parallel::n_threads(threads);
        Self { vocab_size, min_frequency: min_frequency.max(1), threads }
    }

    /// Refuses a vocabulary of fewer ids than `least`, or of more than there are.
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

/// What there is before the first merge.
pub(crate) struct Start {
    pub(crate) tokens: Tokens,
    pub(crate) symbols: FirstSymbols,
    pub(crate) layout: SymbolLayout,
    pub(crate) limits: Limits,
}

impl Start {
    /// Merges pairs in an order, until the vocabulary is full or none is left.
    ///
    /// # Errors
    /// As [`merger::run`].
    pub(crate) fn train(
        self,
        order: impl Order,
        reuse: merger::Reuse,
        progress: &mut Progress,
    ) -> Result<TrainedMerges> {
        let Self { mut tokens, symbols, mut layout, limits } = self;
        let n_initial = tokens.len();
        let (merges, stop) = merger::run(order, &mut layout, &mut tokens, &limits, reuse, progress)?;
        progress.report(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        let (tokens, special_tokens) = tokens.into_parts();
        Ok(TrainedMerges { tokens, special_tokens, merges, n_initial, stop, dropped: symbols.into_dropped() })
    }
}

/// Pieces that count, the most frequent first.
///
/// Positions then ascend while weights descend: a weight is found by a cursor
/// over the few distinct ones, not stored for each place.
///
/// # Errors
/// [`Error::Memory`] where they do not fit.
pub(crate) fn by_weight<'a>(
    pieces: impl IntoIterator<Item = (&'a [u8], u64)>,
) -> Result<Vec<(&'a [u8], u64)>> {
    let mut sorted: Vec<(&[u8], u64)> = Vec::new();
    for piece in pieces.into_iter().filter(|piece| piece.1 > 0) {
        memory::push(&mut sorted, piece)?;
    }
    // A stable sort ends the process where it has no memory for a copy.
    if !memory::has_room(size_of_val(sorted.as_slice())) {
        return Err(memory::missing::<(&[u8], u64)>(sorted.len()));
    }
    sorted.sort_by_key(|piece| std::cmp::Reverse(piece.1));
    Ok(sorted)
}
