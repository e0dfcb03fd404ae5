//! `Chain`: parts of long pieces that wait for the sums before them.
//!
//! Threads make drafts of parts in any order. Each is settled once the sum of what is
//! before it is known, by the thread that finds both: so no thread waits, and every draft
//! is settled by the time that the last thread is done.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::models::unigram::Draft;

/// What waits for each other; parts are known by the numbers of their jobs.
#[derive(Default)]
pub(super) struct Chain {
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    drafts: HashMap<usize, Draft>,
    sums: HashMap<usize, f64>,
}

impl Chain {
    /// Takes the draft of a part; gives it back with the sum before it, if that is known.
    pub(super) fn draft(&self, part: usize, draft: Draft) -> Option<(Draft, f64)> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = halves.sums.remove(&part) {
            return Some((draft, sum));
        }
        halves.drafts.insert(part, draft);
        None
    }

    /// Takes the sum before a part; gives it back with the draft, if there is one.
    pub(super) fn sum(&self, part: usize, sum: f64) -> Option<(Draft, f64)> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(draft) = halves.drafts.remove(&part) {
            return Some((draft, sum));
        }
        halves.sums.insert(part, sum);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_second_gets_both() {
        let chain = Chain::default();
        assert!(chain.draft(7, Draft::default()).is_none());
        assert!(chain.sum(8, 2.0).is_none());
        assert_eq!(chain.sum(7, 1.5).map(|(_, sum)| sum), Some(1.5));
        assert_eq!(chain.draft(8, Draft::default()).map(|(_, sum)| sum), Some(2.0));
        assert!(chain.sum(7, 1.0).is_none());
    }
}
