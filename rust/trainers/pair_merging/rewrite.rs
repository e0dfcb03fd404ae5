//! `Rewriter`: merges a pair at all its occurrences and sums up the changes of counts.
//!
//! Merging `left right` into `id` at one position removes the pairs (before, left) and (right,
//! after) and creates (before, id) and (id, after). Each of them contains a symbol of the merge, so
//! changes are summed in arrays indexed by the *other* symbol, and the window is updated once per
//! distinct neighbour, not once per position.

use super::layout::{SEPARATOR, SymbolLayout, Weights};
use super::tokens::Tokens;
use super::window::{Order, PairWindow};
use crate::error::Result;
use crate::memory;
use crate::vocab::TokenId;

/// How many positions are read together.
const GATHER: usize = 256;
/// How many groups of [`GATHER`] positions are rewritten between two checks for progress.
const TICK: usize = 128;

/// How a merge changes the pairs with one neighbour.
#[derive(Clone, Copy, Default)]
struct Change {
    lost: u64,
    born: u64,
    /// The number of positions of the new pair.
    n: u32,
    touched: bool,
    /// One plus the number of the new pair in the window.
    index: u32,
}

/// How a merge changes the pairs with one neighbour: `old` lost this count, `new` has that.
pub(crate) struct PairChange {
    pub(crate) old: (TokenId, TokenId),
    pub(crate) lost: u64,
    pub(crate) new: (TokenId, TokenId),
    pub(crate) born: u64,
}

/// The neighbours on one side.
#[derive(Default)]
struct Side {
    /// By the symbol of the neighbour.
    changes: Vec<Change>,
    touched: Vec<TokenId>,
    /// The neighbour and the position of each new pair.
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
    fn born(&mut self, symbol: TokenId, position: usize, weight: u64) -> Result<()> {
        let change = self.change(symbol);
        change.born += weight;
        change.n += 1;
        memory::push(&mut self.births, (symbol, position as u32))
    }
}

/// The changes of the current merge; kept between merges to reuse memory.
#[derive(Default)]
pub(crate) struct Rewriter {
    before: Side,
    after: Side,
}

impl Rewriter {
    /// Rewrites the occurrences of a pair. Returns the weighted number of merges, which is less
    /// than the count if occurrences overlap.
    pub(crate) fn merge(
        &mut self,
        layout: &mut SymbolLayout,
        tokens: &Tokens,
        (left, right): (TokenId, TokenId),
        id: TokenId,
        positions: &[u32],
        tick: &mut dyn FnMut() -> Result<()>,
    ) -> Result<u64> {
        let Self { before, after } = self;
        for side in [&mut *before, &mut *after] {
            side.changes.resize(tokens.len(), Change::default());
        }
        let (forms_with_left, forms_with_itself) = (tokens.may_form(id, left), tokens.may_form(id, id));
        let mut weights = Weights::default();
        let mut merged = 0;
        let mut last = 0;
        let mut places = [0; GATHER];
        for (at, chunk) in positions.chunks(GATHER).enumerate() {
            // Reads all positions before it changes one, so that cache misses overlap. Merges may
            // invalidate later positions of the chunk, so each is checked again below.
            let mut n = 0;
            for &position in chunk {
                places[n] = position as usize;
                n += usize::from(layout.at(position as usize) == left);
            }
            for &position in &places[..n] {
                if layout.at(position) != left {
                    continue;
                }
                let left_span = layout.span(position);
                let middle = position + left_span;
                if layout.at(middle) != right {
                    continue;
                }
                let right_span = layout.span(middle);
                let weight = weights.at(layout, position);
                match layout.before(position) {
                    // The previous symbol was just merged, so the pair (id, left) recorded after
                    // that merge never occurs.
                    Some((_, start)) if start == last => {
                        if forms_with_left {
                            let change = after.change(left);
                            change.born -= weight;
                            change.n -= 1;
                            after.births.pop();
                        }
                        if forms_with_itself {
                            before.born(id, start, weight)?;
                        }
                    }
                    Some((symbol, start)) => {
                        before.change(symbol).lost += weight;
                        if tokens.may_form(symbol, id) {
                            before.born(symbol, start, weight)?;
                        }
                    }
                    None => {}
                }
                let next = layout.at(middle + right_span);
                if next != SEPARATOR {
                    after.change(next).lost += weight;
                    if tokens.may_form(id, next) {
                        after.born(next, position, weight)?;
                    }
                }
                layout.join(position, left_span, right_span, id);
                merged += weight;
                last = position;
            }
            if at % TICK == TICK - 1 {
                tick()?;
            }
        }
        Ok(merged)
    }

