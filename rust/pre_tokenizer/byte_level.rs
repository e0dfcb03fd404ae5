//! `ByteLevel`: rewrites each byte as a character, and cuts GPT-2's pieces, for models whose tokens
//! are spelled that way: Unigram, WordLevel and WordPiece after Hugging Face's `ByteLevel`. (In BPE
//! the tokens are bytes themselves, so a BPE model needs no rewriting.)

use std::ops::Range;

use super::gpt2;
use crate::error::Error;
use crate::memory;
use crate::normalizer::Rewrite;
use crate::step_counter::step;
use crate::text::byte_level::{BYTE_TO_CHAR, char_to_byte};

/// The section with each byte as a character. With `add_prefix_space`, a space is inserted before
/// it unless it begins with one.
pub(super) fn rewrite<R: Rewrite + Default>(section: &str, add_prefix_space: bool) -> Option<R> {
    if section.is_empty() {
        return None;
    }
    let mut out = R::default();
    let mut buffer = [0; 4];
    if add_prefix_space && !section.starts_with(' ') {
        out.insert(BYTE_TO_CHAR[usize::from(b' ')].encode_utf8(&mut buffer));
    }
    let mut spelled = String::new();
    let mut rest = section;
    while let Some(c) = rest.chars().next() {
        // Printable ASCII is spelled as itself and copied at once.
        let same = rest.bytes().take_while(u8::is_ascii_graphic).count();
        let (taken, after) = rest.split_at(same.max(c.len_utf8()));
        if same > 0 {
            out.copy(taken);
        } else {
            spelled.clear();
            spelled.extend(taken.bytes().map(|byte| BYTE_TO_CHAR[usize::from(byte)]));
            out.replace(taken.len(), &spelled);
        }
        rest = after;
    }
    Some(out)
}

/// Calls `f` with each piece of a text spelled in byte-level characters.
pub(super) fn visit_pieces<E: From<Error>>(
    text: &str,
    use_regex: bool,
    mut f: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    if text.is_empty() {
        return Ok(());
    }
    let plain = if use_regex { unspelled(text)? } else { None };
    let Some(plain) = plain else { return f(0..text.len()) };
    let mut end = 0;
    super::tiles(&plain, gpt2::piece_end, |piece| {
        let start = end;
        let len = |byte: &u8| BYTE_TO_CHAR[usize::from(*byte)].len_utf8();
        end += plain.as_bytes()[piece].iter().map(len).sum::<usize>();
        f(start..end)
    })
}

/// The text whose byte-level spelling this is; `None` if there is none.
fn unspelled(text: &str) -> Result<Option<String>, Error> {
    let mut bytes = memory::reserved(text.len())?;
    for c in text.chars() {
        step();
        match char_to_byte(c) {
            Some(byte) => bytes.push(byte),
            None => return Ok(None),
        }
    }
    Ok(String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use crate::pre_tokenizer::PreTokenizer;

    /// Expected pieces are those of tokenizers 0.23.3.
    #[test]
    fn byte_level_spells_and_splits() {
        for (text, add_prefix_space, use_regex, expected) in [
            ("a b", true, true, &["Ġa", "Ġb"][..]),
            (" a b", true, true, &["Ġa", "Ġb"]),
            ("a b", false, true, &["a", "Ġb"]),
            ("it's é\n\n中", false, true, &["it", "'s", "ĠÃ©", "Ċ", "Ċ", "ä¸Ń"]),
            ("a b", true, false, &["ĠaĠb"]),
            ("", true, true, &[]),
        ] {
            let step = PreTokenizer::ByteLevel { add_prefix_space, use_regex };
            let rewritten = step.rewrite_text(text, true).unwrap().unwrap_or_default();
            let pieces: Vec<_> = step.split(&rewritten).unwrap();
            let pieces: Vec<&str> = pieces.into_iter().map(|piece| &rewritten[piece]).collect();
            assert_eq!(pieces, expected, "{text:?}");
        }
        // A text that is not a byte-level spelling is one piece.
        let step = PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: true };
        assert_eq!(step.split("a b").unwrap().as_slice(), std::slice::from_ref(&(0..3)));
    }

    #[test]
    fn alignment_covers_whole_characters() {
        let step = PreTokenizer::ByteLevel { add_prefix_space: true, use_regex: true };
        let aligned = step.rewrite_aligned("é a", true).unwrap().unwrap();
        assert_eq!(aligned.text, "ĠÃ©Ġa");
        let back = aligned.alignment();
        // The inserted space has an empty source; each half of é comes from all of é.
        assert_eq!(back.to_original(2..4), 0..2);
        assert_eq!(back.to_original(4..6), 0..2);
        assert_eq!(back.to_original(6..9), 2..4);
    }
}
