//! Spans in bytes as offsets in characters.

use std::borrow::Cow;

use super::Span;
use crate::error::Result;
use crate::memory;

/// In what offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetUnit {
    /// Bytes of UTF-8.
    Bytes,
    /// Characters.
    Chars,
}

/// Spans in bytes as offsets in characters.
///
/// A span that starts or ends inside a character takes the whole character in.
/// Bytes that are not UTF-8 count as the characters U+FFFD they would be
/// replaced by, as in [`String::from_utf8_lossy`]. Spans may be in any
/// order; the text is read once or twice.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) where there is not enough.
pub fn char_offsets(text: &[u8], spans: &[Span]) -> Result<Vec<Span>> {
    let mut offsets = memory::filled(spans.len(), [0, 0])?;
    write_char_offsets(text, spans, &mut offsets)?;
    Ok(offsets)
}

/// As [`char_offsets`], into as many cells.
///
/// # Errors
/// As [`char_offsets`].
pub fn write_char_offsets(text: &[u8], spans: &[Span], offsets: &mut [Span]) -> Result<()> {
    if text.is_ascii() {
        offsets.copy_from_slice(spans);
        return Ok(());
    }
    let shape = shape(text)?;
    let mut chars = Chars::new(&shape)?;
    for (offset, &[start, end]) in offsets.iter_mut().zip(spans) {
        let first = chars.before(start) - u64::from(chars.is_inside(start));
        // Starts of characters before `end` count the one that `end` cuts.
        *offset = [first, if start == end { first } else { chars.before(end) }];
    }
    Ok(())
}

/// Bytes of which the characters are counted ahead.
const STRETCH: usize = 512;

/// Where characters begin in a text. Places are mostly asked for in order, and
/// counted on from the last one.
struct Chars<'a> {
    bytes: &'a [u8],
    /// Characters before each [`STRETCH`] bytes.
    ahead: Vec<u64>,
    at: usize,
    n_before: u64,
}

impl<'a> Chars<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut n = 0;
        let ahead = bytes.chunks(STRETCH).map(|stretch| {
            let before = n;
            n += starts(stretch);
            before
        });
        Ok(Self { ahead: memory::collected(ahead)?, bytes, at: 0, n_before: 0 })
    }

    /// The number of characters that begin before a place.
    #[inline]
    fn before(&mut self, to: u64) -> u64 {
        let to = (to as usize).min(self.bytes.len());
        if to < self.at || to - self.at > STRETCH {
            // The last stretch may be full.
            let stretch = (to / STRETCH).min(self.ahead.len().saturating_sub(1));
            (self.at, self.n_before) = (stretch * STRETCH, self.ahead.get(stretch).copied().unwrap_or(0));
        }
        self.n_before += starts_between(self.bytes, self.at, to);
        self.at = to;
        self.n_before
    }

    fn is_inside(&self, at: u64) -> bool {
        self.bytes.get(at as usize).is_some_and(|&byte| !is_start(byte))
    }
}

fn is_start(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

fn starts(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| is_start(byte)).count() as u64
}

/// The characters that begin in `bytes[from..to]`; most such stretches are short.
#[inline]
fn starts_between(bytes: &[u8], from: usize, to: usize) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let len = to - from;
    match bytes.get(from..).and_then(<[u8]>::first_chunk::<8>) {
        Some(eight) if len < 8 => {
            let eight = u64::from_le_bytes(*eight);
            let inside = eight >> 7 & !(eight >> 6) & ONES & ((1 << (8 * len)) - 1);
            len as u64 - (inside.wrapping_mul(ONES) >> 56)
        }
        _ => starts(&bytes[from..to]),
    }
}

/// Bytes that start and continue characters where those of `text`, decoded
/// with replacement, do.
fn shape(text: &[u8]) -> Result<Cow<'_, [u8]>> {
    if crate::text::from_utf8(text).is_ok() {
        return Ok(Cow::Borrowed(text));
    }
    let mut shape = memory::reserved(text.len())?;
    for chunk in text.utf8_chunks() {
        shape.extend_from_slice(chunk.valid().as_bytes());
        shape.extend(chunk.invalid().iter().enumerate().map(|(at, _)| if at == 0 { b'?' } else { 0x80 }));
    }
    Ok(Cow::Owned(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_characters() {
        let text = "aé€b".repeat(40);
        let spans = [[0, 1], [1, 3], [1, 2], [2, 3], [3, 5], [4, 6], [6, 7], [5, 5], [7, 280], [280, 280]];
        let expected = [[0, 1], [1, 2], [1, 2], [1, 2], [2, 3], [2, 3], [3, 4], [2, 2], [4, 160], [160, 160]];
        assert_eq!(char_offsets(text.as_bytes(), &spans).unwrap(), expected);
    }

    #[test]
    fn offsets_in_what_replaces_invalid_bytes() {
        // As text: a, U+FFFD for E2 82, U+FFFD for FF, b, U+FFFD for F0.
        let text = b"a\xE2\x82\xFFb\xF0";
        let spans = [[0, 1], [1, 2], [2, 3], [1, 4], [3, 4], [4, 6], [6, 6]];
        assert_eq!(
            char_offsets(text, &spans).unwrap(),
            [[0, 1], [1, 2], [1, 2], [1, 3], [2, 3], [3, 5], [5, 5]]
        );
    }

    #[test]
    fn places_in_any_order() {
        let text = "aé€b😀 ".repeat(300);
        let n_before =
            |at: usize| text.as_bytes()[..at].iter().filter(|&&byte| is_start(byte)).count() as u64;
        let places = (0..=text.len()).map(|n| n * 7919 % (text.len() + 1));
        let mut chars = Chars::new(text.as_bytes()).unwrap();
        for at in (0..=text.len()).chain(places).chain((0..=text.len()).rev()) {
            assert_eq!(chars.before(at as u64), n_before(at), "{at}");
        }
        assert_eq!(chars.before(u64::MAX), n_before(text.len()));
    }
}
