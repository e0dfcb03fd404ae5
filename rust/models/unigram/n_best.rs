//! The best ways to cut a text, in order.
//!
//! Each place keeps its best ways, no more than are asked for, each as its last
//! arc and the way before it: of the arcs that end there the best, then the next
//! best of the ways that one continues, by a heap (algorithm 2 of Huang & Chiang
//! 2005, "Better k-best Parsing"). Time is that of the arcs, and of one access to
//! the heap for each way kept; memory is 16 bytes for each way kept, of which
//! there are at most [`MOST_KEPT`].
//!
//! Scores are summed from the left in 64 bits. Of ways of equal scores the one
//! whose last arc is longer comes first; of paths that share it the one whose
//! beginning does. The first is always [`Unigram::encode`]'s, whatever its
//! rounding.
//!
//! [`Unigram::encode`]: super::Unigram::encode

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::lattice::{Arc, Lattice, UNKNOWN};
use super::viterbi::char_len;
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::vocab::TokenId;

/// The most ways that are kept to all places together: 64 MiB.
const MOST_KEPT: usize = 1 << 22;
/// The most ids of all ways together: 64 MiB.
const MOST_IDS: usize = 1 << 24;

/// A way to cut a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The tokens.
    pub ids: Vec<TokenId>,
    /// The sum of their scores.
    pub score: f64,
}

/// One of the best ways to a place.
#[derive(Clone, Copy)]
struct Way {
    score: f64,
    /// Of its last arc.
    id: TokenId,
    /// The number of the way that the arc continues.
    before: u32,
}

/// The best way by one arc that is not taken yet.
#[derive(PartialEq)]
struct Head {
    score: f64,
    /// The number of the arc among those of the place.
    arc: usize,
    before: u32,
}

impl Eq for Head {}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = Reverse((self.arc, self.before)).cmp(&Reverse((other.arc, other.before)));
        self.score.total_cmp(&other.score).then(order)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best ways to each place.
struct Ways {
    all: Vec<Way>,
    /// Where those of each place begin, and where the last one's end.
    first: Vec<u32>,
}

impl Lattice<'_> {
    /// The `n` best ways to cut the text, best first.
    ///
    /// # Errors
    /// [`Error::Encode`] where there is more to keep than the bounds allow;
    /// [`Error::Memory`] where there is no memory for it.
    pub fn n_best(&self, n: usize) -> Result<Vec<Path>> {
        if n == 0 {
            return Ok(Vec::new());
        }
        let best = self.model.best_path(self.text)?;
        let mut n_ids = best.len();
        let mut paths = vec![Path { score: self.score_of(&best), ids: self.model.ids_of(self.text, &best)? }];
        if n == 1 {
            return Ok(paths);
        }
        let ways = self.best_ways(n)?;
        for way in ways.to(self.text.len()) {
            let steps = self.steps(&ways, way)?;
            let is_first = steps.iter().map(|step| step.1).eq(best.iter().map(|step| step.1));
            if paths.len() == n || is_first {
                continue;
            }
            n_ids += steps.len();
            if n_ids > MOST_IDS {
                return Err(self.too_many(n, "ids", MOST_IDS));
            }
            let (score, ids) = (ways.all[way].score, self.model.ids_of(self.text, &steps)?);
            memory::push(&mut paths, Path { ids, score })?;
        }
        Ok(paths)
    }

    fn too_many(&self, n: usize, what: &str, limit: usize) -> Error {
        Error::Encode(format!(
            "the {n} best ways to cut a text of {} bytes take more than {limit} {what}; ask for fewer ways, or \
             pass a shorter text",
            self.text.len()
        ))
    }

    /// The `n` best ways to each place, or all where there are fewer.
    fn best_ways(&self, n: usize) -> Result<Ways> {
        let mut ways = Ways {
            all: vec![Way { score: 0.0, id: UNKNOWN, before: 0 }],
            first: memory::reserved(self.text.len() + 2)?,
        };
        ways.first.extend([0, 1]);
        let mut heads = Vec::new();
        self.for_each_end(|end, arcs| {
            heads.clear();
            heads.make_room(arcs.len())?;
            heads.extend(arcs.iter().enumerate().filter_map(|(number, arc)| {
                let before = ways.to(end - arc.len as usize).next()?;
                Some(self.head(&ways, number, *arc, before))
            }));
            let mut heap = BinaryHeap::from(std::mem::take(&mut heads));
            let from = ways.all.len();
            while ways.all.len() - from < n
                && let Some(mut head) = heap.peek_mut()
            {
                let arc = arcs[head.arc];
                if ways.all.len() == MOST_KEPT {
                    return Err(self.too_many(n, "ways to its places", MOST_KEPT));
                }
                memory::push(&mut ways.all, Way { score: head.score, id: arc.id, before: head.before })?;
                let next = head.before as usize + 1;
                if next < ways.to(end - arc.len as usize).end {
                    *head = self.head(&ways, head.arc, arc, next);
                } else {
                    PeekMut::pop(head);
                }
            }
            heads = heap.into_vec();
            ways.first.push(ways.all.len() as u32);
            Ok(())
        })?;
        Ok(ways)
    }

    fn head(&self, ways: &Ways, number: usize, arc: Arc, before: usize) -> Head {
        Head { score: ways.all[before].score + self.score(arc), arc: number, before: before as u32 }
    }

    /// The steps of a way to the end of the text.
    fn steps(&self, ways: &Ways, way: usize) -> Result<Vec<(TokenId, u32)>> {
        let mut steps = Vec::new();
        let mut at = way;
        while at > 0 {
            memory::push(&mut steps, (ways.all[at].id, 0))?;
            at = ways.all[at].before as usize;
        }
        steps.reverse();
        let mut start = 0;
        for (id, len) in &mut steps {
            let piece = self.model.vocab().bytes(*id).filter(|_| *id != UNKNOWN);
            let bytes = piece.map_or_else(|| char_len(self.text[start]), <[u8]>::len);
            *len = bytes.min(self.text.len() - start) as u32;
            *id = self.mark(*id);
            start += *len as usize;
        }
        Ok(steps)
    }

    /// The sum of the scores of a path.
    fn score_of(&self, path: &[(TokenId, u32)]) -> f64 {
        let (mut sum, mut start) = (0.0, 0);
        for &(_, len) in path {
            let end = start + len as usize;
            // A path does not distinguish an unknown character from the unknown token.
            self.model.pieces().for_each_at(self.text, start, |to, id| {
                if to == end {
                    sum += self.score(Arc { len, id: id.unwrap_or(UNKNOWN) });
                }
            });
            start = end;
        }
        sum
    }
}

impl Ways {
    /// The numbers of the ways to a place.
    fn to(&self, place: usize) -> std::ops::Range<usize> {
        self.first[place] as usize..self.first[place + 1] as usize
    }
}
