//! Words of a text: longest runs of characters that are no white space, as Unicode has it.
//!
//! Found by the vectors of the splitter `WhitespaceSplit`. Bytes that are no character are no white
//! space.

use std::ops::Range;

use crate::error::Result;
use crate::pre_tokenizer::PreTokenizer;
use crate::pre_tokenizer::chunks::Piece;
use crate::text::pattern::Work;
use crate::tokenizer::Input;

/// Words, in order.
#[derive(Clone, Copy)]
pub(super) enum Words<'a> {
    /// Some.
    Chunk(&'a [Piece]),
    /// One, from a byte to another, of a text that has no chunks: bytes that are no UTF-8, or more of
    /// them than 4 GiB.
    One(usize, usize),
}

impl Words<'_> {
    /// Calls `f` with the place of each.
    #[inline(always)]
    pub(super) fn for_each(self, mut f: impl FnMut(Range<usize>)) {
        match self {
            Self::Chunk(chunk) => chunk.iter().for_each(|piece| f(piece.range())),
            Self::One(start, end) => f(start..end),
        }
    }
}

/// Calls `f` with the words of a text.
pub(super) fn for_each(text: Input<'_>, mut f: impl FnMut(Words<'_>) -> Result<()>) -> Result<()> {
    let is_short = u32::try_from(text.len()).is_ok();
    match text.text().filter(|_| is_short) {
        Some(text) => PreTokenizer::WhitespaceSplit
            .for_each_chunk(text, &Work::of(text.len()), |chunk| f(Words::Chunk(chunk))),
        None => one_by_one(text.bytes(), |word| f(Words::One(word.start, word.end))),
    }
}

/// The same, a character at a time: the definition.
fn one_by_one(bytes: &[u8], mut f: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
    let (mut at, mut word) = (0, None);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if !c.is_whitespace() {
                word.get_or_insert(at);
            } else if let Some(start) = word.take() {
                f(start..at)?;
            }
            at += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            word.get_or_insert(at);
            at += chunk.invalid().len();
        }
    }
    word.map_or(Ok(()), |start| f(start..at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: Input<'_>) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        for_each(text, |words| {
            words.for_each(|word| all.push(word));
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn every_character_is_white_space_or_not() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let expected: Vec<&str> = text.split_whitespace().collect();
            let found: Vec<&str> = words((&text).into()).into_iter().map(|word| &text[word]).collect();
            assert_eq!(found, expected, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_no_white_space() {
        assert_eq!(words(b"\xE2\x80 \xC2\xA0a\xC2".into()), [0..2, 5..7]);
        assert_eq!(words(b" \xFF \t\n\xFF".into()), [1..2, 5..6]);
        assert!(words(b" \t\n".into()).is_empty() && words(b"".into()).is_empty());
    }

    proptest! {
        #[test]
        fn chunks_are_words_one_by_one(text in "(\\PC|[ \\t\\n\u{a0}\u{3000}]){0,200}") {
            let mut expected = Vec::new();
            one_by_one(text.as_bytes(), |word| {
                expected.push(word);
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(words((&text).into()), expected);
        }
    }
}
