//! `SentencePiece`: normalizes a text as SentencePiece 0.2 does. (`precompiled` applies the same
//! rules as Hugging Face does.)
//!
//! Applies rules from left to right, longest match first; user-defined symbols take precedence.
//! Then, as the options say, it removes spaces at the ends and repeated spaces, inserts a space
//! before the text, and writes each space as `▁`. All in one pass; ASCII text that no rule touches
//! is copied in runs.

mod pass;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::pass::Pass;
use super::charsmap::{AsciiSet, Charsmap};
use super::growth::Growth;
use super::rewrite::Plain;
use super::{Aligned, Rewrite};
use crate::error::{Error, Result};
use crate::text::simd::{Level, Room};
use crate::text::trie::Trie;
use crate::text::{SPACE_MARK, SPACE_MARK_STR};

/// The options of a normalizer, as a SentencePiece file stores them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SentencePieceOptions {
    /// The rules.
    pub charsmap: Charsmap,
    /// Whether a space is inserted before a text.
    pub add_dummy_prefix: bool,
    /// Whether spaces at the ends of a text and repeated spaces are removed.
    pub remove_extra_whitespaces: bool,
    /// Whether a space is written as `▁`.
    pub escape_whitespaces: bool,
    /// Whether the space is inserted after the text instead of before it.
    pub treat_whitespace_as_suffix: bool,
    /// Strings to which no rule applies.
    pub user_defined: Vec<String>,
}

impl Default for SentencePieceOptions {
    fn default() -> Self {
        Self {
            charsmap: Charsmap::default(),
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            treat_whitespace_as_suffix: false,
            user_defined: Vec::new(),
        }
    }
}

impl SentencePieceOptions {
    /// The string written for a space.
    fn mark(&self) -> &'static str {
        if self.escape_whitespaces { SPACE_MARK_STR } else { " " }
    }

    /// The name of the rules, as files store it.
    pub fn rules_name(&self) -> &'static str {
        self.charsmap.name().unwrap_or("user_defined")
    }
}

/// The normalizer of a SentencePiece model.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "SentencePieceOptions", into = "SentencePieceOptions")]
pub struct SentencePiece {
    options: SentencePieceOptions,
    /// The user-defined pieces.
    symbols: Arc<Trie>,
    /// The bytes that a user-defined piece may begin with.
    begins_symbol: AsciiSet,
    /// Bytes, except spaces, that are copied while ASCII follows.
    plain: AsciiSet,
    /// Whether no rule changes a space between plain bytes.
    spaces_are_plain: bool,
    /// Whether all printable ASCII is plain and a space is written as `▁`.
    words_are_plain: bool,
    /// Whether the texts it gets begin where the whole text does, and end where it does. Otherwise
    /// they are parts, cut before a space that follows a letter.
    begins: bool,
    ends: bool,
}

impl SentencePiece {
    /// A normalizer with these options.
    ///
    /// # Errors
    /// [`Error::Format`] if user-defined strings do not fit into memory.
    pub fn new(options: SentencePieceOptions) -> Result<Self> {
        let strings = options.user_defined.iter().filter(|text| !text.is_empty());
        let symbols = Trie::new(strings.clone().map(|text| (text.as_bytes(), 0)).collect())?;
        let mut begins_symbol = [false; 256];
        strings.for_each(|text| begins_symbol[usize::from(text.as_bytes()[0])] = true);
        let inert = options.charsmap.inert();
        let plain: AsciiSet =
            std::array::from_fn(|byte| inert[byte] && byte != usize::from(b' ') && !begins_symbol[byte]);
        let space = usize::from(b' ');
        let spaces_are_plain = inert[space] && !begins_symbol[space];
        let printed_are_plain = plain[usize::from(b'!')..=usize::from(b'~')].iter().all(|plain| *plain);
        let words_are_plain = spaces_are_plain && printed_are_plain && options.escape_whitespaces;
        Ok(Self {
            options,
            symbols: Arc::new(symbols),
            begins_symbol,
            plain,
            spaces_are_plain,
            words_are_plain,
            begins: true,
            ends: true,
        })
    }

    /// The normalizer for a part of a text. All parts but the first begin with a space, and the
    /// byte before it is one of [`SentencePiece::always_copied`].
    pub(super) fn part(&self, begins: bool, ends: bool) -> Self {
        Self { begins, ends, ..self.clone() }
    }

    /// Whether a space between letters is written as [`SentencePiece::mark`].
    pub(super) fn keeps_spaces(&self) -> bool {
        self.spaces_are_plain
    }

