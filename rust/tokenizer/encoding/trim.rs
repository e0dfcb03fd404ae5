//! Spans without the white space around tokens, as Hugging Face's byte-level
//! post-processors leave it out.

use super::{Span, char_offsets};
use crate::error::Result;

/// How many characters of white space each token begins and ends with, by the
/// spelling of the token, and how they are left out of spans.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrimWidths {
    /// Whether a single blank at the start of what begins the text stays, as it was
    /// put there.
    pub after_prefix_space: bool,
    /// Counts of each token: at its start, at its end.
    pub counts: Vec<[u32; 2]>,
}

impl TrimWidths {
    /// The counts of a token as tokenizer.json spells it, or of its text.
    pub(crate) fn of_spelling(token: &str) -> [u32; 2] {
        let is_blank = |c: &char| *c == 'Ġ' || c.is_whitespace();
        let leading = token.chars().take_while(is_blank).count();
        let trailing = token.chars().rev().take_while(is_blank).count();
        [leading as u32, trailing as u32]
    }

    /// The counts of a token of bytes.
    pub(crate) fn of_bytes(token: &[u8]) -> [u32; 2] {
        let is_blank = |byte: &&u8| **byte == b' ';
        let leading = token.iter().take_while(is_blank).count();
        let trailing = token.iter().rev().take_while(is_blank).count();
        [leading as u32, trailing as u32]
    }

    /// Leaves the white space out of the offsets, in characters, of the tokens
    /// `first..`. `begins` says whether they begin a text, or a list of words.
    pub fn trim_chars(&self, first: usize, begins: bool, offsets: &mut [Span]) {
        for (at, span) in offsets.iter_mut().enumerate() {
            *span = self.trimmed(first + at, begins && at == 0, *span);
        }
    }

    /// As [`TrimWidths::trim_chars`], of offsets in bytes of `text`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub fn trim_bytes(&self, first: usize, begins: bool, text: &[u8], spans: &mut [Span]) -> Result<()> {
        let chars = char_offsets(text, spans)?;
        for (at, (span, chars)) in spans.iter_mut().zip(chars).enumerate() {
            let [start, end] = self.trimmed(first + at, begins && at == 0, chars);
            let Some(bytes) = text.get(span[0] as usize..span[1] as usize) else { continue };
            let starts = |byte: &u8| byte & 0xC0 != 0x80;
            let mut leading = 0;
            for _ in chars[0]..start {
                let rest = bytes.get(leading + 1..).unwrap_or_default();
                leading += 1 + rest.iter().position(starts).unwrap_or(rest.len());
            }
            let mut trailing = 0;
            for _ in 0..chars[1] - end {
                let rest = &bytes[..bytes.len() - trailing];
                trailing += rest.iter().rev().position(starts).map_or(rest.len(), |at| at + 1);
            }
            span[0] = (span[0] + leading as u64).min(span[1]);
            span[1] = (span[1] - trailing as u64).max(span[0]);
        }
        Ok(())
    }

    fn trimmed(&self, at: usize, is_first: bool, [mut start, mut end]: Span) -> Span {
        let Some(&[leading, trailing]) = self.counts.get(at) else { return [start, end] };
        let (leading, trailing) = (u64::from(leading), u64::from(trailing));
        // One may have been put there; where there are more, none was.
        let was_put = leading == 1 && (is_first || start == 0) && self.after_prefix_space;
        if !was_put {
            start = (start + leading).min(end);
        }
        if end >= trailing {
            end = (end - trailing).max(start);
        }
        [start, end]
    }
}

/// Takes the blanks (U+0020) at both ends out of spans, as the byte-level step
/// of Hugging Face with `trim_offsets` does; a span of blanks alone is left
/// empty at its end.
pub fn trim_spans(text: &[u8], spans: &mut [Span]) {
    for [start, end] in spans {
        let Some(bytes) = text.get(*start as usize..*end as usize) else { continue };
        let leading = bytes.iter().take_while(|&&byte| byte == b' ').count();
        let trailing = bytes[leading..].iter().rev().take_while(|&&byte| byte == b' ').count();
        *start += leading as u64;
        *end -= trailing as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_trimmed() {
        let mut spans = [[0, 2], [2, 5], [5, 6], [0, 6], [6, 6]];
        trim_spans(b"  a \n ", &mut spans);
        assert_eq!(spans, [[2, 2], [2, 5], [6, 6], [2, 5], [6, 6]]);
    }
}
