//! Segments: text and special tokens that cannot be mistaken for each other.
//!
//! What comes from outside goes in as text, in which nothing is special; what
//! frames it goes in as special tokens. No string is ever searched for them.

use std::sync::atomic::AtomicBool;

use super::input::Input;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::tokenizer::encoding::Encoding;

/// A part of what is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text, encoded like a text of its own.
    Text(Input<'a>),
    /// A special token, by its text.
    Special(&'a str),
}

impl<'a> Segment<'a> {
    /// Its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.bytes(),
            Self::Special(content) => content.as_bytes(),
        }
    }
}

impl Tokenizer {
    /// Encodes segments end to end. Spans lie in the segments joined, the texts
    /// of special tokens included; no template is put around. `stop` is as in [`EncodeOptions`].
    ///
    /// # Errors
    /// [`Error::Encode`] for a special token there is not; else as [`Tokenizer::encode`].
    pub fn encode_segments(&self, segments: &[Segment<'_>], stop: Option<&AtomicBool>) -> Result<Encoding> {
        let options = EncodeOptions { add_special_tokens: false, stop, ..EncodeOptions::default() };
        let mut encoding = Encoding::default();
        let mut base = 0;
        for segment in segments {
            match *segment {
                Segment::Text(text) => {
                    let mut part = self.encode(text, options)?;
                    part.spans.iter_mut().flatten().for_each(|at| *at += base);
                    encoding.push_text(&part.ids, &part.spans, &part.surfaces, 0)?;
                    base += text.len() as u64;
                }
                Segment::Special(content) => {
                    let Some(token) = self.added.by_content(content).filter(|token| token.special) else {
                        return Err(Error::Encode(format!(
                            "{content:?} is no special token of this tokenizer; add it by with_specials"
                        )));
                    };
                    encoding.push_special(token.id, 0)?;
                    let end = base + content.len() as u64;
                    if let Some(span) = encoding.spans.last_mut() {
                        *span = [base, end];
                    }
                    base = end;
                }
            }
        }
        Ok(encoding)
    }
}
