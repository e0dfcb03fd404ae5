//! Reference implementation of the published patterns: each pattern as data, matched by simple
//! backtracking.
//!
//! An alternative is a list of steps; a step is a class and how often it may repeat. The first
//! alternative that matches wins. For tests only, since it is slow, and quadratic where the pattern
//! is; the fast splitters are compared with it.

use std::ops::Range;
use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicodeRange, Hir, HirKind};

use super::{Digits, PreTokenizer, SuperwordPieces, unicode_scripts};
use crate::text::unicode::{flag, flags};

/// A set of characters.
type Class = fn(char) -> bool;

/// One element of an alternative.
#[derive(Clone, Copy)]
enum Step {
    /// `class{min,max}`, greedy.
    Repeat(Class, usize, usize),
    /// `class{min,max}+`, possessive: without backtracking.
    Keep(Class, usize, usize),
    /// `(?!\S)`
    BlankOrEnd,
    /// `\z`
    End,
    /// One of `'s 't 're 've 'm 'll 'd`, in lower case or in any case, optional or required.
    Contraction { any_case: bool, optional: bool },
}

use Step::{BlankOrEnd, Contraction, End, Keep, Repeat};

const ANY: usize = usize::MAX;

fn letter(c: char) -> bool {
    flags(c) & flag::LETTER != 0
}
fn number(c: char) -> bool {
    flags(c) & flag::NUMBER != 0
}
fn blank(c: char) -> bool {
    flags(c) & flag::SPACE != 0
}
fn space(c: char) -> bool {
    c == ' '
}
fn newline(c: char) -> bool {
    matches!(c, '\r' | '\n')
}
fn newline_or_slash(c: char) -> bool {
    matches!(c, '\r' | '\n' | '/')
}
/// `[^\s\p{L}\p{N}]`
fn other(c: char) -> bool {
    !blank(c) && !letter(c) && !number(c)
}
/// `[^\r\n\p{L}\p{N}]`
fn leader(c: char) -> bool {
    !newline(c) && !letter(c) && !number(c)
}
fn upper(c: char) -> bool {
    flags(c) & flag::UPPER_ISH != 0
}
fn lower(c: char) -> bool {
    flags(c) & flag::LOWER_ISH != 0
}
fn word(c: char) -> bool {
    flags(c) & flag::WORD != 0
}
fn symbol(c: char) -> bool {
    !word(c) && !blank(c)
}
fn punctuation(c: char) -> bool {
    flags(c) & flag::BERT_PUNCTUATION != 0
}
fn bert_word(c: char) -> bool {
    !punctuation(c) && !blank(c)
}
/// From `regex-syntax`, whose tables are independent of ours and of the same Unicode version.
fn google_punctuation(c: char) -> bool {
    static RANGES: LazyLock<Vec<ClassUnicodeRange>> =
        LazyLock::new(|| match regex_syntax::parse(r"[!-/:-@\[-`{-~\p{P}]").map(Hir::into_kind) {
            Ok(HirKind::Class(regex_syntax::hir::Class::Unicode(class))) => class.ranges().to_vec(),
            _ => Vec::new(),
        });
    let at = RANGES.partition_point(|range| range.end() < c);
    RANGES.get(at).is_some_and(|range| range.start() <= c)
}
fn google_word(c: char) -> bool {
    !google_punctuation(c) && !blank(c)
}
fn not_blank(c: char) -> bool {
    !blank(c)
}
fn underline(c: char) -> bool {
    c == crate::text::SPACE_MARK
}
fn not_underline(c: char) -> bool {
    !underline(c)
}
fn anything(_: char) -> bool {
    true
}

