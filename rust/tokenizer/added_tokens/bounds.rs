//! `Bounds`: where no added token can reach across, begin or end, as two bytes on each side show.

use super::AddedToken;
use crate::text::unicode::{flag, flags};

/// A set of pairs of bytes.
#[derive(Clone)]
struct Pairs(Box<[u64]>);

impl Pairs {
    fn new() -> Self {
        Self(vec![0; (1 << 16) / 64].into_boxed_slice())
    }

    fn insert(&mut self, first: u8, second: u8) {
        let bit = usize::from(first) << 8 | usize::from(second);
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn contains(&self, first: u8, second: u8) -> bool {
        let bit = usize::from(first) << 8 | usize::from(second);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// The characters that added tokens begin with, hold and end with.
///
/// At a *clean* place no token ends, begins or lies across, whatever text follows, and no token takes
/// white space from across it. So what an automaton finds before such a place does not depend on what
/// comes after it, and the other way round.
#[derive(Clone)]
pub(crate) struct Bounds {
    /// Neighbours inside a token.
    inner: Pairs,
    /// The first two bytes of a token; of a token of one byte, that and any.
    starts: Pairs,
    first: [bool; 256],
    /// The last two bytes.
    ends: Pairs,
    last: [bool; 256],
    /// Whether a token takes white space along, before it and after it.
    lstrips: bool,
    rstrips: bool,
    /// Whether a token looks at the characters next to it.
    single_words: bool,
}

impl Bounds {
    /// Those of tokens and the strings by which they are found; `None` if there are none.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = (&'a AddedToken, &'a str)>) -> Option<Self> {
        let mut bounds: Option<Self> = None;
        for (token, pattern) in patterns {
            let bytes = pattern.as_bytes();
            let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { continue };
            let bounds = bounds.get_or_insert_with(|| Self {
                inner: Pairs::new(),
                starts: Pairs::new(),
                first: [false; 256],
                ends: Pairs::new(),
                last: [false; 256],
                lstrips: false,
                rstrips: false,
                single_words: false,
            });
            bounds.first[usize::from(first)] = true;
            bounds.last[usize::from(last)] = true;
            match bytes {
                [only] => (0..=u8::MAX).for_each(|any| {
                    bounds.starts.insert(*only, any);
                    bounds.ends.insert(any, *only);
                }),
                _ => {
                    bounds.starts.insert(first, bytes[1]);
                    bounds.ends.insert(bytes[bytes.len() - 2], last);
                }
            }
            bytes.windows(2).for_each(|pair| bounds.inner.insert(pair[0], pair[1]));
            bounds.lstrips |= token.lstrip;
            bounds.rstrips |= token.rstrip;
            bounds.single_words |= token.single_word;
        }
        bounds
    }

    /// Whether a place inside a text, between two of its characters, is clean.
    pub(crate) fn is_clean(&self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        let (Some(&before), Some(&after)) = (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(at))
        else {
            return false;
        };
        let ends = match at.checked_sub(2) {
            Some(at) => self.ends.contains(bytes[at], before),
            None => self.last[usize::from(before)],
        };
        let starts = self.starts_at(bytes, at);
        // In a run of white space, a token before or after it may take a part of it.
        let in_run = (self.lstrips || self.rstrips)
            && text[..at].chars().next_back().is_some_and(|c| flags(c) & flag::SPACE != 0);
        !(self.inner.contains(before, after) || ends || starts || in_run)
    }

    /// Whether the search for tokens may begin at a place inside a text where an earlier token ends, with
    /// the white space that it takes along. A token that begins in that is passed over as a whole.
    pub(crate) fn may_resume_at(&self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        let (Some(&before), Some(&after)) = (bytes.get(at.wrapping_sub(1)), bytes.get(at)) else {
            return false;
        };
        let is_word = |c: Option<char>| c.is_some_and(|c| flags(c) & flag::WORD != 0);
        let neighbours = [text[..at].chars().next_back(), text[at..].chars().next()];
        !(self.inner.contains(before, after) || self.single_words && neighbours.into_iter().any(is_word))
    }

    /// Whether a token that takes white space before it along may begin at a place.
    pub(crate) fn may_take_space_before(&self, text: &str, at: usize) -> bool {
        self.lstrips && (at >= text.len() || self.starts_at(text.as_bytes(), at))
    }

    fn starts_at(&self, bytes: &[u8], at: usize) -> bool {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(&first), Some(&second)) => self.starts.contains(first, second),
            (Some(&first), None) => self.first[usize::from(first)],
            (None, _) => false,
        }
    }

    /// Whether a place is clean that is between a character of ASCII and a `blank`; `after` is the byte
    /// behind the blank, if that is known.
    pub(crate) fn allow_blank(&self, before: u8, blank: char, after: Option<u8>) -> bool {
        let mut spelled = [0; 4];
        let blank = blank.encode_utf8(&mut spelled).as_bytes();
        let starts = match blank.get(1).copied().or(after) {
            Some(second) => self.starts.contains(blank[0], second),
            None => self.first[usize::from(blank[0])],
        };
        // White space before the place may be a part of a run that a token takes along.
        let in_run = (self.lstrips || self.rstrips) && before.is_ascii_whitespace();
        let takes_blank = self.lstrips && after.is_none_or(|after| self.first[usize::from(after)]);
        let ends = self.last[usize::from(before)];
        !(self.inner.contains(before, blank[0]) || ends || starts || in_run || takes_blank)
    }
}
