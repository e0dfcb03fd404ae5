//! A binary max-heap of candidate pairs under the order a caller names.
//!
//! `std`'s `BinaryHeap` takes its order from the type; the orders here look
//! into the vocabulary. Counts in the heap may be stale, never too small.

use std::cmp::Ordering;

use super::TieBreak;
use super::tokens::Tokens;
use crate::vocab::TokenId;

/// A pair that may be merged next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) count: u64,
    pub(super) left: TokenId,
    pub(super) right: TokenId,
    /// Where the owner keeps the pair.
    pub(super) index: u32,
}

impl TieBreak {
    /// Whether `a` goes before `b`.
    #[inline]
    fn before(self, tokens: &Tokens, a: &Candidate, b: &Candidate) -> bool {
        match a.count.cmp(&b.count) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => self.tie(tokens, a, b) == Ordering::Less,
        }
    }

    /// The order of two pairs of equal count: `Less` goes first.
    fn tie(self, tokens: &Tokens, a: &Candidate, b: &Candidate) -> Ordering {
        let by_ids = || (a.left, a.right).cmp(&(b.left, b.right));
        match self {
            TieBreak::HuggingFace => by_ids(),
            TieBreak::Bytes => {
                let bytes = |pair: &Candidate| (tokens.bytes(pair.left), tokens.bytes(pair.right));
                bytes(b).cmp(&bytes(a)).then_with(by_ids)
            }
            TieBreak::SentencePiece => {
                let length = |pair: &Candidate| tokens.length(pair.left) + tokens.length(pair.right);
                let text = |pair: &Candidate| {
                    tokens.bytes(pair.left).iter().chain(tokens.bytes(pair.right)).copied()
                };
                (length(a).cmp(&length(b))).then_with(|| text(a).cmp(text(b))).then_with(by_ids)
            }
        }
    }
}

/// The heap.
pub(super) struct Heap {
    tie_break: TieBreak,
    items: Vec<Candidate>,
}

impl Heap {
    pub(super) fn new(tie_break: TieBreak) -> Self {
        Self { tie_break, items: Vec::new() }
    }

    /// Replaces all candidates, in linear time.
    pub(super) fn refill(&mut self, tokens: &Tokens, candidates: impl Iterator<Item = Candidate>) {
        self.items.clear();
        self.items.extend(candidates);
        for at in (0..self.items.len() / 2).rev() {
            self.sift_down(tokens, at);
        }
    }

    pub(super) fn peek(&self) -> Option<Candidate> {
        self.items.first().copied()
    }

    pub(super) fn push(&mut self, tokens: &Tokens, candidate: Candidate) {
        let mut at = self.items.len();
        self.items.push(candidate);
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.tie_break.before(tokens, &candidate, &self.items[parent]) {
                break;
            }
            self.items[at] = self.items[parent];
            at = parent;
        }
        self.items[at] = candidate;
    }

    /// Removes the first candidate.
    pub(super) fn pop(&mut self, tokens: &Tokens) {
        if !self.items.is_empty() {
            self.items.swap_remove(0);
            self.sift_down(tokens, 0);
        }
    }

    /// Gives the first candidate its present count, which is smaller.
    pub(super) fn lower_first(&mut self, tokens: &Tokens, count: u64) {
        if let Some(first) = self.items.first_mut() {
            first.count = count;
            self.sift_down(tokens, 0);
        }
    }

    fn sift_down(&mut self, tokens: &Tokens, mut at: usize) {
        let Some(&moved) = self.items.get(at) else { return };
        loop {
            let mut child = 2 * at + 1;
            if child >= self.items.len() {
                break;
            }
            if child + 1 < self.items.len()
                && self.tie_break.before(tokens, &self.items[child + 1], &self.items[child])
            {
                child += 1;
            }
            if !self.tie_break.before(tokens, &self.items[child], &moved) {
                break;
            }
            self.items[at] = self.items[child];
            at = child;
        }
        self.items[at] = moved;
    }
}
