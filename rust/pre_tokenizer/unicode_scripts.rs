//! Pieces of one script, as tokenizers' `UnicodeScripts` cuts.
//!
//! Kana and the long vowel sign count as Han. What has no script (a space, what Unicode 9
//! did not know) goes with what stands before it; at the start of a text it is in no piece,
//! as there. The table is what tokenizers 0.23.3 says of each code point, of an older Unicode
//! than [`crate::text::unicode::script`], which is for SentencePiece's rules.

#[rustfmt::skip]
mod tables;

use std::ops::Range;

use crate::step_counter::step;

/// What a character has that has no script.
const NONE: u8 = 0;

/// Calls `f` with the pieces of `text`.
pub(super) fn walk<E>(text: &str, mut f: impl FnMut(Range<usize>) -> Result<(), E>) -> Result<(), E> {
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

/// Whether a text may be cut between these two characters: a piece begins at the second,
/// whatever stands before, and what follows sees its script alone.
pub(super) fn cut_between(before: char, after: char) -> bool {
    let [before, after] = [script(before), script(after)];
    before != NONE && after != NONE && before != after
}

/// The number of a character's script.
pub(super) fn script(c: char) -> u8 {
    script_from(c, &mut 0)
}

/// As [`script`]; `run` is where the last character was found, which the next one is near.
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
    fn a_piece_is_of_one_script() {
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
    fn what_is_ascii_is_as_the_table_has_it() {
        for c in '!'..='\x7F' {
            let at = tables::RUNS.partition_point(|run| run.0 <= c as u32) - 1;
            assert_eq!(script(c), tables::RUNS[at].1, "{c:?}");
        }
        assert_eq!(script(' '), NONE);
        assert!(tables::RUNS.is_sorted_by(|a, b| a.0 < b.0 && a.1 != b.1));
        assert_eq!(tables::RUNS[0].0, 0);
    }
}
