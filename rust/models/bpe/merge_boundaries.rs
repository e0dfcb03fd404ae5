//! `MergeBoundaries`: places inside a long piece that no merge can cross.
//!
//! Scripts without spaces give pieces of many characters that never repeat, but
//! few of their neighbours are adjacent in any token. Cutting there leaves
//! short runs, which do repeat and fit the cache.
//!
//! Proof. A merge across the border of characters `a` and `b` makes a token
//! that holds the border: it holds `a` whole or, if it begins inside `a`, a
//! proper suffix of it; and `b` whole or a proper prefix. All such pairs of all
//! tokens are in the set. If none of the pairs that `a` and `b` can form is, no
//! merge ever crosses, and what lies on either side merges as if alone.
//!
//! The set is a Bloom filter of one hash: an error only leaves out a cut. It is as
//! large as the distinct pairs ask for, so that it stays in the caches close to the
//! processor. In which kinds of pair a character can be is looked up first, by code
//! point; of two whole characters the set is asked at once, without a branch.

use crate::error::Result;
use crate::memory;
use crate::text::SPACE_MARK_BYTES;
use crate::text::simd::bits;
use crate::vocab::Vocab;

const MARK: &[u8] = &SPACE_MARK_BYTES;

/// Where the words of a text end, each with the `▁` before it; see [`MergeBoundaries::at_words`].
pub(super) fn word_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    let is_start = |at: &usize| *at > 0 && text[*at..].starts_with(MARK) && !text[..*at].ends_with(MARK);
    memchr::memchr_iter(MARK[0], text).filter(is_start).chain((!text.is_empty()).then_some(text.len()))
}

/// Bytes of a piece that are cut at once: what ends of runs take is bounded so.
const STEP: usize = 1 << 12;

/// The set of pairs that tokens hold together.
#[derive(Clone, Default)]
pub(super) struct MergeBoundaries {
    bits: Vec<u64>,
    shift: u32,
    parts: Parts,
    /// Whether pairs of ASCII are in the set; else nothing is cut between two of ASCII.
    cuts_ascii: bool,
}

/// In which kinds of pair each character is, by code point: on the left of it in the
/// low half, on the right in the high one.
///
/// Bit `4 * s + p`: some token holds the pair of a suffix of `s` bytes and a prefix
/// of `p` bytes, where 0 means the whole character.
#[derive(Clone, Default)]
struct Parts {
    known: Vec<u32>,
    /// The kinds that an unknown character may have.
    any: u32,
}

/// Code points that [`Parts`] knows: those of up to three bytes.
const N_KNOWN: u32 = 1 << 16;

/// The kind of pair of two whole characters, as a bit.
const WHOLE: u32 = 1;

impl Parts {
    /// `pairs` calls for each pair and its kind.
    fn new(pairs: impl Fn(&mut dyn FnMut(u32, u32, u32))) -> Self {
        // Characters by their words, suffixes and prefixes by theirs; a word of
        // three bytes is known by a hash, and may be taken for another.
        let mut lefts = vec![0_u16; N_KNOWN as usize];
        let mut rights = lefts.clone();
        let mut any = 0;
        pairs(&mut |left, right, kind| {
            lefts[Self::place(left)] |= 1 << kind;
            rights[Self::place(right)] |= 1 << kind;
            any |= 0x1_0001 << kind;
        });
        let kinds = |c: u32| {
            let Some(c) = char::from_u32(c) else { return any };
            let mut bytes = [0; 4];
            let len = c.encode_utf8(&mut bytes).len() as u32;
            let unit = Character { bytes: u32::from_le_bytes(bytes), len };
            let (mut left, mut right) = (0, 0);
            for part in 0..len.min(4) {
                left |= lefts[Self::place(unit.suffix(part))] & 0x000F << (4 * part);
                right |= rights[Self::place(unit.prefix(part))] & 0x1111 << part;
            }
            u32::from(left) | u32::from(right) << 16
        };
        Self { known: (0..N_KNOWN).map(kinds).collect(), any }
    }

    fn place(word: u32) -> usize {
        (word.wrapping_mul(0x9E37_79B9) >> (u32::BITS - N_KNOWN.trailing_zeros())) as usize
    }

    #[inline(always)]
    fn of(&self, unit: Character) -> u32 {
        unit.code_point().and_then(|c| self.known.get(c as usize).copied()).unwrap_or(self.any)
    }
}

