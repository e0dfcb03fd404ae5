//! `Cuts`: places inside a long piece that no merge can cross.
//!
//! Scripts without spaces give pieces of many characters that never repeat, but
//! few of their neighbours stand together in any token. Cutting there leaves
//! short runs, which do repeat and fit the cache.
//!
//! Proof. A merge across the border of characters `a` and `b` makes a token
//! that holds the border: it holds `a` whole or, if it begins inside `a`, a
//! proper suffix of it; and `b` whole or a proper prefix. All such pairs of all
//! tokens are in the set. If none of the pairs that `a` and `b` can form is, no
//! merge ever crosses, and what lies on either side merges as if alone.
//!
//! The set is a Bloom filter of one hash: an error only leaves out a cut. Most
//! characters are in no pair at all, or with few of their parts: what each can be
//! in is looked up first, by code point.

use crate::vocab::Vocab;

/// What stands for a space in models over characters.
const MARK: &[u8] = "▁".as_bytes();

/// Where the words of a text end, each with the `▁` before it; see [`Cuts::at_words`].
pub(super) fn word_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    let is_start = |at: &usize| *at > 0 && text[*at..].starts_with(MARK) && !text[..*at].ends_with(MARK);
    memchr::memchr_iter(MARK[0], text).filter(is_start).chain((!text.is_empty()).then_some(text.len()))
}

/// Bytes of a piece that are cut at once: what ends of runs take is bounded so.
const STEP: usize = 1 << 12;

/// The set of pairs that tokens hold together, and which kinds of pair it has.
#[derive(Clone, Default)]
pub(super) struct Cuts {
    bits: Vec<u64>,
    shift: u32,
    /// Bit `4 * s + p`: some token holds a suffix of `s` bytes and a prefix of
    /// `p` bytes, 0 standing for the whole character.
    kinds: u16,
    parts: Parts,
}

/// Which parts of a character are in some pair, by code point: in the low bits,
/// bit `s`, a suffix of `s` bytes on the left; in the high ones, bit `4 + p`, a
/// prefix of `p` bytes on the right.
#[derive(Clone, Default)]
struct Parts(Vec<u8>);

/// Code points that [`Parts`] knows: those of up to three bytes.
const N_KNOWN: u32 = 1 << 16;

/// What a character is that [`Parts`] does not know: all of them may be in one.
const ANY_PART: u8 = u8::MAX;

impl Parts {
    /// `pairs` calls for each pair and its kind.
    fn new(pairs: impl Fn(&mut dyn FnMut(u32, u32, u32))) -> Self {
        // Characters by their words, suffixes and prefixes by theirs; a word of
        // three bytes is known by a hash, and may be taken for another.
        let mut lefts = vec![0_u8; N_KNOWN as usize];
        let mut rights = lefts.clone();
        pairs(&mut |left, right, kind| {
            lefts[Self::place(left)] |= 1 << (kind / 4);
            rights[Self::place(right)] |= 1 << (kind % 4);
        });
        let parts = |c: u32| {
            let Some(c) = char::from_u32(c) else { return ANY_PART };
            let mut bytes = [0; 4];
            let len = c.encode_utf8(&mut bytes).len() as u32;
            let unit = Character { bytes: u32::from_le_bytes(bytes), len };
            let mut parts = 0;
            for part in 0..len.min(4) {
                parts |= lefts[Self::place(unit.suffix(part))] & 1 << part;
                parts |= (rights[Self::place(unit.prefix(part))] & 1 << part) << 4;
            }
            parts
        };
        Self((0..N_KNOWN).map(parts).collect())
    }

    fn place(word: u32) -> usize {
        (word.wrapping_mul(0x9E37_79B9) >> (u32::BITS - N_KNOWN.trailing_zeros())) as usize
    }

    #[inline]
    fn of(&self, unit: Character) -> u8 {
        let byte = |n: u32| unit.bytes >> (8 * n) & 0x3F;
        let c = match unit.len {
            1 => unit.bytes,
            2 => (unit.bytes & 0x1F) << 6 | byte(1),
            3 => (unit.bytes & 0x0F) << 12 | byte(1) << 6 | byte(2),
            _ => return ANY_PART,
        };
        // An overlong form has not the bytes of its code point.
        let least = [0, 0, 0x80, 0x800][unit.len as usize & 3];
        if c < least { ANY_PART } else { self.0.get(c as usize).copied().unwrap_or(ANY_PART) }
    }
}

