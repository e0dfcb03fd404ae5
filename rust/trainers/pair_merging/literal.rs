//! Hugging Face's bookkeeping, step by step, for the one case where it differs from exact counting:
//! a merge makes a token that already occurs in pieces, because the corpus contains the prefix or
//! the suffix literally.
//!
//! From then on the counts of its trainer (0.23) are inexact: a merged pair keeps its count, a pair
//! that appears twice is queued twice, each entry with the pieces where it appeared, and negative
//! counts compare as huge. This file does the same, so that ids are equal. The cost of a merge is
//! proportional to its occurrences: symbols are linked lists, and every pair has a list of its
//! positions. Hugging Face orders two entries of one pair by hash; here the entry that was queued
//! first goes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::layout::SymbolLayout;
use super::tokens::Tokens;
use super::{Limits, Merge, MergeStop};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

type Pair = (TokenId, TokenId);

/// How many merges are done between two checks for progress.
const TICK: usize = 1 << 12;

/// Count, pair, and number of the entry, in the order of the queue.
type Queue = BinaryHeap<(u64, Reverse<Pair>, Reverse<usize>)>;

/// The state of the trainer.
#[derive(Default)]
struct TrainerState {
    counts: FxHashMap<Pair, i64>,
    /// The pieces where pairs have appeared since the queue was last filled, in the order of
    /// appearance.
    births: Vec<(Pair, Vec<u32>)>,
    birth_index: FxHashMap<Pair, usize>,
    /// The positions of each pair. Some may be stale.
    places: FxHashMap<Pair, Vec<u32>>,
    /// The pieces of each queue entry.
    carried: Vec<Vec<u32>>,
    queue: Queue,
}

impl TrainerState {
    fn add(&mut self, tokens: &Tokens, pair: Pair, by: i64) -> Result<()> {
        self.counts.make_room(1)?;
        let count = self.counts.entry(pair).or_default();
        *count = count.checked_add(by).ok_or_else(|| Error::CountOverflow {
            what: format!("the pair {:?}", String::from_utf8_lossy(&tokens.joined(pair.0, pair.1))),
        })?;
        Ok(())
    }

    fn born(&mut self, pair: Pair, word: u32) -> Result<()> {
        self.birth_index.make_room(1)?;
        self.births.make_room(1)?;
        let at = *self.birth_index.entry(pair).or_insert_with(|| {
            self.births.push((pair, Vec::new()));
            self.births.len() - 1
        });
        let words = &mut self.births[at].1;
        if words.last() != Some(&word) {
            memory::push(words, word)?;
        }
        Ok(())
    }

    /// Records a position of a pair.
    fn add_position(&mut self, pair: Pair, at: u32) -> Result<()> {
        self.places.make_room(1)?;
        memory::push(self.places.entry(pair).or_default(), at)
    }

    /// Moves the recorded births to the queue.
    fn fill_queue(&mut self) -> Result<()> {
        self.birth_index.clear();
        for (pair, words) in self.births.drain(..) {
            let count = self.counts[&pair];
            if count > 0 {
                self.queue.make_room(1)?;
                self.queue.push((count as u64, Reverse(pair), Reverse(self.carried.len())));
                memory::push(&mut self.carried, words)?;
            }
        }
        Ok(())
    }
}

/// Trains from initial symbols.
pub(super) fn train(
    layout: &SymbolLayout,
    tokens: &mut Tokens,
    limits: &Limits,
    progress: &mut Progress,
) -> Result<(Vec<Merge>, MergeStop)> {
    let mut words = LinkedPieces::of(layout)?;
    let mut state = TrainerState::default();
    for at in 0..words.symbols.len() as u32 {
        if let Some(pair) = words.pair(at) {
            let word = words.word_of(at);
            state.add(tokens, pair, words.weights[word as usize])?;
            state.born(pair, word)?;
            state.add_position(pair, at)?;
        }
    }
    state.fill_queue()?;

    let mut merges = Vec::new();
    let stop = loop {
        progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        if tokens.len() >= limits.vocab_size {
            break MergeStop::VocabFull;
        }
        let Some((count, Reverse(pair), Reverse(entry))) = state.queue.pop() else {
            break MergeStop::NoPairs;
        };
        let live = state.counts[&pair] as u64;
        if count != live {
            state.queue.push((live, Reverse(pair), Reverse(entry)));
            continue;
        }
        if count == 0 {
            break MergeStop::NoPairs;
        }
        if count < limits.min_frequency {
            break MergeStop::BelowMinFrequency { count };
        }
        let bytes = tokens.joined(pair.0, pair.1);
        let id = tokens.intern(&bytes);
        merges.push(Merge { left: pair.0, right: pair.1, id, count });
        let carried = std::mem::take(&mut state.carried[entry]);
        words.merge_in(&carried, pair, id, &mut state, tokens, &mut || {
            progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)
        })?;
        state.fill_queue()?;
    };
    Ok((last_of_each(merges), stop))
}

