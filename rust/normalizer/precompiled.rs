//! `Precompiled`: the rules of a SentencePiece file as Hugging Face reads them.
//!
//! Hugging Face goes by grapheme, not by longest match. If a grapheme of less than six bytes begins
//! with the string of a rule, the *shortest* such rule replaces the whole grapheme, so marks after
//! it may vanish. Otherwise each character of the grapheme is looked up alone. Graphemes follow the
//! Unicode version that tokenizers 0.23.3 is built with ([`crate::text::unicode::graphemes`]).

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Rewrite;
use super::charsmap::Charsmap;
use crate::text::unicode::graphemes::Graphemes;

/// Graphemes with at least this many bytes are looked up only by character.
const LONG_GRAPHEME: usize = 6;
/// Printable ASCII, with the space. Few files have rules for it.
const PRINTED: RangeInclusive<u8> = b' '..=b'~';
/// How many bytes are compared at once.
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
            let run_end = self.inert_ideographs_end(text, at);
            if run_end > at {
                out.copy(&text[at..run_end]);
                at = run_end;
                continue;
            }
            // Each ASCII character is a grapheme, except that CR LF is one.
            let end = stretch_end(text, at);
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
            && grapheme.starts_with(|c| self.charsmap.may_begin(c))
            && let Some(replacement) = self.charsmap.shortest(grapheme.as_bytes())
        {
            out.replace(grapheme.len(), replacement);
            return true;
        }
        let mut changed = false;
        for (at, c) in grapheme.char_indices() {
            let part = &grapheme[at..at + c.len_utf8()];
            let replacement =
                if self.charsmap.may_begin(c) { self.charsmap.shortest(part.as_bytes()) } else { None };
            match replacement {
                Some(replacement) => {
                    out.replace(part.len(), replacement);
                    changed = true;
                }
                None => out.copy(part),
            }
        }
        changed
    }

    /// The end of the run of ideographs at `at` that no rule changes and that are each a grapheme.
    /// A grapheme must begin at `at`.
    fn inert_ideographs_end(&self, text: &str, at: usize) -> usize {
        let (mut end, mut last) = (at, at);
        for c in text[at..].chars() {
            if !is_ideograph(c) || self.charsmap.may_begin(c) {
                // If a mark follows, it belongs to the last ideograph.
                return if is_plain(c) { end } else { last };
            }
            (last, end) = (end, end + c.len_utf8());
        }
        end
    }

    /// The end of the ASCII text at `at` that no rule changes.
    fn inert_end(&self, bytes: &[u8], at: usize) -> usize {
        let inert = self.charsmap.inert();
        let is_inert = |byte: u8| inert[usize::from(byte)] && byte != b'\r';
        let mut run = at;
        if PRINTED.fold(true, |all, byte| all & inert[usize::from(byte)]) {
            // Compares many bytes at once with the bounds of the printable range.
            while let Some(bytes) = bytes.get(run..).and_then(<[u8]>::first_chunk::<AT_ONCE>)
                && bytes.iter().fold(true, |all, byte| all & PRINTED.contains(byte))
            {
                run += AT_ONCE;
            }
        }
        let end =
            bytes[run..].iter().position(|&byte| !is_inert(byte)).map_or(bytes.len(), |rest| run + rest);
        // The next character may be a mark that belongs to the last ASCII character.
        if bytes.get(end).is_some_and(|byte| *byte >= 128) { end.saturating_sub(1).max(at) } else { end }
    }
}

/// Whether a character next to another such character is always a grapheme, unless a mark follows
/// or a prefix precedes it. True for ASCII (except CR LF) and the ideographs from U+4E00 to U+9FFF.
fn is_plain(c: char) -> bool {
    c.is_ascii() || is_ideograph(c)
}

fn is_ideograph(c: char) -> bool {
    ('\u{4E00}'..='\u{9FFF}').contains(&c)
}

/// The end of a stretch that ends at a grapheme boundary: between two plain characters.
fn stretch_end(text: &str, at: usize) -> usize {
    let mut before = None;
    for (n, c) in text[at..].char_indices() {
        let is_end =
            before.is_some_and(|before| is_plain(before) && is_plain(c) && (before, c) != ('\r', '\n'));
        if is_end {
            return at + n;
        }
        before = Some(c);
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::normalizer::Normalizer;

    /// Reference implementation: looks up every grapheme, then every character.
    fn by_grapheme(charsmap: &Charsmap, text: &str) -> String {
        let mut out = String::new();
        for grapheme in Graphemes::of(text) {
            let whole = charsmap.shortest(grapheme.as_bytes());
            if let Some(replacement) = whole.filter(|_| grapheme.len() < LONG_GRAPHEME) {
                out.push_str(replacement);
                continue;
            }
            for c in grapheme.chars() {
                let mut bytes = [0; 4];
                let part: &str = c.encode_utf8(&mut bytes);
                out.push_str(charsmap.shortest(part.as_bytes()).unwrap_or(part));
            }
        }
        out
    }

    proptest! {
        #[test]
        fn fast_paths_equal_the_reference_implementation(
            text in "([ab \r\n]|[一字\u{9FFF}語]{1,3}|[，。ＡﬁÅ豈가]|[\u{301}\u{200D}\u{FE0F}\u{600}\u{0E33}👨ᄀ]){0,30}"
        ) {
            for name in ["nmt_nfkc", "nfkc"] {
                let charsmap = Charsmap::published(name).unwrap();
                let expected = by_grapheme(&charsmap, &text);
                let rules = Normalizer::Precompiled(Precompiled { charsmap });
                let found = rules.normalize_text(&text).unwrap();
                prop_assert_eq!(found.as_deref().unwrap_or(&text), expected, "{}", name);
            }
        }
    }
}
