//! `PreTokenizer`: byte ranges of the pieces that no merge may cross.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::normalizer::Aligned;

/// Where a text is split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum PreTokenizer {
    /// No split: a document is one piece.
    Bytes,
}

impl PreTokenizer {
    /// Rewrites a section of text before it is split; `None` when nothing changes.
    pub fn rewrite(&self, _section: &str, _at_start: bool) -> Option<Aligned> {
        None
    }

    /// Calls `f` with the range of each piece, in order.
    ///
    /// # Errors
    /// What `f` returns.
    pub fn for_each_piece(&self, text: &str, mut f: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        if text.is_empty() { Ok(()) } else { f(0..text.len()) }
    }

    /// A place to cut.
    pub fn safe_cut(&self, _text: &str, _near: usize) -> Option<usize> {
        None
    }

    /// Whether the pieces cover every byte.
    pub fn keeps_all_text(&self) -> bool {
        true
    }
}
