//! The suffix that ends a word: a space in every token but the last, where it is
//! nothing, wherever it stands (Hugging Face's `BPEDecoder`).
//!
//! Which token is the last is not known when it comes, so its end is held back
//! from the first suffix on.

use super::State;

/// Appends what is certain of a token.
pub(super) fn push(suffix: &str, state: &mut State, token: &[u8], out: &mut Vec<u8>) {
    let held = std::mem::take(&mut state.held);
    out.extend_from_slice(&replaced(&held, suffix, b" "));
    let certain = memchr::memmem::find(token, suffix.as_bytes()).unwrap_or(token.len());
    out.extend_from_slice(&token[..certain]);
    state.held = held;
    state.held.clear();
    state.held.extend_from_slice(&token[certain..]);
}

/// Appends the end of the last token.
pub(super) fn finish(suffix: &str, state: &mut State, out: &mut Vec<u8>) {
    out.extend_from_slice(&replaced(&std::mem::take(&mut state.held), suffix, b""));
}

/// A token with each occurrence of a string replaced.
pub(super) fn replaced(token: &[u8], suffix: &str, by: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(token.len());
    if token.is_empty() {
        return out;
    }
    if suffix.is_empty() {
        // Nothing stands before, between and after all characters.
        out.extend_from_slice(by);
        for chunk in token.utf8_chunks() {
            for c in chunk.valid().split_inclusive(|_| true) {
                out.extend_from_slice(c.as_bytes());
                out.extend_from_slice(by);
            }
            out.extend_from_slice(chunk.invalid());
        }
        return out;
    }
    let mut end = 0;
    for at in memchr::memmem::find_iter(token, suffix) {
        out.extend_from_slice(&token[end..at]);
        out.extend_from_slice(by);
        end = at + suffix.len();
    }
    out.extend_from_slice(&token[end..]);
    out
}
