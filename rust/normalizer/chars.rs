//! Steps that look at one character at a time, as tokenizers 0.23 does them.
//!
//! No step here normalizes first: `StripAccents` drops only separate marks, and lower case ignores
//! neighbours.

use super::ascii_end;
use super::frozen::{LOWER, MARKS};
use super::rewrite::Rewrite;
use crate::text::unicode::{flag::SPACE, flags};

/// Lower case, character by character.
pub(super) fn lowercase<R: Rewrite>(text: &str, out: &mut R) -> bool {
    let bytes = text.as_bytes();
    let (mut copied, mut at) = (0, ascii_end(bytes, 0));
    let mut changed = bytes[..at].iter().any(u8::is_ascii_uppercase);
    if at == bytes.len() && !changed {
        return false;
    }
    while let Some(c) = text[at..].chars().next() {
        let after = at + c.len_utf8();
        if let Some(lower) = LOWER.get(c) {
            out.copy_lowering_ascii(&text[copied..at]);
            out.replace(after - at, lower);
            copied = after;
            changed = true;
        }
        at = ascii_end(bytes, after);
        changed |= bytes[after..at].iter().any(u8::is_ascii_uppercase);
    }
    out.copy_lowering_ascii(&text[copied..]);
    changed
}

/// Whether lower case leaves a character as it is.
pub(super) fn keeps_case(c: char) -> bool {
    !c.is_ascii_uppercase() && LOWER.get(c).is_none()
}

/// Whether a character is a mark that [`strip_accents`] drops.
pub(super) fn is_accent(c: char) -> bool {
    MARKS.get(c as u32) != 0
}

/// Drops marks.
pub(super) fn strip_accents<R: Rewrite>(text: &str, out: &mut R) -> bool {
    each(text, out, |c| is_accent(c).then_some(""))
}

/// Drops white space at the ends.
pub(super) fn strip<R: Rewrite>(text: &str, left: bool, right: bool, out: &mut R) -> bool {
    let is_space = |c: char| flags(c) & SPACE != 0;
    let kept = if left { text.trim_start_matches(is_space) } else { text };
    let start = text.len() - kept.len();
    let kept = if right { kept.trim_end_matches(is_space) } else { kept };
    let end = start + kept.len();
    if kept.len() == text.len() {
        return false;
    }
    if start > 0 {
        out.replace(start, "");
    }
    out.copy(kept);
    if end < text.len() {
        out.replace(text.len() - end, "");
    }
    true
}

/// Drops most control characters, and replaces the rest and unusual spaces by a space: the clean-up
/// of machine translation (Moses) before NFKC.
pub(super) fn nmt<R: Rewrite>(text: &str, out: &mut R) -> bool {
    each(text, out, |c| match c as u32 {
        0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F | 0x8F | 0x9F => Some(""),
        0x09 | 0x0A | 0x0C | 0x0D | 0x1680 | 0x200B..=0x200F | 0x2028 | 0x2029 | 0x2581 | 0xFEFF | 0xFFFD => {
            Some(" ")
        }
        _ => None,
    })
}

fn each<R: Rewrite>(text: &str, out: &mut R, change: impl Fn(char) -> Option<&'static str>) -> bool {
    let mut copied = 0;
    for (at, c) in text.char_indices() {
        if let Some(image) = change(c) {
            out.copy(&text[copied..at]);
            out.replace(c.len_utf8(), image);
            copied = at + c.len_utf8();
        }
    }
    if copied == 0 {
        return false;
    }
    out.copy(&text[copied..]);
    true
}
