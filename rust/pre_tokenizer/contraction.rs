//! English contractions: `'s 't 're 've 'm 'll 'd`.
//!
//! Ignoring case, U+017F (long s) counts as an s; no other character outside ASCII counts as one of
//! these letters.

/// The end of `'s|'t|'re|'ve|'m|'ll|'d` at `start`.
#[inline]
pub(super) fn end_of_lowercase(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start..)? {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => Some(start + 2),
        [b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => Some(start + 3),
        _ => None,
    }
}

/// The end of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `start`.
#[inline]
pub(super) fn end_of_any_case(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start..)? {
        [b'\'', b's' | b't' | b'm' | b'd' | b'S' | b'T' | b'M' | b'D', ..] => Some(start + 2),
        [b'\'', b'r' | b'v' | b'R' | b'V', b'e' | b'E', ..] | [b'\'', b'l' | b'L', b'l' | b'L', ..] => {
            Some(start + 3)
        }
        [b'\'', 0xC5, 0xBF, ..] => Some(start + 3),
        _ => None,
    }
}
