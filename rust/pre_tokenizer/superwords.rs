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
use crate::error::Error;
use crate::memory::MakeRoom;
use crate::text::pattern::StepBudget;
use crate::text::unicode::flag::{LETTER, MARK, NUMBER, SPACE};
use crate::text::unicode::{Flags, flags, flags_at};
use crate::text::{CHUNK, Piece};

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

    /// Calls `f` with the pieces of a text of at most 4 GiB, in order, in chunks of whole stretches. An empty
    /// piece follows the last of each stretch. `budget` limits the work of patterns.
    pub(crate) fn for_each_chunk_of_stretches<E: From<Error>>(
        self,
        text: &str,
        budget: &StepBudget,
        mut f: impl FnMut(&[Piece]) -> Result<(), E>,
    ) -> Result<(), E> {
        let bytes = text.as_bytes();
        // Pieces, those of whole stretches first, and whether the last stretch may continue.
        let (mut pieces, mut n_whole, mut is_open) = (Vec::<Piece>::new(), 0, false);
        self.pre_tokenizer().for_each_chunk(text, budget, |chunk| -> Result<(), E> {
            pieces.make_room(3 * chunk.len())?;
            for &piece in chunk {
                let joins = self.joins(&bytes[piece.range()]);
                if is_open && !joins {
                    pieces.push(Piece { start: piece.start, end: piece.start });
                }
                pieces.push(piece);
                if !joins {
                    pieces.push(Piece { start: piece.end, end: piece.end });
                    n_whole = pieces.len();
                }
                is_open = joins;
            }
            if n_whole >= CHUNK {
                f(&pieces[..n_whole])?;
                pieces.drain(..n_whole);
                n_whole = 0;
            }
            Ok(())
        })?;
        if let Some(last) = pieces.last().filter(|_| is_open) {
            let end = Piece { start: last.end, end: last.end };
            pieces.make_room(1)?;
            pieces.push(end);
        }
        if pieces.is_empty() { Ok(()) } else { f(&pieces) }
    }

    /// The characters of words.
    fn letters(self) -> Flags {
        match self.pre_tokenizer() {
            PreTokenizer::O200k | PreTokenizer::Tekken => LETTER | MARK,
            _ => LETTER,
        }
    }

    /// Whether a piece may be a part of a superword.
    #[inline]
    pub(crate) fn joins(self, piece: &[u8]) -> bool {
        if let [b' ', letter, ..] | [letter, ..] = piece
            && letter.is_ascii_alphabetic()
        {
            return true;
        }
        self.joins_any(piece)
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
