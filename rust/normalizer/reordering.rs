//! `Reordering`: a stretch of characters whose marks are put in order.
//!
//! Decomposes, sorts and composes as Unicode's normal forms do (UAX #15), and
//! keeps from which character each result came by the rule of the reference,
//! tokenizers 0.23: results take the characters of the stretch in order, a
//! composite as many as went into it, whichever those are; the span of a composite
//! is that of the first. `ᄒ ᅡ ᆫ` become `한`, whose span is that of `ᄒ`; the other two
//! become nothing. Linear except for the sorting of marks between two starters.

use super::rewrite::Rewrite;
use crate::memory::{self, MakeRoom};

/// The bytes that a character becomes, at most: three characters.
const MOST_IMAGE: usize = 12;
/// Marks that are sorted in their place.
const FEW: usize = 1 << 10;

struct Item {
    c: char,
    class: u8,
    /// How many characters of the stretch it takes.
    takes: usize,
}

/// The buffers for one stretch after the other.
#[derive(Default)]
pub(super) struct Reordering {
    items: Vec<Item>,
    /// The length of each character of the stretch, and whether it is in `items`.
    sources: Vec<(usize, bool)>,
    /// The sum of these lengths.
    source_len: usize,
    /// What becomes of the stretch, and where the image of each of its characters ends.
    images: String,
    ends: Vec<usize>,
    /// Whether there was no memory for some of it.
    is_short: bool,
}

impl Reordering {
    /// Begins another stretch.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.sources.clear();
        self.source_len = 0;
        self.is_short = false;
    }

    /// Takes the next character, with its parts and their combining classes.
    pub(super) fn push(&mut self, c: char, parts: impl Iterator<Item = (char, u8)>) {
        self.push_source(c, true);
        let first = self.items.len();
        for (c, class) in parts {
            self.is_short |= memory::push(&mut self.items, Item { c, class, takes: 0 }).is_err();
        }
        if let Some(item) = self.items.get_mut(first) {
            item.takes = 1;
        }
    }

    /// Takes the next character, which is left out.
    pub(super) fn skip(&mut self, c: char) {
        self.push_source(c, false);
    }

    fn push_source(&mut self, c: char, is_kept: bool) {
        self.is_short |= memory::push(&mut self.sources, (c.len_utf8(), is_kept)).is_err();
        self.source_len += c.len_utf8();
    }

    /// The bytes of the characters taken so far.
    pub(super) fn source_len(&self) -> usize {
        self.source_len
    }

    /// Whether the results are these characters.
    pub(super) fn is(&self, chars: impl Iterator<Item = char>) -> bool {
        self.items.iter().map(|item| item.c).eq(chars)
    }

    /// Puts marks in order of their classes.
    pub(super) fn sort(&mut self) {
        for marks in self.items.split_mut(|item| item.class == 0) {
            // What sorting takes is asked for first.
            if marks.len() > FEW && memory::reserved::<Item>(marks.len()).is_err() {
                self.is_short = true;
                return;
            }
            marks.sort_by_key(|item| item.class);
        }
    }

    /// Joins what composes, after [`Reordering::sort`].
    pub(super) fn compose(&mut self, compose: impl Fn(char, char) -> Option<char>) {
        let mut kept = 0;
        let mut starter: Option<usize> = None;
        let mut last_class = None;
        for at in 0..self.items.len() {
            let Item { c, class, takes } = self.items[at];
            if let Some(starter) = starter
                && last_class.is_none_or(|last| last < class)
                && let Some(composite) = compose(self.items[starter].c, c)
            {
                self.items[starter].c = composite;
                self.items[starter].takes += takes;
                continue;
            }
            if class == 0 {
                (starter, last_class) = (Some(kept), None);
            } else if starter.is_some() {
                last_class = Some(class);
            }
            self.items[kept] = Item { c, class, takes };
            kept += 1;
        }
        self.items.truncate(kept);
    }

    /// Writes the stretch, which `text` is; `image` appends what becomes of a character.
    pub(super) fn write<R: Rewrite>(
        &mut self,
        text: &str,
        out: &mut R,
        mut image: impl FnMut(char, &mut String),
    ) {
        let Self { items, sources, images, ends, is_short, .. } = self;
        images.clear();
        ends.clear();
        if *is_short
            || images.try_reserve(MOST_IMAGE * items.len()).is_err()
            || ends.make_room(sources.len()).is_err()
        {
            return out.give_up();
        }
        let mut taken: usize = 0;
        for item in &*items {
            let source = if item.takes == 0 { taken.saturating_sub(1) } else { taken };
            taken += item.takes;
            // The images of the sources before this one end here.
            ends.resize(source.max(ends.len()), images.len());
            image(item.c, images);
        }
        let mut ends = ends.iter().copied();
        let (mut at, mut start) = (0, 0);
        for &(len, is_kept) in &*sources {
            let source = &text[at..at + len];
            at += len;
            let end = if is_kept { ends.next().unwrap_or(images.len()) } else { start };
            let image = &images[start..end];
            start = end;
            if image == source {
                out.copy(source);
            } else {
                out.replace(len, image);
            }
        }
    }
}
