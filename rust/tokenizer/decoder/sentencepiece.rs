//! `SentencePieceDecoder`: tokens to text as SentencePiece's `decode` does it.
//!
//! `▁` is a space, that of the dummy prefix goes; byte tokens are bytes;
//! control tokens are nothing, the unknown token is a mark. Bytes that
//! are not UTF-8 stay what they are here: made text, a broken character is one
//! U+FFFD, where SentencePiece writes one for each byte.

use crate::text::SPACE_MARK;
use serde::{Deserialize, Serialize};

use super::{State, push_replaced};
use crate::vocab::TokenId;

/// Which `▁` at the start of a text are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StripMarks {
    /// None.
    None,
    /// One, that of the dummy prefix.
    One,
    /// One of each token while there is no text yet.
    #[default]
    All,
}

/// The properties of a model that the decoder needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentencePieceDecoder {
    /// Which marks at the start are left out.
    pub strip: StripMarks,
    /// The unknown token.
    pub unk_id: Option<TokenId>,
    /// Its spelling.
    pub unk_surface: String,
    /// Tokens that are not written, ascending.
    pub control: Vec<TokenId>,
    /// The tokens of the 256 bytes; empty where there are none.
    pub bytes: Vec<TokenId>,
}

impl SentencePieceDecoder {
    /// The text that SentencePiece writes for the unknown token if the file does not say.
    pub const UNK_SURFACE: &str = " \u{2047} ";

    /// This decoder after ids have moved; `None` for tokens that are gone.
    pub(crate) fn renumbered(&self, new_id: impl Fn(TokenId) -> Option<TokenId>) -> Self {
        let mut control: Vec<TokenId> = self.control.iter().copied().filter_map(&new_id).collect();
        control.sort_unstable();
        Self {
            unk_id: self.unk_id.and_then(&new_id),
            control,
            bytes: self.bytes.iter().map(|&id| new_id(id).unwrap_or(TokenId::MAX)).collect(),
            ..self.clone()
        }
    }

    /// The bytes of a text, given as ids with their tokens.
    pub fn decode<'a>(&self, tokens: impl IntoIterator<Item = (TokenId, &'a [u8])>) -> Vec<u8> {
        let (mut state, mut out) = (State::default(), Vec::new());
        tokens.into_iter().for_each(|(id, token)| self.push(&mut state, id, token, &mut out));
        out
    }

    pub(super) fn push(&self, state: &mut State, id: TokenId, token: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        if let Some(byte) = self.byte(id, token) {
            out.push(byte);
            state.has_text = true;
            return;
        }
        // The start is over once a mark of it went, or there is text.
        state.is_inside |= state.has_text || std::mem::take(&mut state.mark_went);
        if self.control.binary_search(&id).is_ok() {
            return;
        }
        if self.unk_id == Some(id) {
            out.extend_from_slice(self.unk_surface.as_bytes());
        } else {
            let mut buffer = [0; 4];
            let mark = SPACE_MARK.encode_utf8(&mut buffer).as_bytes();
            let rest = match token.strip_prefix(mark) {
                Some(rest) if !state.is_inside && self.strip != StripMarks::None => {
                    state.mark_went = self.strip == StripMarks::One;
                    rest
                }
                _ => token,
            };
            push_replaced(rest, SPACE_MARK, b" ", out);
        }
        state.has_text |= out.len() > from;
    }

    fn byte(&self, id: TokenId, token: &[u8]) -> Option<u8> {
        if self.bytes.is_empty() || token.len() != 6 {
            return None;
        }
        self.bytes.iter().position(|&other| other == id).map(|byte| byte as u8)
    }
}
