//! `Character`: one of a text, or a part of one, as bytes in a word.
//!
//! By the shape of its bytes alone: pieces may be any bytes, and overlong forms and
//! surrogates are characters here, too.

/// A character, or what a text has in its shape.
#[derive(Clone, Copy)]
pub(super) struct Character {
    /// The first in the low bits.
    pub(super) bytes: u32,
    pub(super) len: u32,
}

impl Character {
    /// Its code point, if it has up to three bytes and they are those of one.
    #[inline(always)]
    pub(super) fn code_point(self) -> Option<u32> {
        let byte = |n: u32| self.bytes >> (8 * n) & 0x3F;
        let (c, least) = match self.len {
            3 => ((self.bytes & 0x0F) << 12 | byte(1) << 6 | byte(2), 0x800),
            2 => ((self.bytes & 0x1F) << 6 | byte(1), 0x80),
            1 => (self.bytes, 0),
            _ => return None,
        };
        // An overlong form has not the bytes of its code point.
        (c >= least).then_some(c)
    }

    /// Its last `len` bytes; all of them for 0.
    pub(super) fn suffix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes >> (8 * (self.len - len)) }
    }

    /// Its first `len` bytes; all of them for 0.
    pub(super) fn prefix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes & ((1 << (8 * len)) - 1) }
    }
}

/// The character that starts at `at`, by the shape of its bytes alone.
#[inline(always)]
pub(super) fn unit_at(bytes: &[u8], at: usize) -> Option<Character> {
    // Most that are cut have three bytes.
    if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        let word = u32::from_le_bytes(*word);
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            return Some(Character { bytes: word & 0x00FF_FFFF, len: 3 });
        }
    }
    any_unit_at(bytes, at)
}

/// The same, of any length.
#[inline]
fn any_unit_at(bytes: &[u8], at: usize) -> Option<Character> {
    let is_tail = |byte: &&u8| **byte & 0xC0 == 0x80;
    let lead = u32::from(*bytes.get(at)?);
    let tail = |n: usize| bytes.get(at + n).filter(is_tail).map(|&byte| u32::from(byte) << (8 * n));
    Some(match lead {
        0x00..0x80 => Character { bytes: lead, len: 1 },
        0xC0..0xE0 => Character { bytes: lead | tail(1)?, len: 2 },
        0xE0..0xF0 => Character { bytes: lead | tail(1)? | tail(2)?, len: 3 },
        0xF0..0xF8 => Character { bytes: lead | tail(1)? | tail(2)? | tail(3)?, len: 4 },
        _ => return None,
    })
}