/// The alternatives of a pre-tokenizer; `None` for custom patterns and for variants that only files
/// define.
fn alternatives(pre_tokenizer: &PreTokenizer) -> Option<Vec<Vec<Step>>> {
    let lowercase = Contraction { any_case: false, optional: false };
    let any_case = Contraction { any_case: true, optional: false };
    Some(match pre_tokenizer {
        PreTokenizer::Bytes | PreTokenizer::Metaspace { split: false, .. } => {
            vec![vec![Repeat(anything, 1, ANY)]]
        }
        PreTokenizer::Gpt2 { .. } => vec![
            vec![lowercase],
            vec![Repeat(space, 0, 1), Repeat(letter, 1, ANY)],
            vec![Repeat(space, 0, 1), Repeat(number, 1, ANY)],
            vec![Repeat(space, 0, 1), Repeat(other, 1, ANY)],
            vec![Repeat(blank, 1, ANY), BlankOrEnd],
            vec![Repeat(blank, 1, ANY)],
        ],
        PreTokenizer::Cl100k { digits, possessive: false } => vec![
            vec![any_case],
            vec![Repeat(leader, 0, 1), Repeat(letter, 1, ANY)],
            vec![Repeat(number, 1, *digits as usize)],
            vec![Repeat(space, 0, 1), Repeat(other, 1, ANY), Repeat(newline, 0, ANY)],
            vec![Repeat(blank, 0, ANY), Repeat(newline, 1, ANY)],
            vec![Repeat(blank, 1, ANY), BlankOrEnd],
            vec![Repeat(blank, 1, ANY)],
        ],
        PreTokenizer::Cl100k { digits, possessive: true } => vec![
            vec![any_case],
            vec![Keep(leader, 0, 1), Keep(letter, 1, ANY)],
            vec![Keep(number, 1, *digits as usize)],
            vec![Repeat(space, 0, 1), Keep(other, 1, ANY), Keep(newline, 0, ANY)],
            vec![Keep(blank, 1, ANY), End],
            vec![Repeat(blank, 0, ANY), Repeat(newline, 1, 1)],
            vec![Repeat(blank, 1, ANY), BlankOrEnd],
            vec![Repeat(blank, 1, 1)],
        ],
        PreTokenizer::O200k => o200k(Digits::Three, Some(Contraction { any_case: true, optional: true })),
        PreTokenizer::Tekken => o200k(Digits::One, None),
        PreTokenizer::Whitespace => vec![vec![Repeat(word, 1, ANY)], vec![Repeat(symbol, 1, ANY)]],
        PreTokenizer::WhitespaceSplit => vec![vec![Repeat(not_blank, 1, ANY)]],
        PreTokenizer::Bert => vec![vec![Repeat(punctuation, 1, 1)], vec![Repeat(bert_word, 1, ANY)]],
        PreTokenizer::GoogleBert => {
            vec![vec![Repeat(google_punctuation, 1, 1)], vec![Repeat(google_word, 1, ANY)]]
        }
        PreTokenizer::Metaspace { split: true, .. } | PreTokenizer::MetaspaceWords => vec![
            vec![Repeat(underline, 1, 1), Repeat(not_underline, 0, ANY)],
            vec![Repeat(not_underline, 1, ANY)],
        ],
        // Other tests compare these variants with Hugging Face.
        PreTokenizer::Regex(_)
        | PreTokenizer::UnicodeScripts
        | PreTokenizer::Superwords { .. }
        | PreTokenizer::Split(_)
        | PreTokenizer::Marked(_)
        | PreTokenizer::PrefixSpace
        | PreTokenizer::FixedLength { .. }
        | PreTokenizer::ByteLevel { .. }
        | PreTokenizer::ByteSpelled { .. }
        | PreTokenizer::Sequence { .. }
        | PreTokenizer::Within { .. } => return None,
    })
}

fn o200k(digits: Digits, contraction: Option<Step>) -> Vec<Vec<Step>> {
    let mut lower_tail = vec![Repeat(leader, 0, 1), Repeat(upper, 0, ANY), Repeat(lower, 1, ANY)];
    let mut upper_head = vec![Repeat(leader, 0, 1), Repeat(upper, 1, ANY), Repeat(lower, 0, ANY)];
    lower_tail.extend(contraction);
    upper_head.extend(contraction);
    vec![
        lower_tail,
        upper_head,
        vec![Repeat(number, 1, digits as usize)],
        vec![Repeat(space, 0, 1), Repeat(other, 1, ANY), Repeat(newline_or_slash, 0, ANY)],
        vec![Repeat(blank, 0, ANY), Repeat(newline, 1, ANY)],
        vec![Repeat(blank, 1, ANY), BlankOrEnd],
        vec![Repeat(blank, 1, ANY)],
    ]
}

