//! `Firsts`: the bytes with which a match of a pattern may begin, and the two bytes with which all
//! matches begin, if there are such.
//!
//! Computed from the DFA for all contexts before a match, so that a search can skip positions where
//! no match begins. Assumes that the pattern has no word boundaries, which the linear engine does
//! not support.

use memchr::memmem::Finder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};

/// The contexts before a match that a pattern without word boundaries can distinguish.
const BEFORE: [Option<u8>; 5] = [None, Some(b'a'), Some(b' '), Some(b'\n'), Some(b'\r')];

/// The beginnings of matches.
pub(super) struct Firsts {
    /// The bytes that may begin a match, or follow an empty match.
    bytes: [bool; 256],
    /// The two bytes with which each match begins, if they are always the same. Many files search
    /// for runs of blanks, and single blanks are frequent.
    two: Option<Finder<'static>>,
    /// Whether there may be a match at the end of a text.
    at_end: bool,
}

impl Firsts {
    /// Computes the beginnings for a pattern. `cache` must belong to `dfa`.
    pub(super) fn of(dfa: &DFA, cache: &mut Cache) -> Self {
        let bytes = std::array::from_fn(|byte| may_begin(dfa, cache, &[byte as u8], false));
        let at_end = may_begin(dfa, cache, &[], true);
        let two = only(&bytes).filter(|&one| !at_end && !may_begin(dfa, cache, &[one], true));
        let two = two.and_then(|one| {
            let seconds = std::array::from_fn(|byte| may_begin(dfa, cache, &[one, byte as u8], false));
            only(&seconds).map(|second| Finder::new(&[one, second]).into_owned())
        });
        Self { bytes, two, at_end }
    }

    /// Whether a text may contain a match.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.at_end || self.next(text.as_bytes(), 0).is_some()
    }

    /// The first position from `at` on where a match may begin that is not empty, or that is empty
    /// and precedes a byte.
    pub(super) fn next(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match &self.two {
            Some(two) => two.find(rest),
            None => rest.iter().position(|&byte| self.bytes[usize::from(byte)]),
        };
        found.map(|place| at + place)
    }
}

/// The byte of a set with a single byte.
fn only(bytes: &[bool; 256]) -> Option<u8> {
    let mut found = (0..=255_u8).filter(|&byte| bytes[usize::from(byte)]);
    found.next().filter(|_| found.next().is_none())
}

/// Whether a match may begin with these bytes (followed by the end of the text if `at_end`) in some
/// context.
fn may_begin(dfa: &DFA, cache: &mut Cache, bytes: &[u8], at_end: bool) -> bool {
    BEFORE.into_iter().any(|before| {
        let text: Vec<u8> = before.into_iter().chain(bytes.iter().copied()).collect();
        let start = usize::from(before.is_some());
        let input = Input::new(&text).span(start..text.len()).anchored(Anchored::Yes);
        let mut state = dfa.start_state_forward(cache, &input).ok();
        for &byte in bytes {
            state = state.and_then(|state| dfa.next_state(cache, state, byte).ok());
        }
        if at_end {
            state = state.and_then(|state| dfa.next_eoi_state(cache, state).ok());
        }
        !state.is_some_and(|state| state.is_dead())
    })
}
