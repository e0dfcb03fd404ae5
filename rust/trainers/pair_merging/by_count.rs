//! `ByCount`: merges the most frequent pair first, which is byte-pair encoding.
//!
//! A binary max-heap whose order needs the vocabulary to break ties (`std`'s `BinaryHeap` takes its
//! order from the type alone). Counts in the heap may be too great but never too small, because the
//! count of a pair only falls; so a count is checked only when it reaches the front. This would be
//! wrong where scores may rise (`trainers::wordpiece`).

use std::cmp::Ordering;

use super::pairs::{Candidate, Pairs};
use super::tokens::Tokens;
use super::window::{Next, Order};
use crate::error::Result;
use crate::memory::{self, MakeRoom};

/// How ties between pairs with equal counts are broken. Counts include overlapping occurrences:
/// `aaa` contains `a a` twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The smaller pair of ids first, as in Hugging Face `tokenizers`.
    HuggingFace,
    /// The greater pair of byte strings first, as in the CS336 assignment of Stanford.
    Bytes,
    /// Fewer symbols first, then the smaller string, as in SentencePiece.
    SentencePiece,
    /// The greater pair of texts first, as in Hugging Face's `ParityBpeTrainer`: bytes compare as
    /// their byte-level characters.
    Text,
}

impl TieBreak {
    /// Whether `a` is merged before `b`.
    #[inline]
    fn before(self, tokens: &Tokens, a: &Candidate, b: &Candidate) -> bool {
        match a.count.cmp(&b.count) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => self.tie(tokens, a, b) == Ordering::Less,
        }
    }

    /// The order of two pairs with equal counts: `Less` is merged first.
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
            TieBreak::Text => {
                let by_text = |a, b| tokens.text_order(b).cmp(tokens.text_order(a));
                by_text(a.left, b.left).then_with(|| by_text(a.right, b.right)).then_with(by_ids)
            }
        }
    }
}

/// A heap of candidates, the most frequent first.
pub(crate) struct CandidateHeap {
    tie_break: TieBreak,
    heap: Vec<Candidate>,
}

impl CandidateHeap {
    pub(crate) fn new(tie_break: TieBreak) -> Self {
        Self { tie_break, heap: Vec::new() }
    }

    /// Replaces all candidates, in linear time.
    pub(crate) fn fill(
        &mut self,
        tokens: &Tokens,
        pairs: impl ExactSizeIterator<Item = Candidate>,
    ) -> Result<()> {
        self.heap.clear();
        self.heap.make_room(pairs.len())?;
        self.heap.extend(pairs);
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(tokens, at);
        }
        Ok(())
    }

    pub(crate) fn push(&mut self, tokens: &Tokens, pair: Candidate) -> Result<()> {
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

    /// The best pair; `None` if no pair is left that occurs `least` times. `count` gives the
    /// current count of a pair, which only falls; a pair rarer than `least` is then removed.
    pub(crate) fn best(
        &mut self,
        tokens: &Tokens,
        least: u64,
        mut count: impl FnMut(Candidate) -> u64,
    ) -> Option<Candidate> {
        while let Some(&first) = self.heap.first() {
            let count = count(first);
            if count == first.count {
                return Some(first);
            }
            if count >= least {
                self.heap[0].count = count;
                self.sift_down(tokens, 0);
            } else {
                self.pop(tokens);
            }
        }
        None
    }

    /// Removes the first pair.
    pub(crate) fn pop(&mut self, tokens: &Tokens) {
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

/// Byte-pair encoding: the pairs of a window in a heap.
pub(crate) struct ByCount {
    heap: CandidateHeap,
}

impl ByCount {
    pub(crate) fn new(tie_break: TieBreak) -> Self {
        Self { heap: CandidateHeap::new(tie_break) }
    }
}

impl Order for ByCount {
    fn fill(&mut self, tokens: &Tokens, pairs: &Pairs) -> Result<()> {
        self.heap.fill(tokens, pairs.iter())
    }

    fn push(&mut self, tokens: &Tokens, pair: Candidate) -> Result<()> {
        self.heap.push(tokens, pair)
    }

    fn best(&mut self, tokens: &Tokens, pairs: &mut Pairs, least: u64, _: bool) -> Next {
        let best = self.heap.best(tokens, least, |pair| {
            let count = pairs.count(pair.index);
            if count < least {
                pairs.remove(pair);
            }
            count
        });
        best.map_or(Next::Rarer, Next::Pair)
    }

    fn remove(&mut self, tokens: &Tokens, _: Candidate) {
        self.heap.pop(tokens);
    }
}
