//! `Digits`: how many digits stand together in cl100k and its relatives.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How many digits a piece has at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Digits {
    /// `\p{N}`, as in Qwen.
    One = 1,
    /// `\p{N}{1,2}`, as in nanochat.
    Two = 2,
    /// `\p{N}{1,3}`, as in GPT-4 and Llama-3.
    Three = 3,
}

impl TryFrom<u8> for Digits {
    type Error = Error;

    fn try_from(digits: u8) -> Result<Self> {
        match digits {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            3 => Ok(Self::Three),
            _ => Err(Error::Option {
                option: "digits",
                value: digits.to_string(),
                reason: "a piece holds at most 1, 2 or 3 digits".to_owned(),
            }),
        }
    }
}

impl From<Digits> for u8 {
    fn from(digits: Digits) -> Self {
        digits as Self
    }
}
