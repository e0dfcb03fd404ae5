//! Merging where some pieces are `unused`: they merge like any piece, and
//! are taken apart again at the end.
//!
//! Into what, SentencePiece remembers by the text of the piece: the two parts of
//! the place that was queued *last*, anywhere in the text. So a text cannot be
//! cut here, and nothing is cached. Only models whose vocabulary was restricted
//! have such pieces. O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::{HashMap, HashSet};

use super::merge::Symbols;
use super::pairs::{Merged, PairTable};
use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::vocab::TokenId;

/// A text while it is merged.
struct Text<'a> {
    pairs: &'a PairTable,
    unused: &'a HashSet<TokenId>,
    ids: Vec<TokenId>,
    /// In symbols as they were at first; 0 for one that was merged away.
    spans: Vec<u32>,
    /// Where the symbol before begins, by the place after its end.
    before: Vec<u32>,
    /// Rank, place, and the span of the result, by which stale ones are known.
    queue: BinaryHeap<Reverse<(u32, u32, u32)>>,
    /// From an unused piece to its parts, and the span of the left one.
    parts: HashMap<TokenId, (TokenId, TokenId, u32)>,
}

impl Text<'_> {
    fn queue_pair(&mut self, at: usize) -> Result<()> {
        let next = at + self.spans[at] as usize;
        let Some(&right) = self.ids.get(next) else { return Ok(()) };
        let merged = self.pairs.get(self.ids[at], right);
        if merged != Merged::NEVER {
            let whole = self.spans[at] + self.spans[next];
            self.queue.make_room(1)?;
            self.queue.push(Reverse((merged.rank, at as u32, whole)));
            if self.unused.contains(&merged.id) {
                self.parts.make_room(1)?;
                self.parts.insert(merged.id, (self.ids[at], right, self.spans[at]));
            }
        }
        Ok(())
    }

    fn merge(&mut self) -> Result<()> {
        (0..self.ids.len()).try_for_each(|at| self.queue_pair(at))?;
        while let Some(Reverse((_, at, span))) = self.queue.pop() {
            let at = at as usize;
            let next = at + self.spans[at] as usize;
            if self.spans[at] == 0 || self.spans.get(next).is_none_or(|right| self.spans[at] + right != span)
            {
                continue;
            }
            self.ids[at] = self.pairs.get(self.ids[at], self.ids[next]).id;
            self.spans[at] = span;
            self.spans[next] = 0;
            if let Some(before) = self.before.get_mut(at + span as usize) {
                *before = at as u32;
            }
            if at > 0 {
                self.queue_pair(self.before[at] as usize)?;
            }
            self.queue_pair(at)?;
        }
        Ok(())
    }
}

/// Merges `symbols` and takes unused pieces apart.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) where there is not enough.
pub(super) fn merge(symbols: &mut Symbols, pairs: &PairTable, unused: &HashSet<TokenId>) -> Result<()> {
    let lens = std::mem::take(&mut symbols.lens);
    let n = symbols.ids.len();
    let mut text = Text {
        pairs,
        unused,
        ids: std::mem::take(&mut symbols.ids),
        spans: memory::filled(n, 1)?,
        before: memory::collected((0..n as u32).map(|at| at.saturating_sub(1)))?,
        queue: BinaryHeap::new(),
        parts: HashMap::new(),
    };
    text.merge()?;
    let mut at = 0;
    let mut stack = Vec::new();
    while at < n {
        stack.push((text.ids[at], text.spans[at]));
        while let Some((id, span)) = stack.pop() {
            match text.parts.get(&id) {
                Some(&(left, right, left_span)) => {
                    stack.extend([(right, span - left_span), (left, left_span)])
                }
                None => {
                    let end = at + span as usize;
                    symbols.push(id, lens[at..end].iter().sum());
                    at = end;
                }
            }
        }
    }
    Ok(())
}
