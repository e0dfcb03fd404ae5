//! `Decoder`: ids to bytes to text.
//!
//! A decoder says what bytes a token represents, which may depend on whether it
//! comes first. Text is made of the bytes at the end, so a character split over
//! tokens comes back whole. The kinds are the decoders of the files this crate
//! reads.

mod chain;
mod sentencepiece;
pub mod stream;
mod suffix;
pub(crate) mod table;
mod wordpiece;

use serde::{Deserialize, Serialize};

use self::chain::ChainState;
pub use self::chain::{Chain, Step};
pub use self::sentencepiece::{SentencePieceDecoder, StripMarks};
use crate::error::Result;
use crate::text::SPACE_MARK;
use crate::vocab::TokenId;

/// How tokens become bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Decoder {
    /// The bytes of the tokens, one after the other.
    #[default]
    Bytes,
    /// As [`Decoder::Bytes`], with `▁` as a space; `strip_first` leaves out
    /// those of the first token.
    Metaspace {
        /// Whether the first token's marks are left out.
        strip_first: bool,
    },
    /// `▁` is a space, `<0xNN>` a byte; then at most `strip` spaces at the
    /// start are left out (Llama, Mistral).
    ByteFallback {
        /// How many leading spaces go.
        strip: usize,
    },
    /// `▁` is a space; then at most `strip` spaces at the start are left out.
    Stripped {
        /// How many leading spaces go.
        strip: usize,
    },
    /// The suffix is a space, wherever it is in a token; in the last token
    /// it is nothing.
    Suffix {
        /// The suffix that ends a word.
        suffix: String,
    },
    /// A space before each token that does not begin with the prefix, which is
    /// left out, except at the first token (BERT).
    WordPiece {
        /// The prefix of tokens that continue a word.
        prefix: String,
        /// Whether spaces before punctuation and English contractions go.
        cleanup: bool,
    },
    /// A space between tokens, as Hugging Face joins where no decoder is named.
    Spaced,
    /// The decoder of SentencePiece.
    SentencePiece(Box<SentencePieceDecoder>),
    /// Steps in an order that the file gives; they see tokens as files spell them.
    Chain(Chain),
}

impl Decoder {
    /// The most bytes that are put between two tokens.
    pub(crate) const MOST_BETWEEN: usize = 16;

    /// Appends the bytes of a token, for which there is room unless text is held back. `state` goes with the
    /// ids of one text.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), where a decoder holds text back.
    pub(crate) fn push(&self, state: &mut State, id: TokenId, token: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let first = !std::mem::replace(&mut state.started, true);
        match self {
            Self::Bytes => out.extend_from_slice(token),
            Self::Metaspace { strip_first } => {
                push_replaced(token, SPACE_MARK, if first && *strip_first { b"" } else { b" " }, out);
            }
            Self::ByteFallback { strip } | Self::Stripped { strip } => {
                if first {
                    state.to_strip = *strip;
                }
                let from = out.len();
                match byte_named(token).filter(|_| matches!(self, Self::ByteFallback { .. })) {
                    Some(byte) => out.push(byte),
                    None => push_replaced(token, SPACE_MARK, b" ", out),
                }
                let spaces =
                    out[from..].iter().take(state.to_strip).take_while(|&&byte| byte == b' ').count();
                // The run of spaces continues only if the whole token was spaces.
                state.to_strip = if out.len() == from + spaces { state.to_strip - spaces } else { 0 };
                out.drain(from..from + spaces);
            }
            Self::Suffix { suffix } => suffix::push(suffix, state, token, out)?,
            Self::SentencePiece(decoder) => decoder.push(state, id, token, out),
            Self::WordPiece { prefix, cleanup } => {
                wordpiece::push(token, prefix.as_bytes(), first, *cleanup, out);
            }
            Self::Chain(chain) => chain.push(state.chain.get_or_insert_default(), token, out)?,
            Self::Spaced => {
                if !first {
                    out.push(b' ');
                }
                out.extend_from_slice(token);
            }
        }
        Ok(())
    }

    /// A state in which each token represents the same bytes whatever came before,
    /// and after which it still does; `None` where there is no such state.
    pub(crate) fn settled(&self) -> Option<State> {
        let settled = State { started: true, has_text: true, is_inside: true, ..State::default() };
        Some(settled).filter(|state| self.is_settled(state))
    }

    /// Whether a state is like that.
    pub(crate) fn is_settled(&self, state: &State) -> bool {
        match self {
            Self::Bytes => true,
            Self::Metaspace { .. } | Self::WordPiece { .. } | Self::Spaced => state.started,
            Self::ByteFallback { .. } | Self::Stripped { .. } => state.started && state.to_strip == 0,
            Self::SentencePiece(_) => state.is_inside,
            // The end of each token waits for the next.
            Self::Suffix { .. } | Self::Chain(_) => false,
        }
    }

    /// Appends the text that was held back until the last token was known.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub(crate) fn finish(&self, state: &mut State, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Suffix { suffix } => suffix::finish(suffix, state, out)?,
            Self::Chain(chain) => chain.finish(state.chain.get_or_insert_default(), out)?,
            _ => {}
        }
        Ok(())
    }
}

/// The byte that a token `<0xNN>` names, as Hugging Face reads it.
fn byte_named(token: &[u8]) -> Option<u8> {
    let digits = token.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(digits, 16).ok()
}

/// The state of a decoder between the tokens of one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    started: bool,
    to_strip: usize,
    /// The end of the token before, from its first suffix on.
    held: Vec<u8>,
    has_text: bool,
    mark_went: bool,
    is_inside: bool,
    /// Of a chain.
    chain: Option<Box<ChainState>>,
}

fn push_replaced(token: &[u8], mark: char, by: &[u8], out: &mut Vec<u8>) {
    let mut buffer = [0; 4];
    let mark = mark.encode_utf8(&mut buffer).as_bytes();
    let mut end = 0;
    for at in memchr::memmem::find_iter(token, mark) {
        out.extend_from_slice(&token[end..at]);
        out.extend_from_slice(by);
        end = at + mark.len();
    }
    out.extend_from_slice(&token[end..]);
}
