//! Pieces of one script, as Hugging Face's `UnicodeScripts` cuts them.
//!
//! Kana and the long vowel sign count as Han. A character without a script (a space, a character
//! unknown to Unicode 9) joins what precedes it; at the start of a text it is in no piece, as in
//! Hugging Face. The table was read from tokenizers 0.23.3, code point by code point. Its Unicode
//! is older than that of [`crate::text::unicode::script`], which serves SentencePiece's rules.

#[rustfmt::skip]
mod tables;

use std::ops::Range;

use crate::step_counter::step;

/// The script number of a character without a script.
const NONE: u8 = 0;

/// Calls `f` with the pieces of `text`.
pub(super) fn visit_pieces<E>(text: &str, mut f: impl FnMut(Range<usize>) -> Result<(), E>) -> Result<(), E> {
    let mut piece: Option<(usize, u8)> = None;
    let mut run = 0;
    for (at, c) in text.char_indices() {
        step();
        let script = script_from(c, &mut run);
        match piece {
            _ if script == NONE => {}
            Some((_, of_piece)) if of_piece == script => {}
            Some((start, _)) => {
                f(start..at)?;
                piece = Some((at, script));
            }
            None => piece = Some((at, script)),
        }
    }
    piece.map_or(Ok(()), |(start, _)| f(start..text.len()))
}

/// Whether a text may be cut between these two characters. A piece begins at the second in any
/// context, and the rest depends only on its script.
pub(super) fn cut_between(before: char, after: char) -> bool {
    let [before, after] = [script(before), script(after)];
    before != NONE && after != NONE && before != after
}

/// The number of a character's script.
pub(super) fn script(c: char) -> u8 {
    script_from(c, &mut 0)
}

/// [`script`] for consecutive characters; `run` holds the table index found last, near which the
/// search begins.
#[inline]
fn script_from(c: char, run: &mut usize) -> u8 {
    match c {
        ' ' => return NONE,
        'a'..='z' | 'A'..='Z' => return tables::LATIN,
        '\0'..='\x7F' => return tables::COMMON,
        _ => {}
    }
    let point = c as u32;
    let is_there = |run: usize| {
        tables::RUNS[run].0 <= point && tables::RUNS.get(run + 1).is_none_or(|next| point < next.0)
    };
    if !is_there(*run) {
        *run = tables::RUNS.partition_point(|run| run.0 <= point).saturating_sub(1);
    }
    tables::RUNS[*run].1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre_tokenizer::PreTokenizer;

    /// Expected pieces are those of tokenizers 0.23.3.
    #[test]
    fn pieces_have_one_script() {
        for (text, expected) in [
            ("", &[][..]),
            ("  ", &[]),
            ("  ab", &["ab"]),
            ("どこで生れ。Yes", &["どこで生れ", "。", "Yes"]),
            ("Apples are りんご 林檎", &["Apples are ", "りんご 林檎"]),
            ("グーだ, я!", &["グーだ", ", ", "я", "!"]),
            ("a\u{E000}b \u{378}c", &["a\u{E000}b \u{378}c"]),
            ("e\u{301}e", &["e", "\u{301}", "e"]),
        ] {
            let pieces = PreTokenizer::UnicodeScripts.split(text).unwrap();
            let pieces: Vec<&str> = pieces.into_iter().map(|piece| &text[piece]).collect();
            assert_eq!(pieces, expected, "{text:?}");
        }
    }

    #[test]
    fn ascii_agrees_with_the_table() {
        for c in '!'..='\x7F' {
            let at = tables::RUNS.partition_point(|run| run.0 <= c as u32) - 1;
            assert_eq!(script(c), tables::RUNS[at].1, "{c:?}");
        }
        assert_eq!(script(' '), NONE);
        assert!(tables::RUNS.is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1));
        assert_eq!(tables::RUNS[0].0, 0);
    }
}
