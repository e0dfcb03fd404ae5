//! `CallDefaults`: the truncation and the padding that a tokenizer.json asks for.
//!
//! No call applies them automatically: they are kept, given to callers that ask, and written again.
//! Source: tokenizers 0.23, `utils/truncation.rs` and `utils/padding.rs`, whose fields these are.

use serde::{Deserialize, Serialize};

use crate::tokenizer::encoding::Side;
use crate::tokenizer::truncation::TruncationStrategy;
use crate::vocab::TokenId;

/// How a file would have calls cut and fill up rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallDefaults {
    /// How rows are cut.
    pub truncation: Option<DefaultTruncation>,
    /// How rows are filled up.
    pub padding: Option<DefaultPadding>,
}

/// Rows are cut to a length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DefaultTruncation {
    /// The end of a row that goes.
    #[serde(default)]
    pub direction: Side,
    /// The most ids of a row.
    pub max_length: usize,
    /// From which text of a pair ids are taken.
    pub strategy: TruncationStrategy,
    /// How many ids of a window are repeated in the next.
    pub stride: usize,
}

/// Rows are filled up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DefaultPadding {
    /// To which length.
    pub strategy: PaddingLength,
    /// On which side.
    #[serde(default)]
    pub direction: Side,
    /// The number of which padded lengths are a multiple.
    pub pad_to_multiple_of: Option<usize>,
    /// The id that fills up.
    pub pad_id: TokenId,
    /// Its type id.
    #[serde(default)]
    pub pad_type_id: u32,
    /// Its text.
    pub pad_token: String,
}

/// The length that rows are filled up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PaddingLength {
    /// That of the longest.
    BatchLongest,
    /// This one.
    Fixed(usize),
}

impl CallDefaults {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same with different ids; padding goes with the token that it fills up by.
    pub(super) fn renumbered(&self, new_id: impl Fn(TokenId) -> Option<TokenId>) -> Self {
        let padding = self.padding.as_ref().and_then(|padding| {
            new_id(padding.pad_id).map(|pad_id| DefaultPadding { pad_id, ..padding.clone() })
        });
        Self { truncation: self.truncation.clone(), padding }
    }
}
