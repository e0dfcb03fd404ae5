//! `Template`: where special tokens go around one text or a pair.

use crate::error::{Error, Result};
use crate::vocab::TokenId;

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A special token.
    Special {
        /// Its id.
        id: TokenId,
        /// The number of the segment it counts to.
        type_id: u32,
    },
    /// The first text.
    First {
        /// The number of its segment.
        type_id: u32,
    },
    /// The second text.
    Second {
        /// The number of its segment.
        type_id: u32,
    },
}

/// The parts around one text and around a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The parts of a single text: [`Part::First`], most often once; [`Part::Second`] never.
    pub single: Vec<Part>,
    /// The parts of a pair: each text, most often once.
    pub pair: Vec<Part>,
    /// The white space that offsets leave out where a call does not say.
    pub trim_offsets: TrimOffsets,
}

/// Whether offsets leave out the white space around a token, as Hugging Face's
/// post-processors `ByteLevel` and `RobertaProcessing` do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrimOffsets {
    /// They are whole.
    #[default]
    No,
    /// They leave it out.
    Yes,
    /// As `Yes`, knowing that a space was put before the text.
    AfterPrefixSpace,
}

impl Default for Template {
    /// No special tokens.
    fn default() -> Self {
        Self {
            single: vec![Part::First { type_id: 0 }],
            pair: vec![Part::First { type_id: 0 }, Part::Second { type_id: 1 }],
            trim_offsets: TrimOffsets::No,
        }
    }
}

impl Template {
    /// The most parts of a template, texts included.
    pub const MAX_PARTS: usize = 1024;
    /// How often a template may hold a text, which is then as often in memory.
    pub const MAX_COPIES: usize = 64;

    /// Checks that a single text's template names no second one, and that none is too long.
    ///
    /// # Errors
    /// [`Error::Format`] naming the part at fault.
    pub fn check(&self) -> Result<()> {
        for (name, is_pair) in [("single", false), ("pair", true)] {
            let at = || format!("$.post_processor.{name}");
            let [first, second] = self.copies(is_pair);
            if second > 0 && !is_pair {
                return Err(Error::format(at(), "the template of a single text holds sequence B"));
            }
            if first.max(second) > Self::MAX_COPIES {
                return Err(Error::format(
                    at(),
                    format!(
                        "it has a text {} times; at most {} are supported",
                        first.max(second),
                        Self::MAX_COPIES
                    ),
                ));
            }
            let n_parts = self.parts(is_pair).len();
            if n_parts > Self::MAX_PARTS {
                return Err(Error::format(
                    at(),
                    format!("{n_parts} parts; at most {} may surround each text", Self::MAX_PARTS),
                ));
            }
        }
        Ok(())
    }

    /// The parts of a single text, or those of a pair.
    pub fn parts(&self, is_pair: bool) -> &[Part] {
        if is_pair { &self.pair } else { &self.single }
    }

    /// The texts in their order: 0 for the first, 1 for the second.
    pub fn texts(&self, is_pair: bool) -> impl Iterator<Item = usize> {
        self.parts(is_pair).iter().filter_map(|part| match part {
            Part::First { .. } => Some(0),
            Part::Second { .. } => Some(1),
            Part::Special { .. } => None,
        })
    }

    /// How often the first text occurs, and the second.
    pub fn copies(&self, is_pair: bool) -> [usize; 2] {
        let mut copies = [0; 2];
        self.texts(is_pair).for_each(|text| copies[text] += 1);
        copies
    }

    /// How many of a row's ids each id of a text takes: as many as the template holds the text.
    /// A text that it does not hold counts once when texts are shortened, as in Hugging Face's library.
    pub(crate) fn weights(&self, is_pair: bool) -> [usize; 2] {
        self.copies(is_pair).map(|n| n.max(1))
    }

    /// Whether a single text occurs once, as it does in all but odd files.
    pub fn holds_text_once(&self) -> bool {
        self.copies(false) == [1, 0]
    }

    /// Whether each text occurs once, alone and in a pair.
    pub fn is_plain(&self) -> bool {
        self.holds_text_once() && self.copies(true) == [1, 1]
    }

    /// The special tokens before and after a single text that occurs once.
    pub fn around_single(&self) -> (Vec<TokenId>, Vec<TokenId>) {
        let ids = |parts: &[Part]| {
            parts
                .iter()
                .filter_map(|part| match part {
                    Part::Special { id, .. } => Some(*id),
                    _ => None,
                })
                .collect()
        };
        let at = self.single.iter().position(|part| matches!(part, Part::First { .. })).unwrap_or(0);
        (ids(&self.single[..at]), ids(&self.single[at..]))
    }

    /// The number of special tokens around a single text, or around a pair.
    pub fn n_special(&self, is_pair: bool) -> usize {
        self.parts(is_pair).iter().filter(|part| matches!(part, Part::Special { .. })).count()
    }
}
