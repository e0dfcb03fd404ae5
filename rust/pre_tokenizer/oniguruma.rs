//! What Oniguruma, the engine of tokenizers, reads otherwise than ours.
//!
//! A pattern of tokenizer.json that holds one of these would compile here and
//! split differently, so it is refused with the spelling that means the same to
//! both. What our engines do not know at all fails to compile anyway.
//! Not covered: case-insensitive matches of one character by two (`(?i)ß`).

use crate::error::{Error, Result};

/// Refuses a pattern that means something else here than to Oniguruma.
pub(super) fn check(pattern: &str) -> Result<()> {
    match difference(pattern) {
        None => Ok(()),
        Some(reason) => Err(Error::Pattern { pattern: pattern.to_owned(), reason: reason.to_owned() }),
    }
}

fn difference(pattern: &str) -> Option<&'static str> {
    let mut rest = pattern;
    let mut depth = 0_u32;
    while let Some(c) = rest.chars().next() {
        let (here, len) = if depth > 0 { in_class(rest) } else { outside_classes(rest) };
        if here.is_some() {
            return here;
        }
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        rest = rest.get(len.max(c.len_utf8())..).unwrap_or("");
    }
    None
}

/// A difference at the start of `rest`, and how far to go on.
fn outside_classes(rest: &str) -> (Option<&'static str>, usize) {
    let close = || rest.find('}').map_or(rest.len(), |at| at + 1);
    if let Some(escaped) = rest.strip_prefix('\\') {
        return (None, escape_len(escaped));
    }
    if rest.starts_with('{') {
        let repeats = rest.get(close()..).is_some_and(|after| after.starts_with('+'));
        let reason = "tokenizers reads {..}+ as a repeated group; write (?>..{..}) or leave out the +";
        return (repeats.then_some(reason), close());
    }
    let reason = if rest.starts_with('^') {
        Some("tokenizers reads ^ as the start of any line; write \\A or (?<=\\n)")
    } else if rest.starts_with('$') {
        Some("tokenizers reads $ as the end of any line; write \\z or (?=\\n)")
    } else if sets_flag_m(rest) {
        Some("tokenizers reads (?m) as ours reads (?s); write the characters as a class")
    } else {
        None
    };
    (reason, 0)
}

/// As [`outside_classes`], between `[` and `]`.
fn in_class(rest: &str) -> (Option<&'static str>, usize) {
    if let Some(escaped) = rest.strip_prefix('\\') {
        return (None, escape_len(escaped));
    }
    let reason = if rest.starts_with("[:") {
        Some("tokenizers reads [:alpha:] and the like as Unicode classes; write \\p{..}")
    } else if rest.starts_with("--") || rest.starts_with("~~") {
        Some("tokenizers knows no -- and ~~ between sets; escape the characters, or write [..&&[^..]]")
    } else {
        None
    };
    (reason, 0)
}

/// Length of an escape, its backslash included, of which `escaped` is the rest.
fn escape_len(escaped: &str) -> usize {
    let Some(kind) = escaped.chars().next() else { return 1 };
    if escaped.get(kind.len_utf8()..).is_some_and(|rest| rest.starts_with('{')) {
        escaped.find('}').map_or(escaped.len(), |at| at + 1) + 1
    } else {
        1 + kind.len_utf8()
    }
}

/// Whether a group such as `(?im-x:` opens here and names m.
fn sets_flag_m(rest: &str) -> bool {
    let Some(flags) = rest.strip_prefix("(?") else { return false };
    let end = flags.find(|c: char| !c.is_ascii_alphabetic() && c != '-').unwrap_or(flags.len());
    flags[..end].contains('m') && matches!(flags.as_bytes().get(end), Some(b':' | b')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_read_otherwise() {
        for (pattern, expected) in [
            (r"\p{N}{1,3}+", Some("{..}+")),
            (r"\p{L}+|\x{41}+|a{2}|[$^]|\$|\^", None),
            (r"\s+$", Some("$")),
            (r"^a", Some("^")),
            (r"[^\s]", None),
            (r"(?m)a", Some("(?m)")),
            (r"(?im-x:a)", Some("(?m)")),
            (r"(?i:m)", None),
            (r"[[:alpha:]]", Some("[:alpha:]")),
            (r"[a-z--b]", Some("--")),
            (r"[[a-z]&&[^b]]{3}", None),
            ("\\", None),
            (r"[\]$]", None),
        ] {
            let found = difference(pattern);
            assert_eq!(found.is_some(), expected.is_some(), "{pattern}: {found:?}");
            assert!(found.unwrap_or("").contains(expected.unwrap_or("")), "{pattern}: {found:?}");
        }
    }
}