/// The kinds of pair of characters with such parts; see [`Cuts::kinds`].
#[inline]
fn kinds_of(left: u8, right: u8) -> u16 {
    // Each of the four low bits, four times over.
    let spread =
        u16::from(left & 1) | u16::from(left & 2) << 3 | u16::from(left & 4) << 6 | u16::from(left & 8) << 9;
    (spread * 0xF) & (u16::from(right >> 4) * 0x1111)
}

/// A character, or the part of one that a token holds, as bytes in a word.
#[derive(Clone, Copy)]
struct Character {
    bytes: u32,
    len: u32,
}

impl Character {
    fn suffix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes >> (8 * (self.len - len)) }
    }

    fn prefix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes & ((1 << (8 * len)) - 1) }
    }
}

impl Cuts {
    pub(super) fn new(vocab: &Vocab) -> Self {
        let each = |pair: &mut dyn FnMut(u32, u32, u32)| {
            for (_, token) in vocab.iter().filter(|(_, token)| !token.is_ascii()) {
                token_pairs(token, &mut *pair);
            }
        };
        let (mut n_pairs, mut kinds) = (0_usize, 0);
        each(&mut |_, _, kind| {
            n_pairs += 1;
            kinds |= 1 << kind;
        });
        let size = (n_pairs * 16).next_power_of_two().max(64);
        let shift = 64 - size.trailing_zeros();
        let mut cuts = Self { bits: vec![0; size / 64], shift, kinds, parts: Parts::new(each) };
        each(&mut |left, right, _| {
            let bit = (hash(left, right) >> cuts.shift) as usize;
            cuts.bits[bit / 64] |= 1 << (bit % 64);
        });
        cuts
    }

    /// Whether a text may be cut before every `▁` that no other `▁` stands before:
    /// `▁` is a token, and no token holds one behind another character.
    pub(super) fn at_words(vocab: &Vocab) -> bool {
        let is_inside = |token: &[u8]| {
            let from = token.chunks(MARK.len()).take_while(|chunk| *chunk == MARK).count() * MARK.len();
            memchr::memmem::find(&token[from..], MARK).is_some()
        };
        vocab.id(MARK).is_some() && !vocab.iter().any(|(_, token)| is_inside(token))
    }

    /// Fills `ends` with where runs of a piece end, from the start of one on: one or
    /// more, in order, the last of them the end of the piece or where to go on.
    /// `None` if the piece is not made of characters, which the first call tells.
    pub(super) fn runs(&self, piece: &[u8], from: usize, ends: &mut Vec<u32>) -> Option<()> {
        if from == 0 && piece.len() > STEP {
            let mut at = 0;
            while at < piece.len() {
                at += unit_at(piece, at)?.len as usize;
            }
        }
        let mut size = STEP;
        loop {
            let to = piece.len().min(from + size);
            let at = self.runs_between(piece, from, to, ends)?;
            if at == piece.len() {
                return Some(());
            }
            // The last run may go on.
            ends.pop();
            if !ends.is_empty() {
                return Some(());
            }
            size *= 2;
        }
    }

    /// Fills `ends` with where runs end among the characters that begin between
    /// `from` and `to`; returns the end of the last.
    #[inline]
    fn runs_between(&self, piece: &[u8], from: usize, to: usize, ends: &mut Vec<u32>) -> Option<usize> {
        ends.clear();
        // A run has a byte or more. Each place is written; only ends stay.
        ends.resize(to - from + 1, 0);
        let (mut n, mut at) = (0, from);
        let mut left = Character { bytes: 0, len: 1 };
        let mut left_parts = ANY_PART;
        while at < to {
            let unit = unit_at(piece, at)?;
            let parts = self.parts.of(unit);
            let kinds = self.kinds & kinds_of(left_parts, parts);
            let crosses = (left.len == 1) & (unit.len == 1) || self.may_cross(left, unit, kinds);
            // Before the first character, nothing ends.
            ends[n] = at as u32;
            n += usize::from(!crosses & (at > from));
            (left, left_parts) = (unit, parts);
            at += unit.len as usize;
        }
        ends[n] = at as u32;
        ends.truncate(n + 1);
        Some(at)
    }

