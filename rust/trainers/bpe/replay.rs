//! Writes pieces as a base vocabulary would: its merges, lowest rank first,
//! leftmost among equals.
//!
//! Not the encoder: it runs once per distinct piece, before training continues.
//! O(n log n) for a piece of n symbols.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::Base;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::symbols::FirstSymbols;
use crate::trainers::pair_merging::tokens::Tokens;
use crate::vocab::TokenId;

/// Pieces between two looks at the clock; a long piece looks by itself.
const TICK: usize = 1 << 12;

/// From a pair to its rank and what it becomes.
type Ranks = FxHashMap<(TokenId, TokenId), (u32, TokenId)>;

/// A layout of the pieces after all merges of the base.
pub(super) fn replay(
    base: &Base,
    pieces: &[(&[u8], u64)],
    symbols: &FirstSymbols,
    tokens: &mut Tokens,
    progress: &mut Progress,
) -> Result<SymbolLayout> {
    let mut ranks = Ranks::default();
    for (rank, &(left, right, id)) in base.merges.iter().enumerate() {
        if let Some(unknown) = [left, right, id].into_iter().find(|id| *id as usize >= base.tokens.len()) {
            return Err(Error::UnknownId {
                id: unknown.into(),
                max: (base.tokens.len() as TokenId).saturating_sub(1),
            });
        }
        // Of a pair that stands twice the last counts, as where the base is encoded with.
        ranks.insert((left, right), (rank as u32, id));
    }
    let mut layout = SymbolLayout::with_capacity(pieces)?;
    let mut run = LinkedRun::default();
    for (at, &(piece, weight)) in pieces.iter().enumerate() {
        if at % TICK == 0 || piece.len() > TICK {
            progress.tick(Stage::Merge, tokens.len() as u64, 0)?;
        }
        symbols.for_each(piece, |id| match id {
            Some(id) => run.symbols.push(id),
            None if symbols.unknown_breaks => run.finish(&ranks, &mut layout, tokens, weight),
            None => {}
        })?;
        run.finish(&ranks, &mut layout, tokens, weight);
    }
    layout.check()
}

/// A run of symbols as a doubly linked list in arrays.
#[derive(Default)]
struct LinkedRun {
    symbols: Vec<TokenId>,
    /// Spans of living symbols; 0 for one that was merged into its left neighbour.
    spans: Vec<u32>,
    before: Vec<u32>,
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl LinkedRun {
    /// Merges the run, appends it to the layout and empties it.
    fn finish(&mut self, ranks: &Ranks, layout: &mut SymbolLayout, tokens: &mut Tokens, weight: u64) {
        let n = self.symbols.len();
        self.spans.clear();
        self.spans.resize(n, 1);
        self.before.clear();
        self.before.extend((0..n as u32).map(|at| at.wrapping_sub(1)));
        for at in 0..n {
            self.queue_pair(ranks, at);
        }
        while let Some(Reverse((rank, at))) = self.queue.pop() {
            let at = at as usize;
            let Some((live, id, next)) = self.pair(ranks, at) else { continue };
            if live != rank {
                continue;
            }
            self.symbols[at] = id;
            self.spans[at] += std::mem::take(&mut self.spans[next]);
            tokens.set_length(id, self.spans[at] as usize);
            let after = at + self.spans[at] as usize;
            if let Some(before) = self.before.get_mut(after) {
                *before = at as u32;
            }
            self.queue_pair(ranks, at);
            if let Ok(before) = usize::try_from(self.before[at])
                && before < n
            {
                self.queue_pair(ranks, before);
            }
        }
        layout.push_spans(&self.symbols, &self.spans, weight);
        self.symbols.clear();
    }

    /// Rank, result and right half of the pair that begins at `at`.
    fn pair(&self, ranks: &Ranks, at: usize) -> Option<(u32, TokenId, usize)> {
        let next = at + *self.spans.get(at)? as usize;
        if next == at {
            return None;
        }
        let &(rank, id) = ranks.get(&(self.symbols[at], *self.symbols.get(next)?))?;
        Some((rank, id, next))
    }

    fn queue_pair(&mut self, ranks: &Ranks, at: usize) {
        if let Some((rank, _, _)) = self.pair(ranks, at) {
            self.queue.push(Reverse((rank, at as u32)));
        }
    }
}
