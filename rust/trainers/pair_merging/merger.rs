//! The training loop: takes the best pair, as the order of the window says, rewrites its
//! occurrences and updates the counts.

use super::layout::SymbolLayout;
use super::literal;
use super::rewrite::Rewriter;
use super::tokens::Tokens;
use super::window::{Next, Order, PairWindow};
use super::{Limits, Merge, MergeStop};
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::trainers::checkpoint::Checkpoint;

/// The treatment of a pair whose token already occurs in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Merge it: a token may have several merges.
    Merge,
    /// Never merge it, as SentencePiece does not.
    Skip,
    /// Start over with Hugging Face's inexact bookkeeping (`literal`).
    Literal,
}

/// The merges made so far, and where they are saved.
pub(crate) struct SavedMerges<'a> {
    /// At the start, those of a checkpoint, which `layout` and `tokens` contain already.
    pub(crate) merges: Vec<Merge>,
    /// The number of tokens before the first of them.
    pub(crate) n_initial: usize,
    pub(crate) checkpoint: Option<&'a mut Checkpoint>,
}

impl<'a> SavedMerges<'a> {
    /// The merges of a checkpoint, if there are any.
    pub(crate) fn before(checkpoint: Option<&'a mut Checkpoint>, n_initial: usize) -> Self {
        let merges = checkpoint.as_deref().map(Checkpoint::merges).unwrap_or_default();
        Self { merges, n_initial, checkpoint }
    }
}

/// Merges pairs until there is a reason to stop.
///
/// # Errors
/// [`Error::CountOverflow`], [`Error::Cancelled`], and errors of writing a checkpoint.
pub(crate) fn run<O: Order>(
    order: O,
    layout: &mut SymbolLayout,
    tokens: &mut Tokens,
    limits: &Limits,
    reuse: Reuse,
    mut saved: SavedMerges<'_>,
    progress: &mut Progress,
) -> Result<(Vec<Merge>, MergeStop)> {
    match merge_pairs(order, layout, tokens, limits, reuse, &mut saved, progress) {
        Ok(stop) => Ok((saved.merges, stop)),
        Err(Error::Cancelled) => {
            if let Some(checkpoint) = saved.checkpoint {
                checkpoint.save_merges(&saved.merges)?;
            }
            Err(Error::Cancelled)
        }
        Err(error) => Err(error),
    }
}

fn merge_pairs<O: Order>(
    order: O,
    layout: &mut SymbolLayout,
    tokens: &mut Tokens,
    limits: &Limits,
    reuse: Reuse,
    saved: &mut SavedMerges<'_>,
    progress: &mut Progress,
) -> Result<MergeStop> {
    let SavedMerges { merges, n_initial, checkpoint } = saved;
    let mut window = PairWindow::new(order, limits);
    let mut rewriter = Rewriter::default();
    while tokens.len() < limits.vocab_size {
        progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        let best = match window.best(tokens) {
            Next::Pair(best) => best,
            Next::Rarer => match window.refill(layout, tokens, limits, progress)? {
                None => continue,
                Some(stop) => return Ok(stop),
            },
            Next::NoGain => return Ok(MergeStop::NoGain),
        };
        let pair = (best.left, best.right);
        let bytes = tokens.joined(best.left, best.right);
        let is_reused = tokens.find(&bytes).is_some_and(|id| tokens.length(id) > 0);
        match reuse {
            Reuse::Skip if is_reused => {
                window.take(tokens, best);
                continue;
            }
            Reuse::Literal if is_reused => {
                drop(window);
                layout.unmerge(merges)?;
                tokens.truncate(*n_initial);
                // A checkpoint keeps the merges up to here, from which training comes here again.
                let (last, stop) = literal::train(layout, tokens, limits, progress)?;
                *merges = last;
                return Ok(stop);
            }
            _ => {}
        }
        let length = tokens.length(best.left) + tokens.length(best.right);
        let id = tokens.intern(&bytes);
        tokens.set_length(id, length);
        let positions = window.take(tokens, best);
        let done = tokens.len() as u64;
        let mut tick = || progress.tick(Stage::Merge, done, limits.vocab_size as u64);
        let by = rewriter.merge(layout, tokens, pair, id, positions.as_slice(), &mut tick)?;
        window.order.merged(pair, id, by);
        if is_reused {
            rewriter.recount(layout, tokens, pair, id, &mut window)?;
        }
        rewriter.apply(tokens, pair, id, &mut window)?;
        window.counts_updated(pair);
        merges.push(Merge { left: best.left, right: best.right, id, count: best.count });
        if let Some(checkpoint) = checkpoint.as_deref_mut().filter(|checkpoint| checkpoint.is_due()) {
            checkpoint.save_merges(merges)?;
        }
    }
    Ok(MergeStop::VocabFull)
}
