//! `NormalFormRun`: brings a run of characters into a Unicode normal form (UAX #15) and records
//! where each came from.
//!
//! Decomposes, sorts marks and composes. As in tokenizers 0.23, spans follow order, not identity:
//! results take the source characters of the run in order, a composite takes as many as went into
//! it, and its span is that of the first. `ᄒ ᅡ ᆫ` become `한` with the span of `ᄒ`; the other two
//! become nothing. Linear except for sorting the marks between two starters.

use super::rewrite::Rewrite;
use crate::memory::{self, MakeRoom};

/// The most bytes that a character may become: three characters.
const MOST_IMAGE: usize = 12;
/// Up to this many marks are sorted without reserving memory first.
const FEW: usize = 1 << 10;

struct Item {
    c: char,
    class: u8,
    /// How many source characters it takes.
    takes: usize,
}

/// The buffers of a run, reused for the next one.
#[derive(Default)]
pub(super) struct NormalFormRun {
    items: Vec<Item>,
    /// The length of each character of the run, and whether it is in `items`.
    sources: Vec<(usize, bool)>,
    /// The sum of these lengths.
    source_len: usize,
    /// The result of the run, and where the image of each of its characters ends.
    images: String,
    ends: Vec<usize>,
    /// Whether memory ran out.
    is_short: bool,
}

impl NormalFormRun {
    /// Starts a new run.
    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.sources.clear();
        self.source_len = 0;
        self.is_short = false;
    }

    /// Adds the next character, with its decomposition and the combining classes.
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

    /// Adds the next character, which becomes nothing.
    pub(super) fn skip(&mut self, c: char) {
        self.push_source(c, false);
    }

    fn push_source(&mut self, c: char, is_kept: bool) {
        self.is_short |= memory::push(&mut self.sources, (c.len_utf8(), is_kept)).is_err();
        self.source_len += c.len_utf8();
    }

    /// How many bytes the characters added so far have.
    pub(super) fn source_len(&self) -> usize {
        self.source_len
    }

    /// Whether the result equals these characters.
    pub(super) fn is(&self, chars: impl Iterator<Item = char>) -> bool {
        self.items.iter().map(|item| item.c).eq(chars)
    }

    /// Sorts marks by combining class.
    pub(super) fn sort(&mut self) {
        for marks in self.items.split_mut(|item| item.class == 0) {
            // A stable sort allocates, so its memory is requested first.
            if marks.len() > FEW && memory::reserved::<Item>(marks.len()).is_err() {
                self.is_short = true;
                return;
            }
            marks.sort_by_key(|item| item.class);
        }
    }

    /// Composes characters; call it after [`NormalFormRun::sort`].
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

    /// Writes the run, whose source is `text`; `image` appends the result for a character.
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
            // The images that belong to sources before this one end here.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::normalizer::Aligned;
    use crate::normalizer::frozen::{class, compose, jamo};

    /// The result for a text, and the source of each of its characters.
    fn normal_form(text: &str, composes: bool) -> (String, Vec<String>) {
        let mut run = NormalFormRun::default();
        for c in text.chars() {
            match jamo(c) {
                Some((parts, n)) => run.push(c, parts[..n].iter().map(|&part| (part, 0))),
                None => run.push(c, std::iter::once((c, class(c)))),
            }
        }
        run.sort();
        if composes {
            run.compose(compose);
        }
        let mut out = Aligned::default();
        run.write(text, &mut out, |c, image| image.push(c));
        let source = |(at, c): (usize, char)| text[out.to_original(at..at + c.len_utf8())].to_owned();
        let sources = out.text.char_indices().map(source).collect();
        (out.text, sources)
    }

    #[test]
    fn results_take_sources_in_order() {
        for (text, composes, expected, sources) in [
            ("a\u{301}", true, "á", &["a"][..]),
            ("a\u{301}", false, "a\u{301}", &["a", "\u{301}"]),
            // The cedilla (class 202) is sorted before the acute (class 230) and takes its source.
            ("a\u{301}\u{327}", false, "a\u{327}\u{301}", &["a", "\u{301}", "\u{327}"]),
            ("a\u{301}\u{327}", true, "á\u{327}", &["a", "\u{327}"]),
            ("ᄒ\u{1161}\u{11AB}", true, "한", &["ᄒ"]),
            ("한", false, "ᄒ\u{1161}\u{11AB}", &["한", "한", "한"]),
            ("\u{301}b", true, "\u{301}b", &["\u{301}", "b"]),
        ] {
            let (found, from) = normal_form(text, composes);
            assert_eq!(
                (&*found, &from.iter().map(String::as_str).collect::<Vec<_>>()[..]),
                (expected, sources)
            );
        }
    }

    #[test]
    fn skipped_characters_become_nothing() {
        let mut run = NormalFormRun::default();
        run.push('a', std::iter::once(('a', 0)));
        run.skip('\u{200B}');
        run.push('b', std::iter::once(('b', 0)));
        assert_eq!(run.source_len(), 5);
        let mut out = Aligned::default();
        run.write("a\u{200B}b", &mut out, |c, image| image.push(c));
        assert_eq!((&*out.text, out.to_original(1..2)), ("ab", 4..5));
    }

    proptest! {
        /// Sorting is stable between two starters and moves no starter.
        #[test]
        fn marks_are_sorted_between_starters(text in "[ab\u{301}\u{327}\u{345}\u{302}\u{31B}]{0,12}") {
            let mut expected: Vec<char> = text.chars().collect();
            for marks in expected.split_mut(|&c| class(c) == 0) {
                marks.sort_by_key(|&c| class(c));
            }
            let (found, sources) = normal_form(&text, false);
            prop_assert_eq!(found, expected.iter().collect::<String>());
            // Each result has a source of one character.
            prop_assert!(sources.iter().all(|source| source.chars().count() == 1));
        }
    }
}
