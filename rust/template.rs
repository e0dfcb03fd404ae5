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

/// What stands around one text and around a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The parts of a single text: [`Part::First`] once, [`Part::Second`] never.
    pub single: Vec<Part>,
    /// The parts of a pair: each text once.
    pub pair: Vec<Part>,
    /// What offsets leave out where a call does not say.
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

    /// Checks that each text stands where it should, once.
    ///
    /// # Errors
    /// [`Error::Format`] naming the part at fault.
    pub fn check(&self) -> Result<()> {
        let count = |parts: &[Part], first| {
            parts
                .iter()
                .filter(|part| {
                    matches!(part, Part::First { .. } if first)
                        || matches!(part, Part::Second { .. } if !first)
                })
                .count()
        };
        for (name, parts, seconds) in [("single", &self.single, 0), ("pair", &self.pair, 1)] {
            if count(parts, true) != 1 || count(parts, false) != seconds {
                return Err(Error::format(
                    format!("$.post_processor.{name}"),
                    format!("sequence A must stand once and B {seconds} time(s)"),
                ));
            }
            if parts.len() > Self::MAX_PARTS {
                return Err(Error::format(
                    format!("$.post_processor.{name}"),
                    format!("{} parts; at most {} may stand around each text", parts.len(), Self::MAX_PARTS),
                ));
            }
        }
        Ok(())
    }

    /// The special tokens before and after a single text.
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

    /// The number of special tokens around a pair.
    pub fn n_special_pair(&self) -> usize {
        self.pair.iter().filter(|part| matches!(part, Part::Special { .. })).count()
    }
}
