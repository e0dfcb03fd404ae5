//! `CleaningTable`: the result of BERT's clean-up for each code point, all steps in one.
//!
//! Each step of BERT's clean-up sees one character at a time, except for the order of marks and
//! Google's final sigma. So the steps are composed per code point when a table is built. Flags mark
//! the exceptions, which take a slower code path.

use std::sync::{LazyLock, OnceLock};

use super::tables;
use crate::normalizer::forms;
use crate::normalizer::frozen::{CANONICAL, CLASSES, Images, LOWER, jamo};
use crate::normalizer::point_map::PointMap;
use crate::text::unicode::{Flags, flag, flags as classes};

/// Which implementation: it decides the tables and the order of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// tokenizers 0.23: decompose and drop marks, then lower.
    HuggingFace,
    /// Google's: lower, then decompose and drop marks.
    Google,
}

/// Which steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) clean: bool,
    pub(super) pad: bool,
    pub(super) strip: bool,
    pub(super) lower: bool,
}

// The kinds of characters that steps distinguish. They exclude each other.
const DROPPED: u32 = 1;
const SPACE: u32 = 2;
const PADDED: u32 = 3;
const NONSPACING: u32 = 4;

/// The cleaned form of a character. 0 means: copied, and ASCII letters are lowered if that is a step.
///
/// From the low end: the offset of its image, the length of the image, flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(u32);

impl Entry {
    const START_BITS: u32 = 18;
    const LEN: u32 = 15;
    const IS_BLANK: u32 = 1 << 22;
    const IS_ALONE: u32 = 1 << 23;
    const HAS_IMAGE: u32 = 1 << 24;
    const IS_DROPPED: u32 = 1 << 25;
    const IS_SPACE: u32 = 1 << 26;
    const IS_PADDED: u32 = 1 << 27;
    const ORDERS_MARKS: u32 = 1 << 28;
    const IS_SYLLABLE: u32 = 1 << 29;
    const IS_SIGMA: u32 = 1 << 30;
    const SPLITS: u32 = 1 << 31;
    /// The flags for the splitter, which do not say what the character becomes.
    const WORD_CLASS: u32 = Self::IS_BLANK | Self::IS_ALONE | Self::SPLITS;

    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// Whether the character stays as it is.
    #[inline]
    pub(crate) fn is_copy(self) -> bool {
        self.0 & !Self::WORD_CLASS == 0
    }

    /// Whether the character stays as it is, with a space on both sides.
    #[inline]
    pub(crate) fn is_copy_padded(self) -> bool {
        self.0 & !Self::WORD_CLASS == Self::IS_PADDED
    }

    /// Whether the character gets spaces around it, whatever it becomes.
    pub(super) fn is_padded(self) -> bool {
        self.has(Self::IS_PADDED)
    }

    /// Whether clean-up drops the character before any other step.
    pub(super) fn is_dropped(self) -> bool {
        self.has(Self::IS_DROPPED)
    }

    /// Whether the character becomes a space.
    #[inline]
    pub(crate) fn is_space(self) -> bool {
        self.has(Self::IS_SPACE)
    }

    /// Whether the character may be reordered with adjacent marks.
    pub(super) fn orders_marks(self) -> bool {
        self.has(Self::ORDERS_MARKS)
    }

    /// Whether the character is dropped after marks are sorted.
    pub(super) fn is_lost_mark(self) -> bool {
        self.0 & (Self::ORDERS_MARKS | Self::HAS_IMAGE | Self::LEN << Self::START_BITS)
            == Self::ORDERS_MARKS | Self::HAS_IMAGE
    }

    /// Whether the character is a Hangul syllable to be decomposed.
    pub(super) fn is_syllable(self) -> bool {
        self.has(Self::IS_SYLLABLE)
    }

    /// Whether the character may be more than a part of one word, or its result depends on its
    /// context.
    pub(super) fn needs_stages(self) -> bool {
        self.has(Self::IS_BLANK | Self::SPLITS | Self::ORDERS_MARKS | Self::IS_SIGMA)
    }

    /// Whether the character is a sigma, whose lower case depends on its position in the word.
    pub(super) fn is_sigma(self) -> bool {
        self.has(Self::IS_SIGMA)
    }
}

/// The properties of code points in one family.
pub(super) struct Facts {
    family: Family,
    kinds: PointMap,
    canonical: Option<Images>,
    classes: Option<PointMap>,
    not_lowered: PointMap,
}

