//! `TokenLengths`: how many bytes of a piece each of its ids covers, by the ids alone.
//!
//! A token covers its own text, a byte of fallback one byte; only unknown text
//! has to be looked up in the piece. Where the ids leave it open, or there is any
//! doubt, [`TokenLengths::visit_tokens`] says so and the model has to encode the piece again:
//! `Worker::encode_with_lens` is the reference implementation. Models with affixes, and models
//! that leave out unknown characters, have no lengths.

use memchr::memmem::Finder;

use crate::text::{Piece, SPACE_MARK_STR, from_utf8};
use crate::vocab::{TokenId, Vocab};

/// Where a token's text lies in the original, in bytes; empty for a special
/// token that a template put in.
pub type Span = [u64; 2];

/// In [`TokenLengths::lens`]: the id is the unknown token's.
const UNKNOWN: u32 = 0;
/// In [`TokenLengths::lens`]: the id is a byte token's, and is spelled as below.
const BYTE: u32 = u32::MAX;
/// How the tokens of fallback bytes begin. Where a text is spelled so, one of them
/// may also be a token found in the text.
const BYTE_SPELLING: &[u8] = b"<0x";

/// How many bits of [`TokenLengths::marked_lens`] count the `▁` of a token.
const MARK_BITS: u32 = 8;

/// The longest text of an unknown token that is compared with the input, at any
/// place of a run; a longer one is left to the model.
const MOST_COMPARED: usize = 64;

/// The text that an unknown token covers.
pub(crate) enum Unknown {
    /// Nothing: no text becomes one.
    Never,
    /// The piece.
    Piece,
    /// A character.
    Character {
        /// The characters that are tokens.
        known: CharSet,
        /// Whether the token covers a run of unknown characters.
        fused: bool,
        /// Tokens of more characters that may end such a run, as they begin with one
        /// that is unknown alone; ids ascending.
        ending: Vec<TokenId>,
    },
}

/// Tokens that follow each other.
#[derive(Clone, Copy, Default)]
pub(crate) struct MarkedTokens {
    pub(crate) n: usize,
    pub(crate) n_bytes: u32,
    /// How many `▁` they have.
    pub(crate) n_marks: u32,
}

/// How far the ids of a model reach.
pub(crate) struct TokenLengths {
    /// By id: the bytes of its text, or one of the marks above.
    lens: Vec<u32>,
    /// By id: the bytes of its text and, in the lowest [`MARK_BITS`], how many `▁` it has. 0 where `lens` has one of
    /// the marks above, for a token that is not UTF-8, and where one of the two numbers does not fit.
    marked_lens: Vec<u32>,
    /// By how much shorter are tokens that continue a piece: a prefix of them.
    prefix: u32,
    unknown: Unknown,
    /// The text of the unknown token, which may also be found as a token.
    unknown_text: Box<[u8]>,
}

impl TokenLengths {
    /// Those of tokens that cover their text.
    pub(crate) fn new(vocab: &Vocab) -> Self {
        let mut lens = vec![UNKNOWN; vocab.id_limit()];
        let mut marked_lens = lens.clone();
        let mark = Finder::new(SPACE_MARK_STR);
        for (id, token) in vocab.iter() {
            lens[id as usize] = u32::try_from(token.len()).unwrap_or(UNKNOWN);
            let n_marks = mark.find_iter(token).count();
            let fits = token.len() < 1 << (u32::BITS - MARK_BITS) && n_marks < 1 << MARK_BITS;
            if fits && from_utf8(token).is_ok() {
                marked_lens[id as usize] = (token.len() << MARK_BITS | n_marks) as u32;
            }
        }
        Self { lens, marked_lens, prefix: 0, unknown: Unknown::Never, unknown_text: Box::default() }
    }

    /// As before, except for byte tokens.
    pub(crate) fn with_bytes(mut self, ids: impl IntoIterator<Item = TokenId>) -> Self {
        for id in ids {
            self.set_len(id, BYTE);
        }
        self
    }

    /// As before, except for the unknown token.
    pub(crate) fn with_unknown(mut self, id: TokenId, unknown: Unknown, vocab: &Vocab) -> Self {
        self.set_len(id, UNKNOWN);
        self.unknown_text = vocab.bytes(id).unwrap_or_default().into();
        Self { unknown, ..self }
    }

    /// Sets one of the marks above.
    fn set_len(&mut self, id: TokenId, mark: u32) {
        if let Some(len) = self.lens.get_mut(id as usize) {
            *len = mark;
            self.marked_lens[id as usize] = 0;
        }
    }