    /// Whether the set has a pair.
    #[inline(always)]
    fn has(&self, left: u32, right: u32) -> bool {
        let bit = (hash(left, right) >> self.shift) as usize;
        self.bits[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Whether some token holds a pair of these characters, of one of `kinds`.
    #[inline]
    fn may_cross(&self, left: Character, right: Character, mut kinds: u16) -> bool {
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

/// The character that starts at `at`, by the shape of its bytes alone.
#[inline]
fn unit_at(bytes: &[u8], at: usize) -> Option<Character> {
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
            assert_eq!(Cuts::at_words(&Vocab::from_tokens(tokens).unwrap()), expected, "{tokens:?}");
        }
    }

    #[test]
    fn a_run_ends_where_no_token_reaches() {
        let vocab = Vocab::from_tokens([&b"a"[..], "語é".as_bytes(), b"\x9Ea", b"a\xE8\xAA", b"xy"]).unwrap();
        let cuts = Cuts::new(&vocab);
        for (piece, expected) in [
            ("語é", vec![5]),
            ("é語", vec![2, 5]),
            ("語a", vec![4]),
            ("a語", vec![4]),
            ("語語語é", vec![3, 6, 11]),
            ("ab", vec![2]),
        ] {
            let mut ends = vec![7; 3];
            cuts.runs(piece.as_bytes(), 0, &mut ends).unwrap();
            assert_eq!(ends, expected, "{piece}");
        }
        assert_eq!(cuts.runs(b"a\xE8\xAA", 0, &mut Vec::new()), None);
    }

    #[test]
    fn long_pieces_are_cut_step_by_step() {
        let cuts = Cuts::new(&Vocab::from_tokens(["a", "語é"]).unwrap());
        let letters = "a".repeat(3 * STEP);
        let piece = "語é".repeat(STEP) + &letters + &"語".repeat(STEP);
        let runs = (0..STEP).map(|n| 5 * (n + 1)).chain([5 * STEP + letters.len()]);
        let expected: Vec<usize> = runs.chain((0..STEP).map(|n| 8 * STEP + 3 * (n + 1))).collect();
        let (mut all, mut ends) = (Vec::new(), Vec::new());
        while all.last() != Some(&piece.len()) {
            cuts.runs(piece.as_bytes(), all.last().copied().unwrap_or(0), &mut ends).unwrap();
            assert!(ends.len() <= 8 * STEP / 3, "{}", ends.len());
            all.extend(ends.iter().map(|&end| end as usize));
        }
        assert_eq!(all, expected);
        let broken = [piece.as_bytes(), b"\xE8"].concat();
        assert_eq!(cuts.runs(&broken, 0, &mut ends), None);
    }

    #[test]
    fn parts_leave_out_no_pair() {
        let tokens =
            [&b"a"[..], "語é".as_bytes(), b"\x9Ea", b"a\xE8\xAA", "éa😀".as_bytes(), "\u{fff}界".as_bytes()];
        let cuts = Cuts::new(&Vocab::from_tokens(tokens).unwrap());
        let all = ["a", "b", "é", "è", "\u{fff}", "語", "誠", "界", "\u{d7ff}", "😀"];
        let mut pairs = Vec::new();
        for token in tokens {
            token_pairs(token, |left, right, kind| pairs.push((left, right, kind)));
        }
        let unit = |text: &str| unit_at(text.as_bytes(), 0).unwrap();
        let mut n_left_out = 0;
        for (left, right) in all.iter().flat_map(|left| all.map(|right| (unit(left), unit(right)))) {
            let kinds = cuts.kinds & kinds_of(cuts.parts.of(left), cuts.parts.of(right));
            for kind in (0..16).filter(|kind| kind / 4 < left.len && kind % 4 < right.len) {
                let pair = (left.suffix(kind / 4), right.prefix(kind % 4), kind);
                assert!(kinds >> kind & 1 == 1 || !pairs.contains(&pair), "{pair:?}");
                n_left_out += usize::from(kinds >> kind & 1 == 0);
            }
        }
        assert!(n_left_out > 300, "{n_left_out}");
        // Overlong: not the parts of the character it would be.
        assert_eq!(
            cuts.parts.of(Character { bytes: u32::from_le_bytes([0xE0, 0x81, 0x81, 0]), len: 3 }),
            ANY_PART
        );
    }
}