    /// Calls `f` with each changed pair, the count it lost and the count with which it is new, and
    /// forgets these changes. The positions of new pairs stay for [`Rewriter::take_births`].
    pub(crate) fn take_changes(
        &mut self,
        (left, right): (TokenId, TokenId),
        id: TokenId,
        mut f: impl FnMut(PairChange) -> Result<()>,
    ) -> Result<()> {
        for (side, is_before) in [(&mut self.before, true), (&mut self.after, false)] {
            for symbol in side.touched.drain(..) {
                let change = std::mem::take(&mut side.changes[symbol as usize]);
                let (old, new) =
                    if is_before { ((symbol, left), (symbol, id)) } else { ((right, symbol), (id, symbol)) };
                f(PairChange { old, lost: change.lost, new, born: change.born })?;
            }
        }
        Ok(())
    }

    /// Calls `f` with each new pair and its position, ascending for each pair, and forgets them.
    pub(crate) fn take_births(
        &mut self,
        id: TokenId,
        mut f: impl FnMut((TokenId, TokenId), u32) -> Result<()>,
    ) -> Result<()> {
        for (symbol, position) in self.before.births.drain(..) {
            f((symbol, id), position)?;
        }
        for (symbol, position) in self.after.births.drain(..) {
            f((id, symbol), position)?;
        }
        Ok(())
    }

    /// Counts the pairs of a token again by a scan. Needed if the token occurred in pieces before
    /// this merge, so that its pairs are not new. Only prefixes, suffixes and a base can cause
    /// that.
    pub(super) fn recount(
        &mut self,
        layout: &SymbolLayout,
        tokens: &Tokens,
        (left, right): (TokenId, TokenId),
        id: TokenId,
        window: &mut PairWindow<impl Order>,
    ) -> Result<()> {
        let Self { before, after } = self;
        for (side, part) in [(&mut *before, left), (&mut *after, right)] {
            side.births.clear();
            for &symbol in &side.touched {
                let change = &mut side.changes[symbol as usize];
                (change.born, change.n) = (0, 0);
                // A pair that is counted again has lost nothing.
                if symbol == id || part == id {
                    change.lost = 0;
                }
            }
        }
        layout.for_each_pair(|position, left, right, weight| {
            if right == id && tokens.may_form(left, id) {
                before.born(left, position, weight)?;
            } else if left == id && tokens.may_form(id, right) {
                after.born(right, position, weight)?;
            }
            Ok(())
        })?;
        window.forget(id);
        Ok(())
    }

    /// Updates the window with the changes of a merge.
    pub(super) fn apply(
        &mut self,
        tokens: &Tokens,
        (left, right): (TokenId, TokenId),
        id: TokenId,
        window: &mut PairWindow<impl Order>,
    ) -> Result<()> {
        let Self { before, after } = self;
        for (side, is_before) in [(before, true), (after, false)] {
            for &symbol in &side.touched {
                let change = &mut side.changes[symbol as usize];
                if change.lost > 0 {
                    let (left, right) = if is_before { (symbol, left) } else { (right, symbol) };
                    window.lower(left, right, change.lost);
                }
            }
            for &symbol in &side.touched {
                let change = &mut side.changes[symbol as usize];
                if change.born >= window.least() {
                    let (left, right) = if is_before { (symbol, id) } else { (id, symbol) };
                    change.index = window.insert(tokens, left, right, change.born, change.n)? + 1;
                }
            }
            for (symbol, position) in side.births.drain(..) {
                if let Some(index) = side.changes[symbol as usize].index.checked_sub(1) {
                    window.push_position(index, position)?;
                }
            }
            for symbol in side.touched.drain(..) {
                side.changes[symbol as usize] = Change::default();
            }
        }
        Ok(())
    }
}
