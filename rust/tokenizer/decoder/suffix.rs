//! The suffix that ends a word: a space in every token but the last, where it is
//! nothing, at every place in it (Hugging Face's `BPEDecoder`).
//!
//! Which token is the last is not known when it comes, so its end is held back
//! from the first suffix on.

use super::State;
use crate::error::Result;
use crate::memory;

/// Appends the certain text of a token.
pub(super) fn push(suffix: &str, state: &mut State, token: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let held = std::mem::take(&mut state.held);
    memory::extend(out, &replaced(&held, suffix, b" ")?)?;
    let certain = memchr::memmem::find(token, suffix.as_bytes()).unwrap_or(token.len());
    memory::extend(out, &token[..certain])?;
    state.held = held;
    state.held.clear();
    memory::extend(&mut state.held, &token[certain..])
}

/// Appends the end of the last token.
pub(super) fn finish(suffix: &str, state: &mut State, out: &mut Vec<u8>) -> Result<()> {
    memory::extend(out, &replaced(&std::mem::take(&mut state.held), suffix, b"")?)
}

/// A token with each occurrence of a string replaced.
pub(super) fn replaced(token: &[u8], suffix: &str, by: &[u8]) -> Result<Vec<u8>> {
    let mut out = memory::reserved(token.len())?;
    if token.is_empty() {
        return Ok(out);
    }
    if suffix.is_empty() {
        // The empty string is before, between and after all characters.
        memory::extend(&mut out, by)?;
        for chunk in token.utf8_chunks() {
            for c in chunk.valid().split_inclusive(|_| true) {
                memory::extend(&mut out, c.as_bytes())?;
                memory::extend(&mut out, by)?;
            }
            memory::extend(&mut out, chunk.invalid())?;
        }
        return Ok(out);
    }
    let mut end = 0;
    for at in memchr::memmem::find_iter(token, suffix) {
        memory::extend(&mut out, &token[end..at])?;
        memory::extend(&mut out, by)?;
        end = at + suffix.len();
    }
    memory::extend(&mut out, &token[end..])?;
    Ok(out)
}
