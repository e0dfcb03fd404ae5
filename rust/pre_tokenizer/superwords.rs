//! Stretches: neighbouring pieces of a published pre-tokenizer that superwords may join.
//!
//! A piece is *joinable* if it is a word (letters, with the one character that the pre-tokenizer
//! puts before them) or a single punctuation character, with or without a space before it. A
//! stretch is a run of joinable pieces; any other piece (digits, white space, line feeds, several
//! punctuation characters) stays alone. So every stretch is made of whole pieces, and what the
//! pre-tokenizer says about digits and line feeds holds for superwords, too.
//!
//! *Across lines*, white space and single punctuation characters with the line feeds after them are
//! joinable, too; only numbers and several punctuation characters stay alone.
//!
//! `published` has the pattern of each family, in which a run of the joinable alternatives comes
//! first. A published pattern looks ahead only within white space, which no stretch ends in, except
//! across lines: so there the pieces of a stretch alone may differ from its pieces in the text.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Digits, PreTokenizer};
use crate::text::Piece;
use crate::text::unicode::flag::{LETTER, MARK, NUMBER, SPACE};
use crate::text::unicode::{Flags, flags, flags_at};

/// The pre-tokenizer whose pieces are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuperwordPieces {
    /// `gpt2`
    Gpt2,
    /// `cl100k`
    Cl100k,
    /// `cl100k-1digit`
    #[serde(rename = "cl100k-1digit")]
    Cl100k1Digit,
    /// `o200k`
    O200k,
    /// `tekken`
    Tekken,
    /// `gpt2`, across lines
    Gpt2AcrossLines,
    /// `cl100k`, across lines
    Cl100kAcrossLines,
    /// `cl100k-1digit`, across lines
    #[serde(rename = "cl100k-1digit-across-lines")]
    Cl100k1DigitAcrossLines,
    /// `o200k`, across lines
    O200kAcrossLines,
    /// `tekken`, across lines
    TekkenAcrossLines,
}

const LETTER_KIND: u8 = 1;
const PUNCTUATION_KIND: u8 = 2;

/// Whether a byte is a letter or a punctuation character of ASCII.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        kinds[byte] =
            c.is_ascii_alphabetic() as u8 * LETTER_KIND + c.is_ascii_punctuation() as u8 * PUNCTUATION_KIND;
        byte += 1;
    }
    kinds
};

impl SuperwordPieces {
    /// Whether line feeds are joined.
    pub fn crosses_lines(self) -> bool {
        matches!(
            self,
            Self::Gpt2AcrossLines
                | Self::Cl100kAcrossLines
                | Self::Cl100k1DigitAcrossLines
                | Self::O200kAcrossLines
                | Self::TekkenAcrossLines
        )
    }

    /// The same pre-tokenizer, across lines.
    #[must_use]
    pub fn across_lines(self) -> Self {
        match self {
            Self::Gpt2 | Self::Gpt2AcrossLines => Self::Gpt2AcrossLines,
            Self::Cl100k | Self::Cl100kAcrossLines => Self::Cl100kAcrossLines,
            Self::Cl100k1Digit | Self::Cl100k1DigitAcrossLines => Self::Cl100k1DigitAcrossLines,
            Self::O200k | Self::O200kAcrossLines => Self::O200kAcrossLines,
            Self::Tekken | Self::TekkenAcrossLines => Self::TekkenAcrossLines,
        }
    }

    /// The family of a pre-tokenizer, or of stretches.
    pub fn of(pre_tokenizer: &PreTokenizer) -> Option<Self> {
        if let PreTokenizer::Superwords { pieces } = pre_tokenizer {
            return Some(*pieces);
        }
        let all = [Self::Gpt2, Self::Cl100k, Self::Cl100k1Digit, Self::O200k, Self::Tekken];
        all.into_iter().find(|pieces| pieces.pre_tokenizer() == *pre_tokenizer)
    }

    /// The pre-tokenizer of the pieces.
    pub fn pre_tokenizer(self) -> PreTokenizer {
        match self {
            Self::Gpt2 | Self::Gpt2AcrossLines => PreTokenizer::Gpt2 { add_prefix_space: false },
            Self::Cl100k | Self::Cl100kAcrossLines => {
                PreTokenizer::Cl100k { digits: Digits::Three, possessive: false }
            }
            Self::Cl100k1Digit | Self::Cl100k1DigitAcrossLines => {
                PreTokenizer::Cl100k { digits: Digits::One, possessive: false }
            }
            Self::O200k | Self::O200kAcrossLines => PreTokenizer::O200k,
            Self::Tekken | Self::TekkenAcrossLines => PreTokenizer::Tekken,
        }
    }

    /// The characters of words.
    fn letters(self) -> Flags {
        match self {
            Self::O200k | Self::O200kAcrossLines | Self::Tekken | Self::TekkenAcrossLines => LETTER | MARK,
            _ => LETTER,
        }
    }

    /// Whether a piece may be a part of a superword.
    #[inline]
    pub(crate) fn joins(self, piece: &[u8]) -> bool {
        let Some(&first) = piece.first() else { return false };
        // Most pieces are words or single punctuation characters of ASCII, which are found without a branch.
        let is_one = piece.len() == 1;
        let kind = |byte: u8| KINDS[usize::from(byte)];
        let joined_kinds = if is_one { LETTER_KIND | PUNCTUATION_KIND } else { LETTER_KIND };
        let is_joined = kind(first) & joined_kinds != 0;
        let is_word = (first == b' ') & (kind(piece[usize::from(!is_one)]) & LETTER_KIND != 0);
        is_joined | is_word || self.joins_any(piece)
    }

