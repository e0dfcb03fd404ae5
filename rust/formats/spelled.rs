//! Converts tokens between the strings in files and the bytes in the crate. Files spell bytes as
//! GPT-2's characters, or as text. Optimised, because a file has hundreds of thousands of tokens.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::bpe::Unit;
use crate::parallel;
use crate::text::byte_level;
use crate::vocab::{TokenId, Vocab};

/// The fewest merges for which another thread pays off.
const PARALLEL_MERGES: usize = 1 << 14;

/// The byte of each character below U+0144, or [`NO_BYTE`].
static BYTES: LazyLock<[u16; 0x144]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let byte = char::from_u32(code as u32).and_then(byte_level::char_to_byte);
        byte.map_or(NO_BYTE, u16::from)
    })
});
const NO_BYTE: u16 = 256;

/// Appends the bytes that a spelling represents, or else its text. Returns whether it represents
/// bytes.
fn push_token(spelling: &str, unit: Unit, out: &mut Vec<u8>) -> bool {
    let text = spelling.as_bytes();
    // Printable ASCII represents itself in both spellings.
    if unit == Unit::Chars || text.iter().all(u8::is_ascii_graphic) {
        out.extend_from_slice(text);
        return true;
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
            _ => {
                out.truncate(start);
                out.extend_from_slice(text);
                return false;
            }
        }
        rest = after;
    }
    true
}

/// The id of a token as a file spells it; `None` if the spelling represents no bytes.
pub(super) fn id_of(vocab: &Vocab, spelling: &str, unit: Unit) -> Option<TokenId> {
    match unit {
        Unit::Bytes => vocab.id(&byte_level::to_bytes(spelling)?),
        Unit::Chars => vocab.id(spelling.as_bytes()),
    }
}

/// The vocabulary of spelled tokens. If a token occurs twice, the last one counts, as in any JSON
/// reader that fills a map. A token that spells no bytes, such as `ş` in a vocabulary of bytes,
/// keeps its id, but no text is encoded as it.
pub(super) fn vocab(spelled: &[(Cow<'_, str>, TokenId)], unit: Unit, place: &str) -> Result<Vocab> {
    let (mut slab, mut ends) = (memory::reserved(spelled.len() * 8)?, memory::reserved(spelled.len())?);
    let (mut unreachable, mut texts) = (Vec::new(), HashSet::new());
    let mut is_twice = false;
    for (spelling, id) in spelled {
        slab.make_room(spelling.len())?;
        if !push_token(spelling, unit, &mut slab) {
            unreachable.push(*id);
            is_twice |= !texts.insert(&**spelling);
        }
        ends.push(slab.len());
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let pairs: Vec<_> =
        starts.zip(&ends).zip(spelled).map(|((start, &end), (_, id))| (&slab[start..end], *id)).collect();
    let error = match Vocab::with_unreachable(pairs, unreachable) {
        Ok(vocab) if !is_twice => return Ok(vocab),
        Ok(_) => Error::format(place, "a token is there twice"),
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

/// The merges of spelled tokens as ids. Leaves out merges of tokens that no text is encoded as,
/// because they never apply.
pub(super) fn merges<T: AsRef<str> + Sync>(
    spelled: &[(T, T)],
    vocab: &Vocab,
    unit: Unit,
    place: &str,
) -> Result<Vec<(TokenId, TokenId)>> {
    let unreachable: HashMap<&[u8], TokenId> =
        vocab.unreachable().iter().filter_map(|&id| Some((vocab.bytes(id)?, id))).collect();
    let look_up = |range: Range<usize>| -> Result<Vec<(TokenId, TokenId)>> {
        let mut buffer = Vec::new();
        let mut id = |at: usize, spelling: &str| {
            buffer.clear();
            let found = match push_token(spelling, unit, &mut buffer) {
                true => vocab.id(&buffer),
                false => unreachable.get(&buffer[..]).copied(),
            };
            found.ok_or_else(|| {
                Error::format(format!("{place}[{at}]"), format!("{spelling:?} is not in the vocabulary"))
            })
        };
        let mut merges = Vec::new();
        for (at, (left, right)) in range.clone().zip(spelled.get(range).unwrap_or_default()) {
            let (left_id, right_id) = (id(at, left.as_ref())?, id(at, right.as_ref())?);
            if vocab.is_unreachable(left_id) || vocab.is_unreachable(right_id) {
                id(at, &format!("{}{}", left.as_ref(), right.as_ref()))?;
            } else {
                merges.push((left_id, right_id));
            }
        }
        Ok(merges)
    };
    let parts = parallel::in_chunks(spelled.len(), PARALLEL_MERGES, look_up);
    Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

/// The spelling in files of a token of bytes; `None` if there is no spelling.
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
    fn spellings_round_trip() {
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
            let is_spelled = push_token(spelling, Unit::Bytes, &mut bytes);
            assert_eq!(is_spelled, byte_level::to_bytes(spelling).is_some(), "{spelling}");
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
