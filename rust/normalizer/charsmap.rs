//! `Charsmap`: the rewriting rules of a SentencePiece file.
//!
//! The format: a little-endian count of bytes, a double array (Darts-clone: units of 32 bits), then
//! replacements that each end in NUL. The value of a rule is the offset of its replacement.
//! [`Charsmap::new`] checks every index, so that a search can trust the units, and allocates
//! nothing on the word of the header. `sentencepiece` and `precompiled` apply the rules to a text;
//! `published` has the rule sets that have a name, and `rules` builds them.

#[cfg(test)]
mod double_array;
mod published;
mod rules;
#[cfg(test)]
#[rustfmt::skip]
mod tables;

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// The number of units must be a multiple of this, so that a base XOR any byte stays inside.
const BLOCK: usize = 256;
/// The longest replacement in bytes; that of NFKC is 33.
const MAX_REPLACEMENT: usize = 1024;
/// A unit that no byte leads to: the bit that marks a value is set.
const NO_UNIT: u32 = 1 << 31;

/// Rules that each replace one string by another.
#[derive(Clone, Default)]
pub struct Charsmap {
    inner: Arc<Inner>,
}

struct Inner {
    /// The bytes of the file. Two maps are equal if these are.
    bytes: Vec<u8>,
    units: Vec<u32>,
    replacements: String,
    /// The result of [`Charsmap::inert`].
    inert: AsciiSet,
    /// One bit for each of the first 65,536 characters: see [`Charsmap::may_begin`].
    beginnings: Vec<u64>,
    /// See [`Charsmap::inner`]; computed on first use.
    inner: OnceLock<AsciiSet>,
}

/// A set of ASCII bytes.
pub(super) type AsciiSet = [bool; 256];

/// A map without rules.
impl Default for Inner {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            units: Vec::new(),
            replacements: String::new(),
            inert: std::array::from_fn(|byte| byte < 128),
            beginnings: Vec::new(),
            inner: OnceLock::new(),
        }
    }
}

fn label(unit: u32) -> u32 {
    unit & (NO_UNIT | 0xFF)
}

fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize
}

fn has_value(unit: u32) -> bool {
    unit & (1 << 8) != 0
}

impl Charsmap {
    /// Reads and checks a map. Empty input is a map without rules.
    ///
    /// # Errors
    /// [`Error::Format`] for a size beyond the end, a unit that leads outside, or a replacement
    /// that is not UTF-8 text ended by NUL.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let error = |reason: String| Error::format("precompiled_charsmap", reason);
        let Some((size, rest)) = bytes.split_first_chunk::<4>() else {
            return Err(error(format!("{} bytes are too few; the size of the trie takes 4", bytes.len())));
        };
        let size = u32::from_le_bytes(*size) as usize;
        if !size.is_multiple_of(4) || size > rest.len() {
            return Err(error(format!(
                "the trie should have {size} bytes, in fours, but {} follow",
                rest.len()
            )));
        }
        let (trie, replacements) = rest.split_at(size);
        let mut units: Vec<u32> =
            trie.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        units.resize(units.len().next_multiple_of(BLOCK), NO_UNIT);
        let replacements = std::str::from_utf8(replacements)
            .map_err(|found| error(format!("the replacements are not UTF-8: {found}")))?
            .to_owned();
        check(&units, &replacements).map_err(error)?;
        let mut inner = Inner { units, replacements, ..Inner::default() };
        inner.inert = std::array::from_fn(|byte| byte < 128 && inner.is_inert(byte as u8));
        inner.beginnings = inner.find_beginnings();
        inner.bytes = bytes;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Reads rules from base64, as Hugging Face's files store them.
    ///
    /// # Errors
    /// As [`Charsmap::new`], and for invalid base64.
    pub fn from_base64(text: &str) -> Result<Self> {
        let bytes = STANDARD
            .decode(text)
            .map_err(|error| Error::format("precompiled_charsmap", error.to_string()))?;
        Self::new(bytes)
    }

    /// The bytes the map was read from.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    /// Whether the map has no rules.
    pub fn is_empty(&self) -> bool {
        self.inner.units.is_empty()
    }

    /// The rule with the longest string that is a prefix of `text`: the length of the string and
    /// its replacement.
    #[inline]
    pub fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        let mut longest = None;
        self.inner.search(text, |len, value| {
            // A rule must not match half a character, whatever the file says.
            if text.get(len).is_none_or(|byte| byte & 0xC0 != 0x80) {
                longest = Some((len, value));
            }
            true
        });
        longest.map(|(len, value)| (len, self.inner.replacement(value)))
    }

    /// The replacement of the shortest such rule, as Hugging Face looks it up: a NUL ends the text.
    pub fn shortest(&self, text: &[u8]) -> Option<&str> {
        let mut shortest = None;
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        self.inner.search(&text[..end], |_, value| {
            shortest = Some(value);
            false
        });
        shortest.map(|value| self.inner.replacement(value))
    }

    /// The ASCII bytes that no rule changes while another ASCII byte follows.
    pub(super) fn inert(&self) -> &AsciiSet {
        &self.inner.inert
    }

    /// The bytes that occur in rules after the first byte.
    pub(super) fn inner(&self) -> &AsciiSet {
        self.inner.inner.get_or_init(|| self.inner.find_inner())
    }

    /// Whether a rule may begin with the character. `false` is certain; `true` may be wrong.
    #[inline]
    pub(super) fn may_begin(&self, c: char) -> bool {
        let point = c as usize;
        match self.inner.beginnings.get(point / 64) {
            Some(word) => word >> (point % 64) & 1 != 0,
            None => !self.is_empty(),
        }
    }
}

