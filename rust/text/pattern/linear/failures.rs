//! `Failures`: states from which no match followed, by position (Reps 1998), so that later searches
//! in the same text stop at them.

use regex_automata::hybrid::LazyStateID;

/// The maximum number of positions after a match for which states are kept.
const PLACES: usize = 1 << 20;
/// The maximum number of states per position.
const WAYS: usize = 4;

/// States from which no match follows, by the position after which they are reached.
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

    /// Makes room for the positions `from..to`, and drops the states of an earlier stretch.
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
