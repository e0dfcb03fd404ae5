//! `Chain`: the decoders of tokenizers one after the other, in any order.
//!
//! Each step takes tokens and gives tokens; text that it cannot give before it knows the next
//! token, or the last, waits. This is the reference implementation of the steps. The orders that
//! published files have are separate kinds of [`Decoder`](super::Decoder),
//! which know each token's bytes from a table. Source: tokenizers 0.23, `decoders`.

use serde::{Deserialize, Serialize};

use super::{byte_named, push_replaced, suffix, wordpiece};
use crate::error::{Error, Result};
use crate::memory;

/// A decoder of tokenizers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Step {
    /// Characters that spell bytes become these, all tokens one.
    #[serde(deserialize_with = "crate::normalizer::no_fields")]
    ByteLevel,
    /// Tokens `<0xNN>` become the text of their bytes.
    #[serde(deserialize_with = "crate::normalizer::no_fields")]
    ByteFallback,
    /// All tokens become one.
    #[serde(deserialize_with = "crate::normalizer::no_fields")]
    Fuse,
    /// Each occurrence of a string becomes another.
    Replace {
        /// The string to search; not empty.
        pattern: String,
        /// The string that replaces it.
        content: String,
    },
    /// So many characters go at the ends of each token, if they are these.
    Strip {
        /// Which character.
        content: char,
        /// How many at the start.
        start: usize,
        /// How many at the end.
        stop: usize,
    },
    /// The mark is a space; those of the first token may go.
    Metaspace {
        /// The mark of a space.
        mark: char,
        /// Whether those of the first token go.
        strip_first: bool,
    },
    /// A space before each token that does not begin with the prefix, which goes.
    WordPiece {
        /// The prefix of tokens that continue a word.
        prefix: String,
        /// Whether spaces before punctuation and English contractions go.
        cleanup: bool,
    },
    /// The suffix is a space; in the last token it is nothing.
    Suffix {
        /// The suffix that ends a word.
        suffix: String,
    },
    /// A token like the one before it goes, and padding; a delimiter is a space.
    #[serde(rename = "CTC")]
    Ctc {
        /// The token of a pause, which becomes nothing.
        pad_token: String,
        /// The token that becomes a space, if text is tidied.
        word_delimiter_token: String,
        /// Whether spaces before punctuation and English contractions go.
        cleanup: bool,
    },
}

/// More steps than any known file has; each token goes through all.
const MOST_STEPS: usize = 64;
/// How many times as long as its tokens a text may become, by all steps together.
const MOST_GROWTH: usize = 64;

/// Steps, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Steps")]
pub struct Chain {
    steps: Vec<Step>,
}

/// A chain as it is written, which nobody has checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    steps: Vec<Step>,
}

impl TryFrom<Steps> for Chain {
    type Error = Error;

    fn try_from(Steps { steps }: Steps) -> Result<Self> {
        Self::new(steps)
    }
}

/// The state of a step between the tokens of one text.
#[derive(Clone, Debug, Default)]
struct StepState {
    started: bool,
    /// The waiting token, or the start of one.
    held: Option<Vec<u8>>,
}

/// The state of each step.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChainState {
    steps: Vec<StepState>,
}

type Tokens = Vec<Vec<u8>>;

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

impl Chain {
    /// These steps.
    ///
    /// # Errors
    /// [`Error::Format`] for more steps than 64, or steps that may make a text too long.
    pub fn new(steps: Vec<Step>) -> Result<Self> {
        if steps.len() > MOST_STEPS {
            let reason = format!("{} steps in a row; at most {MOST_STEPS} are supported", steps.len());
            return Err(Error::format("decoder", reason));
        }
        let growth = steps.iter().map(Step::growth).fold(1, usize::saturating_mul);
        if growth > MOST_GROWTH {
            return Err(Error::format(
                "decoder",
                format!(
                    "its steps may make a text {growth} times as long; at most {MOST_GROWTH} times is \
                     supported: replace by shorter texts, or in fewer steps"
                ),
            ));
        }
        Ok(Self { steps })
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Appends the text that is certain after one more token.
    pub(super) fn push(
        &self,
        ChainState { steps: states }: &mut ChainState,
        token: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        states.resize_with(self.steps.len(), StepState::default);
        let mut tokens = vec![token.to_vec()];
        for ((step, is_last), state) in self.with_ends().zip(states) {
            tokens = step.take(state, tokens, is_last)?;
        }
        tokens.iter().try_for_each(|token| memory::extend(out, token))
    }

    /// Appends what waited for the last token.
    pub(super) fn finish(
        &self,
        ChainState { steps: states }: &mut ChainState,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        states.resize_with(self.steps.len(), StepState::default);
        let mut tokens = Vec::new();
        for ((step, is_last), state) in self.with_ends().zip(states.iter_mut()) {
            tokens = step.take(state, tokens, is_last)?;
            tokens.extend(step.finish(state)?);
        }
        states.clear();
        tokens.iter().try_for_each(|token| memory::extend(out, token))
    }

    /// The steps, and whether nothing comes after that looks at whole tokens.
    fn with_ends(&self) -> impl Iterator<Item = (&Step, bool)> {
        let joins = |steps: &[Step]| steps.iter().all(|step| *step == Step::Fuse);
        self.steps.iter().enumerate().map(move |(at, step)| (step, joins(&self.steps[at + 1..])))
    }
}

impl Step {
    /// How many times as long it may make a token, except for some bytes.
    fn growth(&self) -> usize {
        match self {
            Self::Replace { pattern, content } => content.len().div_ceil(pattern.len().max(1)).max(1),
            // The empty string is between all characters.
            Self::Suffix { suffix } if suffix.is_empty() => 2,
            Self::Ctc { word_delimiter_token, cleanup: true, .. } if word_delimiter_token.is_empty() => 2,
            // A byte that is not text becomes U+FFFD.
            Self::ByteLevel => 3,
            _ => 1,
        }
    }

