//! The loop of training: take the best pair, rewrite its places, note what
//! that changed. The most frequent pair is the best one; scores of other kinds
//! are the affair of `wordpiece::trainer`.

use super::layout::Layout;
use super::rewrite::Rewriter;
use super::tokens::Tokens;
use super::window::Window;
use super::{Merge, Stop, TieBreak};
use crate::error::Result;
use crate::progress::{Progress, Stage};

/// What bounds training.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) vocab_size: usize,
    /// At least 1.
    pub(crate) min_frequency: u64,
    /// `usize::MAX` for none.
    pub(crate) max_token_length: usize,
    pub(crate) threads: usize,
}

/// What to do with a pair whose token already stands in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Merge it: a token may have several merges.
    Merge,
    /// Stop before it.
    Stop,
    /// Never merge it, as SentencePiece does not.
    Skip,
}

/// How [`Merger::run`] ended.
pub(crate) enum End {
    /// Training is done.
    Stopped(Stop),
    /// The next merge would make a token that already stands in pieces.
    Reused,
}

/// The state of training.
pub(crate) struct Merger<'a> {
    layout: &'a mut Layout,
    tokens: &'a mut Tokens,
    limits: Limits,
    window: Window,
    merges: Vec<Merge>,
    rewriter: Rewriter,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(
        layout: &'a mut Layout,
        tokens: &'a mut Tokens,
        tie_break: TieBreak,
        limits: Limits,
    ) -> Self {
        let window = Window::new(tie_break);
        Self { layout, tokens, limits, window, merges: Vec::new(), rewriter: Rewriter::default() }
    }

    pub(crate) fn into_merges(self) -> Vec<Merge> {
        self.merges
    }

    /// Merges until there is a reason to stop.
    pub(crate) fn run(&mut self, reuse: Reuse, progress: &mut Progress) -> Result<End> {
        while self.tokens.len() < self.limits.vocab_size {
            progress.tick(Stage::Merge, self.tokens.len() as u64, self.limits.vocab_size as u64)?;
            let Some(best) = self.window.best(self.tokens) else {
                if self.window.refill(self.layout, self.tokens, &self.limits, progress)? {
                    continue;
                }
                return Ok(End::Stopped(Stop::NoPairs));
            };
            if best.count < self.limits.min_frequency {
                return Ok(End::Stopped(Stop::BelowMinFrequency { count: best.count }));
            }
            let bytes = self.tokens.joined(best.left, best.right);
            let reused = self.tokens.find(&bytes).is_some_and(|id| self.tokens.length(id) > 0);
            match reuse {
                Reuse::Stop if reused => return Ok(End::Reused),
                Reuse::Skip if reused => {
                    self.window.take(self.tokens, best);
                    continue;
                }
                _ => {}
            }
            let length = self.tokens.length(best.left) + self.tokens.length(best.right);
            let id = self.tokens.intern(&bytes);
            self.tokens.set_length(id, length);
            let positions = self.window.take(self.tokens, best);
            let Self { layout, tokens, limits, window, rewriter, .. } = self;
            let (pair, done) = ((best.left, best.right), tokens.len() as u64);
            let mut tick = || progress.tick(Stage::Merge, done, limits.vocab_size as u64);
            rewriter.merge(layout, tokens, pair, id, positions.as_slice(), &mut tick)?;
            if reused {
                rewriter.recount(layout, tokens, pair, id, window);
            }
            rewriter.apply(tokens, pair, id, window);
            self.merges.push(Merge { left: best.left, right: best.right, id, count: best.count });
        }
        Ok(End::Stopped(Stop::VocabFull))
    }
}
