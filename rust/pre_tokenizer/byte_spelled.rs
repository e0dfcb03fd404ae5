//! `ByteSpelled`: splitters that see each byte as a separate character, as splitters after
//! `ByteLevel` do in Hugging Face (Falcon).
//!
//! The text itself is not rewritten; only the splitters see the spelling, so a piece may begin
//! inside a character. For example the byte 0xB2 is spelled `²`, which is a number to a splitter.

use std::ops::Range;

use super::{PreTokenizer, sequence};
use crate::error::Error;
use crate::memory::MakeRoom;
use crate::text::byte_level::BYTE_TO_CHAR;
use crate::text::pattern::StepBudget;

/// Calls `f` with each piece of `text`. Pieces may end inside a character.
pub(super) fn visit_pieces<E: From<Error>>(
    steps: &[PreTokenizer],
    text: &str,
    budget: &StepBudget,
    f: &mut dyn FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let mut spelled = String::new();
    spelled.make_room(2 * text.len())?;
    spelled.extend(text.bytes().map(|byte| BYTE_TO_CHAR[usize::from(byte)]));
    // Where the last piece ended, in the spelling and in the text.
    let (mut spelled_end, mut end) = (0, 0);
    sequence::visit_pieces(steps, &spelled, 0, budget, &mut |piece: Range<usize>| {
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
    fn splitters_see_bytes_as_characters() {
        let numbers = Split { delimiter: Delimiter::Number, behavior: Behavior::Contiguous, invert: false };
        let steps = [PreTokenizer::Split(numbers)];
        let mut pieces = Vec::new();
        // The byte 0xB2 of ò is spelled ², the byte 0xA9 of é is spelled ©, and a space Ġ.
        let text = "a 12òé3";
        let done =
            visit_pieces(&steps, text, &StepBudget::of(text.len()), &mut |piece| -> Result<(), Error> {
                pieces.push(&text.as_bytes()[piece]);
                Ok(())
            });
        assert!(done.is_ok());
        assert_eq!(pieces, [b"a ", &b"12"[..], b"\xC3", b"\xB2", b"\xC3\xA9", b"3"]);
    }
}