    /// The tokens that are certain after more of them.
    fn take(&self, state: &mut StepState, tokens: Tokens, is_last: bool) -> Result<Tokens> {
        Ok(match self {
            // Later steps join everything in any case: bytes stay bytes until the end.
            Self::Fuse if is_last => tokens,
            Self::ByteLevel if is_last => tokens.iter().map(|token| of_characters(token)).collect(),
            Self::ByteFallback if is_last => tokens.into_iter().map(of_name).collect(),
            Self::Fuse | Self::ByteLevel => {
                for token in tokens {
                    let token = if *self == Self::Fuse { token } else { of_characters(&token) };
                    memory::extend(state.held.get_or_insert_default(), &token)?;
                }
                Vec::new()
            }
            Self::ByteFallback => {
                let mut given = Vec::new();
                for token in tokens {
                    match byte_named(&token) {
                        Some(byte) => memory::push(state.held.get_or_insert_default(), byte)?,
                        None => {
                            given.extend(state.held.take().map(text_of_bytes).transpose()?);
                            given.push(token);
                        }
                    }
                }
                given
            }
            Self::Suffix { suffix } => {
                let mut given = Vec::new();
                for token in tokens {
                    let before = state.held.replace(token);
                    given.extend(before.map(|token| suffix::replaced(&token, suffix, b" ")).transpose()?);
                }
                given
            }
            Self::Ctc { pad_token, word_delimiter_token, cleanup } => {
                let mut given = Vec::new();
                for token in tokens {
                    if state.held.as_ref() == Some(&token) {
                        continue;
                    }
                    let mut text = suffix::replaced(&token, pad_token, b"")?;
                    if *cleanup {
                        wordpiece::tidy(&mut text, 0);
                        text = suffix::replaced(&text, word_delimiter_token, b" ")?;
                    }
                    if !text.is_empty() {
                        given.push(text);
                    }
                    state.held = Some(token);
                }
                given
            }
            _ => tokens.into_iter().map(|token| self.one(state, token)).collect::<Result<_>>()?,
        })
    }

    /// The form of a token after a step that looks at one at a time.
    fn one(&self, state: &mut StepState, token: Vec<u8>) -> Result<Vec<u8>> {
        let is_first = !std::mem::replace(&mut state.started, true);
        Ok(match self {
            Self::Replace { pattern, content } => suffix::replaced(&token, pattern, content.as_bytes())?,
            Self::Strip { content, start, stop } => {
                let kept = stripped(&token, *content, *start, *stop);
                memory::collected(kept.iter().copied())?
            }
            Self::Metaspace { mark, strip_first } => {
                let mut out = memory::reserved(token.len())?;
                push_replaced(&token, *mark, if is_first && *strip_first { b"" } else { b" " }, &mut out);
                out
            }
            Self::WordPiece { prefix, cleanup } => {
                let mut out = memory::reserved(token.len() + 1)?;
                wordpiece::push(&token, prefix.as_bytes(), is_first, *cleanup, &mut out);
                out
            }
            _ => token,
        })
    }