impl MergeBoundaries {
    /// With `cuts_ascii` also between characters of ASCII, which pays off if pieces are not
    /// words, but all between two blanks.
    pub(super) fn new(vocab: &Vocab, cuts_ascii: bool) -> Self {
        let each = |pair: &mut dyn FnMut(u32, u32, u32)| {
            for (_, token) in vocab.iter().filter(|(_, token)| cuts_ascii || !token.is_ascii()) {
                token_pairs(token, &mut *pair);
            }
        };
        // Tokens repeat their pairs: a set for as many as there may be, then one for
        // as many as there are. Neighbours in it are one place in a smaller one.
        let mut n_pairs = 0_usize;
        each(&mut |_, _, _| n_pairs += 1);
        let mut cuts = Self::empty(n_pairs);
        each(&mut |left, right, _| cuts.insert(hash(left, right)));
        let n_distinct = cuts.bits.iter().map(|word| word.count_ones() as usize).sum();
        let mut small = Self { parts: Parts::new(each), cuts_ascii, ..Self::empty(n_distinct) };
        for (at, &word) in cuts.bits.iter().enumerate() {
            bits(word).for_each(|bit| small.insert(((at * 64 + bit) as u64) << cuts.shift));
        }
        small
    }

    /// A set for so many pairs.
    fn empty(n_pairs: usize) -> Self {
        let size = (n_pairs * 16).next_power_of_two().max(64);
        let shift = 64 - size.trailing_zeros();
        Self { bits: vec![0; size / 64], shift, parts: Parts::default(), cuts_ascii: false }
    }

    /// Allows a space next to the neighbours that a mark has in tokens, which are all that hold one.
    pub(super) fn take_space_for<'a>(&mut self, mark: char, tokens: impl Iterator<Item = &'a str>) {
        for token in tokens {
            token_pairs(token.replace(mark, " ").as_bytes(), |left, right, _| self.insert(hash(left, right)));
        }
        // Tokens of characters hold whole ones alone.
        let of_mark = self.parts.known.get(mark as usize).copied().unwrap_or(self.parts.any);
        if let Some(space) = self.parts.known.get_mut(usize::from(b' ')) {
            *space = of_mark & (WHOLE | WHOLE << 16);
        }
    }

    fn insert(&mut self, hash: u64) {
        let bit = (hash >> self.shift) as usize;
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    /// Whether a text may be cut before every `▁` that does not follow a `▁`:
    /// `▁` is a token, and no token holds one behind another character.
    pub(super) fn at_words(vocab: &Vocab) -> bool {
        let is_inside = |token: &[u8]| {
            let from = token.chunks(MARK.len()).take_while(|chunk| *chunk == MARK).count() * MARK.len();
            memchr::memmem::find(&token[from..], MARK).is_some()
        };
        vocab.id(MARK).is_some() && !vocab.iter().any(|(_, token)| is_inside(token))
    }

    /// Whether a piece may be cut.
    #[inline]
    pub(super) fn may_cut(&self, piece: &[u8]) -> bool {
        self.cuts_ascii || !piece.is_ascii()
    }

    /// Fills `runs` with those of a piece from the start of one on: one or more, in
    /// order, the last of them the end of the piece or where to continue. Returns how
    /// many, `None` if the piece is not made of characters, which the first call detects.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is none for the runs.
    pub(super) fn runs(&self, piece: &[u8], from: usize, runs: &mut Vec<u32>) -> Result<Option<usize>> {
        if from == 0 && piece.len() > STEP {
            let mut at = 0;
            while at < piece.len() {
                let Some(unit) = unit_at(piece, at) else { return Ok(None) };
                at += unit.len as usize;
            }
        }
        let mut size = STEP;
        loop {
            let to = piece.len().min(from + size);
            // A run has a byte or more. Each place is written; only ends stay.
            if runs.len() <= to - from {
                memory::resize(runs, to - from + 1, 0)?;
            }
            let Some((n, at)) = self.runs_between(piece, from, to, runs) else { return Ok(None) };
            if at == piece.len() {
                return Ok(Some(n));
            }
            // The last run may continue.
            if n > 1 {
                return Ok(Some(n - 1));
            }
            size *= 2;
        }
    }

    /// Fills `runs` with those of the characters that begin between `from` and `to`;
    /// returns how many, and the end of the last. There is a place for each byte, and one more.
    #[inline]
    fn runs_between(&self, piece: &[u8], from: usize, to: usize, runs: &mut [u32]) -> Option<(usize, usize)> {
        let mut left = unit_at(piece, from)?;
        let mut parts = self.parts.of(left);
        let (mut n, mut at) = (0, from + left.len as usize);
        while at < to {
            let unit = unit_at(piece, at)?;
            let right_parts = self.parts.of(unit);
            let kinds = parts & right_parts >> 16;
            let crosses = !self.cuts_ascii & (left.len == 1) & (unit.len == 1)
                || (kinds & WHOLE != 0) & self.has(left.bytes, unit.bytes)
                || kinds & !WHOLE != 0 && self.may_cross(left, unit, kinds & !WHOLE);
            runs[n] = at as u32;
            n += usize::from(!crosses);
            (left, parts) = (unit, right_parts);
            at += unit.len as usize;
        }
        runs[n] = at as u32;
        Some((n + 1, at))
    }

    /// Whether the set has a pair.
    #[inline(always)]
    fn has(&self, left: u32, right: u32) -> bool {
        let bit = (hash(left, right) >> self.shift) as usize;
        self.bits.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Whether some token holds a pair of these characters, of one of `kinds`.
    #[inline(never)]
    fn may_cross(&self, left: Character, right: Character, mut kinds: u32) -> bool {
        while kinds != 0 {
            let kind = kinds.trailing_zeros();
            kinds &= kinds - 1;
            let (suffix, prefix) = (kind / 4, kind % 4);
            if suffix < left.len && prefix < right.len && self.has(left.suffix(suffix), right.prefix(prefix))
            {
                return true;
            }
        }
        false
    }
}

/// The neighbours in a token: characters, with a part of one at either end.
///
/// A token of another shape cannot lie in a piece that is made of characters.
fn token_pairs(token: &[u8], mut pair: impl FnMut(u32, u32, u32)) {
    let n_tail = token.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    if n_tail > 3 {
        return;
    }
    let mut before = (n_tail > 0).then(|| (word(&token[..n_tail]), n_tail as u32));
    let mut at = n_tail;
    while at < token.len() {
        let (bytes, prefix, len) = match unit_at(token, at) {
            Some(unit) => (unit.bytes, 0, unit.len as usize),
            None if token.len() - at <= 3 => {
                (word(&token[at..]), (token.len() - at) as u32, token.len() - at)
            }
            None => return,
        };
        if let Some((left, suffix)) = before {
            pair(left, bytes, 4 * suffix + prefix);
        }
        before = Some((bytes, 0));
        at += len;
    }
}

#[inline]
fn hash(left: u32, right: u32) -> u64 {
    (u64::from(left) << 32 | u64::from(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A character as bytes in a word, by the shape of its bytes alone: pieces may be any bytes, and overlong
/// forms and surrogates are characters here, too.
#[derive(Clone, Copy)]
struct Character {
    /// The first in the low bits.
    bytes: u32,
    len: u32,
}

impl Character {
    /// Its code point, if it has up to three bytes and they are those of one.
    #[inline(always)]
    fn code_point(self) -> Option<u32> {
        let byte = |n: u32| self.bytes >> (8 * n) & 0x3F;
        let (c, least) = match self.len {
            3 => ((self.bytes & 0x0F) << 12 | byte(1) << 6 | byte(2), 0x800),
            2 => ((self.bytes & 0x1F) << 6 | byte(1), 0x80),
            1 => (self.bytes, 0),
            _ => return None,
        };
        // An overlong form does not have the bytes of its code point.
        (c >= least).then_some(c)
    }

    /// Its last `len` bytes; all of them for 0.
    fn suffix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes >> (8 * (self.len - len)) }
    }

    /// Its first `len` bytes; all of them for 0.
    fn prefix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes & ((1 << (8 * len)) - 1) }
    }
}