/// The last merge of each pair. The model has one merge per pair, and the last one overwrites.
pub(crate) fn last_of_each(merges: Vec<Merge>) -> Vec<Merge> {
    let last: FxHashMap<Pair, usize> =
        merges.iter().enumerate().map(|(rank, merge)| ((merge.left, merge.right), rank)).collect();
    let keep = |(rank, merge): &(usize, Merge)| last[&(merge.left, merge.right)] == *rank;
    merges.into_iter().enumerate().filter(keep).map(|(_, merge)| merge).collect()
}

/// Not a symbol: before the first and after the last symbol of a piece, and for a symbol that was
/// merged into another.
const NONE: u32 = u32::MAX;

/// All pieces: their symbols in one array, linked to their neighbours.
#[derive(Default)]
struct LinkedPieces {
    symbols: Vec<TokenId>,
    /// The length of each symbol in initial symbols.
    lens: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    /// The start of each piece.
    starts: Vec<u32>,
    weights: Vec<i64>,
}

impl LinkedPieces {
    fn of(layout: &SymbolLayout) -> Result<Self> {
        let n = layout.len();
        let mut words = Self {
            symbols: memory::reserved(n)?,
            lens: memory::reserved(n)?,
            next: memory::reserved(n)?,
            before: memory::reserved(n)?,
            // A run has at least two symbols and a separator.
            starts: memory::reserved(n / 3)?,
            weights: memory::reserved(n / 3)?,
        };
        let mut fits = true;
        layout.for_each_run(|run, weight| {
            fits &= i64::try_from(weight).is_ok();
            let start = words.symbols.len() as u32;
            let last = start + run.len() as u32 - 1;
            words.starts.push(start);
            words.weights.push(weight as i64);
            words.symbols.extend_from_slice(run);
            words.before.extend((start..=last).map(|at| if at == start { NONE } else { at - 1 }));
            words.next.extend((start..=last).map(|at| if at == last { NONE } else { at + 1 }));
        });
        words.lens.resize(words.symbols.len(), 1);
        if fits { Ok(words) } else { Err(Error::CountOverflow { what: "a piece, doubled,".to_owned() }) }
    }

    /// The number of the piece that contains a position.
    fn word_of(&self, at: u32) -> u32 {
        self.starts.partition_point(|&start| start <= at) as u32 - 1
    }

    /// The pair that begins at a position, if any.
    fn pair(&self, at: u32) -> Option<Pair> {
        let left = self.symbols[at as usize];
        let next = self.next[at as usize];
        (left != NONE && next != NONE).then(|| (left, self.symbols[next as usize]))
    }

    /// Merges a pair from left to right in some pieces, whose numbers ascend.
    #[allow(clippy::too_many_arguments, reason = "2026-11: the state of one loop, taken out of it")]
    fn merge_in(
        &mut self,
        carried: &[u32],
        pair: Pair,
        id: TokenId,
        state: &mut TrainerState,
        tokens: &Tokens,
        tick: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut places = state.places.remove(&pair).unwrap_or_default();
        places.sort_unstable();
        places.dedup();
        let mut elsewhere = Vec::new();
        let mut carried = carried.iter().copied().peekable();
        for (n, at) in places.into_iter().enumerate() {
            if n % TICK == 0 {
                tick()?;
            }
            if self.pair(at) != Some(pair) {
                continue;
            }
            let word = self.word_of(at);
            while carried.next_if(|&other| other < word).is_some() {}
            match carried.peek() {
                Some(&other) if other == word => self.merge(at, word, id, state, tokens)?,
                _ => memory::push(&mut elsewhere, at)?,
            }
        }
        elsewhere.into_iter().try_for_each(|at| state.add_position(pair, at))
    }

    /// Merges the pair at a position, and reports each pair that disappears or appears.
    fn merge(
        &mut self,
        at: u32,
        word: u32,
        id: TokenId,
        state: &mut TrainerState,
        tokens: &Tokens,
    ) -> Result<()> {
        let weight = self.weights[word as usize];
        let at = at as usize;
        let middle = self.next[at] as usize;
        let (left, right) = (self.symbols[at], self.symbols[middle]);
        let length = self.lens[at] + self.lens[middle];
        let (before, after) = (self.before[at], self.next[middle]);
        self.symbols[at] = id;
        self.symbols[middle] = NONE;
        self.lens[at] = length;
        self.next[at] = after;
        if before != NONE {
            let (symbol, len) = (self.symbols[before as usize], self.lens[before as usize]);
            state.add(tokens, (symbol, left), -weight)?;
            state.add_position((symbol, id), before)?;
            if tokens.is_short((len + length) as usize) {
                state.born((symbol, id), word)?;
                state.add(tokens, (symbol, id), weight)?;
            }
        }
        if after != NONE {
            self.before[after as usize] = at as u32;
            let (symbol, len) = (self.symbols[after as usize], self.lens[after as usize]);
            state.add(tokens, (right, symbol), -weight)?;
            state.add_position((id, symbol), at as u32)?;
            if tokens.is_short((len + length) as usize) {
                state.born((id, symbol), word)?;
                state.add(tokens, (id, symbol), weight)?;
            }
        }
        Ok(())
    }
}
