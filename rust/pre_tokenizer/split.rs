//! `Split`: cuts at delimiters, which are removed, kept as pieces, or joined to a neighbour.
//!
//! Covers Hugging Face's `Split`, `Punctuation`, `Digits` and `CharDelimiterSplit`: each finds
//! delimiters, and a [`Behavior`] says what becomes of them. Published patterns have hand-written
//! splitters, and a pattern whose matches and gaps are all pieces is a [`SplitPattern`].
//!
//! Source of the behaviours: `NormalizedString::split` of tokenizers 0.23.

use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::SplitPattern;
use crate::error::Error;
use crate::text::pattern::StepBudget;
use crate::{
    text::unicode::flag::*,
    text::unicode::{Flags, flags, flags_at},
};

/// The delimiters, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The delimiter.
    pub delimiter: Delimiter,
    /// The treatment of a delimiter.
    pub behavior: Behavior,
    /// Whether delimiters and the stretches between them swap roles.
    pub invert: bool,
}

/// A delimiter: separates pieces, or is a piece itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Delimiter {
    /// A character that Hugging Face's BERT treats as punctuation.
    Punctuation,
    /// A character of `\p{N}`.
    Number,
    /// A character.
    Character {
        /// The character.
        character: char,
    },
    /// A string; not empty.
    Literal {
        /// The string.
        #[serde(deserialize_with = "not_empty")]
        text: String,
    },
    /// A match of a pattern.
    Pattern(SplitPattern),
}

fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(D::Error::custom("the delimiter is empty")) } else { Ok(text) }
}

/// The treatment of a delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Behavior {
    /// It is removed.
    Removed,
    /// It is a separate piece.
    Isolated,
    /// It is appended to the piece before it, unless that is a delimiter.
    MergedWithPrevious,
    /// It is prepended to the piece after it, unless that is a delimiter.
    MergedWithNext,
    /// Adjacent delimiters form one piece.
    Contiguous,
}

impl Behavior {
    /// The behaviours with their names in files.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("Removed", Self::Removed),
        ("Isolated", Self::Isolated),
        ("MergedWithPrevious", Self::MergedWithPrevious),
        ("MergedWithNext", Self::MergedWithNext),
        ("Contiguous", Self::Contiguous),
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

impl Split {
    /// Calls `f` with each piece, in order.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] if the pattern needs too many steps on this text.
    pub(super) fn visit_pieces<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pieces = Pieces { behavior: self.behavior, held: None, f };
        let mut end = 0;
        self.delimiter.for_each(text, budget, |found| {
            if found.start > end {
                pieces.push(end..found.start, self.invert)?;
            }
            end = found.end;
            pieces.push(found, !self.invert)
        })?;
        if end < text.len() {
            pieces.push(end..text.len(), self.invert)?;
        }
        pieces.finish()
    }

    /// Whether a piece ends between these two characters, in any context.
    ///
    /// Only for delimiters of one character. On each side the text is then cut as if alone: a delimiter
    /// joins neither a delimiter nor the end of a text.
    pub(super) fn cuts_between(&self, before: char, after: char) -> bool {
        let (Some(before), Some(after)) = (self.delimiter.has(before), self.delimiter.has(after)) else {
            return false;
        };
        !self.invert
            && match self.behavior {
                Behavior::Removed | Behavior::Isolated => before || after,
                Behavior::MergedWithPrevious => before,
                Behavior::MergedWithNext => after,
                Behavior::Contiguous => before != after,
            }
    }

    /// Whether both characters are in the same stretch between delimiters, in any context.
    pub(super) fn leaves_between(&self, before: char, after: char) -> bool {
        let is_outside = |c| match &self.delimiter {
            Delimiter::Literal { text } => !text.contains(c),
            delimiter => delimiter.has(c) == Some(false),
        };
        !self.invert && is_outside(before) && is_outside(after)
    }

    /// Whether [`Split::cuts_between`] can ever hold.
    pub(super) fn has_cut_rule(&self) -> bool {
        !self.invert && self.delimiter.has(' ').is_some()
    }

    /// Whether every character of a text is in a piece.
    pub(super) fn keeps_all_text(&self) -> bool {
        self.behavior != Behavior::Removed
    }

    /// Whether it runs a custom pattern.
    pub(super) fn runs_patterns(&self) -> bool {
        matches!(self.delimiter, Delimiter::Pattern(_))
    }
}

impl Delimiter {
    /// Whether a character is a delimiter; `None` if that does not depend on it alone.
    fn has(&self, c: char) -> Option<bool> {
        let is = |class| Some(flags(c) & class != 0);
        match self {
            Self::Punctuation => is(BERT_PUNCTUATION),
            Self::Number => is(NUMBER),
            Self::Character { character } => Some(c == *character),
            Self::Literal { .. } | Self::Pattern(_) => None,
        }
    }

