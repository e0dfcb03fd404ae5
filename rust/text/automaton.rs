//! Finds any of a set of strings in a text: the leftmost match, and of those the longest.
//!
//! - For few strings, `aho-corasick` builds its fastest automaton. Building takes quadratic time
//!   for a string that repeats itself, so long strings get the next best automaton.
//! - For thousands of strings its automaton takes long to build and misses the cache at each byte.
//!   If no string is long, a trie looks up the longest string at each position where one may begin
//!   ([`Beginnings`]), which takes at most as many steps as a string has bytes.
//! - If some strings are long, the automaton runs from such positions, and only until it is back in
//!   its start state.
//!
//! Cost: a search reads on after a match, because a longer one may follow, and the next search
//! begins at the end of the match. So time is linear if few bytes are read again. How many can be
//! read again is a property of the strings ([`most_read_again`]). If it exceeds
//! [`MOST_READ_AGAIN`], the text is read from right to left ([`Backward`]), which reads each byte
//! at most twice.

mod backward;
mod prefixes;

use std::ops::Range;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, BuildError, MatchKind};

use self::backward::{Backward, Position};
use self::prefixes::{Prefixes, Seen};
use crate::text::trie::Trie;

/// The fastest automaton is built at once for strings with at most this many bytes in total.
const QUICK_BYTES: usize = 1 << 12;
/// Up to this many distinct first bytes, `aho-corasick` finds the next one with vector
/// instructions.
const FEW_FIRST_BYTES: usize = 3;

/// The maximum number of bytes that a search may read after the end of its match.
const MOST_READ_AGAIN: usize = 48;
/// The longest string that `aho-corasick` compares with the text at each position with vector
/// instructions. With longer strings that repeat themselves, a search would not be linear.
const MOST_COMPARED: usize = 256;

/// The automaton for some strings. A match is identified by the index of its string.
fn leftmost_longest<S: AsRef<[u8]>>(strings: &[S]) -> Result<AhoCorasick, BuildError> {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind((n_bytes(strings) > QUICK_BYTES).then_some(AhoCorasickKind::ContiguousNFA))
        .prefilter(longest(strings) <= MOST_COMPARED)
        .build(strings)
}

fn longest<S: AsRef<[u8]>>(strings: &[S]) -> usize {
    strings.iter().map(|string| string.as_ref().len()).max().unwrap_or(0)
}

/// An automaton that runs byte by byte.
fn walked<S: AsRef<[u8]>>(strings: &[S]) -> Result<NFA, BuildError> {
    NFA::builder().match_kind(MatchKind::LeftmostLongest).prefilter(false).build(strings)
}

/// The maximum number of bytes that a search reads between the end of its match and the byte that
/// ends the search.
///
/// While a search has a match and reads on, the bytes since the start of some string are a prefix
/// of that string, which starts no later than the match. So running the automaton on each string
/// alone shows the last match at each of its bytes.
fn most_read_again<S: AsRef<[u8]>>(automaton: &NFA, strings: &[S]) -> usize {
    let Ok(start) = automaton.start_state(Anchored::No) else { return 0 };
    let mut most = 0;
    for string in strings {
        let (mut state, mut since_match) = (start, None);
        for &byte in string.as_ref() {
            state = automaton.next_state(Anchored::No, state, byte);
            since_match = if automaton.is_match(state) { Some(0) } else { since_match.map(|n: usize| n + 1) };
            most = most.max(since_match.unwrap_or(0));
        }
    }
    most
}

fn n_bytes<S: AsRef<[u8]>>(strings: &[S]) -> usize {
    strings.iter().map(|string| string.as_ref().len()).sum()
}

/// The longest string, in bytes, that is looked up in a trie at each possible beginning.
const MOST_LOOKED_UP: usize = 48;

/// Finds where one of many strings may begin.
pub(crate) enum Beginnings {
    /// At one of a few bytes.
    Bytes(Vec<u8>),
    /// Where one of their prefixes occurs.
    Prefixes(Prefixes),
}

