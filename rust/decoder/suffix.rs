//! The suffix that ends a word: a space in every token but the last, where it is
//! nothing, wherever it stands (Hugging Face's `BPEDecoder`).
//!
//! Which token is the last is not known when it comes, so its end is held back
//! from the first suffix on.

use super::State;

/// Appends what is certain of a token.
pub(super) fn push(suffix: &str, state: &mut State, token: &[u8], out: &mut Vec<u8>) {
    let held = std::mem::take(&mut state.held);
    push_replaced(&held, suffix, b" ", out);
    let certain = memchr::memmem::find(token, suffix.as_bytes()).unwrap_or(token.len());
    out.extend_from_slice(&token[..certain]);
    state.held = held;
    state.held.clear();
    state.held.extend_from_slice(&token[certain..]);
}

/// Appends the end of the last token.
pub(super) fn finish(suffix: &str, state: &mut State, out: &mut Vec<u8>) {
    push_replaced(&std::mem::take(&mut state.held), suffix, b"", out);
}

fn push_replaced(token: &[u8], suffix: &str, by: &[u8], out: &mut Vec<u8>) {
    if token.is_empty() {
        return;
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
        return;
    }
    let mut end = 0;
    for at in memchr::memmem::find_iter(token, suffix) {
        out.extend_from_slice(&token[end..at]);
        out.extend_from_slice(by);
        end = at + suffix.len();
    }
    out.extend_from_slice(&token[end..]);
}
