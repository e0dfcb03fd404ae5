//! BERT's clean-up, both as tokenizers 0.23 does it and as Google's code does.
//!
//! Both drop control characters, put spaces around Chinese characters, strip accents and lower
//! case, but from tables of different ages and in a different order, so results differ (`ΟΔΟΣ`
//! becomes `οδοσ` with Hugging Face and `οδος` with Google). A single pass does all steps, with one
//! table for each combination of steps; plain ASCII is copied in bulk. Linear in the text, except
//! for sorting the marks on one letter.
//!
//! Source of Google's: Devlin et al. 2019, `tokenization.py`, from its documentation; its Unicode
//! is frozen at 16.0.

mod raw_words;
mod sigma;
mod table;
#[rustfmt::skip]
mod tables;

use self::table::{Family, Steps};
use serde::{Deserialize, Serialize};

pub(crate) use self::raw_words::RawWords;
use self::table::CleaningTable;
use super::frozen::jamo;
use super::normal_form_run::NormalFormRun;
use super::rewrite::Rewrite;

/// The clean-up of Hugging Face's `BertNormalizer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bert {
    /// Whether control characters are dropped and white space becomes spaces.
    pub clean_text: bool,
    /// Whether Chinese characters get a space on both sides.
    pub handle_chinese_chars: bool,
    /// Whether accents are dropped; `None` means the same as `lowercase`.
    pub strip_accents: Option<bool>,
    /// Whether letters become lower case.
    pub lowercase: bool,
}

impl Default for Bert {
    fn default() -> Self {
        Self { clean_text: true, handle_chinese_chars: true, strip_accents: None, lowercase: true }
    }
}

impl Bert {
    /// The table for these options, built on first use.
    pub(super) fn table(self) -> &'static CleaningTable {
        CleaningTable::of(
            Family::HuggingFace,
            Steps {
                clean: self.clean_text,
                pad: self.handle_chinese_chars,
                strip: self.strip_accents.unwrap_or(self.lowercase),
                lower: self.lowercase,
            },
        )
    }
}

/// The clean-up of Google's `tokenization.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoogleBert {
    /// Whether letters become lower case and accents are dropped.
    pub lowercase: bool,
}

impl GoogleBert {
    pub(super) fn table(self) -> &'static CleaningTable {
        let lower = self.lowercase;
        CleaningTable::of(Family::Google, Steps { clean: true, pad: true, strip: lower, lower })
    }
}

/// Writes the cleaned text; returns `false` if it is clean already.
pub(crate) fn rewrite<R: Rewrite>(table: &CleaningTable, text: &str, out: &mut R) -> bool {
    let bytes = text.as_bytes();
    let (mut copied, mut at) = (0, 0);
    let mut changed = false;
    loop {
        at = end_of_plain(bytes, at);
        let Some(c) = text[at..].chars().next() else { break };
        let entry = table.entry(c);
        let after = at + c.len_utf8();
        if entry.is_copy() {
            at = after;
            continue;
        }
        if copied < at {
            copy(table, &text[copied..at], out);
        }
        changed = true;
        at = if entry.is_copy_padded() {
            out.replace_padded(after - at, &text[at..after]);
            after
        } else if entry.orders_marks() {
            rewrite_marks(table, text, at, out)
        } else {
            rewrite_char(table, text, at, c, out);
            after
        };
        copied = at;
    }
    let rest = &text[copied..];
    // Scans the text once more, so only if nothing else changed.
    changed = changed || table.steps.lower && rest.bytes().any(|byte| byte.is_ascii_uppercase());
    if changed {
        copy(table, rest, out);
    }
    changed
}

/// Writes the word that a text without blanks becomes over `out`. Returns `false`, with `out`
/// undefined, if the result may be more than one word or depends on more than single characters;
/// the caller then uses [`rewrite`].
pub(crate) fn rewrite_word(table: &CleaningTable, text: &str, out: &mut String) -> bool {
    out.clear();
    for c in text.chars() {
        let entry = table.entry(c);
        if entry.is_dropped() || entry.is_lost_mark() {
            continue;
        }
        if entry.needs_stages() {
            return false;
        }
        if entry.is_copy() {
            out.push(if table.steps.lower { c.to_ascii_lowercase() } else { c });
        } else if let Some((jamo, n)) = jamo(c).filter(|_| entry.is_syllable()) {
            out.extend(&jamo[..n]);
        } else if let Some(image) = table.image(entry) {
            out.push_str(image);
        } else {
            out.push(c);
        }
    }
    true
}

fn copy<R: Rewrite>(table: &CleaningTable, text: &str, out: &mut R) {
    if table.steps.lower {
        out.copy_lowering_ascii(text);
    } else {
        out.copy(text);
    }
}

/// Writes the normalized form of the character at `at`.
fn rewrite_char<R: Rewrite>(table: &CleaningTable, text: &str, at: usize, c: char, out: &mut R) {
    let entry = table.entry(c);
    let len = c.len_utf8();
    let mut buffer = [0; 12];
    let image = if let Some((jamo, n)) = jamo(c).filter(|_| entry.is_syllable()) {
        // Jamo have no case and are not marks.
        let mut end = 0;
        for jamo in &jamo[..n] {
            end += jamo.encode_utf8(&mut buffer[end..]).len();
        }
        std::str::from_utf8(&buffer[..end]).unwrap_or_default()
    } else if entry.is_sigma() {
        if sigma::is_final(table, text, at) { "ς" } else { "σ" }
    } else {
        table.image(entry).unwrap_or(&text[at..at + len])
    };
    if entry.is_padded() {
        out.replace_padded(len, image);
    } else if image.len() == len && image.chars().next().is_some_and(|c| c.len_utf8() == len) {
        out.substitute(image);
    } else {
        out.replace(len, image);
    }
}

/// Writes the stretch of marks that begins at `start`; returns its end.
fn rewrite_marks<R: Rewrite>(table: &CleaningTable, text: &str, start: usize, out: &mut R) -> usize {
    let facts = table.facts;
    let begins_with_mark = |c| facts.parts(c).next().is_some_and(|(_, class)| class != 0);
    let mut end = start;
    let mut is_lost = true;
    for c in text[start..].chars() {
        let entry = table.entry(c);
        if !entry.is_dropped() && !entry.is_lost_mark() {
            // A stretch may begin with a letter that decomposes into a base and marks.
            if !entry.orders_marks() || end > start && !begins_with_mark(c) {
                break;
            }
            is_lost = false;
        }
        end += c.len_utf8();
    }
    let text = &text[start..end];
    if is_lost {
        out.replace(text.len(), "");
        return end;
    }
    let mut run = NormalFormRun::default();
    for c in text.chars() {
        if table.entry(c).is_dropped() {
            run.skip(c);
        } else {
            run.push(c, facts.parts(c));
        }
    }
    run.sort();
    run.write(text, out, |c, image| {
        if !facts.is_nonspacing(c) {
            table.push_lowered(c, image);
        }
    });
    end
}

/// The end of the run of printable ASCII that begins at `at`.
#[inline]
fn end_of_plain(bytes: &[u8], mut at: usize) -> usize {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let every = |byte: u8| u64::from_ne_bytes([byte; 8]);
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let eight = u64::from_le_bytes(*eight);
        // With seven bits per byte, no sum carries into the next byte.
        let low = eight & !HIGH;
        let others = (eight | (low + every(1)) | !(low + every(0x80 - 0x20))) & HIGH;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| (0x20..0x7F).contains(byte)) {
        at += 1;
    }
    at
}
