//! Properties of a pre-tokenizer that hold for all texts.

use super::families::Family;
use super::{Marked, PreTokenizer, Prepend};

impl PreTokenizer {
    /// Whether [`PreTokenizer::rewrite`] may change a section, so that offsets of pieces differ
    /// from those of the text.
    pub fn rewrites(&self) -> bool {
        match self {
            Self::Gpt2 { add_prefix_space } => *add_prefix_space,
            Self::Sequence { steps } => steps.first().is_some_and(Self::rewrites),
            Self::Metaspace { .. } | Self::MetaspaceWords | Self::Marked(_) | Self::PrefixSpace => true,
            Self::Within { .. } | Self::ByteLevel { .. } => true,
            _ => false,
        }
    }

    /// Whether [`PreTokenizer::rewrite`] depends on whether a section begins where the original
    /// text does.
    pub(crate) fn looks_at_origin(&self) -> bool {
        match self {
            Self::Metaspace { prepend, .. } | Self::Marked(Marked { prepend, .. }) => {
                *prepend == Prepend::First
            }
            Self::Sequence { steps } => steps.first().is_some_and(Self::looks_at_origin),
            Self::Within { inner, .. } => inner.looks_at_origin(),
            _ => false,
        }
    }

    /// Whether a piece may begin inside a character.
    pub(crate) fn cuts_characters(&self) -> bool {
        match self {
            Self::ByteSpelled { .. } => true,
            Self::Sequence { steps } => steps.last().is_some_and(Self::cuts_characters),
            Self::Within { inner, .. } => inner.cuts_characters(),
            _ => false,
        }
    }

    /// Whether it runs a custom pattern, whose work is limited.
    pub(crate) fn runs_patterns(&self) -> bool {
        match self {
            Self::Regex(_) => true,
            Self::Split(split) => split.runs_patterns(),
            Self::Sequence { steps } | Self::ByteSpelled { steps } => steps.iter().any(Self::runs_patterns),
            Self::Within { outer, inner } => outer.runs_patterns() || inner.runs_patterns(),
            _ => false,
        }
    }

    /// Whether it only drops the white space between pieces, so that decoded text needs spaces there.
    pub(crate) fn drops_white_space(&self) -> bool {
        Family::of(self).is_some_and(|family| family.drops_white_space())
    }

    /// Whether every character of a text is in a piece.
    pub fn keeps_all_text(&self) -> bool {
        match self {
            Self::Sequence { steps } | Self::ByteSpelled { steps } => steps.iter().all(Self::keeps_all_text),
            Self::Within { outer, inner } => outer.keeps_all_text() && inner.keeps_all_text(),
            Self::Split(split) => split.keeps_all_text(),
            Self::UnicodeScripts | Self::MetaspaceWords => false,
            Self::Bytes
            | Self::Superwords { .. }
            | Self::Metaspace { .. }
            | Self::Marked(_)
            | Self::Regex(_)
            | Self::FixedLength { .. }
            | Self::PrefixSpace
            | Self::ByteLevel { .. } => true,
            _ => !self.drops_white_space(),
        }
    }
}
