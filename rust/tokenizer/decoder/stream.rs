//! `StreamDecoder`: push an id, get text, never half a character.
//!
//! Held back are at most three bytes, the start of a character that later tokens
//! may complete, and what depends on whether a token is the last. What comes out, joined, is what decoding all ids at
//! once gives.

use std::sync::Arc;

use super::State;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// Decodes ids as they come.
pub struct StreamDecoder {
    tokenizer: Arc<Tokenizer>,
    skip_special: bool,
    state: State,
    held: Vec<u8>,
}

impl StreamDecoder {
    /// A decoder at the start of a text.
    pub fn new(tokenizer: Arc<Tokenizer>, skip_special: bool) -> Self {
        Self { tokenizer, skip_special, state: State::default(), held: Vec::new() }
    }

    /// Takes an id; returns the text that is certain now, often empty.
    ///
    /// # Errors
    /// [`crate::Error::UnknownId`] for an id that is in no vocabulary.
    pub fn push(&mut self, id: TokenId) -> Result<String> {
        self.tokenizer.push_bytes(&mut self.state, id, self.skip_special, &mut self.held)?;
        Ok(self.certain())
    }

    /// Takes the text that no later id changes.
    fn certain(&mut self) -> String {
        let certain = self.held.len() - incomplete_tail(&self.held);
        let text = String::from_utf8_lossy(&self.held[..certain]).into_owned();
        self.held.drain(..certain);
        text
    }

    /// Takes many ids, all or none; returns the text that is certain now.
    ///
    /// # Errors
    /// As [`StreamDecoder::push`].
    pub fn push_all(&mut self, ids: &[TokenId]) -> Result<String> {
        if let Some(&id) = ids.iter().find(|&&id| self.tokenizer.id_to_bytes(id).is_none()) {
            return Err(Error::UnknownId { id: u64::from(id), max: self.tokenizer.max_id() });
        }
        for &id in ids {
            self.tokenizer.push_bytes(&mut self.state, id, self.skip_special, &mut self.held)?;
        }
        Ok(self.certain())
    }

    /// Ends the text: returns the text that was held back, a broken character as U+FFFD.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn finish(&mut self) -> Result<String> {
        self.tokenizer.decoder().finish(&mut self.state, &mut self.held)?;
        let text = String::from_utf8_lossy(&self.held).into_owned();
        self.held.clear();
        self.state = State::default();
        Ok(text)
    }
}

/// How many bytes at the end are the start of a character that may continue.
fn incomplete_tail(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        // A chunk's invalid bytes are a maximal start of a character; more may follow
        // only if they are the last of all and fewer than the lead byte asks for.
        Some(chunk) => match *chunk.invalid() {
            [] => 0,
            [lead, ..] => {
                let needed = match lead {
                    0xC2..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF4 => 4,
                    _ => 0,
                };
                if chunk.invalid().len() < needed { chunk.invalid().len() } else { 0 }
            }
        },
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::incomplete_tail;

    #[test]
    fn only_a_character_that_may_go_on_is_held() {
        for (bytes, held) in [
            (&b"abc"[..], 0),
            (b"ab\xE2", 1),
            (b"ab\xE2\x82", 2),
            (b"ab\xE2\x82\xAC", 0),
            (b"ab\xFF", 0),
            (b"\xF0\x9F\x98", 3),
            (b"\xE2\x82\xE2", 1),
            (b"\xC0", 0),
            (b"\xE0\x80", 0),
            (b"", 0),
        ] {
            assert_eq!(incomplete_tail(bytes), held, "{bytes:x?}");
        }
    }
}
