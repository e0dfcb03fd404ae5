//! The loop of training: take the best pair, rewrite its places, note what
//! that changed.
//!
//! A merge of `left right` into `id` at one place takes the pairs
//! (before, left) and (right, after) away and brings (before, id) and
//! (id, after). All of them share a symbol of the merge, so changes are summed
//! in arrays by the *other* symbol, and the window is asked once per distinct
//! neighbour, not once per place.

use super::heap::Candidate;
use super::layout::{Layout, SEPARATOR, Weights};
use super::tokens::Tokens;
use super::window::Window;
use super::{Merge, Stop, TieBreak};
use crate::error::Result;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

/// Places looked at together.
const GATHER: usize = 256;
/// So often [`GATHER`] places are rewritten between two looks at the clock.
const TICK: usize = 128;

/// What bounds training.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) vocab_size: usize,
    /// At least 1.
    pub(super) min_frequency: u64,
    /// `usize::MAX` for none.
    pub(super) max_token_length: usize,
    pub(super) threads: usize,
}

/// How [`Merger::run`] ended.
pub(super) enum End {
    /// Training is done.
    Stopped(Stop),
    /// The next merge would make a token that already stands in pieces.
    Reused,
}

/// What a merge does to the pairs of one neighbour.
#[derive(Clone, Copy, Default)]
struct Change {
    lost: u64,
    born: u64,
    /// Places of the born pair.
    n: u32,
    touched: bool,
    /// Where the window keeps the born pair, plus one.
    index: u32,
}

/// One side's neighbours.
#[derive(Default)]
struct Side {
    /// By symbol.
    changes: Vec<Change>,
    touched: Vec<TokenId>,
    /// Neighbour and position of each birth.
    births: Vec<(TokenId, u32)>,
}

impl Side {
    #[inline]
    fn change(&mut self, symbol: TokenId) -> &mut Change {
        let change = &mut self.changes[symbol as usize];
        if !change.touched {
            change.touched = true;
            self.touched.push(symbol);
        }
        change
    }

    #[inline]
    fn born(&mut self, symbol: TokenId, position: usize, weight: u64) {
        let change = self.change(symbol);
        change.born += weight;
        change.n += 1;
        self.births.push((symbol, position as u32));
    }
}

/// The state of training.
pub(super) struct Merger<'a> {
    layout: &'a mut Layout,
    tokens: &'a mut Tokens,
    limits: Limits,
    window: Window,
    merges: Vec<Merge>,
    before: Side,
    after: Side,
}

impl<'a> Merger<'a> {
    pub(super) fn new(
        layout: &'a mut Layout,
        tokens: &'a mut Tokens,
        tie_break: TieBreak,
        limits: Limits,
    ) -> Self {
        let window = Window::new(tie_break);
        let (before, after) = (Side::default(), Side::default());
        Self { layout, tokens, limits, window, merges: Vec::new(), before, after }
    }

    pub(super) fn into_merges(self) -> Vec<Merge> {
        self.merges
    }

