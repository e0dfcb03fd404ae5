//! `Firsts`: the bytes that a match of a pattern may begin with.
//!
//! Asked of the DFA itself, from all that may stand before a match, so that places
//! where none begins are passed over without a search. Not for patterns with word
//! boundaries, which the linear engine has not.

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};

/// What a match may begin with.
pub(super) struct Firsts {
    /// The bytes, also those that a match of nothing stands before.
    pub(super) bytes: [bool; 256],
    /// Whether there may be a match at the end of a text.
    at_end: bool,
}

impl Firsts {
    /// Those of a pattern; `cache` is its.
    pub(super) fn of(dfa: &DFA, cache: &mut Cache) -> Self {
        let bytes = std::array::from_fn(|byte| may_begin(dfa, cache, Some(byte as u8)));
        Self { bytes, at_end: may_begin(dfa, cache, None) }
    }

    /// Whether there may be a match in a text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.at_end || text.bytes().any(|byte| self.bytes[usize::from(byte)])
    }
}

/// Whether a match may begin with this byte, or at the end, whatever is before it.
fn may_begin(dfa: &DFA, cache: &mut Cache, byte: Option<u8>) -> bool {
    // All that a pattern without word boundaries tells apart.
    [None, Some(b'a'), Some(b' '), Some(b'\n'), Some(b'\r')].into_iter().any(|before| {
        let text: Vec<u8> = before.into_iter().chain(byte).collect();
        let start = usize::from(before.is_some());
        let input = Input::new(&text).span(start..text.len()).anchored(Anchored::Yes);
        let state = dfa.start_state_forward(cache, &input).ok();
        let state = state.and_then(|state| match byte {
            Some(byte) => dfa.next_state(cache, state, byte).ok(),
            None => dfa.next_eoi_state(cache, state).ok(),
        });
        !state.is_some_and(|state| state.is_dead())
    })
}
