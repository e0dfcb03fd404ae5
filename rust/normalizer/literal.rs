//! Replaces a literal string, as Hugging Face's `Replace` does with a string. [`super::Matches`]
//! replaces patterns.

use super::Rewrite;
use crate::text::SPACE_MARK_STR;
use crate::text::simd::{Level, Room};

/// Replaces every occurrence of `pattern`; returns `false` if there is none.
pub(super) fn replace<R: Rewrite>(text: &str, pattern: &str, content: &str, out: &mut R) -> bool {
    match pattern.as_bytes() {
        [] => false,
        b" " if content == SPACE_MARK_STR => spell_spaces(text, out),
        [byte] => at_each(memchr::memchr_iter(*byte, text.as_bytes()), text, pattern, content, out),
        bytes => at_each(memchr::memmem::find_iter(text.as_bytes(), bytes), text, pattern, content, out),
    }
}

/// Replaces `pattern` at these offsets.
fn at_each<R: Rewrite>(
    places: impl Iterator<Item = usize>,
    text: &str,
    pattern: &str,
    content: &str,
    out: &mut R,
) -> bool {
    // Replacing one byte by one byte moves no boundary.
    let substitutes = pattern.len() == 1 && content.len() == 1;
    let mut end = 0;
    for at in places {
        out.copy(&text[end..at]);
        if substitutes {
            out.substitute(content);
        } else {
            out.replace_match(pattern, content);
        }
        end = at + pattern.len();
    }
    if end == 0 {
        return false;
    }
    out.copy(&text[end..]);
    true
}

/// Copies the ASCII words at the start of `text` and writes `▁` for the single spaces between them.
/// Returns how many bytes it read (0 if `text` begins with something else) and whether there were
/// spaces.
pub(crate) fn spell_words<R: Rewrite>(text: &[u8], room: &mut Room, out: &mut R) -> (usize, bool) {
    let (read, written) = Level::best().spell_spaces(text, room);
    match crate::text::from_utf8(&room[..written]) {
        Ok(words) if read > 0 => {
            out.copy_marking_spaces(&text[..read], words);
            // Each mark is two bytes longer than its space.
            (read, written > read)
        }
        _ => (0, false),
    }
}

/// Writes each space as `▁`; in runs of ASCII words, many at a time.
pub(crate) fn spell_spaces<R: Rewrite>(text: &str, out: &mut R) -> bool {
    let bytes = text.as_bytes();
    let mut room: Room = [0; size_of::<Room>()];
    let (mut at, mut changed) = (0, false);
    while at < bytes.len() {
        let (read, has_spaces) = spell_words(&bytes[at..], &mut room, out);
        changed |= has_spaces;
        at += read;
        let Some(space) = memchr::memchr(b' ', &bytes[at..]) else {
            out.copy(&text[at..]);
            return changed;
        };
        out.copy(&text[at..at + space]);
        out.replace(1, SPACE_MARK_STR);
        (at, changed) = (at + space + 1, true);
    }
    changed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Aligned, Plain};
    use super::*;

    proptest! {
        #[test]
        fn replace_finds_every_occurrence(
            words in prop::collection::vec("[a-z.]{1,9}| {1,3}|[\n\té▁中]|[!-~]{40,90}", 0..90),
            pattern in " |a|b |  |é|",
            content in "▁|x|| |ab",
        ) {
            let text = words.join(" ");
            let expected = text.contains(&pattern) && !pattern.is_empty();
            let mut plain = Plain::default();
            prop_assert_eq!(replace(&text, &pattern, &content, &mut plain), expected);
            let mut aligned = Aligned::default();
            prop_assert_eq!(replace(&text, &pattern, &content, &mut aligned), expected);
            if expected {
                let by_std = text.replace(&pattern, &content);
                prop_assert_eq!(&plain.checked().unwrap(), &by_std);
                prop_assert_eq!(&aligned.text, &by_std);
                let mut one_by_one = Aligned::default();
                let places = text.match_indices(&pattern).map(|(at, _)| at);
                at_each(places, &text, &pattern, &content, &mut one_by_one);
                prop_assert_eq!(aligned, one_by_one);
            }
        }
    }
}
