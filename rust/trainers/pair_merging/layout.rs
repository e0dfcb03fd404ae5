//! `SymbolLayout`: the symbols of all distinct pieces in one flat array.
//!
//! A symbol occupies the slots of the initial symbols it was merged from, so positions never change
//! and merges work in place. A separator ends each run of symbols. Contents of the slots:
//!
//! ```text
//! 1 slot    [id]
//! 2 slots   [id] [id|END]
//! 3 slots   [id] [3|SPAN] [id|END]
//! n slots   [id] [n|SPAN] dead ... [n|SPAN] [id|END]
//! ```
//!
//! So both neighbours of a symbol are found in constant time. Only the first slot of a symbol is an
//! id without flags, so reading a recorded position shows whether it is still valid. Pieces are in
//! order of weight, greatest first.

use rustc_hash::FxHashMap;

use super::Merge;
use super::symbols::FirstSymbols;
use crate::error::{Error, Result};
use crate::memory;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

/// The greatest id that a slot can hold.
pub(crate) const MAX_ID: TokenId = SPAN - 1;
/// Separates runs.
pub(crate) const SEPARATOR: u32 = u32::MAX;

/// How many pieces are written between two checks for progress.
const TICK: usize = 1 << 12;

const END: u32 = 1 << 31;
const SPAN: u32 = 1 << 30;
/// An inner slot of a symbol with five slots or more.
const DEAD: u32 = END | SPAN;

/// Runs of symbols with their weights.
pub(crate) struct SymbolLayout {
    slots: Vec<u32>,
    /// The position where each weight begins, ascending.
    weight_starts: Vec<u32>,
    weights: Vec<u64>,
    /// The index in `weights` where each group of pieces begins, if there are groups.
    group_starts: Vec<u32>,
}

impl SymbolLayout {
    /// Writes pieces, which must be in order of weight, greatest first.
    pub(crate) fn new(
        pieces: &[(&[u8], u64)],
        symbols: &FirstSymbols,
        progress: &mut Progress,
    ) -> Result<Self> {
        let mut layout = Self::with_capacity(pieces)?;
        let mut run = Vec::new();
        for (at, &(piece, weight)) in pieces.iter().enumerate() {
            if at % TICK == 0 {
                progress.tick(Stage::Merge, 0, 0)?;
            }
            symbols.for_each(piece, |id| match id {
                Some(id) => run.push(id),
                None if symbols.unknown_breaks => layout.push_run(&mut run, weight),
                None => {}
            })?;
            layout.push_run(&mut run, weight);
        }
        layout.check()
    }

    pub(crate) fn with_capacity(pieces: &[(&[u8], u64)]) -> Result<Self> {
        let bytes: usize =
            pieces.iter().map(|(piece, _)| if piece.len() > 1 { piece.len() + 1 } else { 0 }).sum();
        Self::with_slots(bytes)
    }

    /// An empty layout with memory for this many symbols and separators.
    pub(crate) fn with_slots(n: usize) -> Result<Self> {
        let mut slots = memory::reserved(n + 1)?;
        slots.push(SEPARATOR);
        Ok(Self { slots, weight_starts: Vec::new(), weights: Vec::new(), group_starts: Vec::new() })
    }

    /// Begins a group of pieces, which must be in order of weight as those of a layout without
    /// groups.
    pub(crate) fn begin_group(&mut self) {
        self.group_starts.push(self.weights.len() as u32);
    }

    /// The position where each group begins, and the end of the last. Valid until
    /// [`SymbolLayout::compact`].
    pub(crate) fn group_positions(&self) -> Vec<u32> {
        let position = |&start: &u32| self.weight_starts.get(start as usize).copied();
        let end = self.slots.len() as u32;
        self.group_starts.iter().map(|start| position(start).unwrap_or(end)).chain([end]).collect()
    }

    /// Appends a run and empties it. Skips a run of one symbol, which has no pair.
    pub(crate) fn push_run(&mut self, run: &mut Vec<TokenId>, weight: u64) {
        if run.len() > 1 {
            self.begin_weight(weight);
            self.slots.extend_from_slice(run);
            self.slots.push(SEPARATOR);
        }
        run.clear();
    }

    /// Appends a run of merged symbols with the number of slots of each.
    pub(crate) fn push_merged(&mut self, symbols: &[TokenId], spans: &[u32], weight: u64) {
        self.begin_weight(weight);
        for (&symbol, &span) in symbols.iter().zip(spans) {
            let (at, span) = (self.slots.len(), span as usize);
            self.slots.push(symbol);
            self.slots.resize(at + span, DEAD);
            if span > 1 {
                self.join(at, 1, span - 1, symbol);
            }
        }
        self.slots.push(SEPARATOR);
    }

    /// Refuses a layout with more slots than positions.
    pub(crate) fn check(self) -> Result<Self> {
        if u32::try_from(self.slots.len()).is_err() {
            return Err(Error::Option {
                option: "pieces",
                value: format!("{} symbols in distinct pieces", self.slots.len()),
                reason: "at most 2^32 can be trained on; raise min_count, or train on a sample".to_owned(),
            });
        }
        Ok(self)
    }