/// Checks that no search can leave the units or the replacements. `Err` says where one would.
fn check(units: &[u32], replacements: &str) -> std::result::Result<(), String> {
    let Some(&root) = units.first() else { return Err("the trie is empty".into()) };
    let is_inside = |base: usize| base < units.len();
    if let Some(long) = replacements.split('\0').find(|text| text.len() > MAX_REPLACEMENT) {
        return Err(format!("a replacement has {} bytes; at most {MAX_REPLACEMENT}", long.len()));
    }
    let last_end = memchr::memrchr(0, replacements.as_bytes());
    if !is_inside(offset(root)) {
        return Err("the root leads outside the trie".into());
    }
    for (at, &unit) in units.iter().enumerate().filter(|(_, unit)| *unit & NO_UNIT == 0) {
        let base = at ^ offset(unit);
        if !is_inside(base) {
            return Err(format!("unit {at} leads outside the trie"));
        }
        if at == 0 || !has_value(unit) {
            continue;
        }
        let value = (units[base] & !NO_UNIT) as usize;
        if !replacements.is_char_boundary(value) || last_end.is_none_or(|end| end < value) {
            return Err(format!("the value {value} of unit {base} is not the place of a replacement"));
        }
    }
    Ok(())
}

impl Inner {
    /// Calls `found` with the length and value of each rule whose string is a prefix of `text`,
    /// shortest first, until it returns `false`.
    #[inline]
    fn search(&self, text: &[u8], mut found: impl FnMut(usize, u32) -> bool) {
        let Some(&root) = self.units.first() else { return };
        let mut base = offset(root);
        for (at, &byte) in text.iter().enumerate() {
            let place = base ^ usize::from(byte);
            let Some(&unit) = self.units.get(place) else { return };
            if label(unit) != u32::from(byte) {
                return;
            }
            base = place ^ offset(unit);
            if has_value(unit) {
                let value = self.units.get(base).copied().unwrap_or(NO_UNIT) & !NO_UNIT;
                if !found(at + 1, value) {
                    return;
                }
            }
        }
    }

    /// The replacement at a checked offset.
    fn replacement(&self, value: u32) -> &str {
        let rest = self.replacements.get(value as usize..).unwrap_or_default();
        &rest[..memchr::memchr(0, rest.as_bytes()).unwrap_or(rest.len())]
    }

    /// The index of the unit to which `byte` leads from `base`.
    fn child(&self, base: usize, byte: u8) -> Option<usize> {
        let place = base ^ usize::from(byte);
        self.units.get(place).filter(|unit| label(**unit) == u32::from(byte)).map(|_| place)
    }

    /// Whether no rule is this byte alone, or this byte followed by ASCII.
    fn is_inert(&self, byte: u8) -> bool {
        let root = self.units.first().copied().map_or(0, offset);
        let Some(place) = self.child(root, byte) else { return true };
        let unit = self.units[place];
        !has_value(unit) && (0..128).all(|next| self.child(place ^ offset(unit), next).is_none())
    }

    /// The bytes that lead on from any unit that is itself reached by a byte.
    fn find_inner(&self) -> AsciiSet {
        let mut inner = [false; 256];
        let mut is_seen = vec![false; self.units.len()];
        let mut lead = |base: usize, waiting: &mut Vec<usize>, found: &mut dyn FnMut(u8)| {
            for byte in 0..=u8::MAX {
                let Some(place) = self.child(base, byte) else { continue };
                found(byte);
                // Units may share suffixes, and those of a file may form a cycle.
                let next = place ^ offset(self.units[place]);
                if is_seen.get(next) == Some(&false) {
                    is_seen[next] = true;
                    waiting.push(next);
                }
            }
        };
        let mut waiting = Vec::new();
        if let Some(&root) = self.units.first() {
            lead(offset(root), &mut waiting, &mut |_| {});
        }
        while let Some(base) = waiting.pop() {
            lead(base, &mut waiting, &mut |byte| inner[usize::from(byte)] = true);
        }
        inner
    }

    /// One bit for each character of up to three bytes: whether a rule begins with it.
    fn find_beginnings(&self) -> Vec<u64> {
        let mut bits = vec![0u64; (1 << 16) / 64];
        for (at, word) in bits.iter_mut().enumerate() {
            for bit in 0..64 {
                let Some(c) = char::from_u32((at * 64 + bit) as u32) else { continue };
                let mut buffer = [0; 4];
                let mut base = self.units.first().copied().map(offset);
                for &byte in c.encode_utf8(&mut buffer).as_bytes() {
                    base = base
                        .and_then(|base| self.child(base, byte))
                        .map(|place| place ^ offset(self.units[place]));
                }
                *word |= u64::from(base.is_some()) << bit;
            }
        }
        bits
    }
}

impl PartialEq for Charsmap {
    fn eq(&self, other: &Self) -> bool {
        self.inner.bytes == other.inner.bytes
    }
}

impl Eq for Charsmap {}

impl fmt::Debug for Charsmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charsmap({} bytes)", self.inner.bytes.len())
    }
}

/// Serialized as base64.
impl Serialize for Charsmap {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(self.bytes()))
    }
}

impl<'de> Deserialize<'de> for Charsmap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::from_base64(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
