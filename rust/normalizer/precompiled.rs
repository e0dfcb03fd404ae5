//! `Precompiled`: the rules of a SentencePiece file as Hugging Face reads them.
//!
//! By grapheme, not by longest match: a grapheme of less than six bytes that
//! begins with what a rule replaces is replaced whole by the *shortest* such
//! rule, so marks after it may vanish; else each of its characters is, by
//! itself. Graphemes are those of the Unicode version that tokenizers 0.23.3
//! is built with ([`crate::text::unicode::graphemes`]).

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Rewrite;
use super::charsmap::Charsmap;
use crate::text::unicode::graphemes::Graphemes;

/// Graphemes of this many bytes and more are not looked up whole.
const LONG_GRAPHEME: usize = 6;
/// The ASCII characters that are seen, and the space; hardly a file has rules for them.
const PRINTED: RangeInclusive<u8> = b' '..=b'~';
/// So many bytes are compared at once.
const AT_ONCE: usize = 32;

/// The rules of a SentencePiece file as Hugging Face reads them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precompiled {
    /// The rules.
    #[serde(rename = "precompiled_charsmap")]
    pub charsmap: Charsmap,
}

impl Precompiled {
    /// One step of a [`super::Normalizer`].
    pub(super) fn step<R: Rewrite>(&self, text: &str, out: &mut R) -> bool {
        let mut changed = false;
        let mut at = 0;
        while at < text.len() {
            let run_end = self.inert_end(text.as_bytes(), at);
            if run_end > at {
                out.copy(&text[at..run_end]);
                at = run_end;
                continue;
            }
            // ASCII characters are graphemes of their own, except for CR LF.
            let end = stretch_end(text.as_bytes(), at);
            if end - at == 1 {
                changed |= self.grapheme(&text[at..end], out);
            } else {
                for grapheme in Graphemes::of(&text[at..end]) {
                    changed |= self.grapheme(grapheme, out);
                }
            }
            at = end;
        }
        changed
    }

    fn grapheme<R: Rewrite>(&self, grapheme: &str, out: &mut R) -> bool {
        if grapheme.len() < LONG_GRAPHEME
            && let Some(replacement) = self.charsmap.shortest(grapheme.as_bytes())
        {
            out.replace(grapheme.len(), replacement);
            return true;
        }
        let mut changed = false;
        for (at, c) in grapheme.char_indices() {
            let part = &grapheme[at..at + c.len_utf8()];
            match self.charsmap.shortest(part.as_bytes()) {
                Some(replacement) => {
                    out.replace(part.len(), replacement);
                    changed = true;
                }
                None => out.copy(part),
            }
        }
        changed
    }

    /// The end of the ASCII text at `at` that no rule touches.
    fn inert_end(&self, bytes: &[u8], at: usize) -> usize {
        let inert = self.charsmap.inert();
        let is_inert = |byte: u8| inert[usize::from(byte)] && byte != b'\r';
        let mut run = at;
        if PRINTED.fold(true, |all, byte| all & inert[usize::from(byte)]) {
            // Many at once, which one comparison of bounds allows.
            while let Some(bytes) = bytes.get(run..).and_then(<[u8]>::first_chunk::<AT_ONCE>)
                && bytes.iter().fold(true, |all, byte| all & PRINTED.contains(byte))
            {
                run += AT_ONCE;
            }
        }
        let end =
            bytes[run..].iter().position(|&byte| !is_inert(byte)).map_or(bytes.len(), |rest| run + rest);
        // A mark may follow that belongs to the last character.
        if bytes.get(end).is_some_and(|byte| *byte >= 128) { end.saturating_sub(1).max(at) } else { end }
    }
}

/// The end of a stretch that ends where a grapheme does: between two ASCII
/// characters that are not CR LF.
fn stretch_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .windows(2)
        .position(|pair| pair.is_ascii() && pair != b"\r\n")
        .map_or(bytes.len(), |first| at + first + 1)
}