    /// As before, except for a prefix of tokens that continue a piece.
    pub(crate) fn with_prefix(self, len: usize) -> Self {
        Self { prefix: len as u32, ..self }
    }

    /// Whether a token covers its text in every place.
    pub(crate) fn covers_text(&self, id: TokenId) -> bool {
        self.prefix == 0 && self.lens.get(id as usize).is_some_and(|&len| len != UNKNOWN && len != BYTE)
    }

    /// Calls `each` with the id and the places in `text` of each token of a piece,
    /// of which `ids` are the tokens, or begin with them, or are as many of them as
    /// were asked for. Returns their number; `None` where `ids` do not determine them.
    #[inline]
    pub(crate) fn visit_tokens(
        &self,
        text: &[u8],
        piece: Piece,
        ids: &[TokenId],
        mut each: impl FnMut(TokenId, usize, usize),
    ) -> Option<usize> {
        let (mut at, end) = (piece.start as usize, piece.end as usize);
        let mut prefix = 0;
        for (n, &id) in ids.iter().enumerate() {
            if at == end {
                return Some(n);
            }
            let len = self.token_len(text.get(at..end)?, &ids[n..], prefix, n == 0)?;
            each(id, at, at + len);
            at += len;
            prefix = self.prefix;
        }
        Some(ids.len())
    }

    /// The bytes that the first of `ids` covers at the start of the rest of a piece, without a `prefix`.
    #[inline(always)]
    fn token_len(&self, rest: &[u8], ids: &[TokenId], prefix: u32, at_start: bool) -> Option<usize> {
        let len = match self.lens.get(*ids.first()? as usize) {
            None | Some(&(UNKNOWN | BYTE)) => self.len_in(rest, ids, at_start)?,
            Some(&len) => len.wrapping_sub(prefix) as usize,
        };
        // Also where a token is shorter than the prefix.
        (len > 0 && len <= rest.len()).then_some(len)
    }

    /// As [`TokenLengths::visit_tokens`] for the next token alone, where tokens have no prefix.
    #[inline(never)]
    pub(crate) fn next_len(&self, rest: &[u8], ids: &[TokenId], at_start: bool) -> Option<usize> {
        self.token_len(rest, ids, 0, at_start)
    }

    /// Whether [`TokenLengths::push_marked`] applies.
    pub(crate) fn has_no_prefix(&self) -> bool {
        self.prefix == 0
    }

    /// Appends the spans of the first of `ids`, tokens of the next `n_bytes` of a text, in an original that has one
    /// byte instead of each `▁` and in which they begin at `from`. Ends before a token that reaches further, and
    /// before one that lengths do not determine.
    #[inline]
    pub(crate) fn push_marked(
        &self,
        ids: &[TokenId],
        n_bytes: u32,
        mut from: u64,
        spans: &mut Vec<Span>,
    ) -> MarkedTokens {
        let mut tokens = MarkedTokens::default();
        for &id in ids {
            let marked_len = self.marked_lens.get(id as usize).copied().unwrap_or(0);
            let (len, n_marks) = (marked_len >> MARK_BITS, marked_len & ((1 << MARK_BITS) - 1));
            if len.wrapping_sub(1) >= n_bytes - tokens.n_bytes {
                break;
            }
            let to = from + u64::from(len - (SPACE_MARK_STR.len() as u32 - 1) * n_marks);
            spans.push([from, to]);
            from = to;
            tokens.n_bytes += len;
            tokens.n_marks += n_marks;
            tokens.n += 1;
        }
        tokens
    }

    /// Appends the places of the tokens of pieces, of which `ids` are the tokens or begin
    /// with them, moved by `base`, up to the first piece that does not follow from the lengths of
    /// tokens alone. Returns how many pieces these are, and how many ids.
    pub(crate) fn push_spans(
        &self,
        pieces: &[Piece],
        ids: &[TokenId],
        base: usize,
        spans: &mut Vec<Span>,
    ) -> (usize, usize) {
        let (base, before) = (base as u64, spans.len());
        let mut n_ids = 0;
        for (n, piece) in pieces.iter().enumerate() {
            let (mut at, mut prefix, first) = (piece.start, 0, n_ids);
            while at < piece.end {
                let len = ids.get(n_ids).and_then(|&id| self.lens.get(id as usize)).copied();
                // Marks, and tokens shorter than the prefix, are longer than any piece.
                let len = len.unwrap_or(UNKNOWN).wrapping_sub(prefix);
                if len.wrapping_sub(1) >= piece.end - at {
                    spans.truncate(before + first);
                    return (n, first);
                }
                spans.push([base + u64::from(at), base + u64::from(at + len)]);
                (at, prefix, n_ids) = (at + len, self.prefix, n_ids + 1);
            }
        }
        (pieces.len(), n_ids)
    }

