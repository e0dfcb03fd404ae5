//! Writes how SentencePiece removes `▁` at the start of a decoded text as a `Strip` step of Hugging
//! Face.
//!
//! SentencePiece removes a `▁` from the first token, or from each token as long as the text is
//! empty. `Strip` runs after the tokens are joined and removes spaces, including spaces that were
//! no `▁`. The results are equal, except for the kinds of pieces that are reported here.

use crate::text::SPACE_MARK_BYTES;
use crate::tokenizer::decoder::{SentencePieceDecoder, StripMarks};
use crate::vocab::{TokenId, Vocab};

/// The number for `Strip` that removes all spaces.
const ALL: u32 = u32::MAX;

/// How many spaces `Strip` removes for this decoder, and the differences that remain, in sentences.
pub(super) fn as_strip(decoder: &SentencePieceDecoder, vocab: &Vocab) -> (u32, Vec<&'static str>) {
    let is_written = |id: TokenId, piece: &[u8]| {
        let is_byte = piece.len() == 6 && decoder.bytes.contains(&id);
        !is_byte && decoder.unk_id != Some(id) && decoder.control.binary_search(&id).is_err()
    };
    let (mut marked, mut doubled) = (false, false);
    // The token of the byte 0x20 decodes to a space without a `▁`.
    let mut has_space = !decoder.bytes.is_empty();
    for (_, piece) in vocab.iter().filter(|(id, piece)| is_written(*id, piece)) {
        has_space |= piece.starts_with(b" ");
        if let Some(rest) = piece.strip_prefix(&SPACE_MARK_BYTES) {
            marked = true;
            doubled |= rest.starts_with(b" ") || rest.starts_with(&SPACE_MARK_BYTES);
        }
    }
    let (strip, doubled) = match decoder.strip {
        StripMarks::All if marked && !doubled => (ALL, false),
        StripMarks::All if marked => (1, true),
        StripMarks::One if marked => (1, false),
        StripMarks::None | StripMarks::One | StripMarks::All => (0, false),
    };
    let mut differences = Vec::new();
    if doubled {
        differences.push(
            "of several tokens ▁ at the start of a text only the first is left out in decoding, \
             as a token begins with two",
        );
    }
    if strip > 0 && has_space {
        differences.push("decoding leaves out a space at the start of a text even if no ▁ was added there");
    }
    (strip, differences)
}
