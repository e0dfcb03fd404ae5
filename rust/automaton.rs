//! Strings found in a text: the leftmost, of those the longest.
//!
//! `aho-corasick` makes the quickest automaton by itself for few strings, in time
//! quadratic in one that repeats itself; so long ones get the next best.

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};

/// Bytes of strings of which the quickest automaton is made at once.
const QUICK_BYTES: usize = 1 << 12;

/// The automaton of some strings; a match is told by its place among them.
pub(crate) fn leftmost_longest<S: AsRef<[u8]>>(strings: &[S]) -> Result<AhoCorasick, BuildError> {
    let n_bytes: usize = strings.iter().map(|string| string.as_ref().len()).sum();
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind((n_bytes > QUICK_BYTES).then_some(AhoCorasickKind::ContiguousNFA))
        .build(strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_found_as_short_ones() {
        for n in [1, QUICK_BYTES, 40 * QUICK_BYTES] {
            let found = leftmost_longest(&["a".repeat(n), "aa".repeat(n), "b".to_owned()]).unwrap();
            let text = format!("{}b", "a".repeat(3 * n));
            let matches: Vec<_> = found.find_iter(&text).map(|m| (m.pattern().as_usize(), m.len())).collect();
            assert_eq!(matches, [(1, 2 * n), (0, n), (2, 1)]);
        }
    }
}