    /// Whether a text begins with that of the unknown token.
    #[inline]
    fn begins_unknown(&self, text: &[u8]) -> bool {
        // A look at the first byte is mostly enough, where a comparison is a call.
        text.first().is_some_and(|first| self.unknown_text.first() == Some(first))
            && text.starts_with(&self.unknown_text)
    }

    /// The bytes that the first of `ids`, an unknown token or one of a byte, covers
    /// at the start of the rest of a piece.
    #[inline(never)]
    fn len_in(&self, rest: &[u8], ids: &[TokenId], at_start: bool) -> Option<usize> {
        match self.lens.get(*ids.first()? as usize) {
            Some(&BYTE) => return (!rest.starts_with(BYTE_SPELLING)).then_some(1),
            Some(&UNKNOWN) if self.unknown_text.len() <= MOST_COMPARED && !self.begins_unknown(rest) => {}
            _ => return None,
        }
        match &self.unknown {
            Unknown::Never => None,
            Unknown::Piece => at_start.then_some(rest.len()),
            Unknown::Character { known, fused, ending } => {
                let may_end = |next: Option<&TokenId>| match next {
                    Some(next) => ending.binary_search(next).is_ok(),
                    None => !ending.is_empty(),
                };
                if *fused && may_end(ids.get(1)) {
                    return None;
                }
                let mut len = 0;
                while len < rest.len() {
                    // The text of the unknown token may be a token, one with those around it.
                    if *fused && self.begins_unknown(&rest[len..]) {
                        return None;
                    }
                    // Bytes that are not text are left to the model.
                    let (c, n) = first_char(&rest[len..])?;
                    if known.contains(c) || !*fused && len > 0 {
                        break;
                    }
                    len += n;
                }
                Some(len)
            }
        }
    }
}

/// The character that a text begins with, and its bytes; no more of the text is looked at.
#[inline(always)]
fn first_char(text: &[u8]) -> Option<(char, usize)> {
    // Most unknown characters have three bytes. As this is a branch, the processor reads the next character before it
    // has decoded this one.
    if let Some(bytes) = text.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
        && bytes & 0x00C0_C0F0 == 0x0080_80E0
    {
        let point = (bytes & 0xF) << 12 | bytes >> 2 & 0xFC0 | bytes >> 16 & 0x3F;
        return char::from_u32(point).filter(|_| point >= 0x800).map(|c| (c, 3));
    }
    first_char_of_any(text).map(|c| (c, c.len_utf8()))
}

/// As [`first_char`], for characters of other lengths and at the end of a text.
#[inline(never)]
fn first_char_of_any(text: &[u8]) -> Option<char> {
    // The bytes it has, the bits of the first that count, and the least that needs so many.
    let (len, bits, least) = match *text.first()? {
        byte @ 0..0x80 => return Some(char::from(byte)),
        byte @ 0xC0..0xE0 => (2, byte & 0x1F, 0x80),
        byte @ 0xE0..0xF0 => (3, byte & 0x0F, 0x800),
        byte @ 0xF0..0xF8 => (4, byte & 0x07, 0x1_0000),
        _ => return None,
    };
    let mut point = u32::from(bits);
    for byte in text.get(1..len)? {
        if byte & 0xC0 != 0x80 {
            return None;
        }
        point = point << 6 | u32::from(byte & 0x3F);
    }
    char::from_u32(point).filter(|_| point >= least)
}

/// A set of characters: one bit each.
#[derive(Clone, Default)]
pub(crate) struct CharSet(Vec<u64>);

impl CharSet {
    /// The set of these.
    pub(crate) fn new(chars: impl IntoIterator<Item = char>) -> Self {
        let mut bits = Vec::new();
        for c in chars {
            let place = c as usize / 64;
            if place >= bits.len() {
                bits.resize(place + 1, 0);
            }
            bits[place] |= 1 << (c as usize % 64);
        }
        Self(bits)
    }

    /// Whether a character is in it.
    #[inline]
    pub(crate) fn contains(&self, c: char) -> bool {
        self.0.get(c as usize / 64).is_some_and(|bits| bits >> (c as usize % 64) & 1 == 1)
    }

