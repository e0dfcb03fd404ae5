//! `Rewrite`: where a rewritten text goes, step by step through the old one, and
//! `Plain`, which keeps no alignment.

use super::growth::Growth;
use crate::error::Result;

/// Where a rewritten text goes, step by step through the old one.
///
/// A rewriter is written once against this; whether it keeps the alignment is
/// the choice of the caller: [`Aligned`](super::Aligned) does, `Plain` does not.
pub trait Rewrite {
    /// Whether it is kept which bytes of the old text each byte comes from.
    const KEEPS_ALIGNMENT: bool = true;

    /// Takes the next `unchanged.len()` bytes of the old text over.
    fn copy(&mut self, unchanged: &str);

    /// Puts `content` instead of the next `old_len` bytes of the old text.
    fn replace(&mut self, old_len: usize, content: &str);

    /// Puts `content` before the next byte of the old text.
    fn insert(&mut self, content: &str) {
        self.replace(0, content);
    }

    /// Puts `content` instead of a match, and lets it come from the last character, as
    /// tokenizers does.
    fn replace_match(&mut self, found: &str, content: &str) {
        let last = found.char_indices().next_back().map_or(0, |(at, _)| at);
        if Self::KEEPS_ALIGNMENT && last > 0 && !content.is_empty() {
            self.replace(last, "");
            self.replace(found.len() - last, content);
        } else {
            self.replace(found.len(), content);
        }
    }

    /// Puts `content`, one character, instead of one of the same length.
    fn substitute(&mut self, content: &str) {
        // Every boundary stays where it is, as in a copy.
        self.copy(content);
    }

    /// As [`Rewrite::copy`], with ASCII letters in lower case.
    fn copy_lowering_ascii(&mut self, unchanged: &str);

    /// Replaces the next `old_len` bytes by `content` between two spaces.
    fn replace_padded(&mut self, old_len: usize, content: &str);

    /// Makes room for `len` bytes.
    fn reserve(&mut self, len: usize);

    /// Takes note that there was no memory to make what comes next.
    fn give_up(&mut self);
}

/// A text built from an old one that may grow so far, without the alignment.
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
    /// [`crate::Error::Encode`] past the bound, [`crate::Error::Memory`] where there is none.
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

    fn replace_padded(&mut self, _: usize, content: &str) {
        for part in [" ", content, " "] {
            self.growth.push(&mut self.text, part);
        }
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
