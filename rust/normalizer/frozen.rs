//! Decompositions, combining classes and case from the tables of tokenizers 0.23.
//!
//! tokenizers 0.23 decomposes by a table of Unicode 9, lowers by the table of its compiler, and
//! drops marks by yet another table; a crate with today's Unicode would change ids.
//! `scripts/normalizer_tables.py` reads the values from tokenizers itself and writes `tables.rs`.
//! This file turns the lists into maps on first use.

#[rustfmt::skip]
mod tables;

use std::sync::LazyLock;

use super::point_map::PointMap;

/// The marks that `StripAccents` drops: first and last of each run.
pub(super) static MARKS: LazyLock<PointMap> = LazyLock::new(|| PointMap::from_set(&tables::MARKS));

/// Combining classes.
pub(super) static CLASSES: LazyLock<PointMap> =
    LazyLock::new(|| PointMap::from_runs(tables::CLASSES.iter().copied()));

/// Canonical decompositions, except for those of Hangul.
pub(super) static CANONICAL: LazyLock<Images> =
    LazyLock::new(|| Images::new(&tables::CANONICAL, tables::CANONICAL_TEXT));

/// Compatibility decompositions that differ from the canonical ones.
pub(super) static COMPATIBLE: LazyLock<Images> =
    LazyLock::new(|| Images::new(&tables::COMPATIBLE, tables::COMPATIBLE_TEXT));

/// Lower case, character by character.
pub(super) static LOWER: LazyLock<Images> = LazyLock::new(|| Images::new(&tables::LOWER, tables::LOWER_TEXT));

/// The images of some characters (a decomposition, or lower case).
pub(super) struct Images {
    /// The offset of an image in `text`, shifted above its length in the low byte; 0 for no image.
    map: PointMap,
    text: &'static str,
}

impl Images {
    /// Builds images from code points with the lengths of their images; `text` holds the images in
    /// order.
    pub(super) fn new(points: &[(u32, u8)], text: &'static str) -> Self {
        let mut start = 0;
        let map = PointMap::from_points(points.iter().map(|&(point, len)| {
            let image = start << 8 | u32::from(len);
            start += u32::from(len);
            (point, image)
        }));
        Self { map, text }
    }

    /// The image of a character; `None` if the character stays as it is.
    #[inline]
    pub(super) fn get(&self, c: char) -> Option<&'static str> {
        let image = self.map.get(c as u32);
        let start = (image >> 8) as usize;
        if image == 0 { None } else { self.text.get(start..start + (image & 0xFF) as usize) }
    }

    /// The underlying map, to combine with other maps.
    pub(super) fn map(&self) -> &PointMap {
        &self.map
    }
}

/// The combining class of a character.
#[inline]
pub(super) fn class(c: char) -> u8 {
    CLASSES.get(c as u32) as u8
}

/// The first Hangul syllable and how many there are.
const SYLLABLES: (u32, u32) = (0xAC00, 11_172);
/// The first leading and vowel jamo, and the one before the first trailing.
const L: u32 = 0x1100;
const V: u32 = 0x1161;
const T: u32 = 0x11A7;
/// How many leading, vowel and trailing jamo there are. The last number counts "no trailing jamo".
const N_L: u32 = 19;
const N_V: u32 = 21;
const N_T: u32 = 28;

/// The jamo of a Hangul syllable, and their number (Unicode, section 3.12).
#[inline]
pub(super) fn jamo(c: char) -> Option<([char; 3], usize)> {
    let at = (c as u32).wrapping_sub(SYLLABLES.0);
    if at >= SYLLABLES.1 {
        return None;
    }
    let char_at = |point| char::from_u32(point).unwrap_or_default();
    let trailing = at % N_T;
    let jamo = [L + at / (N_V * N_T), V + at / N_T % N_V, T + trailing].map(char_at);
    Some((jamo, if trailing == 0 { 2 } else { 3 }))
}

/// The composition of two characters.
pub(super) fn compose(first: char, second: char) -> Option<char> {
    let (a, b) = (first as u32, second as u32);
    let (leading, vowel) = (a.wrapping_sub(L), b.wrapping_sub(V));
    if leading < N_L && vowel < N_V {
        return char::from_u32(SYLLABLES.0 + (leading * N_V + vowel) * N_T);
    }
    let (syllable, trailing) = (a.wrapping_sub(SYLLABLES.0), b.wrapping_sub(T));
    if syllable < SYLLABLES.1 && syllable % N_T == 0 && (1..N_T).contains(&trailing) {
        return char::from_u32(a + trailing);
    }
    let at = tables::COMPOSITES.binary_search_by_key(&(a, b), |&(a, b, _)| (a, b)).ok()?;
    char::from_u32(tables::COMPOSITES[at].2)
}

/// Every character that can be the second of a composing pair.
pub(super) fn seconds() -> Vec<u32> {
    let mut seconds: Vec<u32> = tables::COMPOSITES.iter().map(|&(_, second, _)| second).collect();
    seconds.extend((V..V + N_V).chain(T + 1..T + N_T));
    seconds.sort_unstable();
    seconds.dedup();
    seconds
}
