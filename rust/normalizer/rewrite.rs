//! `Rewrite`: the output of a normalization step, and `Plain`, which keeps no alignment.

use super::growth::Growth;
use crate::error::Result;

/// The output of a normalization step, which reads the old text in order and copies, replaces and inserts.
///
/// Each step is written once against this trait; the caller decides whether the alignment is kept:
/// [`Aligned`](super::Aligned) keeps it, `Plain` does not.
pub trait Rewrite {
    /// Whether the alignment with the old text is kept.
    const KEEPS_ALIGNMENT: bool = true;

    /// Copies `unchanged`, the next bytes of the old text.
    fn copy(&mut self, unchanged: &str);

    /// Replaces the next `old_len` bytes of the old text by `content`.
    fn replace(&mut self, old_len: usize, content: &str);

    /// Inserts `content` before the next byte of the old text.
    fn insert(&mut self, content: &str) {
        self.replace(0, content);
    }

    /// Replaces a match by `content`, which gets the span of the last character of the match, as in
    /// Hugging Face.
    fn replace_match(&mut self, found: &str, content: &str) {
        let last = found.char_indices().next_back().map_or(0, |(at, _)| at);
        if Self::KEEPS_ALIGNMENT && last > 0 && !content.is_empty() {
            self.replace(last, "");
            self.replace(found.len() - last, content);
        } else {
            self.replace(found.len(), content);
        }
    }

    /// Replaces a character by `content`, one character of the same length.
    fn substitute(&mut self, content: &str) {
        // All boundaries stay, as in a copy.
        self.copy(content);
    }

    /// Copies `unchanged` with ASCII letters in lower case.
    fn copy_lowering_ascii(&mut self, unchanged: &str);

    /// Copies ASCII words; `marked` is their text with a `▁` instead of each space.
    fn copy_marking_spaces(&mut self, words: &[u8], marked: &str);

    /// Replaces the next `old_len` bytes by `content` between two spaces.
    fn replace_padded(&mut self, old_len: usize, content: &str);

    /// Reserves memory for `len` bytes.
    fn reserve(&mut self, len: usize);

    /// Records that memory ran out, so that the text is incomplete.
    fn give_up(&mut self);
}

/// A rewritten text of bounded length, without its alignment.
#[derive(Default)]
pub(crate) struct Plain {
    text: String,
    growth: Growth,
}

impl Plain {
    pub(super) fn within(growth: Growth) -> Self {
        Self { text: String::new(), growth }
    }

    /// The text.
    ///
    /// # Errors
    /// [`crate::Error::Encode`] past the bound, [`crate::Error::Memory`] if memory ran out.
    pub(crate) fn checked(self) -> Result<String> {
        self.growth.check(&self.text)?;
        Ok(self.text)
    }
}

impl Rewrite for Plain {
    const KEEPS_ALIGNMENT: bool = false;

    fn copy(&mut self, unchanged: &str) {
        self.growth.push(&mut self.text, unchanged);
    }

    fn replace(&mut self, _: usize, content: &str) {
        self.growth.push(&mut self.text, content);
    }

    fn copy_marking_spaces(&mut self, _: &[u8], marked: &str) {
        self.growth.push(&mut self.text, marked);
    }

    fn replace_padded(&mut self, _: usize, content: &str) {
        self.growth.push_padded(&mut self.text, content);
    }

    fn copy_lowering_ascii(&mut self, unchanged: &str) {
        let from = self.text.len();
        self.growth.push(&mut self.text, unchanged);
        self.text[from..].make_ascii_lowercase();
    }

    fn reserve(&mut self, len: usize) {
        self.growth.reserve(&mut self.text, len);
    }

    fn give_up(&mut self) {
        self.growth.give_up();
    }
}
