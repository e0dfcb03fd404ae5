//! `Failures`: states that led nowhere, by their places (Reps 1998), so that no later
//! search goes the same way. Not kept from text to text.

use regex_automata::hybrid::LazyStateID;

/// The places past a match at which states are kept.
const PLACES: usize = 1 << 20;
/// The states that are kept of a place.
const WAYS: usize = 4;

/// States from which no match comes, by the places after which they are reached.
#[derive(Default)]
pub(super) struct Failures {
    from: usize,
    states: Vec<[Option<LazyStateID>; WAYS]>,
}

impl Failures {
    #[inline]
    pub(super) fn has(&self, at: usize, state: LazyStateID) -> bool {
        let place = at.checked_sub(self.from).and_then(|place| self.states.get(place));
        place.is_some_and(|states| states.contains(&Some(state)))
    }

    /// Makes place for those after `from`; those of other stretches are forgotten.
    pub(super) fn begin(&mut self, from: usize, to: usize) {
        if !(self.from..self.from + self.states.len()).contains(&from) {
            self.from = from;
            self.states.clear();
        }
        let len = (to - self.from).min(PLACES);
        if len > self.states.len() {
            self.states.resize(len, [None; WAYS]);
        }
    }

    pub(super) fn keep(&mut self, at: usize, state: LazyStateID) {
        if let Some(states) = at.checked_sub(self.from).and_then(|place| self.states.get_mut(place))
            && !states.contains(&Some(state))
        {
            states.rotate_right(1);
            states[0] = Some(state);
        }
    }
}
