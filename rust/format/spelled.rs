//! Tokens as files spell them: bytes as GPT-2's characters, or as text.
//!
//! The border between strings in files and bytes in the crate, both ways. Fast,
//! because a file has hundreds of thousands of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::bpe::Unit;
use crate::byte_level;
use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::vocab::{TokenId, Vocab};

/// Merges that one thread looks up; fewer are not worth two.
const PARALLEL_MERGES: usize = 1 << 14;

/// The byte of each character below U+0144, or [`NO_BYTE`].
static BYTES: LazyLock<[u16; 0x144]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let byte = char::from_u32(code as u32).and_then(byte_level::char_to_byte);
        byte.map_or(NO_BYTE, u16::from)
    })
});
const NO_BYTE: u16 = 256;

/// The bytes a token's spelling stands for, appended to `out`.
fn push_token(spelling: &str, unit: Unit, out: &mut Vec<u8>) {
    let text = spelling.as_bytes();
    // Visible ASCII stands for itself, in either spelling.
    if unit == Unit::Chars || text.iter().all(u8::is_ascii_graphic) {
        out.extend_from_slice(text);
        return;
    }
    let (bytes, start) = (&*BYTES, out.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let (code, after) = match (*first, after) {
            (0..=0x7F, after) => (usize::from(*first), after),
            (0xC2..=0xC5, [second, after @ ..]) => {
                (usize::from(*first & 0x1F) << 6 | usize::from(*second & 0x3F), after)
            }
            _ => (usize::MAX, after),
        };
        match bytes.get(code) {
            Some(&byte) if byte != NO_BYTE => out.push(byte as u8),
            // Not byte-level, so out of reach of any merge: kept as text.
            _ => {
                out.truncate(start);
                out.extend_from_slice(text);
                return;
            }
        }
        rest = after;
    }
}

/// The id of a token as a file spells it; what spells no bytes is none.
pub(super) fn id_of(vocab: &Vocab, spelling: &str, unit: Unit) -> Option<TokenId> {
    match unit {
        Unit::Bytes => vocab.id(&byte_level::to_bytes(spelling)?),
        Unit::Chars => vocab.id(spelling.as_bytes()),
    }
}

/// The vocabulary of spelled tokens; of a token that stands twice, the last
/// counts, as for every JSON reader that fills a map.
pub(super) fn vocab(spelled: &[(Cow<'_, str>, TokenId)], unit: Unit, place: &str) -> Result<Vocab> {
    let (mut slab, mut ends) = (memory::reserved(spelled.len() * 8)?, memory::reserved(spelled.len())?);
    for (spelling, _) in spelled {
        memory::reserve(&mut slab, spelling.len())?;
        push_token(spelling, unit, &mut slab);
        ends.push(slab.len());
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let pairs: Vec<_> =
        starts.zip(&ends).zip(spelled).map(|((start, &end), (_, id))| (&slab[start..end], *id)).collect();
    let error = match Vocab::from_pairs(pairs) {
        Ok(vocab) => return Ok(vocab),
        Err(error) => error,
    };
    let last: HashMap<&str, TokenId> = spelled.iter().map(|(spelling, id)| (&**spelling, *id)).collect();
    if last.len() < spelled.len() {
        let once: Vec<_> = last.into_iter().map(|(spelling, id)| (Cow::Borrowed(spelling), id)).collect();
        return vocab(&once, unit, place);
    }
    Err(match error {
        Error::Format { reason, .. } => Error::format(place, reason),
        other => other,
    })
}

/// Merges of spelled tokens as ids.
pub(super) fn merges<T: AsRef<str> + Sync>(
    spelled: &[(T, T)],
    vocab: &Vocab,
    unit: Unit,
    place: &str,
) -> Result<Vec<(TokenId, TokenId)>> {
    let look_up = |range: Range<usize>| -> Result<Vec<(TokenId, TokenId)>> {
        let mut buffer = Vec::new();
        let mut id = |at: usize, spelling: &str| {
            buffer.clear();
            push_token(spelling, unit, &mut buffer);
            vocab.id(&buffer).ok_or_else(|| {
                Error::format(format!("{place}[{at}]"), format!("{spelling:?} is not in the vocabulary"))
            })
        };
        range
            .clone()
            .zip(spelled.get(range).unwrap_or_default())
            .map(|(at, (left, right))| Ok((id(at, left.as_ref())?, id(at, right.as_ref())?)))
            .collect()
    };
    let parts = parallel::in_chunks(spelled.len(), PARALLEL_MERGES, look_up);
    Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

/// How the files spell a token of bytes; `None` if they cannot.
pub(super) fn spell(bytes: &[u8], unit: Unit) -> Option<Cow<'_, str>> {
    match unit {
        Unit::Bytes => Some(match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Cow::Borrowed(text),
            _ => Cow::Owned(byte_level::to_chars(bytes)),
        }),
        Unit::Chars => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_and_bytes() {
        for (spelling, expected) in [
            ("film", &b"film"[..]),
            ("Ġfilm", b" film"),
            ("Ċ", b"\n"),
            ("ÃŁ", "ß".as_bytes()),
            ("Ń", b"\xad"),
            ("a b", b"a b"),
            ("ń", "ń".as_bytes()),
            ("Ġ▁", "Ġ▁".as_bytes()),
            ("", b""),
        ] {
            let mut bytes = b"x".to_vec();
            push_token(spelling, Unit::Bytes, &mut bytes);
            assert_eq!(&bytes[1..], expected, "{spelling}");
            bytes.clear();
            push_token(spelling, Unit::Chars, &mut bytes);
            assert_eq!(bytes, spelling.as_bytes());
        }
        for byte in 0..=255 {
            let mut bytes = Vec::new();
            push_token(&spell(&[byte], Unit::Bytes).unwrap(), Unit::Bytes, &mut bytes);
            assert_eq!(bytes, [byte]);
        }
    }
}