    /// The string written for a space.
    pub(super) fn mark(&self) -> &'static str {
        self.options.mark()
    }

    /// The bytes that are copied whenever ASCII follows, whatever precedes them. No rule and no
    /// user-defined string contains one after its first byte.
    pub(super) fn always_copied(&self) -> AsciiSet {
        let inner = self.options.charsmap.inner();
        let mut copied = std::array::from_fn(|byte| self.plain[byte] && !inner[byte]);
        let strings = self.options.user_defined.iter().filter_map(|text| text.as_bytes().get(1..));
        strings.flatten().for_each(|&byte| copied[usize::from(byte)] = false);
        copied
    }

    /// The options.
    pub fn options(&self) -> &SentencePieceOptions {
        &self.options
    }

    /// Normalizes bytes. Each byte that is not UTF-8 becomes U+FFFD, to which no rule applies.
    ///
    /// # Errors
    /// As [`super::Normalizer::normalize`].
    pub fn normalize_bytes(&self, text: &[u8]) -> Result<Aligned> {
        let mut aligned = Aligned::within(Growth::of_aligned(text.len())?);
        self.write_bytes(text, &mut aligned);
        aligned.checked()
    }

    /// [`SentencePiece::normalize_bytes`] without the alignment.
    ///
    /// # Errors
    /// As [`SentencePiece::normalize_bytes`].
    pub fn normalize_bytes_to_text(&self, text: &[u8]) -> Result<String> {
        let mut plain = Plain::within(Growth::of(text.len()));
        self.write_bytes(text, &mut plain);
        plain.checked()
    }

    fn write_bytes<R: Rewrite>(&self, text: &[u8], out: &mut R) {
        let mut pass = Pass::new(&self.options, out);
        for chunk in text.utf8_chunks() {
            self.feed(chunk.valid(), &mut pass);
            for _ in chunk.invalid() {
                pass.text_in_place(1, "\u{FFFD}");
            }
        }
        pass.finish();
    }

    /// One step of a [`super::Normalizer`].
    pub(super) fn step<R: Rewrite>(&self, text: &str, out: &mut R) -> bool {
        if text.is_empty() {
            return false;
        }
        // A space becomes a mark of three bytes; in English about every sixth byte is a space.
        out.reserve(text.len() + text.len() / 2);
        let begin = if self.begins { Pass::new } else { Pass::inside };
        let mut pass = begin(&self.options, out);
        self.feed(text, &mut pass);
        if self.ends {
            pass.finish()
        } else {
            pass.release()
        }
        true
    }

    fn feed<R: Rewrite>(&self, text: &str, pass: &mut Pass<'_, R>) {
        let is_plain = |at: usize| text.as_bytes().get(at).is_some_and(|&byte| self.plain[usize::from(byte)]);
        let mut at = 0;
        let mut spelled = None;
        while at < text.len() {
            if self.words_are_plain && is_plain(at) {
                let room = spelled.get_or_insert([0; size_of::<Room>()]);
                let (read, written) = Level::best().spell_spaces(&text.as_bytes()[at..], room);
                if let Ok(words) = crate::text::from_utf8(&room[..written])
                    && read > 0
                {
                    pass.copy_marking_spaces(&text.as_bytes()[at..at + read], words);
                    at += read;
                    continue;
                }
            }
            let run_end = self.run_end(text, at);
            if run_end == at {
                at += self.feed_one(&text[at..], pass);
                continue;
            }
            pass.copy(&text[at..run_end]);
            at = run_end;
            // A single space between two words stays, whatever follows the second word.
            if self.spaces_are_plain && text.as_bytes().get(at) == Some(&b' ') && is_plain(at + 1) {
                pass.out.replace(1, pass.mark);
                at += 1;
            }
        }
    }

    /// The end of the text at `at` that is copied, without spaces.
    fn run_end(&self, text: &str, at: usize) -> usize {
        let bytes = text.as_bytes();
        let mut end = at;
        loop {
            let mut ascii_end = end;
            while bytes.get(ascii_end).is_some_and(|&byte| self.plain[usize::from(byte)]) {
                ascii_end += 1;
            }
            match bytes.get(ascii_end) {
                Some(128..) if !self.options.charsmap.is_empty() => {
                    // The last character may combine with what follows.
                    if ascii_end > end {
                        return (ascii_end - 1).max(at);
                    }
                }
                Some(128..) => {}
                _ => return ascii_end,
            }
            end = ascii_end;
            for c in text[end..].chars().take_while(|c| !c.is_ascii()) {
                if self.options.charsmap.may_begin(c)
                    || c == SPACE_MARK
                    || self.begins_symbol[usize::from(bytes[end])]
                {
                    return end;
                }
                end += c.len_utf8();
            }
        }
    }

    /// Normalizes the first rule, symbol or character of `text`; returns its length.
    fn feed_one<R: Rewrite>(&self, text: &str, pass: &mut Pass<'_, R>) -> usize {
        let bytes = text.as_bytes();
        if self.begins_symbol[usize::from(bytes[0])]
            && let Some(len) = self.symbols.longest_prefix(bytes)
            && text.is_char_boundary(len)
        {
            pass.replace(len, &text[..len]);
            return len;
        }
        if let Some((len, replacement)) = self.options.charsmap.longest(bytes) {
            pass.replace(len, replacement);
            return len;
        }
        let len = text.chars().next().map_or(0, char::len_utf8);
        match &text[..len] {
            same @ (" " | SPACE_MARK_STR) => pass.replace(len, same),
            same => pass.copy(same),
        }
        len
    }
}

impl From<SentencePiece> for SentencePieceOptions {
    fn from(normalizer: SentencePiece) -> Self {
        normalizer.options
    }
}

impl TryFrom<SentencePieceOptions> for SentencePiece {
    type Error = Error;

    fn try_from(options: SentencePieceOptions) -> Result<Self> {
        Self::new(options)
    }
}

impl PartialEq for SentencePiece {
    fn eq(&self, other: &Self) -> bool {
        self.options == other.options
    }
}

impl Eq for SentencePiece {}

impl std::fmt::Debug for SentencePiece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.options.fmt(f)
    }
}