    fn joins_any(self, piece: &[u8]) -> bool {
        if !self.crosses_lines() {
            return self.joins_in_line(piece);
        }
        let mut in_line = piece;
        while let [before @ .., b'\r' | b'\n'] = in_line {
            in_line = before;
        }
        is_blank(piece) || self.joins_in_line(in_line)
    }

    fn joins_in_line(self, piece: &[u8]) -> bool {
        let letters = self.letters();
        let Some((first, n)) = flags_at(piece, 0) else { return false };
        if first & letters != 0 {
            return true;
        }
        if first & NUMBER != 0 || matches!(piece[0], b'\r' | b'\n') {
            return false;
        }
        let Some((second, m)) = flags_at(piece, n) else { return first & SPACE == 0 };
        second & letters != 0 || piece[0] == b' ' && second & (SPACE | NUMBER) == 0 && piece.len() == n + m
    }
}

/// Whether a piece is white space: no other has two blanks in front.
fn is_blank(piece: &[u8]) -> bool {
    let Some((first, n)) = flags_at(piece, 0) else { return false };
    first & SPACE != 0 && flags_at(piece, n).is_none_or(|(second, _)| second & SPACE != 0)
}

/// Whether a piece is a word as BoundlessBPE joins them: letters with their marks, spaces, `_`, `'`
/// and `’`, and at least one letter.
#[cfg(feature = "train")]
pub(crate) fn is_word(piece: &[u8]) -> bool {
    let (mut at, mut has_letter) = (0, false);
    while let Some((kind, n)) = flags_at(piece, at) {
        let character = &piece[at..at + n];
        has_letter |= kind & LETTER != 0;
        if kind & (LETTER | MARK) == 0 && !matches!(character, b" " | b"_" | b"'" | [0xe2, 0x80, 0x99]) {
            return false;
        }
        at += n;
    }
    has_letter
}

/// Joins pieces that come in order.
pub(super) struct Stretches<'a> {
    pieces: SuperwordPieces,
    text: &'a [u8],
    /// The stretch that may continue.
    open: Option<Range<usize>>,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(pieces: SuperwordPieces, text: &'a str) -> Self {
        Self { pieces, text: text.as_bytes(), open: None }
    }

    /// Takes the next piece, and calls `f` with what no later piece continues.
    pub(super) fn push<E>(
        &mut self,
        piece: Range<usize>,
        mut f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.pieces.joins(&self.text[piece.clone()]) {
            let start = self.open.as_ref().map_or(piece.start, |open| open.start);
            self.open = Some(start..piece.end);
            return Ok(());
        }
        self.finish(&mut f)?;
        f(piece)
    }

    /// Calls `f` with the last stretch.
    pub(super) fn finish<E>(&mut self, mut f: impl FnMut(Range<usize>) -> Result<(), E>) -> Result<(), E> {
        self.open.take().map_or(Ok(()), &mut f)
    }
}

/// Fills chunks of pieces.
pub(super) struct Chunks<'a, F> {
    pub(super) chunk: &'a mut [Piece],
    pub(super) n: usize,
    pub(super) f: F,
}

impl<F> Chunks<'_, F> {
    pub(super) fn push<E>(&mut self, piece: Range<usize>) -> Result<(), E>
    where
        F: FnMut(&[Piece]) -> Result<(), E>,
    {
        self.chunk[self.n] = Piece { start: piece.start as u32, end: piece.end as u32 };
        self.n += 1;
        if self.n == self.chunk.len() {
            return self.finish();
        }
        Ok(())
    }

    pub(super) fn finish<E>(&mut self) -> Result<(), E>
    where
        F: FnMut(&[Piece]) -> Result<(), E>,
    {
        let n = std::mem::take(&mut self.n);
        if n > 0 { (self.f)(&self.chunk[..n]) } else { Ok(()) }
    }
}

/// Whether a text may be cut between these two characters.
///
/// Proof: the pre-tokenizer of the pieces cuts here, and one of the two pieces holds a digit or a line
/// feed, so it stays alone.
pub(super) fn cut_between(inner: impl Fn(char, char) -> bool, before: char, after: char) -> bool {
    let stays_alone = |c: char| matches!(c, '\r' | '\n') || flags(c) & NUMBER != 0;
    (stays_alone(before) || stays_alone(after)) && inner(before, after)
}

/// The same across lines, where only digits stay alone.
pub(super) fn cut_between_across_lines(
    inner: impl Fn(char, char) -> bool,
    before: char,
    after: char,
) -> bool {
    let is_number = |c: char| flags(c) & NUMBER != 0;
    (is_number(before) || is_number(after)) && inner(before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pieces_join_as_any_do() {
        let families = PreTokenizer::names().filter_map(|name| match PreTokenizer::from_name(name) {
            Ok(PreTokenizer::Superwords { pieces }) => Some(pieces),
            _ => None,
        });
        for pieces in families {
            for first in 0..128_u8 {
                assert_eq!(pieces.joins(&[first]), pieces.joins_any(&[first]), "{pieces:?} {first}");
                for second in 0..128_u8 {
                    for piece in [&[first, second][..], &[first, second, b'.'], &[first, second, b'e']] {
                        assert_eq!(pieces.joins(piece), pieces.joins_any(piece), "{pieces:?} {piece:?}");
                    }
                }
            }
        }
    }
}
