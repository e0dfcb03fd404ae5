//! `Pass`: the state of SentencePiece's normalizer in one text: which spaces are removed, which are
//! held back until text follows, and where a space is inserted before the text.

use super::SentencePieceOptions;
use crate::normalizer::Rewrite;
use crate::text::{SPACE_MARK, SPACE_MARK_STR};

/// A number of bytes of the old text that become marks, or nothing.
#[derive(Clone, Copy)]
struct Held {
    old_len: usize,
    marks: usize,
}

/// The state of the normalizer in one text.
pub(super) struct Pass<'a, R> {
    options: &'a SentencePieceOptions,
    pub(super) out: &'a mut R,
    pub(super) mark: &'static str,
    /// Whether anything but leading spaces has been read.
    started: bool,
    after_space: bool,
    /// Spaces at the end so far. They are removed if no text follows.
    held: Vec<Held>,
    /// Buffer for a replacement with its spaces written as marks.
    marked: String,
}

impl<'a, R: Rewrite> Pass<'a, R> {
    pub(super) fn new(options: &'a SentencePieceOptions, out: &'a mut R) -> Self {
        Self {
            options,
            out,
            mark: options.mark(),
            started: false,
            after_space: false,
            held: Vec::new(),
            marked: String::new(),
        }
    }

    /// A pass that begins after a letter: no spaces are held back and no space is inserted.
    pub(super) fn inside(options: &'a SentencePieceOptions, out: &'a mut R) -> Self {
        Self { started: true, ..Self::new(options, out) }
    }

    /// Copies text without spaces and marks.
    pub(super) fn copy(&mut self, text: &str) {
        self.release();
        self.out.copy(text);
        self.after_space = false;
    }

    /// Copies words; `marked` is their text with a `▁` instead of each space.
    pub(super) fn copy_marking_spaces(&mut self, words: &[u8], marked: &str) {
        self.release();
        self.out.copy_marking_spaces(words, marked);
        self.after_space = false;
    }

    /// Replaces `old_len` bytes by text without spaces and marks.
    pub(super) fn text_in_place(&mut self, old_len: usize, text: &str) {
        self.release();
        self.out.replace(old_len, text);
        self.after_space = false;
    }

    /// Replaces `old_len` bytes by `new`.
    pub(super) fn replace(&mut self, old_len: usize, new: &str) {
        if !self.started && new == " " && self.options.remove_extra_whitespaces {
            self.out.replace(old_len, "");
            return;
        }
        self.start();
        let rest = if self.after_space { new.trim_start_matches(' ') } else { new };
        if !rest.is_empty() {
            self.after_space = self.options.remove_extra_whitespaces && rest.ends_with(' ');
        }
        let is_mark = |c: char| c == ' ' || self.options.escape_whitespaces && c == SPACE_MARK;
        let body = rest.trim_end_matches(is_mark);
        let marks = rest[body.len()..].chars().count();
        if body.is_empty() {
            self.hold(old_len, marks);
            return;
        }
        self.release();
        if self.options.escape_whitespaces && body.as_bytes().contains(&b' ') {
            self.marked.clear();
            let mut done = 0;
            for (space, _) in body.bytes().enumerate().filter(|(_, byte)| *byte == b' ') {
                self.marked.push_str(&body[done..space]);
                self.marked.push_str(SPACE_MARK_STR);
                done = space + 1;
            }
            self.marked.push_str(&body[done..]);
            self.out.replace(old_len, &self.marked);
        } else {
            self.out.replace(old_len, body);
        }
        self.hold(0, marks);
    }

    /// Inserts the space before the first text.
    fn start(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        self.after_space = self.options.remove_extra_whitespaces;
        if self.options.add_dummy_prefix && !self.options.treat_whitespace_as_suffix {
            self.hold(0, 1);
        }
    }

    fn hold(&mut self, old_len: usize, marks: usize) {
        match self.held.last_mut() {
            Some(last) if marks == 0 && last.marks == 0 => last.old_len += old_len,
            _ if old_len > 0 || marks > 0 => self.held.push(Held { old_len, marks }),
            _ => {}
        }
    }

    /// Writes the spaces that were held back.
    #[inline]
    pub(super) fn release(&mut self) {
        if !self.started || !self.held.is_empty() {
            self.release_held();
        }
    }

    fn release_held(&mut self) {
        self.start();
        for Held { old_len, marks } in self.held.drain(..) {
            match marks {
                0 => self.out.replace(old_len, ""),
                1 => self.out.replace(old_len, self.mark),
                _ => self.out.replace(old_len, &self.mark.repeat(marks)),
            }
        }
    }

    pub(super) fn finish(&mut self) {
        let ends_in_space = self.options.add_dummy_prefix && self.options.treat_whitespace_as_suffix;
        if !self.started {
            return;
        }
        if self.options.remove_extra_whitespaces {
            let dropped = self.held.drain(..).map(|held| held.old_len).sum();
            if ends_in_space {
                self.out.insert(self.mark);
            }
            self.out.replace(dropped, "");
        } else {
            self.release();
            if ends_in_space {
                self.out.insert(self.mark);
            }
        }
    }
}