    fn begin_weight(&mut self, weight: u64) {
        let begins_group = self.group_starts.last() == Some(&(self.weights.len() as u32));
        if begins_group || self.weights.last() != Some(&weight) {
            self.weight_starts.push(self.slots.len() as u32);
            self.weights.push(weight);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot at a position: an id where a symbol begins, else a marked value.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> u32 {
        self.slots[position]
    }

    /// The number of slots of the symbol that begins at `position`.
    #[inline]
    pub(crate) fn span(&self, position: usize) -> usize {
        let next = self.slots[position + 1];
        match next & DEAD {
            END => 2,
            SPAN => (next & !SPAN) as usize,
            // The next slot begins another symbol or is a separator.
            _ => 1,
        }
    }

    /// The symbol before `position`, with its start.
    #[inline]
    pub(crate) fn before(&self, position: usize) -> Option<(TokenId, usize)> {
        let last = self.slots[position - 1];
        if last == SEPARATOR {
            return None;
        }
        if last & END == 0 {
            return Some((last, position - 1));
        }
        let inner = self.slots[position - 2];
        let span = if inner & DEAD == SPAN { (inner & !SPAN) as usize } else { 2 };
        Some((last & !END, position - span))
    }

    /// Merges the two symbols at `position` into one of `left + right` slots.
    #[inline]
    pub(crate) fn join(&mut self, position: usize, left: usize, right: usize, id: TokenId) {
        let span = left + right;
        let end = position + span - 1;
        let middle = position + left;
        if span > 2 {
            self.slots[middle - 1] = DEAD;
            self.slots[middle] = DEAD;
            self.slots[position + 1] = SPAN | span as u32;
            self.slots[end - 1] = SPAN | span as u32;
        }
        self.slots[position] = id;
        self.slots[end] = id | END;
    }

    /// The slots of a compact layout, each a symbol or a separator. Valid after
    /// [`SymbolLayout::compact`] and before the next [`SymbolLayout::join`].
    pub(crate) fn compact_slots(&self) -> &[u32] {
        &self.slots
    }

    /// Calls `f` with the position, left symbol, right symbol and weight of each pair of
    /// neighbours, in a layout that need not be compact.
    pub(crate) fn for_each_pair(
        &self,
        mut f: impl FnMut(usize, TokenId, TokenId, u64) -> Result<()>,
    ) -> Result<()> {
        let mut weights = Weights::default();
        let mut position = 0;
        while position < self.slots.len() {
            let left = self.slots[position];
            if left == SEPARATOR {
                position += 1;
                continue;
            }
            let next = position + self.span(position);
            let right = self.slots[next];
            if right != SEPARATOR {
                f(position, left, right, weights.at(self, position))?;
            }
            position = next;
        }
        Ok(())
    }

    /// Reduces every symbol to one slot. Positions change.
    pub(crate) fn compact(&mut self) {
        let (mut from, mut to) = (0, 0);
        let mut weight = 0;
        while from < self.slots.len() {
            if self.weight_starts.get(weight).is_some_and(|&start| start as usize == from) {
                self.weight_starts[weight] = to as u32;
                weight += 1;
            }
            let id = self.slots[from];
            let span = if id == SEPARATOR { 1 } else { self.span(from) };
            // Keeps runs of one symbol, which have no pair, because `unmerge` needs them.
            self.slots[to] = id;
            from += span;
            to += 1;
        }
        self.slots.truncate(to);
    }

    /// Undoes merges, none of which made a token that had occurred in a piece before.
    pub(crate) fn unmerge(&mut self, merges: &[Merge]) -> Result<()> {
        self.compact();
        let parts: FxHashMap<TokenId, (TokenId, TokenId)> =
            merges.iter().map(|merge| (merge.id, (merge.left, merge.right))).collect();
        let mut slots = Vec::new();
        let mut stack = Vec::new();
        let mut weight = 0;
        for (from, &slot) in self.slots.iter().enumerate() {
            if self.weight_starts.get(weight).is_some_and(|&start| start as usize == from) {
                self.weight_starts[weight] = slots.len() as u32;
                weight += 1;
            }
            stack.push(slot);
            while let Some(id) = stack.pop() {
                match parts.get(&id) {
                    Some(&(left, right)) => stack.extend([right, left]),
                    None => memory::push(&mut slots, id)?,
                }
            }
        }
        self.slots = slots;
        Ok(())
    }

    /// Calls `f` with the symbols and the weight of each run.
    pub(crate) fn for_each_run(&self, mut f: impl FnMut(&[TokenId], u64)) {
        let mut weights = Weights::default();
        let mut start = 1;
        for run in self.slots[1..].split(|&slot| slot == SEPARATOR) {
            if !run.is_empty() {
                f(run, weights.at(self, start));
            }
            start += run.len() + 1;
        }
    }
}

/// A cursor that finds the weights of ascending positions.
#[derive(Default)]
pub(crate) struct Weights {
    weight: u64,
    from: u32,
    to: u32,
}

impl Weights {
    /// The weight at a position; fastest for ascending positions.
    #[inline]
    pub(crate) fn at(&mut self, layout: &SymbolLayout, position: usize) -> u64 {
        let position = position as u32;
        if position < self.from || position >= self.to {
            let next = layout.weight_starts.partition_point(|&start| start <= position);
            self.from = layout.weight_starts[next - 1];
            self.to = layout.weight_starts.get(next).copied().unwrap_or(u32::MAX);
            self.weight = layout.weights[next - 1];
        }
        self.weight
    }
}
