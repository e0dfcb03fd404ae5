//! `Pieces`: every piece that begins at a place.
//!
//! Pieces of usual length are found by a trie, byte by byte. A long one would
//! be walked along at every place of a text that repeats itself, so those are
//! sorted instead and found by bisection, which compares many bytes at once:
//! the last that is not behind the text, and what begins it, are all that can
//! begin the text.

use std::cmp::Ordering;

use super::viterbi::char_len;
use crate::error::Result;
use crate::text::trie::{Trie, sorted};
use crate::vocab::TokenId;

/// The longest piece in the trie.
const SHORT: usize = 64;
/// No piece.
const NONE: usize = usize::MAX;

/// A piece of more than [`SHORT`] bytes.
#[derive(Clone)]
struct Long {
    bytes: Box<[u8]>,
    id: TokenId,
    /// The longest other one that it begins with.
    begins_with: usize,
}

/// An immutable set of pieces.
#[derive(Clone, Default)]
pub(super) struct Pieces {
    trie: Trie,
    /// In order of their bytes.
    long: Vec<Long>,
}

impl Pieces {
    /// # Errors
    /// As [`Trie::new`].
    pub(super) fn new(pieces: Vec<(&[u8], TokenId)>) -> Result<Self> {
        let (short, rest): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.0.len() <= SHORT);
        let mut long: Vec<Long> = Vec::with_capacity(rest.len());
        for (bytes, id) in sorted(rest) {
            let mut begins_with = long.len().checked_sub(1).unwrap_or(NONE);
            while let Some(before) = long.get(begins_with).filter(|before| !bytes.starts_with(&before.bytes))
            {
                begins_with = before.begins_with;
            }
            long.push(Long { bytes: bytes.into(), id, begins_with });
        }
        Ok(Self { trie: Trie::new(short)?, long })
    }

    /// Calls `found` with the end and the id of each piece that `text` has at
    /// `start`, then with no id for the character there if no piece is just it.
    /// Returns the end of that character.
    #[inline]
    pub(super) fn for_each_at(
        &self,
        text: &[u8],
        start: usize,
        mut found: impl FnMut(usize, Option<TokenId>),
    ) -> usize {
        let char_end = (start + char_len(text[start])).min(text.len());
        let mut is_known = false;
        let mut base = self.trie.root();
        for (at, &byte) in text.iter().enumerate().skip(start) {
            let Some(step) = self.trie.step(base, byte) else { break };
            base = step.base();
            if let Some(id) = step.value() {
                is_known |= at + 1 == char_end;
                found(at + 1, Some(id));
            }
        }
        if !self.long.is_empty() {
            self.for_each_long(&text[start..], |len, id| found(start + len, Some(id)));
        }
        if !is_known {
            found(char_end, None);
        }
        char_end
    }

    /// Calls `found` with the length and the id of each long piece that begins
    /// a text, the longest first.
    #[inline(never)]
    fn for_each_long(&self, text: &[u8], mut found: impl FnMut(usize, TokenId)) {
        let text_of = |long: &Long| &text[..text.len().min(long.bytes.len())];
        let behind = self.long.partition_point(|long| {
            // A prefix of the text is before it, and so is a text that it is longer than.
            (*long.bytes).cmp(text_of(long)) != Ordering::Greater
        });
        let mut at = behind.checked_sub(1).unwrap_or(NONE);
        let Some(last) = self.long.get(at) else { return };
        let shared = shared_len(&last.bytes, text);
        while let Some(long) = self.long.get(at) {
            if long.bytes.len() <= shared {
                found(long.bytes.len(), long.id);
            }
            at = long.begins_with;
        }
    }
}

/// How many bytes two texts have in common at their beginnings.
fn shared_len(one: &[u8], other: &[u8]) -> usize {
    const CHUNK: usize = 64;
    let chunks = one.chunks_exact(CHUNK).zip(other.chunks_exact(CHUNK));
    let equal = CHUNK * chunks.take_while(|(one, other)| one == other).count();
    let rest = one[equal..].iter().zip(&other[equal..]);
    equal + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_ones_are_found() {
        let a = |n: usize| vec![b'a'; n];
        let mut pieces: Vec<Vec<u8>> = [1, 2, 64, 65, 66, 200, 1000].map(a).to_vec();
        pieces.extend([
            [&a(100)[..], b"b"].concat(),
            [b"b", &a(70)[..]].concat(),
            [&a(65)[..], b"ab"].concat(),
        ]);
        let keys = pieces.iter().map(Vec::as_slice).zip(0..).collect();
        let set = Pieces::new(keys).unwrap();
        let texts =
            [a(3), a(64), a(65), a(199), a(5000), [&a(100)[..], b"bb"].concat(), [b"b", &a(80)[..]].concat()];
        for text in texts.iter().chain(&pieces) {
            for start in [0, text.len() / 2] {
                let mut found = Vec::new();
                let next = set.for_each_at(text, start, |end, id| found.push((end, id)));
                found.sort_unstable();
                let rest = &text[start..];
                let mut naive: Vec<_> = (0..)
                    .zip(&pieces)
                    .filter(|(_, piece)| rest.starts_with(piece))
                    .map(|(id, piece)| (start + piece.len(), Some(id)))
                    .collect();
                if rest[0] != b'a' {
                    naive.push((start + 1, None));
                }
                naive.sort_unstable();
                assert_eq!((found, next), (naive, start + 1), "{} at {start}", text.len());
            }
        }
    }
}
