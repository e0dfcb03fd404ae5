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
//! The set is a Bloom filter of one hash: an error only leaves out a cut.

use crate::vocab::Vocab;

/// What stands for a space in models over characters.
const MARK: &[u8] = "▁".as_bytes();

/// Where the words of a text end, each with the `▁` before it; see [`Cuts::at_words`].
pub(super) fn word_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    let is_start = |at: &usize| *at > 0 && text[*at..].starts_with(MARK) && !text[..*at].ends_with(MARK);
    memchr::memchr_iter(MARK[0], text).filter(is_start).chain((!text.is_empty()).then_some(text.len()))
}

/// The set of pairs that tokens hold together, and which kinds of pair it has.
#[derive(Clone, Default)]
pub(super) struct Cuts {
    bits: Vec<u64>,
    shift: u32,
    /// Bit `4 * s + p`: some token holds a suffix of `s` bytes and a prefix of
    /// `p` bytes, 0 standing for the whole character.
    kinds: u16,
}

/// A character, or the part of one that a token holds, as bytes in a word.
#[derive(Clone, Copy)]
struct Unit {
    bytes: u32,
    len: u32,
}

impl Unit {
    fn suffix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes >> (8 * (self.len - len)) }
    }

    fn prefix(self, len: u32) -> u32 {
        if len == 0 { self.bytes } else { self.bytes & ((1 << (8 * len)) - 1) }
    }
}

impl Cuts {
    pub(super) fn new(vocab: &Vocab) -> Self {
        let each = |pair: &mut dyn FnMut(u64, u32)| {
            for (_, token) in vocab.iter().filter(|(_, token)| !token.is_ascii()) {
                token_pairs(token, |left, right, kind| pair(hash(left, right), kind));
            }
        };
        let (mut n_pairs, mut kinds) = (0_usize, 0);
        each(&mut |_, kind| {
            n_pairs += 1;
            kinds |= 1 << kind;
        });
        let size = (n_pairs * 16).next_power_of_two().max(64);
        let mut cuts = Self { bits: vec![0; size / 64], shift: 64 - size.trailing_zeros(), kinds };
        each(&mut |pair, _| {
            let bit = (pair >> cuts.shift) as usize;
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

    /// Calls `run` with the ends of the runs of a piece, in order; `None` if
    /// the piece is not made of characters.
    pub(super) fn runs(&self, piece: &[u8], mut run: impl FnMut(usize, usize)) -> Option<()> {
        let mut start = 0;
        let mut at = 0;
        let mut before: Option<Unit> = None;
        while at < piece.len() {
            let unit = unit_at(piece, at)?;
            if let Some(left) = before
                && (left.len > 1 || unit.len > 1)
                && !self.may_cross(left, unit)
            {
                run(start, at);
                start = at;
            }
            before = Some(unit);
            at += unit.len as usize;
        }
        run(start, at);
        Some(())
    }

    #[inline]
    fn may_cross(&self, left: Unit, right: Unit) -> bool {
        let mut kinds = self.kinds;
        while kinds != 0 {
            let kind = kinds.trailing_zeros();
            kinds &= kinds - 1;
            let (suffix, prefix) = (kind / 4, kind % 4);
            if suffix < left.len && prefix < right.len {
                let bit = (hash(left.suffix(suffix), right.prefix(prefix)) >> self.shift) as usize;
                if self.bits[bit / 64] >> (bit % 64) & 1 == 1 {
                    return true;
                }
            }
        }
        false
    }
}

/// The character that starts at `at`, by the shape of its bytes alone.
#[inline]
fn unit_at(bytes: &[u8], at: usize) -> Option<Unit> {
    let is_tail = |byte: &&u8| **byte & 0xC0 == 0x80;
    let lead = u32::from(*bytes.get(at)?);
    let tail = |n: usize| bytes.get(at + n).filter(is_tail).map(|&byte| u32::from(byte) << (8 * n));
    Some(match lead {
        0x00..0x80 => Unit { bytes: lead, len: 1 },
        0xC0..0xE0 => Unit { bytes: lead | tail(1)?, len: 2 },
        0xE0..0xF0 => Unit { bytes: lead | tail(1)? | tail(2)?, len: 3 },
        0xF0..0xF8 => Unit { bytes: lead | tail(1)? | tail(2)? | tail(3)?, len: 4 },
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
            ("語é", vec![(0, 5)]),
            ("é語", vec![(0, 2), (2, 5)]),
            ("語a", vec![(0, 4)]),
            ("a語", vec![(0, 4)]),
            ("語語語é", vec![(0, 3), (3, 6), (6, 11)]),
            ("ab", vec![(0, 2)]),
        ] {
            let mut runs = Vec::new();
            cuts.runs(piece.as_bytes(), |start, end| runs.push((start, end))).unwrap();
            assert_eq!(runs, expected, "{piece}");
        }
        assert_eq!(cuts.runs(b"a\xE8\xAA", |_, _| ()), None);
    }
}