impl Facts {
    fn new(family: Family) -> Self {
        let mut kinds: Vec<(u32, u32, u32)> = Vec::new();
        let mut add = |runs: &[(u32, u32)], kind| {
            kinds.extend(runs.iter().map(|&(first, last)| (first, last, kind)));
        };
        let (mut canonical, mut classes, mut not_lowered) = (None, None, PointMap::from_set(&[]));
        match family {
            Family::HuggingFace => {
                add(&tables::DROPPED, DROPPED);
                add(&tables::SPACES, SPACE);
                add(&tables::PADDED, PADDED);
                add(&tables::NONSPACING, NONSPACING);
            }
            Family::Google => {
                add(&tables::GOOGLE_DROPPED, DROPPED);
                add(&tables::GOOGLE_SPACES, SPACE);
                add(&tables::GOOGLE_PADDED, PADDED);
                add(&tables::GOOGLE_NONSPACING, NONSPACING);
                canonical = Some(Images::new(&tables::GOOGLE_CANONICAL, tables::GOOGLE_CANONICAL_TEXT));
                classes = Some(PointMap::from_runs(tables::GOOGLE_CLASSES));
                not_lowered = PointMap::from_set(&tables::GOOGLE_NOT_LOWERED);
            }
        }
        kinds.sort_unstable();
        Self { family, kinds: PointMap::from_runs(kinds), canonical, classes, not_lowered }
    }

    fn of(family: Family) -> &'static Self {
        static FACTS: [LazyLock<Facts>; 2] =
            [LazyLock::new(|| Facts::new(Family::HuggingFace)), LazyLock::new(|| Facts::new(Family::Google))];
        &FACTS[family as usize]
    }

    /// The canonical decomposition with combining classes.
    pub(super) fn parts(&self, c: char) -> impl Iterator<Item = (char, u8)> {
        let newer = self.canonical.as_ref().and_then(|images| images.get(c));
        forms::parts(c, newer.or_else(|| CANONICAL.get(c))).map(|(c, class)| (c, class | self.newer_class(c)))
    }

    /// The combining class of a character without one in the frozen tables of tokenizers.
    fn newer_class(&self, c: char) -> u8 {
        self.classes.as_ref().map_or(0, |classes| classes.get(c as u32) as u8)
    }

    fn kind(&self, c: char) -> u32 {
        self.kinds.get(c as u32)
    }

    pub(super) fn is_nonspacing(&self, c: char) -> bool {
        self.kind(c) == NONSPACING
    }

    fn lower(&self, c: char) -> Option<&'static str> {
        if self.not_lowered.get(c as u32) == 0 { LOWER.get(c) } else { None }
    }

    /// Appends the character in lower case.
    fn push_lower(&self, c: char, out: &mut String) {
        match self.lower(c) {
            Some(lower) => out.push_str(lower),
            None => out.push(c),
        }
    }

    /// Appends the decomposition of the character without marks.
    fn push_stripped(&self, c: char, out: &mut String) {
        out.extend(self.parts(c).map(|(c, _)| c).filter(|&c| !self.is_nonspacing(c)));
    }

    /// Appends the result for a character that is neither dropped nor a space.
    fn push_image(&self, c: char, steps: Steps, out: &mut String) {
        let mut first = String::new();
        match (self.family, steps.strip, steps.lower) {
            (_, false, false) => out.push(c),
            (_, false, true) => self.push_lower(c, out),
            (_, true, false) => self.push_stripped(c, out),
            (Family::HuggingFace, true, true) => {
                self.push_stripped(c, &mut first);
                first.chars().for_each(|c| self.push_lower(c, out));
            }
            (Family::Google, true, true) => {
                self.push_lower(c, &mut first);
                first.chars().for_each(|c| self.push_stripped(c, out));
            }
        }
    }
}

/// Class of characters that end a word and are in none, in any context.
pub(crate) const BLANK: Flags = 1;
/// Class of characters that are a word in any context.
pub(crate) const ALONE: Flags = 1 << 1;

/// The entries of all code points for one combination of steps.
pub(crate) struct CleaningTable {
    entries: PointMap,
    images: String,
    pub(super) facts: &'static Facts,
    pub(super) steps: Steps,
}