    /// Those of the tokens that begin with a character outside it; ids ascending.
    pub(crate) fn others<'a>(&self, tokens: impl IntoIterator<Item = (TokenId, &'a [u8])>) -> Vec<TokenId> {
        let begins_inside = |token: &[u8]| first_char(token).is_some_and(|(c, _)| self.contains(c));
        let others = tokens.into_iter().filter(|(_, token)| !begins_inside(token));
        let mut ids: Vec<TokenId> = others.map(|(id, _)| id).collect();
        ids.sort_unstable();
        ids
    }

    /// The characters that are tokens.
    pub(crate) fn of_tokens<'a>(tokens: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::new(tokens.into_iter().filter_map(|token| {
            let mut chars = std::str::from_utf8(token).ok()?.chars();
            chars.next().filter(|_| chars.next().is_none())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(
        token_lengths: &TokenLengths,
        text: &str,
        ids: &[TokenId],
    ) -> Option<Vec<(TokenId, usize, usize)>> {
        let mut found = Vec::new();
        let piece = Piece { start: 0, end: text.len() as u32 };
        let n = token_lengths
            .visit_tokens(text.as_bytes(), piece, ids, |id, start, end| found.push((id, start, end)))?;
        assert_eq!(n, found.len());
        Some(found)
    }

    #[test]
    fn a_character_is_read_as_the_standard_library_reads_it() {
        let known = |text: &[u8]| {
            let c = text.utf8_chunks().next()?.valid().chars().next()?;
            Some((c, c.len_utf8()))
        };
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for rest in [&b"\x80\x80"[..], b"\xBF\xBF", b"\x80", b"", b"a\x80", b"\x80a", b"\xC0\x80"] {
                    let text = [&[first, second], rest].concat();
                    assert_eq!(first_char(&text), known(&text), "{text:?}");
                }
            }
            assert_eq!(first_char(&[first]), known(&[first]), "{first}");
        }
        assert_eq!(first_char(b""), None);
    }

    #[test]
    fn what_ids_tell() {
        let vocab = Vocab::from_tokens(["<unk>", "a", "ab", "<0x0A>", "##b"]).unwrap();
        let of = |unknown| TokenLengths::new(&vocab).with_bytes([3]).with_unknown(0, unknown, &vocab);
        let of_characters = |fused, ending| {
            let known = CharSet::of_tokens([&b"a"[..], b"b", b"ab"]);
            of(Unknown::Character { known, fused, ending })
        };
        let (runs, lone) = (of_characters(true, vec![]), of_characters(false, vec![2]));
        let ended = of_characters(true, vec![2]);
        let word = of(Unknown::Piece).with_prefix(2);
        for (name, token_lengths, text, ids, expected) in [
            ("texts", &runs, "aba", &[2, 1][..], Some(vec![(2, 0, 2), (1, 2, 3)])),
            ("the ids of what follows", &runs, "ab", &[2, 1], Some(vec![(2, 0, 2)])),
            ("cut off", &runs, "aba", &[2], Some(vec![(2, 0, 2)])),
            ("a byte", &runs, "\na", &[3, 1], Some(vec![(3, 0, 1), (1, 1, 2)])),
            ("a byte or its spelling", &runs, "<0x0A>", &[3], None),
            ("a run", &runs, "aé語a", &[1, 0, 1], Some(vec![(1, 0, 1), (0, 1, 6), (1, 6, 7)])),
            ("one by one", &lone, "é語", &[0, 0], Some(vec![(0, 0, 2), (0, 2, 5)])),
            ("unknown or its spelling", &runs, "<unk>", &[0], None),
            ("nothing unknown", &runs, "ab", &[0], None),
            ("too long", &runs, "a", &[2], None),
            ("no id", &runs, "a", &[9], None),
            ("a word", &word, "ab", &[1, 4], Some(vec![(1, 0, 1), (4, 1, 2)])),
            ("an unknown word", &word, "xyz", &[0, 1], Some(vec![(0, 0, 3)])),
            ("an unknown part", &word, "ax", &[1, 0], None),
            ("shorter than the prefix", &word, "aa", &[1, 1], None),
            ("a run that another token may end", &ended, "xab", &[0, 2], None),
            ("or not", &ended, "xa", &[0, 1], Some(vec![(0, 0, 1), (1, 1, 2)])),
            ("a run that is cut off", &ended, "x", &[0], None),
            ("never", &of(Unknown::Never), "x", &[0], None),
        ] {
            assert_eq!(walked(token_lengths, text, ids), expected, "{name}");
        }
        let piece = Piece { start: 0, end: 3 };
        assert_eq!(runs.visit_tokens(b"\xC3\xA9\xFF", piece, &[0], |_, _, _| {}), None);
    }
}
