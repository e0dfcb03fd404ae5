//! `TextPart`: which ids of a row are a text's, and which of the text's they are.

use std::ops::Range;

/// The ids of a row that a text became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextPart {
    /// Their places in the row.
    pub ids: Range<usize>,
    /// The texts of the call: one, or as many as there are words where these were given.
    pub texts: Range<usize>,
    /// How many ids of the text come before them, in other windows.
    pub before: usize,
}

/// The texts of a row: one, or two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowParts {
    /// The first text's; of a text that is there more than once, the last occurrence.
    pub first: TextPart,
    /// The second text's, of a pair.
    pub second: Option<TextPart>,
    /// The earlier occurrences of texts that are there more than once: the text, 0 or 1, and
    /// its ids. Only templates repeat texts.
    pub earlier: Vec<(usize, TextPart)>,
}

impl RowParts {
    /// Those of the first text, then those of the second.
    pub fn iter(&self) -> impl Iterator<Item = &TextPart> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// All with the text, 0 or 1, that they are of; those of one text in order.
    pub fn all(&self) -> impl Iterator<Item = (usize, &TextPart)> {
        self.earlier.iter().map(|(text, part)| (*text, part)).chain(self.iter().enumerate())
    }

    /// The numbers of ids of a text, 0 or 1, for each occurrence.
    pub fn lens(&self, text: usize) -> impl Iterator<Item = usize> {
        self.all().filter(move |(of, _)| *of == text).map(|(_, part)| part.ids.len())
    }

    /// Which ids are the second text's, where there is one.
    pub fn second_ids(&self) -> Option<Range<usize>> {
        self.second.as_ref().map(|part| part.ids.clone())
    }
}
