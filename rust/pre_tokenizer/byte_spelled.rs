//! `ByteSpelled`: splitters that see each byte as a character of its own, as those behind
//! `ByteLevel` do in tokenizers (Falcon).
//!
//! The text stays what it is: it is spelled for the splitters alone, and a piece may begin
//! inside a character. So a byte such as 0xB2, which is spelled `²`, is a number there.

use std::ops::Range;

use super::{PreTokenizer, sequence};
use crate::error::Error;
use crate::memory::MakeRoom;
use crate::text::byte_level::BYTE_TO_CHAR;
use crate::text::pattern::StepBudget;

/// Calls `f` with the pieces of `text`, which need not end on characters.
pub(super) fn walk<E: From<Error>>(
    steps: &[PreTokenizer],
    text: &str,
    budget: &StepBudget,
    f: &mut dyn FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let mut spelled = String::new();
    spelled.make_room(2 * text.len())?;
    spelled.extend(text.bytes().map(|byte| BYTE_TO_CHAR[usize::from(byte)]));
    // Where the last piece ended, in the text as it is spelled and as it is.
    let (mut spelled_end, mut end) = (0, 0);
    sequence::walk(steps, &spelled, 0, budget, &mut |piece: Range<usize>| {
        let start = end + spelled[spelled_end..piece.start].chars().count();
        (spelled_end, end) = (piece.end, start + spelled[piece].chars().count());
        f(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre_tokenizer::{Behavior, Delimiter, Split};

    /// Expected pieces are those of tokenizers 0.23.3.
    #[test]
    fn bytes_are_seen_as_characters() {
        let numbers = Split { delimiter: Delimiter::Number, behavior: Behavior::Contiguous, invert: false };
        let steps = [PreTokenizer::Split(numbers)];
        let mut pieces = Vec::new();
        // 0xB2 of ò is spelled ², 0xA9 of é is ©, a space is Ġ.
        let text = "a 12òé3";
        let done = walk(&steps, text, &StepBudget::of(text.len()), &mut |piece| -> Result<(), Error> {
            pieces.push(&text.as_bytes()[piece]);
            Ok(())
        });
        assert!(done.is_ok());
        assert_eq!(pieces, [b"a ", &b"12"[..], b"\xC3", b"\xB2", b"\xC3\xA9", b"3"]);
    }
}
