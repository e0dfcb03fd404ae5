//! `Rewriter`: merges a pair wherever it stands, and sums up what that changes.
//!
//! A merge of `left right` into `id` at one place takes the pairs
//! (before, left) and (right, after) away and brings (before, id) and
//! (id, after). All of them share a symbol of the merge, so changes are summed
//! in arrays by the *other* symbol, and the window is asked once per distinct
//! neighbour, not once per place. Which pair is merged, and why, is
//! not known here.

use super::layout::{SEPARATOR, SymbolLayout, Weights};
use super::tokens::Tokens;
use super::window::{Order, PairWindow};
use crate::error::Result;
use crate::memory;
use crate::vocab::TokenId;

/// Places looked at together.
const GATHER: usize = 256;
/// So often [`GATHER`] places are rewritten between two looks at the clock.
const TICK: usize = 128;

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
    fn born(&mut self, symbol: TokenId, position: usize, weight: u64) -> Result<()> {
        let change = self.change(symbol);
        change.born += weight;
        change.n += 1;
        memory::push(&mut self.births, (symbol, position as u32))
    }
}

/// The changes of the merge at hand; kept between merges for its memory.
#[derive(Default)]
pub(super) struct Rewriter {
    before: Side,
    after: Side,
}

impl Rewriter {
    /// Rewrites the places of a pair, and gives how often that was done,
    /// weights counted: where the pair overlaps itself, less than its count.
    pub(super) fn merge(
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
            // Looks at all places before it works on one: the memory then
            // answers many questions at a time. Merges here may spoil later
            // places of the chunk, so each is looked at again.
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
                    // The neighbour was made a moment ago: the pair (id, left)
                    // never stood.
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

    /// Counts the pairs of a token again, by a scan: needed when the token stood
    /// in pieces before it was made, so that its pairs were born before.
    /// Only prefixes, suffixes and a base can bring that about.
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
                // What is counted again has lost nothing.
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

    /// Tells the window what a merge changed.
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