impl Beginnings {
    /// The first such position from `at` on.
    #[inline]
    fn next(&self, text: &[u8], at: usize, seen: &mut Seen) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match self {
            Self::Prefixes(prefixes) => return prefixes.next(text, at, seen),
            Self::Bytes(bytes) => match bytes[..] {
                [one] => memchr::memchr(one, rest),
                [one, two] => memchr::memchr2(one, two, rest),
                [one, two, three] => memchr::memchr3(one, two, three, rest),
                _ => rest.iter().position(|byte| bytes.contains(byte)),
            },
        };
        found.map(|found| at + found)
    }
}

/// Finds any number of strings that are not empty.
pub(crate) enum Strings {
    /// For few strings, or long ones with few possible beginnings.
    Whole(AhoCorasick),
    /// For many strings that are all short.
    LookedUp {
        /// The strings.
        trie: Trie,
        /// Finds where one may begin.
        beginnings: Beginnings,
    },
    /// For many strings, some of them long.
    Walked {
        /// Runs from where one may begin.
        automaton: Box<NFA>,
        /// Finds where one may begin.
        prefixes: Prefixes,
    },
    /// For strings of which some are only found after reading far beyond a shorter match.
    Backward(Box<Backward>),
}

impl Strings {
    /// Chooses the method for these strings.
    pub(crate) fn new<S: AsRef<[u8]>>(strings: &[S]) -> Result<Self, BuildError> {
        let longest = longest(strings);
        if longest > MOST_READ_AGAIN
            && most_read_again(&walked(strings)?, strings) > MOST_READ_AGAIN
            && let Some(backward) = Backward::new(strings)
        {
            return Ok(Self::Backward(Box::new(backward)));
        }
        if n_bytes(strings) <= QUICK_BYTES {
            return leftmost_longest(strings).map(Self::Whole);
        }
        let mut is_first = [false; 256];
        strings.iter().filter_map(|string| string.as_ref().first()).for_each(|&byte| {
            is_first[usize::from(byte)] = true;
        });
        let first: Vec<u8> = (0..=u8::MAX).filter(|&byte| is_first[usize::from(byte)]).collect();
        let few = first.len() <= FEW_FIRST_BYTES;
        let prefixes = if few { None } else { Prefixes::new(strings) };
        if longest <= MOST_LOOKED_UP && (few || prefixes.is_some()) {
            let keys = strings.iter().map(AsRef::as_ref).zip(0..).collect();
            // A trie refuses more strings than an automaton does.
            if let Ok(trie) = Trie::new(keys) {
                let beginnings = prefixes.map_or(Beginnings::Bytes(first), Beginnings::Prefixes);
                return Ok(Self::LookedUp { trie, beginnings });
            }
            return leftmost_longest(strings).map(Self::Whole);
        }
        match prefixes {
            None => leftmost_longest(strings).map(Self::Whole),
            Some(prefixes) => Ok(Self::Walked { automaton: Box::new(walked(strings)?), prefixes }),
        }
    }

    /// The matches in a text, from left to right and without overlaps: the index of the string and
    /// the range.
    pub(crate) fn find_iter(&self, text: &[u8]) -> impl Iterator<Item = (usize, Range<usize>)> {
        let (mut whole, mut at, mut position, mut seen) = (None, 0, Position::default(), Seen::default());
        if let Self::Whole(automaton) = self {
            whole = Some(automaton.find_iter(text));
        }
        std::iter::from_fn(move || {
            let found = match self {
                Self::Whole(_) => {
                    let found = whole.as_mut()?.next()?;
                    return Some((found.pattern().as_usize(), found.range()));
                }
                Self::Backward(backward) => return backward.next_match(text, &mut position),
                Self::LookedUp { trie, beginnings } => look_up(trie, beginnings, text, at, &mut seen)?,
                Self::Walked { automaton, prefixes } => search(automaton, prefixes, text, at, &mut seen)?,
            };
            at = found.1.end;
            Some(found)
        })
    }
}

