//! `Firsts`: what a match of a pattern may begin with: which bytes, and which two that all
//! matches begin with.
//!
//! Asked of the DFA itself, from all that may stand before a match, so that places
//! where none begins are passed over without a search. Not for patterns with word
//! boundaries, which the linear engine has not.

use memchr::memmem::Finder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};

/// What may stand before a match: all that a pattern without word boundaries tells apart.
const BEFORE: [Option<u8>; 5] = [None, Some(b'a'), Some(b' '), Some(b'\n'), Some(b'\r')];

/// What a match may begin with.
pub(super) struct Firsts {
    /// The bytes, also those that a match of nothing stands before.
    bytes: [bool; 256],
    /// The two bytes that each match begins with, if these are always the same: blanks in a
    /// row are looked for in many files, and each word has one blank.
    two: Option<Finder<'static>>,
    /// Whether there may be a match at the end of a text.
    at_end: bool,
}

impl Firsts {
    /// Those of a pattern; `cache` is its.
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

    /// Whether there may be a match in a text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.at_end || self.next(text.as_bytes(), 0).is_some()
    }

    /// The first place from `at` on where a match that is not empty may begin, or an empty
    /// one before a byte.
    pub(super) fn next(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match &self.two {
            Some(two) => two.find(rest),
            None => rest.iter().position(|&byte| self.bytes[usize::from(byte)]),
        };
        found.map(|place| at + place)
    }
}

/// The only byte of a set.
fn only(bytes: &[bool; 256]) -> Option<u8> {
    let mut found = (0..=255_u8).filter(|&byte| bytes[usize::from(byte)]);
    found.next().filter(|_| found.next().is_none())
}

/// Whether a match may begin where these bytes stand, and the text's end behind them if
/// `at_end`, whatever is before them.
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
