//! `TextPart`: which ids of a row are a text's, and which of the text's they are.

use std::ops::Range;

/// The ids of a row that a text became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPart {
    /// Their places in the row.
    pub ids: Range<usize>,
    /// The texts of the call: one, or as many as there are words where these were given.
    pub texts: Range<usize>,
    /// How many ids of the text stand before them, in other windows.
    pub before: usize,
}

/// The texts of a row: one, or two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowParts {
    /// The first text's.
    pub first: TextPart,
    /// The second text's, of a pair.
    pub second: Option<TextPart>,
}

impl RowParts {
    /// Those of the first text, then those of the second.
    pub fn iter(&self) -> impl Iterator<Item = &TextPart> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Which ids are the second text's, where there is one.
    pub fn second_ids(&self) -> Option<Range<usize>> {
        self.second.as_ref().map(|part| part.ids.clone())
    }
}