/// The character that starts at `at`, by the shape of its bytes alone.
#[inline(always)]
fn unit_at(bytes: &[u8], at: usize) -> Option<Character> {
    // Most that are cut have three bytes.
    if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        let word = u32::from_le_bytes(*word);
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            return Some(Character { bytes: word & 0x00FF_FFFF, len: 3 });
        }
    }
    any_unit_at(bytes, at)
}

/// The same, of any length.
#[inline]
fn any_unit_at(bytes: &[u8], at: usize) -> Option<Character> {
    let is_tail = |byte: &&u8| **byte & 0xC0 == 0x80;
    let lead = u32::from(*bytes.get(at)?);
    let tail = |n: usize| bytes.get(at + n).filter(is_tail).map(|&byte| u32::from(byte) << (8 * n));
    Some(match lead {
        0x00..0x80 => Character { bytes: lead, len: 1 },
        0xC0..0xE0 => Character { bytes: lead | tail(1)?, len: 2 },
        0xE0..0xF0 => Character { bytes: lead | tail(1)? | tail(2)?, len: 3 },
        0xF0..0xF8 => Character { bytes: lead | tail(1)? | tail(2)? | tail(3)?, len: 4 },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_before_their_marks() {
        for (text, expected) in
            [("", vec![]), ("a", vec![1]), ("▁a▁▁b", vec![4, 11]), ("▁▁", vec![6]), ("á─▁▁", vec![5, 11])]
        {
            assert_eq!(word_ends(text.as_bytes()).collect::<Vec<_>>(), expected, "{text}");
        }
        for (tokens, expected) in [
            (&["▁", "▁▁", "▁▁a", "a"][..], true),
            (&["a", "▁a"], false),
            (&["▁", "a▁"], false),
            (&["▁", "▁a▁b"], false),
        ] {
            assert_eq!(
                MergeBoundaries::at_words(&Vocab::from_tokens(tokens).unwrap()),
                expected,
                "{tokens:?}"
            );
        }
    }

    #[test]
    fn a_run_ends_where_no_token_reaches() {
        let vocab = Vocab::from_tokens([&b"a"[..], "語é".as_bytes(), b"\x9Ea", b"a\xE8\xAA", b"xy"]).unwrap();
        let cuts = MergeBoundaries::new(&vocab, false);
        for (piece, expected) in [
            ("語é", vec![5]),
            ("é語", vec![2, 5]),
            ("語a", vec![4]),
            ("a語", vec![4]),
            ("語語語é", vec![3, 6, 11]),
            ("ab", vec![2]),
        ] {
            let mut runs = vec![7; 3];
            let n = cuts.runs(piece.as_bytes(), 0, &mut runs).unwrap().unwrap();
            assert_eq!(runs[..n], expected, "{piece}");
        }
        assert_eq!(cuts.runs(b"a\xE8\xAA", 0, &mut Vec::new()).unwrap(), None);
        let cuts = MergeBoundaries::new(&vocab, true);
        for (piece, expected) in [("ab", vec![1, 2]), ("axyx", vec![1, 3, 4]), ("xa語é", vec![1, 7])] {
            let mut runs = Vec::new();
            let n = cuts.runs(piece.as_bytes(), 0, &mut runs).unwrap().unwrap();
            assert_eq!(runs[..n], expected, "{piece}");
        }
    }

    #[test]
    fn long_pieces_are_cut_step_by_step() {
        let cuts = MergeBoundaries::new(&Vocab::from_tokens(["a", "語é"]).unwrap(), false);
        let letters = "a".repeat(3 * STEP);
        let piece = "語é".repeat(STEP) + &letters + &"語".repeat(STEP);
        let runs = (0..STEP).map(|n| 5 * (n + 1)).chain([5 * STEP + letters.len()]);
        let expected: Vec<usize> = runs.chain((0..STEP).map(|n| 8 * STEP + 3 * (n + 1))).collect();
        let (mut all, mut runs) = (Vec::new(), Vec::new());
        while all.last() != Some(&piece.len()) {
            let n =
                cuts.runs(piece.as_bytes(), all.last().copied().unwrap_or(0), &mut runs).unwrap().unwrap();
            assert!(n <= 8 * STEP / 3, "{n}");
            all.extend(runs[..n].iter().map(|&end| end as usize));
        }
        assert_eq!(all, expected);
        let broken = [piece.as_bytes(), b"\xE8"].concat();
        assert_eq!(cuts.runs(&broken, 0, &mut runs).unwrap(), None);
    }

    #[test]
    fn parts_leave_out_no_pair() {
        let tokens =
            [&b"a"[..], "語é".as_bytes(), b"\x9Ea", b"a\xE8\xAA", "éa😀".as_bytes(), "\u{fff}界".as_bytes()];
        let cuts = MergeBoundaries::new(&Vocab::from_tokens(tokens).unwrap(), false);
        let all = ["a", "b", "é", "è", "\u{fff}", "語", "誠", "界", "\u{d7ff}", "😀"];
        let mut pairs = Vec::new();
        for token in tokens {
            token_pairs(token, |left, right, kind| pairs.push((left, right, kind)));
        }
        let unit = |text: &str| unit_at(text.as_bytes(), 0).unwrap();
        let mut n_left_out = 0;
        for (left, right) in all.iter().flat_map(|left| all.map(|right| (unit(left), unit(right)))) {
            let kinds = cuts.parts.of(left) & cuts.parts.of(right) >> 16;
            for kind in (0..16).filter(|kind| kind / 4 < left.len && kind % 4 < right.len) {
                let pair = (left.suffix(kind / 4), right.prefix(kind % 4), kind);
                assert!(kinds >> kind & 1 == 1 || !pairs.contains(&pair), "{pair:?}");
                n_left_out += usize::from(kinds >> kind & 1 == 0);
            }
        }
        assert!(n_left_out > 300, "{n_left_out}");
        // Overlong: not the parts of the character it would be.
        let overlong = Character { bytes: u32::from_le_bytes([0xE0, 0x81, 0x81, 0]), len: 3 };
        assert_eq!(cuts.parts.of(overlong), cuts.parts.any);
    }
}