/// The leftmost longest string from `at` on.
fn look_up(
    trie: &Trie,
    beginnings: &Beginnings,
    text: &[u8],
    mut at: usize,
    seen: &mut Seen,
) -> Option<(usize, Range<usize>)> {
    loop {
        at = beginnings.next(text, at, seen)?;
        if let Some((len, string)) = trie.longest(&text[at..]) {
            return Some((string as usize, at..at + len));
        }
        at += 1;
    }
}

/// The leftmost longest string from `at` on, by running the automaton.
fn search(
    automaton: &NFA,
    prefixes: &Prefixes,
    text: &[u8],
    mut at: usize,
    seen: &mut Seen,
) -> Option<(usize, Range<usize>)> {
    let start = automaton.start_state(Anchored::No).ok()?;
    let mut state = start;
    let mut found = None;
    while at < text.len() {
        if state == start {
            // Once it has a match, the automaton dies instead of starting again.
            let Some(next) = prefixes.next(text, at, seen) else { break };
            at = next;
        }
        state = automaton.next_state(Anchored::No, state, text[at]);
        at += 1;
        if automaton.is_dead(state) {
            break;
        }
        if automaton.is_match(state) {
            let pattern = automaton.match_pattern(state, 0);
            found = Some((pattern.as_usize(), at - automaton.pattern_len(pattern)..at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_found_like_short_ones() {
        for n in [1, QUICK_BYTES, 40 * QUICK_BYTES] {
            let found = leftmost_longest(&["a".repeat(n), "aa".repeat(n), "b".to_owned()]).unwrap();
            let text = format!("{}b", "a".repeat(3 * n));
            let matches: Vec<_> = found.find_iter(&text).map(|m| (m.pattern().as_usize(), m.len())).collect();
            assert_eq!(matches, [(1, 2 * n), (0, n), (2, 1)]);
        }
    }

    /// Running from possible beginnings finds the same as one automaton.
    #[test]
    fn many_strings_are_found_like_few_ones() {
        let mut state = 1_u32;
        let mut below = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % n
        };
        let mut word = |letters: &[&str], len: usize| -> String {
            (0..len).map(|_| letters[below(letters.len())]).collect()
        };
        let letters = ["a", "b", "c", "d", "é"];
        for least in [3, 5, 8, 9, 12, 20] {
            let mut strings: Vec<String> = (0..800).map(|n| word(&letters, least + n % 7)).collect();
            // Of equal strings the first is found.
            strings.push(strings[3].clone());
            // With one more long string, the automaton runs.
            let long = [&strings[..], &["x".repeat(MOST_LOOKED_UP + 1)]].concat();
            let [looked_up, walked] = [&strings, &long].map(|strings| Strings::new(strings).unwrap());
            assert!(matches!(looked_up, Strings::LookedUp { beginnings: Beginnings::Prefixes(_), .. }));
            assert!(matches!(walked, Strings::Walked { .. }), "{least}");
            let framed: Vec<String> = strings.iter().map(|string| format!("a{string}")).collect();
            let by_byte = Strings::new(&framed).unwrap();
            assert!(matches!(by_byte, Strings::LookedUp { beginnings: Beginnings::Bytes(_), .. }));
            let few = leftmost_longest(&strings).unwrap();
            let few_framed = leftmost_longest(&framed).unwrap();
            let mut n = 0;
            let mut parts = vec!["a", "b", "c", "d", "é", " ", "xyz, "];
            // Some whole strings, and some without their last characters.
            parts.extend(strings.iter().take(8).map(String::as_str));
            parts.extend(strings.iter().skip(8).take(8).map(|string| string.trim_end_matches(['a', 'b'])));
            for len in 0..400 {
                let text = word(&parts, len / 4);
                let expected: Vec<_> =
                    few.find_iter(&text).map(|found| (found.pattern().as_usize(), found.range())).collect();
                n += expected.len();
                assert_eq!(looked_up.find_iter(text.as_bytes()).collect::<Vec<_>>(), expected, "{text}");
                assert_eq!(walked.find_iter(text.as_bytes()).collect::<Vec<_>>(), expected, "{text}");
                let framed: Vec<_> =
                    few_framed.find_iter(&text).map(|m| (m.pattern().as_usize(), m.range())).collect();
                assert_eq!(by_byte.find_iter(text.as_bytes()).collect::<Vec<_>>(), framed, "{text}");
            }
            assert!(n > 1000, "{least}: {n} strings found");
        }
        let few = Strings::new(&["ab", "b"]).unwrap();
        assert_eq!(few.find_iter(b"abbc").collect::<Vec<_>>(), [(0, 0..2), (1, 2..3)]);
    }

    /// Reference implementation: the leftmost longest string at each position.
    fn find_slowly(strings: &[String], text: &str) -> Vec<(usize, Range<usize>)> {
        let (mut at, mut found) = (0, Vec::new());
        while at < text.len() {
            let here = strings
                .iter()
                .enumerate()
                .filter(|(_, string)| text.as_bytes()[at..].starts_with(string.as_bytes()));
            match here.max_by_key(|&(index, string)| (string.len(), std::cmp::Reverse(index))) {
                Some((index, string)) => {
                    found.push((index, at..at + string.len()));
                    at += string.len();
                }
                None => at += 1,
            }
        }
        found
    }

    #[test]
    fn backward_finds_the_leftmost_longest() {
        let mut state = 7_u32;
        let mut below = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % n
        };
        for round in 0..600 {
            let mut word =
                |len: usize| -> String { (0..len).map(|_| ["a", "b", "é"][below(2 + round % 2)]).collect() };
            let strings: Vec<String> = (0..1 + round % 7).map(|n| word(1 + (n * round) % 9)).collect();
            let mut backward = Backward::new(&strings).unwrap();
            // Shorter blocks test their boundaries more often.
            backward.shorten_blocks();
            let text = word(round % 60);
            let mut position = Position::default();
            let found: Vec<_> =
                std::iter::from_fn(|| backward.next_match(text.as_bytes(), &mut position)).collect();
            assert_eq!(found, find_slowly(&strings, &text), "{strings:?} in {text}");
            let chosen = Strings::new(&strings).unwrap();
            assert_eq!(chosen.find_iter(text.as_bytes()).collect::<Vec<_>>(), found);
        }
    }

    /// Sets of strings whose searches would read most of a text again and again. The steps must
    /// grow linearly with the text.
    #[test]
    fn hostile_sets_take_linear_time() {
        let sets: [fn(usize) -> Vec<String>; 5] = [
            |n| vec!["a".into(), "a".repeat(n) + "b"],
            |n| vec!["a".into(), "aa".into(), "ba".into(), "a".repeat(n) + "b", "ab".repeat(n / 2) + "c"],
            |n| vec!["b".into(), "a".repeat(n / 2) + "b" + &"a".repeat(n / 2) + "c", "a".into()],
            |n| (1..60).map(|k| "a".repeat(k)).chain(["a".repeat(n) + "b"]).collect(),
            |n| (0..400).map(|k| format!("a{k}")).chain(["a".into(), "a".repeat(n) + "b"]).collect(),
        ];
        for (index, set) in sets.iter().enumerate() {
            for n in [1_000, 40_000] {
                let strings = Strings::new(&set(n)).unwrap();
                assert!(matches!(strings, Strings::Backward(_)), "set {index}");
                for text in ["a".repeat(2 * n), "ab".repeat(n), "a".repeat(n) + "b" + &"a".repeat(n)] {
                    let steps =
                        crate::step_counter::of(|| assert!(strings.find_iter(text.as_bytes()).count() > 0));
                    assert!(steps as usize <= 5 * text.len(), "set {index}, {n}: {steps} steps");
                }
            }
        }
        // If no string contains another, a search ends where its match does.
        for strings in [vec!["<s>".to_owned(), "x".repeat(500)], (1..300).map(|n| "a".repeat(n)).collect()] {
            assert_eq!(most_read_again(&walked(&strings).unwrap(), &strings), 0);
        }
        let nested = ["b".to_owned(), format!("ab{}", "c".repeat(100))];
        assert_eq!(most_read_again(&walked(&nested).unwrap(), &nested), 99);
    }
}
