//! Writes spaces as U+2581 (`▁`), as SentencePiece does, and starts a piece at each.
//!
//! Follows Hugging Face's `Metaspace`: only U+0020 is replaced, and a section that begins with a
//! space or a mark gets no further mark inserted before it.

use serde::{Deserialize, Serialize};

use crate::normalizer::{Rewrite, spell_spaces, spell_words};
use crate::step_counter::step;
use crate::text::simd::{Block, Room, Starts, Tiles, WINDOW, Window};
use crate::text::{SPACE_MARK, SPACE_MARK_BYTES, SPACE_MARK_STR};

/// Which sections get a space inserted before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prepend {
    /// Every section between added tokens.
    Always,
    /// The section at the start of the text.
    First,
    /// None.
    Never,
}

/// [`PreTokenizer::Metaspace`](super::PreTokenizer::Metaspace) with a mark other than `▁`. It is
/// split one character at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    /// The character written for a space.
    pub mark: char,
    /// Which sections get a mark inserted before them.
    pub prepend: Prepend,
    /// Whether a piece starts at each mark.
    pub split: bool,
}

impl Marked {
    /// The end of the piece that starts at `start`: the next mark, or the end of the text.
    pub(super) fn piece_end(&self, text: &str, start: usize) -> usize {
        step();
        let rest = text.get(start..).unwrap_or_default();
        let first = rest.chars().next().map_or(0, char::len_utf8);
        match rest.get(first..).and_then(|rest| rest.find(self.mark)).filter(|_| self.split) {
            Some(len) => start + first + len,
            None => text.len(),
        }
    }
}

/// The section with its spaces replaced, and a mark inserted before it as `prepend` says.
// Inlined into its callers, one of which knows the mark, because a string of known length is copied
// without a call.
#[inline(always)]
pub(super) fn rewrite<R: Rewrite + Default>(
    section: &str,
    at_start: bool,
    prepend: Prepend,
    mark: char,
) -> Option<R> {
    let wants = match prepend {
        Prepend::Always => true,
        Prepend::First => at_start,
        Prepend::Never => false,
    };
    let prepends = wants && !section.is_empty() && !section.starts_with([' ', mark]);
    if !prepends && memchr::memchr(b' ', section.as_bytes()).is_none() {
        return None;
    }
    let mut buffer = [0; 4];
    let replacement: &str = mark.encode_utf8(&mut buffer);
    let mut out = R::default();
    if prepends {
        out.insert(replacement);
    }
    if mark == SPACE_MARK {
        spell_spaces(section, &mut out);
        return Some(out);
    }
    let mut end = 0;
    for at in memchr::memchr_iter(b' ', section.as_bytes()) {
        out.copy(&section[end..at]);
        out.replace(1, replacement);
        end = at + 1;
    }
    out.copy(&section[end..]);
    Some(out)
}

/// The words of a section without white space, each with U+2581 before it unless it begins with
/// one.
///
/// White space is that of Unicode, as in Hugging Face's `WhitespaceSplit`.
pub(super) fn rewrite_words<R: Rewrite + Default>(section: &str) -> R {
    let mut out = R::default();
    let mut room: Room = [0; size_of::<Room>()];
    let (mut at, mut in_word) = (0, false);
    while let Some(first) = section[at..].chars().next() {
        if first.is_whitespace() {
            let next = section[at..].find(|c: char| !c.is_whitespace()).map_or(section.len(), |n| at + n);
            out.replace(next - at, "");
            (at, in_word) = (next, false);
            continue;
        }
        if !in_word && first != SPACE_MARK {
            out.insert(SPACE_MARK_STR);
        }
        in_word = true;
        // ASCII words with single spaces between them are copied many at a time.
        // Not with an alignment: a space is dropped, and its mark comes from nothing.
        if first.is_ascii_graphic() && !R::KEEPS_ALIGNMENT {
            let (read, _) = spell_words(&section.as_bytes()[at..], &mut room, &mut out);
            if read > 0 {
                at += read;
                continue;
            }
        }
        let next = section[at..].find(char::is_whitespace).map_or(section.len(), |n| at + n);
        out.copy(&section[at..next]);
        at = next;
    }
    out
}

/// The splitter.
pub(super) struct Metaspace;

