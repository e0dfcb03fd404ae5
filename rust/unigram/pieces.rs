//! `Pieces`: every piece that begins at a place.
//!
//! Pieces of usual length are found by a trie, byte by byte. A long one would
//! be walked along at every place of a text that repeats itself, so those are
//! sorted instead: the trie leads to all that begin alike, and of these the last
//! that is not behind the text, and what begins it, are all that can begin the
//! text. It is looked for first where it was at the place before, then by
//! bisection, which compares many bytes at once. Pieces each of which begins the
//! next stand side by side and are given as one run.

use std::cmp::Ordering;
use std::ops::Range;

use super::viterbi::char_len;
use crate::error::Result;
use crate::trie::{Trie, sorted};
use crate::vocab::TokenId;

/// Pieces of this many bytes and more are long: few of a usual vocabulary.
const SHORT: usize = 32;
/// No piece.
const NONE: u32 = u32::MAX;

/// What begins at a place of a text.
pub(super) enum Found {
    /// A piece.
    Piece(TokenId),
    /// A character that is no piece.
    Unknown,
    /// Long pieces, by their numbers; see [`Pieces::long_len`]. The end is that
    /// of the first.
    Run(Range<usize>),
}

/// A piece of [`SHORT`] bytes or more.
#[derive(Clone)]
struct Long {
    bytes: Box<[u8]>,
    /// The first of the run that leads to it: each begins with the one before.
    run: u32,
    /// The longest other one that it begins with.
    begins_with: u32,
}

/// An immutable set of pieces.
#[derive(Clone, Default)]
pub(super) struct Pieces {
    /// Short pieces, with their ids, and beginnings of long ones, with the number of their group.
    trie: Trie,
    /// In order of their bytes.
    long: Vec<Long>,
    /// Their ids and lengths.
    long_ids: Vec<TokenId>,
    long_lens: Vec<u32>,
    /// Those that begin alike.
    groups: Vec<Range<u32>>,
}

impl Pieces {
    /// # Errors
    /// As [`Trie::new`].
    pub(super) fn new(pieces: Vec<(&[u8], TokenId)>) -> Result<Self> {
        let (mut short, rest): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.0.len() < SHORT);
        let rest = sorted(rest);
        let mut set = Self::default();
        for &(bytes, id) in &rest {
            set.push_long(bytes, id);
        }
        let mut start = 0;
        for group in rest.chunk_by(|one, other| one.0[..SHORT] == other.0[..SHORT]) {
            short.push((&group[0].0[..SHORT], set.groups.len() as u32));
            set.groups.push(start..start + group.len() as u32);
            start += group.len() as u32;
        }
        set.trie = Trie::new(short)?;
        Ok(set)
    }

    /// Appends a long piece, which sorts behind all others.
    fn push_long(&mut self, bytes: &[u8], id: TokenId) {
        let place = self.long.len() as u32;
        let mut begins_with = place.checked_sub(1).unwrap_or(NONE);
        while let Some(before) =
            self.long.get(begins_with as usize).filter(|it| !bytes.starts_with(&it.bytes))
        {
            begins_with = before.begins_with;
        }
        let before = self.long.last().filter(|_| begins_with != NONE && begins_with + 1 == place);
        let run = before.map_or(place, |before| before.run);
        self.long.push(Long { bytes: bytes.into(), run, begins_with });
        self.long_ids.push(id);
        self.long_lens.push(bytes.len() as u32);
    }

    /// The ids of long pieces, by number.
    pub(super) fn long_ids(&self) -> &[TokenId] {
        &self.long_ids
    }

    /// The bytes of long pieces, by number.
    pub(super) fn long_lens(&self) -> &[u32] {
        &self.long_lens
    }

    /// Calls `found` with the end and the id of each piece that `text` has at
    /// `start`, or with no id for the character there if no piece is just it.
    /// Returns the end of that character.
    pub(super) fn for_each_at(
        &self,
        text: &[u8],
        start: usize,
        last: &mut usize,
        mut found: impl FnMut(usize, Option<TokenId>),
    ) -> usize {
        self.for_each_run_at(text, start, last, |end, what| match what {
            Found::Piece(id) => found(end, Some(id)),
            Found::Unknown => found(end, None),
            Found::Run(run) => {
                for place in run {
                    found(start + self.long_lens[place] as usize, Some(self.long_ids[place]));
                }
            }
        })
    }

    /// As [`Pieces::for_each_at`], long pieces by runs. `last` is any number
    /// first, then what the call before left there.
    #[inline]
    pub(super) fn for_each_run_at(
        &self,
        text: &[u8],
        start: usize,
        last: &mut usize,
        mut found: impl FnMut(usize, Found),
    ) -> usize {
        let char_end = (start + char_len(text[start])).min(text.len());
        let mut is_known = false;
        let mut base = self.trie.root();
        let mut group = None;
        for (at, &byte) in text[start..].iter().enumerate().take(SHORT) {
            let Some(step) = self.trie.step(base, byte) else { break };
            base = step.base();
            if let Some(value) = step.value() {
                if at + 1 == SHORT {
                    group = Some(value as usize);
                    break;
                }
                let end = start + at + 1;
                is_known |= end == char_end;
                found(end, Found::Piece(value));
            }
        }
        if let Some(group) = group.and_then(|group| self.groups.get(group)) {
            let group = group.start as usize..group.end as usize;
            self.for_each_long(group, &text[start..], last, |len, run| found(start + len, Found::Run(run)));
        }
        if !is_known {
            found(char_end, Found::Unknown);
        }
        char_end
    }

    /// Calls `found` with the runs of a group that begin a text, and the length
    /// of the first of each.
    #[inline(never)]
    fn for_each_long(
        &self,
        group: Range<usize>,
        text: &[u8],
        last: &mut usize,
        mut found: impl FnMut(usize, Range<usize>),
    ) {
        // What the text begins with is before it, and so is what it is longer than.
        let is_before = |long: &Long| {
            let text = &text[..text.len().min(long.bytes.len())];
            (*long.bytes).cmp(text) != Ordering::Greater
        };
        let is_still = group.contains(last)
            && is_before(&self.long[*last])
            && (*last + 1 == group.end || !is_before(&self.long[*last + 1]));
        if !is_still {
            let Some(before) = self.long[group.clone()].partition_point(is_before).checked_sub(1) else {
                return;
            };
            *last = group.start + before;
        }
        let shared = shared_len(&self.long[*last].bytes, text);
        let mut at = *last;
        while let Some(long) = self.long.get(at) {
            let run = long.run as usize;
            let n = self.long_lens[run..=at].partition_point(|&len| len as usize <= shared);
            if n > 0 {
                found(self.long_lens[run] as usize, run..run + n);
            }
            at = self.long[run].begins_with as usize;
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
        let mut pieces: Vec<Vec<u8>> = [1, 2, 31, 32, 33, 64, 65, 66, 200, 1000].map(a).to_vec();
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
            for start in [0, text.len() / 2, text.len() - 1] {
                let mut found = Vec::new();
                // Wherever the search was before.
                let mut last = start % 4;
                let next = set.for_each_at(text, start, &mut last, |end, id| found.push((end, id)));
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