    /// Merges until there is a reason to stop.
    pub(super) fn run(&mut self, stop_at_reuse: bool, progress: &mut Progress) -> Result<End> {
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
            if reused && stop_at_reuse {
                return Ok(End::Reused);
            }
            let length = self.tokens.length(best.left) + self.tokens.length(best.right);
            let id = self.tokens.intern(&bytes);
            self.tokens.set_length(id, length);
            let positions = self.window.take(self.tokens, best);
            self.merge(best, id, positions.as_slice(), progress)?;
            if reused {
                self.recount(id);
            }
            self.apply(best, id);
            self.merges.push(Merge { left: best.left, right: best.right, id, count: best.count });
        }
        Ok(End::Stopped(Stop::VocabFull))
    }

    /// Rewrites all places of a pair and sums up the changes.
    fn merge(
        &mut self,
        pair: Candidate,
        id: TokenId,
        positions: &[u32],
        progress: &mut Progress,
    ) -> Result<()> {
        let Self { layout, tokens, before, after, limits, .. } = self;
        for side in [&mut *before, &mut *after] {
            side.changes.resize(tokens.len(), Change::default());
        }
        let (forms_with_left, forms_with_itself) = (tokens.may_form(id, pair.left), tokens.may_form(id, id));
        let mut weights = Weights::default();
        let mut last = 0;
        let mut places = [0; GATHER];
        for (at, chunk) in positions.chunks(GATHER).enumerate() {
            // Looks at all places before it works on one: the memory then
            // answers many questions at a time. Merges here may spoil later
            // places of the chunk, so each is looked at again.
            let mut n = 0;
            for &position in chunk {
                places[n] = position as usize;
                n += usize::from(layout.at(position as usize) == pair.left);
            }
            for &position in &places[..n] {
                if layout.at(position) != pair.left {
                    continue;
                }
                let left_span = layout.span(position);
                let middle = position + left_span;
                if layout.at(middle) != pair.right {
                    continue;
                }
                let right_span = layout.span(middle);
                let weight = weights.at(layout, position);
                match layout.before(position) {
                    // The neighbour was made a moment ago: the pair (id, left)
                    // never stood.
                    Some((_, start)) if start == last => {
                        if forms_with_left {
                            let change = after.change(pair.left);
                            change.born -= weight;
                            change.n -= 1;
                            after.births.pop();
                        }
                        if forms_with_itself {
                            before.born(id, start, weight);
                        }
                    }
                    Some((symbol, start)) => {
                        before.change(symbol).lost += weight;
                        if tokens.may_form(symbol, id) {
                            before.born(symbol, start, weight);
                        }
                    }
                    None => {}
                }
                let next = layout.at(middle + right_span);
                if next != SEPARATOR {
                    after.change(next).lost += weight;
                    if tokens.may_form(id, next) {
                        after.born(next, position, weight);
                    }
                }
                layout.join(position, left_span, right_span, id);
                last = position;
            }
            if at % TICK == TICK - 1 {
                progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
            }
        }
        Ok(())
    }

    /// Counts the pairs of a token anew, by a scan: needed when the token stood
    /// in pieces before it was made, so that its pairs were born before.
    /// Only prefixes, suffixes and a base can bring that about.
    fn recount(&mut self, id: TokenId) {
        let Self { layout, tokens, before, after, window, .. } = self;
        for side in [&mut *before, &mut *after] {
            side.births.clear();
            for &symbol in &side.touched {
                let change = &mut side.changes[symbol as usize];
                (change.born, change.n) = (0, 0);
            }
        }
        layout.for_each_pair(|position, left, right, weight| {
            if right == id && tokens.may_form(left, id) {
                before.born(left, position, weight);
            } else if left == id && tokens.may_form(id, right) {
                after.born(right, position, weight);
            }
        });
        window.forget(id);
    }

    /// Tells the window what a merge changed.
    fn apply(&mut self, pair: Candidate, id: TokenId) {
        let Self { tokens, window, before, after, .. } = self;
        for (side, is_before) in [(before, true), (after, false)] {
            for &symbol in &side.touched {
                let change = &mut side.changes[symbol as usize];
                if change.lost > 0 {
                    let (left, right) = if is_before { (symbol, pair.left) } else { (pair.right, symbol) };
                    window.lower(left, right, change.lost);
                }
            }
            for &symbol in &side.touched {
                let change = &mut side.changes[symbol as usize];
                if change.born >= window.least() {
                    let (left, right) = if is_before { (symbol, id) } else { (id, symbol) };
                    change.index = window.insert(tokens, left, right, change.born, change.n) + 1;
                }
            }
            for (symbol, position) in side.births.drain(..) {
                if let Some(index) = side.changes[symbol as usize].index.checked_sub(1) {
                    window.push_position(index, position);
                }
            }
            for symbol in side.touched.drain(..) {
                side.changes[symbol as usize] = Change::default();
            }
        }
    }
}