/// The lengths, in characters, of the contractions that `text` begins with.
fn contraction_len(text: &[char], any_case: bool) -> Option<usize> {
    let fold = |c: char| match c {
        'ſ' if any_case => 's',
        _ if any_case => c.to_ascii_lowercase(),
        _ => c,
    };
    ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"].iter().find_map(|contraction| {
        let len = contraction.len();
        let found: String = text.get(..len)?.iter().map(|c| fold(*c)).collect();
        (found == **contraction).then_some(len)
    })
}

/// The length of the match of `steps` at the start of `text`, in characters.
fn match_steps(steps: &[Step], text: &[char]) -> Option<usize> {
    let Some((step, rest)) = steps.split_first() else { return Some(0) };
    let after = |len: usize| Some(len + match_steps(rest, text.get(len..)?)?);
    match *step {
        Repeat(class, min, max) | Keep(class, min, max) => {
            let longest = text.iter().take(max).take_while(|c| class(**c)).count();
            let shortest = if matches!(step, Keep(..)) { min.max(longest) } else { min };
            (shortest..=longest).rev().find_map(after)
        }
        BlankOrEnd => {
            if text.first().is_none_or(|c| blank(*c)) {
                after(0)
            } else {
                None
            }
        }
        End => {
            if text.is_empty() {
                after(0)
            } else {
                None
            }
        }
        Contraction { any_case, optional } => {
            let found = contraction_len(text, any_case).and_then(after);
            if optional { found.or_else(|| after(0)) } else { found }
        }
    }
}

/// The pieces of `text`; `None` for custom patterns and sequences, which this file does not cover.
pub fn split(pre_tokenizer: &PreTokenizer, text: &str) -> Option<Vec<Range<usize>>> {
    if *pre_tokenizer == PreTokenizer::UnicodeScripts {
        return Some(split_scripts(text));
    }
    if let PreTokenizer::Superwords { pieces } = *pre_tokenizer {
        return Some(join_stretches(pieces, text, split(&pieces.pre_tokenizer(), text)?));
    }
    let alternatives = alternatives(pre_tokenizer)?;
    let characters: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let (mut at, mut byte) = (0, 0);
    while let Some(rest) = characters.get(at..).filter(|rest| !rest.is_empty()) {
        let found = alternatives.iter().find_map(|steps| match_steps(steps, rest));
        let len = found.unwrap_or(1);
        let bytes: usize = rest.iter().take(len).map(|c| c.len_utf8()).sum();
        if found.is_some() {
            pieces.push(byte..byte + bytes);
        }
        at += len;
        byte += bytes;
    }
    Some(pieces)
}

/// Joins neighbouring pieces that are words or single punctuation characters; across lines also white space,
/// and line feeds behind punctuation.
fn join_stretches(pieces: SuperwordPieces, text: &str, ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let has_marks = matches!(pieces.pre_tokenizer(), PreTokenizer::O200k | PreTokenizer::Tekken);
    let in_word = |c: char| letter(c) || has_marks && flags(c) & flag::MARK != 0;
    let joins = |range: &Range<usize>| {
        let mut characters: Vec<char> = text[range.clone()].chars().collect();
        if pieces.crosses_lines() {
            if characters.iter().all(|&c| blank(c)) {
                return true;
            }
            while characters.last().is_some_and(|&c| newline(c)) {
                characters.pop();
            }
        }
        match characters[..] {
            [a, ..] if in_word(a) => true,
            [a, b, ..] if in_word(b) => !newline(a) && !number(a),
            [a] | [' ', a] => other(a),
            _ => false,
        }
    };
    let mut stretches: Vec<(Range<usize>, bool)> = Vec::new();
    for range in ranges {
        let is_open = joins(&range);
        match stretches.last_mut() {
            Some((last, true)) if is_open => last.end = range.end,
            _ => stretches.push((range, is_open)),
        }
    }
    stretches.into_iter().map(|(range, _)| range).collect()
}

/// The pieces of one script. A piece begins at each character that has a script and differs from
/// the last one that had one.
fn split_scripts(text: &str) -> Vec<Range<usize>> {
    let scripts = text.char_indices().map(|(at, c)| (at, unicode_scripts::script(c)));
    let of_any: Vec<(usize, u8)> = scripts.filter(|(_, script)| *script != 0).collect();
    let is_start = |at: &usize| *at == 0 || of_any[at - 1].1 != of_any[*at].1;
    let starts: Vec<usize> = (0..of_any.len()).filter(is_start).map(|at| of_any[at].0).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}