    /// The token that waited.
    fn finish(&self, state: &mut StepState) -> Result<Option<Vec<u8>>> {
        let Some(held) = state.held.take() else { return Ok(None) };
        Ok(match self {
            Self::Fuse => Some(held),
            Self::ByteLevel => Some(of_text(&held)?),
            Self::ByteFallback => Some(text_of_bytes(held)?),
            Self::Suffix { suffix } => Some(suffix::replaced(&held, suffix, b"")?),
            _ => None,
        })
    }
}

/// The bytes that a token's characters spell; the token where one spells none.
fn of_characters(token: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(token);
    crate::text::byte_level::to_bytes(&text).unwrap_or_else(|| token.to_vec())
}

/// The byte that a token names, or the token.
fn of_name(token: Vec<u8>) -> Vec<u8> {
    byte_named(&token).map_or(token, |byte| vec![byte])
}

/// The text of a run of bytes, or U+FFFD for each.
fn text_of_bytes(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if std::str::from_utf8(&bytes).is_ok() {
        return Ok(bytes);
    }
    let mut text = memory::reserved(3 * bytes.len())?;
    bytes.iter().for_each(|_| text.extend_from_slice(REPLACEMENT));
    Ok(text)
}

/// Bytes as text: invalid bytes become U+FFFD.
fn of_text(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for chunk in bytes.utf8_chunks() {
        memory::extend(&mut text, chunk.valid().as_bytes())?;
        if !chunk.invalid().is_empty() {
            memory::extend(&mut text, REPLACEMENT)?;
        }
    }
    Ok(text)
}

/// A token without so many characters at its ends.
fn stripped(token: &[u8], content: char, start: usize, stop: usize) -> &[u8] {
    let mut buffer = [0; 4];
    let content = content.encode_utf8(&mut buffer).as_bytes();
    let mut rest = token;
    for _ in 0..start {
        match rest.strip_prefix(content) {
            Some(after) => rest = after,
            None => break,
        }
    }
    for _ in 0..stop {
        match rest.strip_suffix(content) {
            Some(before) => rest = before,
            None => break,
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(steps: &[Step], tokens: &[&str]) -> String {
        let chain = Chain::new(steps.to_vec()).unwrap();
        let (mut states, mut out) = (ChainState::default(), Vec::new());
        tokens.iter().for_each(|token| chain.push(&mut states, token.as_bytes(), &mut out).unwrap());
        chain.finish(&mut states, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Expected texts are those of tokenizers 0.23.3.
    #[test]
    fn steps_take_what_the_one_before_gives() {
        let replace =
            |pattern: &str, content: &str| Step::Replace { pattern: pattern.into(), content: content.into() };
        let strip = |content, start, stop| Step::Strip { content, start, stop };
        let suffix = || Step::Suffix { suffix: "a".into() };
        let ctc =
            |cleanup| Step::Ctc { pad_token: "<pad>".into(), word_delimiter_token: "|".into(), cleanup };
        let tokens = ["h", "h", "<pad>", "h", "|", "i", "i", "|", "."];
        for (steps, tokens, expected) in [
            (&[ctc(true)][..], &tokens[..], "hh i ."),
            (&[ctc(false)], &tokens, "hh|i|."),
            (&[Step::Fuse, replace("ab", "-")], &["a", "b", "a"], "-a"),
            (&[replace("ab", "-"), Step::Fuse], &["a", "b", "a"], "aba"),
            (&[Step::ByteFallback, strip('é', 1, 0)], &["<0xC3>", "<0xA9>", "é", "x"], "x"),
            (&[Step::ByteFallback, Step::Fuse], &["<0xC3>", "<0xA9>", "<0x4"], "é<0x4"),
            (&[Step::ByteLevel, replace("é", "e")], &["Ã", "©", "Ġx"], "e x"),
            (&[suffix(), replace(" ", "_")], &["ba", "ca"], "b_c"),
            (&[strip('a', 2, 1)], &["aaba", "ba"], "bb"),
            (
                &[Step::Metaspace { mark: '·', strip_first: true }, Step::Fuse, strip('x', 1, 0)],
                &["·x", "·y"],
                " y",
            ),
        ] {
            assert_eq!(decoded(steps, tokens), expected, "{steps:?}");
        }
    }

    #[test]
    fn steps_that_make_too_much_are_refused() {
        let replace = |content: &str| Step::Replace { pattern: "a".into(), content: content.into() };
        let doubling = |n: usize| vec![replace("aa"); n];
        assert!(Chain::new(doubling(6)).is_ok());
        let no_suffix = Step::Suffix { suffix: String::new() };
        for steps in [doubling(7), vec![replace(&"b".repeat(65))], vec![no_suffix; 7], vec![Step::Fuse; 65]] {
            assert!(Chain::new(steps.clone()).is_err());
            let written = serde_json::json!({ "steps": steps }).to_string();
            assert!(serde_json::from_str::<Chain>(&written).is_err());
        }
    }
}