impl CleaningTable {
    /// The shared table of this family and these steps.
    pub(super) fn of(family: Family, steps: Steps) -> &'static Self {
        static TABLES: [OnceLock<CleaningTable>; 32] = [const { OnceLock::new() }; 32];
        let Steps { clean, pad, strip, lower } = steps;
        let bits = [clean, pad, strip, lower]
            .into_iter()
            .fold(family as usize, |bits, bit| bits << 1 | usize::from(bit));
        TABLES[bits].get_or_init(|| Self::new(family, steps))
    }

    fn new(family: Family, steps: Steps) -> Self {
        let facts = Facts::of(family);
        let images = std::cell::RefCell::new(String::new());
        let mut maps = vec![&facts.kinds, &*CLASSES, CANONICAL.map(), LOWER.map(), &facts.not_lowered];
        let syllables = PointMap::from_set(&[(0xAC00, 0xD7A3)]);
        maps.push(&syllables);
        let splits = |c: &char| classes(*c) & (flag::SPACE | flag::BERT_PUNCTUATION);
        let points = ('\0'..=char::MAX).map(|c| (c as u32, u32::from(splits(&c))));
        let splits = PointMap::from_points(points.filter(|(_, class)| *class != 0));
        maps.push(&splits);
        maps.extend(facts.canonical.as_ref().map(Images::map));
        maps.extend(facts.classes.as_ref());
        let entries = PointMap::combined(&maps, |point| {
            char::from_u32(point).map_or(0, |c| entry(facts, steps, c, &mut images.borrow_mut()))
        });
        Self { entries, images: images.into_inner(), facts, steps }
    }

    /// Appends a character, in lower case if that is a step.
    pub(super) fn push_lowered(&self, c: char, out: &mut String) {
        if self.steps.lower {
            self.facts.push_lower(c, out);
        } else {
            out.push(c);
        }
    }

    /// The entry of a character.
    #[inline(always)]
    pub(crate) fn entry(&self, c: char) -> Entry {
        Entry(self.entries.get(c as u32))
    }

    /// The class of a code point above ASCII for BERT's splitter before clean-up: [`BLANK`], [`ALONE`],
    /// or 0 if it may be part of a word.
    #[inline(always)]
    pub(crate) fn word_class(&self, point: u32) -> Flags {
        (self.entries.get(point) >> Entry::IS_BLANK.trailing_zeros()) as Flags & (BLANK | ALONE)
    }

    /// [`CleaningTable::word_class`] of the ideographs from U+4000 to U+9FFF.
    #[inline(always)]
    pub(crate) fn class_of_ideographs(&self) -> Flags {
        if self.steps.pad { ALONE } else { 0 }
    }

    /// Whether letters become lower case.
    #[inline(always)]
    pub(crate) fn lowers(&self) -> bool {
        self.steps.lower
    }

    /// Whether a character, except a blank, keeps its length in any context.
    #[inline]
    pub(crate) fn keeps_places(&self, c: char) -> bool {
        let entry = self.entry(c);
        if entry.is_copy() || entry.is_copy_padded() {
            return !entry.needs_stages();
        }
        let image = if entry.needs_stages() || entry.is_syllable() { None } else { self.image(entry) };
        image.is_some_and(|image| {
            image.len() == c.len_utf8() && image.chars().next().is_some_and(|c| c.len_utf8() == image.len())
        })
    }

    /// The result for a character that is neither a syllable nor a sigma; `None` if it stays as it
    /// is.
    #[inline]
    pub(super) fn image(&self, entry: Entry) -> Option<&str> {
        if !entry.has(Entry::HAS_IMAGE) {
            return None;
        }
        let start = (entry.0 & ((1 << Entry::START_BITS) - 1)) as usize;
        let len = (entry.0 >> Entry::START_BITS & Entry::LEN) as usize;
        self.images.get(start..start + len)
    }
}

/// Builds the entry of one character and appends its image to `images`.
fn entry(facts: &Facts, steps: Steps, c: char, images: &mut String) -> u32 {
    let kind = facts.kind(c);
    let start = images.len();
    let mut flags = 0;
    match kind {
        DROPPED if steps.clean => return Entry::IS_DROPPED | Entry::HAS_IMAGE,
        SPACE if steps.clean => {
            flags |= Entry::IS_SPACE;
            images.push(' ');
        }
        _ => facts.push_image(c, steps, images),
    }
    if kind == PADDED && steps.pad {
        flags |= Entry::IS_PADDED;
    }
    if steps.strip && orders_marks(facts, c) {
        flags |= Entry::ORDERS_MARKS;
    }
    if steps.lower && facts.family == Family::Google && c == 'Σ' {
        flags |= Entry::IS_SIGMA;
    }
    flags |= word_class(c, flags, &images[start..]);
    if steps.strip && jamo(c).is_some() {
        images.truncate(start);
        return flags | Entry::IS_SYLLABLE;
    }
    let image = &images[start..];
    // ASCII letters are lowered while they are copied.
    if image.len() == 1 && c.is_ascii() && image.as_bytes()[0] == (c as u8).to_ascii_lowercase() {
        images.truncate(start);
        return flags & !Entry::IS_SPACE;
    }
    let mut own = [0; 4];
    if *image == *c.encode_utf8(&mut own) {
        images.truncate(start);
        return flags;
    }
    debug_assert!(image.len() <= Entry::LEN as usize && start < 1 << Entry::START_BITS);
    flags | Entry::HAS_IMAGE | (image.len() as u32) << Entry::START_BITS | start as u32
}

/// The class for the splitter of a character that became `image`.
fn word_class(c: char, entry: u32, image: &str) -> u32 {
    let has = |c: char, any| classes(c) & any != 0;
    let mut chars = image.chars();
    let is_padded = entry & Entry::IS_PADDED != 0;
    if entry & Entry::ORDERS_MARKS != 0 {
        0
    } else if is_padded
        || chars.next().is_some_and(|c| has(c, flag::BERT_PUNCTUATION)) && chars.next().is_none()
    {
        Entry::IS_ALONE
    } else if has(c, flag::SPACE) && !image.is_empty() && image.chars().all(|c| has(c, flag::SPACE)) {
        Entry::IS_BLANK
    } else if image.chars().any(|c| has(c, flag::SPACE | flag::BERT_PUNCTUATION)) {
        Entry::SPLITS
    } else {
        0
    }
}

/// Whether this character, or marks in it, stay in the text and may be reordered.
fn orders_marks(facts: &Facts, c: char) -> bool {
    let first = facts.parts(c).next().is_some_and(|(_, class)| class != 0);
    first || facts.parts(c).any(|(part, class)| class != 0 && !facts.is_nonspacing(part))
}
