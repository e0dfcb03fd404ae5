//! The training loop: takes the best pair, as the order of the window says, rewrites its
//! occurrences and updates the counts.

use super::layout::SymbolLayout;
use super::literal;
use super::rewrite::Rewriter;
use super::tokens::Tokens;
use super::window::{Next, Order, PairWindow};
use super::{Limits, Merge, MergeStop};
use crate::error::Result;
use crate::progress::{Progress, Stage};

/// What to do with a pair whose token already occurs in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Merge it: a token may have several merges.
    Merge,
    /// Never merge it, as SentencePiece does not.
    Skip,
    /// Start over with Hugging Face's inexact bookkeeping (`literal`).
    Literal,
}

/// Merges pairs until there is a reason to stop.
///
/// # Errors
/// [`crate::Error::CountOverflow`], [`crate::Error::Cancelled`].
pub(crate) fn run<O: Order>(
    order: O,
    layout: &mut SymbolLayout,
    tokens: &mut Tokens,
    limits: &Limits,
    reuse: Reuse,
    progress: &mut Progress,
) -> Result<(Vec<Merge>, MergeStop)> {
    let n_initial = tokens.len();
    let mut window = PairWindow::new(order, limits);
    let mut rewriter = Rewriter::default();
    let mut merges: Vec<Merge> = Vec::new();
    while tokens.len() < limits.vocab_size {
        progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        let best = match window.best(tokens) {
            Next::Pair(best) => best,
            Next::Rarer => match window.refill(layout, tokens, limits, progress)? {
                None => continue,
                Some(stop) => return Ok((merges, stop)),
            },
            Next::NoGain => return Ok((merges, MergeStop::NoGain)),
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
                layout.unmerge(&merges)?;
                tokens.truncate(n_initial);
                return literal::train(layout, tokens, limits, progress);
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
        window.settle(pair);
        merges.push(Merge { left: best.left, right: best.right, id, count: best.count });
    }
    Ok((merges, MergeStop::VocabFull))
}
