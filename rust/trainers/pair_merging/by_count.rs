//! `ByCount`: the most frequent pair first, which is byte-pair encoding.
//!
//! A binary max-heap under an order that looks into the vocabulary to break
//! ties; `std`'s `BinaryHeap` takes its order from the type. Counts in the heap
//! may be stale, never too small, as a pair's count only falls: so a count is
//! looked at when it comes to the front, and not before. Where scores may rise
//! (`trainers::wordpiece`) this order would be wrong.

use std::cmp::Ordering;

use super::pairs::{Candidate, Pairs};
use super::tokens::Tokens;
use super::window::{Next, Order};
use crate::error::Result;
use crate::memory::{self, MakeRoom};

/// Which pair is merged first. All begin with the greatest count, and all
/// count each place where the pair stands: `aaa` holds `a a` twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// Then the smaller pair of ids, as in Hugging Face `tokenizers`.
    HuggingFace,
    /// Then the greater pair of byte strings, as in the CS336 reference.
    Bytes,
    /// Then fewer symbols, then the smaller string, as in SentencePiece.
    SentencePiece,
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

/// Candidates, the most frequent first.
pub(crate) struct ByCount {
    tie_break: TieBreak,
    heap: Vec<Candidate>,
}

impl ByCount {
    pub(crate) fn new(tie_break: TieBreak) -> Self {
        Self { tie_break, heap: Vec::new() }
    }

    fn pop(&mut self, tokens: &Tokens) {
        if !self.heap.is_empty() {
            self.heap.swap_remove(0);
            self.sift_down(tokens, 0);
        }
    }

    fn sift_down(&mut self, tokens: &Tokens, mut at: usize) {
        let Some(&moved) = self.heap.get(at) else { return };
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len()
                && self.tie_break.before(tokens, &self.heap[child + 1], &self.heap[child])
            {
                child += 1;
            }
            if !self.tie_break.before(tokens, &self.heap[child], &moved) {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = moved;
    }
}

impl Order for ByCount {
    /// In linear time.
    fn fill(&mut self, tokens: &Tokens, pairs: &Pairs) -> Result<()> {
        self.heap.clear();
        let pairs = pairs.iter();
        self.heap.make_room(pairs.len())?;
        self.heap.extend(pairs);
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(tokens, at);
        }
        Ok(())
    }

    fn push(&mut self, tokens: &Tokens, pair: Candidate) -> Result<()> {
        let mut at = self.heap.len();
        memory::push(&mut self.heap, pair)?;
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.tie_break.before(tokens, &pair, &self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = pair;
        Ok(())
    }

    fn best(&mut self, tokens: &Tokens, pairs: &mut Pairs, least: u64, _: bool) -> Next {
        while let Some(&first) = self.heap.first() {
            let count = pairs.count(first.index);
            if count == first.count {
                return Next::Pair(first);
            }
            if count >= least {
                self.heap[0].count = count;
                self.sift_down(tokens, 0);
            } else {
                self.pop(tokens);
                pairs.remove(first);
            }
        }
        Next::Rarer
    }

    fn remove(&mut self, tokens: &Tokens, _: Candidate) {
        self.pop(tokens);
    }
}