impl Tiles for Metaspace {
    /// Consecutive windows overlap by the last bytes, so that each mark is whole in one of them.
    #[inline(always)]
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts {
        let block = &window.block;
        let places = block.eq(0xE2) & block.eq(0x96) >> 1 & block.eq(0x81) >> 2;
        let resume = if window.len == WINDOW { WINDOW - 3 } else { 0 };
        Starts { places: places | 1, decided: window.len, resume }
    }

    #[inline]
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        piece_end(bytes, start)
    }
}

/// The end of the piece that starts at `start`: the next U+2581, or the end of the text.
#[inline]
pub(super) fn piece_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && !bytes[at..].starts_with(&SPACE_MARK_BYTES) {
        step();
        at += 1;
    }
    at
}

impl Metaspace {
    /// Whether a text may be cut between these two characters: a piece starts at each U+2581.
    pub(super) fn cut_between(&self, _: char, after: char) -> bool {
        after == SPACE_MARK
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PreTokenizer;
    use crate::normalizer::{Aligned, Plain};

    /// Each character came from itself, a mark from one of `sources`.
    fn leads_back(aligned: &Aligned, text: &str, sources: &[&str]) -> bool {
        aligned.text.char_indices().all(|(at, c)| {
            let source = &text[aligned.to_original(at..at + c.len_utf8())];
            source.chars().eq([c]) || c == SPACE_MARK && sources.contains(&source)
        })
    }

    proptest! {
        /// The code paths with and without alignment both match the description of words.
        #[test]
        fn words_are_written_with_marks(
            parts in prop::collection::vec("[a-z.]{1,9}|[ ]{1,3}|[\n\t\u{a0}\u{3000}é▁中\u{1c}]|[!-~]{40,90}", 0..90),
            joined in prop::bool::ANY,
        ) {
            let text = parts.join(if joined { "" } else { " " });
            let words = text.split_whitespace();
            let expected: String =
                words.map(|word| if word.starts_with('▁') { word.to_owned() } else { format!("▁{word}") }).collect();
            let plain = rewrite_words::<Plain>(&text);
            prop_assert_eq!(&plain.checked().unwrap(), &expected);
            let aligned = rewrite_words::<Aligned>(&text);
            prop_assert_eq!(&aligned.text, &expected);
            prop_assert!(leads_back(&aligned, &text, &[""]));
        }

        #[test]
        fn spaces_are_written_as_marks(
            parts in prop::collection::vec("[a-z.]{1,9}|[ ]{1,3}|[\né▁中]|[!-~]{40,90}", 0..90),
            at_start in prop::bool::ANY,
        ) {
            let text = parts.join(" ");
            for prepend in [Prepend::Always, Prepend::First, Prepend::Never] {
                let wants = prepend == Prepend::Always || prepend == Prepend::First && at_start;
                let first = if wants && !text.is_empty() && !text.starts_with([' ', '▁']) { "▁" } else { "" };
                let expected = format!("{first}{}", text.replace(' ', "▁"));
                let plain = rewrite::<Plain>(&text, at_start, prepend, '▁');
                prop_assert_eq!(plain.map_or_else(|| text.clone(), |new| new.checked().unwrap()), expected.clone());
                let aligned = rewrite::<Aligned>(&text, at_start, prepend, '▁');
                prop_assert_eq!(aligned.as_ref().map_or(&*text, |new| &new.text), &expected);
                prop_assert!(aligned.is_none_or(|new| leads_back(&new, &text, &["", " "])));
            }
        }
    }

    #[test]
    fn a_piece_starts_at_each_mark() {
        let pieces = |text: &str, prepend, split| {
            let marked = PreTokenizer::Marked(Marked { mark: '·', prepend, split });
            let text = marked.rewrite_text(text, true).unwrap().unwrap_or_else(|| text.to_owned());
            let pieces = marked.split(&text).unwrap().into_iter();
            pieces.map(|piece| text[piece].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(pieces("a  b ·", Prepend::Always, true), ["·a", "·", "·b", "·", "·"]);
        assert_eq!(pieces(" a▁b", Prepend::First, true), ["·a▁b"]);
        assert_eq!(pieces("a b", Prepend::Never, false), ["a·b"]);
        assert!(pieces("", Prepend::Always, true).is_empty());
    }
}
