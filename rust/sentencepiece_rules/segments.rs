//! `Segments`: counted words, cut where no piece may cross.
//!
//! Words are cut at characters outside the alphabet, at the text of special tokens, and between two
//! characters that [`Rules`] never allow together: `▁movie,` becomes `▁movie` and `,`. A
//! segmentation of a word is then a segmentation of each part, so nothing is lost, and there are
//! far fewer distinct strings to count, search and merge or segment.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::characters::{Characters, CountedWords};
use super::rules::{Class, Rules};
use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::progress::{Progress, Stage};

/// How many pieces are read between two checks for progress.
const TICK: usize = 1 << 12;

/// The follower of a segment at one occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// A character of the alphabet.
    Char(char),
    /// A character outside the alphabet.
    Foreign(char),
    /// A special token.
    Special,
    /// The next word.
    Word,
}

/// The distinct segments, in order.
pub(crate) struct Segments<'a, T> {
    pub(crate) texts: Vec<&'a str>,
    pub(crate) weights: Vec<u64>,
    /// The trainer's note for each segment about what follows it.
    pub(crate) notes: Vec<T>,
}

impl<'a, T: Ord> Segments<'a, T> {
    /// Cuts words. `note` creates the note for what follows a segment at one occurrence, or
    /// combines it with the note of the earlier occurrences.
    pub(crate) fn of(
        words: &CountedWords<'a>,
        characters: &Characters,
        rules: &Rules,
        mut note: impl FnMut(Option<&T>, After) -> T,
        progress: &mut Progress,
    ) -> Result<Self> {
        let mut found: FxHashMap<&'a str, (u64, T)> = FxHashMap::default();
        for (at, (word, count)) in words.iter().enumerate() {
            if at % TICK == 0 {
                progress.tick(Stage::Seed, 0, 0)?;
            }
            found.make_room(word.len())?;
            words.parts(word, |part, is_word_end| {
                let end = if is_word_end { After::Word } else { After::Special };
                cut(part, end, characters, rules, |segment, after| match found.entry(segment) {
                    Entry::Occupied(mut known) => {
                        let (weight, noted) = known.get_mut();
                        // Cannot overflow, because the count of its first character includes it.
                        *weight += count;
                        *noted = note(Some(noted), after);
                    }
                    Entry::Vacant(place) => {
                        place.insert((count, note(None, after)));
                    }
                });
            });
        }
        let mut found: Vec<(&str, (u64, T))> = memory::collected(found.into_iter())?;
        found.sort_unstable();
        let n = found.len();
        let (texts, weights) = (memory::reserved(n)?, memory::reserved(n)?);
        let mut segments = Self { texts, weights, notes: memory::reserved(n)? };
        for (text, (weight, note)) in found {
            segments.texts.push(text);
            segments.weights.push(weight);
            segments.notes.push(note);
        }
        Ok(segments)
    }
}

/// Calls `f` with each segment of a text and what follows it; `end` follows the whole text.
fn cut<'a>(
    text: &'a str,
    end: After,
    characters: &Characters,
    rules: &Rules,
    mut f: impl FnMut(&'a str, After),
) {
    let mut start = 0;
    let mut before: Option<Class> = None;
    for (at, c) in text.char_indices() {
        let class = characters.class(c);
        let together = match (before, class) {
            (Some(left), Some(right)) => rules.together(left, right),
            _ => false,
        };
        if !together {
            if before.is_some() {
                f(&text[start..at], if class.is_some() { After::Char(c) } else { After::Foreign(c) });
            }
            start = at;
        }
        before = class;
    }
    if before.is_some() {
        f(&text[start..], end);
    }
}