    /// Calls `f` with each delimiter, in order.
    fn for_each<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Punctuation => for_each_of_class(text, BERT_PUNCTUATION, f),
            Self::Number => for_each_of_class(text, NUMBER, f),
            Self::Character { character } => for_each_literal(text, character.encode_utf8(&mut [0; 4]), f),
            Self::Literal { text: literal } => for_each_literal(text, literal, f),
            Self::Pattern(pattern) => pattern.for_each_match(text, budget, f),
        }
    }
}

fn for_each_of_class<E>(
    text: &str,
    class: Flags,
    mut f: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = 0;
    while let Some((flags, len)) = flags_at(text.as_bytes(), at) {
        if flags & class != 0 {
            f(at..at + len)?;
        }
        at += len;
    }
    Ok(())
}

fn for_each_literal<E>(
    text: &str,
    literal: &str,
    mut f: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    memchr::memmem::find_iter(text.as_bytes(), literal).try_for_each(|at| f(at..at + literal.len()))
}

/// Joins the stretches of a text into pieces.
struct Pieces<F> {
    behavior: Behavior,
    /// The stretch that waits for its neighbour, and whether it is a delimiter.
    held: Option<(Range<usize>, bool)>,
    f: F,
}

impl<E, F: FnMut(Range<usize>) -> Result<(), E>> Pieces<F> {
    /// Takes the next stretch. An empty stretch counts as a neighbour but is not a piece.
    fn push(&mut self, stretch: Range<usize>, is_delimiter: bool) -> Result<(), E> {
        match (self.behavior, self.held.take()) {
            (Behavior::Removed, _) if is_delimiter => Ok(()),
            (Behavior::Removed | Behavior::Isolated, _) => self.emit(stretch),
            // The waiting stretch is a delimiter or a stretch between two delimiters.
            (Behavior::MergedWithPrevious, Some((held, _))) if is_delimiter => {
                self.emit(held.start..stretch.end)
            }
            (Behavior::MergedWithNext, Some((held, _))) if !is_delimiter => {
                self.emit(held.start..stretch.end)
            }
            (Behavior::Contiguous, Some((held, was_delimiter))) if was_delimiter == is_delimiter => {
                self.held = Some((held.start..stretch.end, is_delimiter));
                Ok(())
            }
            (behavior, held) => {
                if let Some((held, _)) = held {
                    self.emit(held)?;
                }
                let waits = match behavior {
                    Behavior::MergedWithPrevious => !is_delimiter,
                    Behavior::MergedWithNext => is_delimiter,
                    Behavior::Contiguous | Behavior::Removed | Behavior::Isolated => true,
                };
                if !waits {
                    return self.emit(stretch);
                }
                self.held = Some((stretch, is_delimiter));
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> Result<(), E> {
        self.held.take().map_or(Ok(()), |(held, _)| self.emit(held))
    }

    fn emit(&mut self, piece: Range<usize>) -> Result<(), E> {
        if piece.is_empty() { Ok(()) } else { (self.f)(piece) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected pieces are those of tokenizers 0.23.3.
    #[test]
    fn behaviours_match_hugging_face() {
        use Behavior::*;
        let hyphen = || Delimiter::Character { character: '-' };
        let cases: [(Delimiter, Behavior, bool, &str, &[&str]); 14] = [
            (hyphen(), Removed, false, "-a--b-", &["a", "b"]),
            (hyphen(), Removed, true, "-a--b-", &["-", "-", "-", "-"]),
            (hyphen(), Isolated, false, "-a--b-", &["-", "a", "-", "-", "b", "-"]),
            (hyphen(), MergedWithPrevious, false, "-a--b-", &["-", "a-", "-", "b-"]),
            (hyphen(), MergedWithPrevious, true, "-a--b-", &["-a", "-", "-b", "-"]),
            (hyphen(), MergedWithNext, false, "-a--b-", &["-a", "-", "-b", "-"]),
            (hyphen(), MergedWithNext, true, "-a--b-", &["-", "a-", "-", "b-"]),
            (hyphen(), Contiguous, false, "-a--b-", &["-", "a", "--", "b", "-"]),
            (hyphen(), Contiguous, true, "-a--b-", &["-", "a", "--", "b", "-"]),
            (Delimiter::Literal { text: "aa".into() }, Removed, false, "aaab", &["ab"]),
            (Delimiter::Punctuation, Contiguous, false, "a?!b。", &["a", "?!", "b", "。"]),
            (Delimiter::Number, Isolated, false, "a12½", &["a", "1", "2", "½"]),
            (Delimiter::Number, Contiguous, false, "a12½", &["a", "12½"]),
            (Delimiter::Number, Contiguous, false, "", &[]),
        ];
        for (delimiter, behavior, invert, text, expected) in cases {
            let split = Split { delimiter, behavior, invert };
            let mut pieces = Vec::new();
            let done = split.visit_pieces(text, &StepBudget::of(text.len()), |piece| -> Result<(), Error> {
                pieces.push(&text[piece]);
                Ok(())
            });
            assert!(done.is_ok() && pieces == expected, "{split:?} of {text:?}: {pieces:?}");
        }
    }
}
