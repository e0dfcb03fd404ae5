//! `StreamEncoder`: push text, get ids that no later text changes.
//!
//! It holds the text behind the last safe place (`SafePlaces`) and no other. Each place is examined once and
//! each byte is encoded once, so that the time is linear in the text, however it is cut. A text without a
//! safe place is held until it ends.

use std::sync::Arc;

use super::encode_more::ResumePoint;
use super::safe_places::SafePlaces;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory::MakeRoom;
use crate::tokenizer::added_tokens::Specials;
use crate::vocab::TokenId;

/// Encodes a text that comes in parts.
///
/// ```
/// # use std::sync::Arc;
/// # use sentitok::{EncodeOptions, Tokenizer, tokenizer::stream_encoder::StreamEncoder};
/// # let json = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "ab": 3}, "merges": ["a b"]},
/// #   "pre_tokenizer": {"type": "WhitespaceSplit"}}"#;
/// let tokenizer = Arc::new(Tokenizer::from_bytes(json.as_bytes())?);
/// let mut encoder = StreamEncoder::new(tokenizer.clone(), EncodeOptions::default())?;
/// let mut ids = Vec::new();
/// for part in ["a", "b ", "a"] {
///     ids.extend(encoder.push(part)?);
/// }
/// ids.extend(encoder.finish()?);
/// assert_eq!(ids, tokenizer.encode("ab a", EncodeOptions::default())?.ids);
/// # Ok::<(), sentitok::Error>(())
/// ```
pub struct StreamEncoder {
    tokenizer: Arc<Tokenizer>,
    specials: Chosen,
    add_special_tokens: bool,
    seed: u64,
    /// The text from the last safe place on.
    tail: String,
    /// Where the tail begins.
    from: ResumePoint,
    /// Places up to here are not safe, of the tail.
    examined: usize,
    /// No token ends between here and `examined`; at this place of the tail the search for tokens may begin.
    searched: usize,
    state: State,
}

/// How far a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing came out.
    Fresh,
    /// The template's tokens before the text have been returned.
    Begun,
    /// A part failed: the rest is encoded at the end.
    Held,
    /// All came out.
    Finished,
}

/// [`Specials`] that owns its names.
enum Chosen {
    None,
    All,
    Raise,
    Only(Vec<String>),
}

impl StreamEncoder {
    /// An encoder at the start of a text. Of the options it takes the special tokens, and the seed of a model
    /// with dropout.
    ///
    /// # Errors
    /// [`Error::Encode`] for a template that does not hold the text once, and for `max_tokens` or `spans`.
    pub fn new(tokenizer: Arc<Tokenizer>, options: EncodeOptions<'_>) -> Result<Self> {
        let refused = match () {
            () if !tokenizer.template.holds_text_once() => {
                Some("the template of this tokenizer does not hold a text once; encode texts whole")
            }
            () if options.max_tokens.is_some() => Some("`max_tokens` is for whole texts; count the ids"),
            () if options.spans => Some("spans are kept of whole texts only; turn off `spans`"),
            () => None,
        };
        if let Some(reason) = refused {
            return Err(Error::Encode(format!("a text that comes in parts: {reason}")));
        }
        let specials = match options.specials {
            Specials::None => Chosen::None,
            Specials::All => Chosen::All,
            Specials::Raise => Chosen::Raise,
            Specials::Only(names) => Chosen::Only(names.to_vec()),
        };
        tokenizer.policy(specials.get())?.safe_places(&tokenizer.pipeline)?;
        Ok(Self {
            tokenizer,
            specials,
            add_special_tokens: options.add_special_tokens,
            seed: options.seed,
            tail: String::new(),
            from: ResumePoint::default(),
            examined: 0,
            searched: 0,
            state: State::Fresh,
        })
    }

    /// Takes the next part of the text; returns the ids that are final now, often none.
    ///
    /// # Errors
    /// [`Error::Encode`] after [`StreamEncoder::finish`], and as [`Tokenizer::encode`], of which some come
    /// with the end of the text.
    pub fn push(&mut self, text: &str) -> Result<Vec<TokenId>> {
        let mut ids = self.begun()?;
        if self.tail.try_reserve(text.len()).is_err() {
            return Err(crate::memory::missing::<u8>(text.len()));
        }
        self.tail.push_str(text);
        if self.state != State::Held {
            self.advance(&mut ids)?;
        }
        Ok(ids)
    }

    /// Ends the text; returns the ids that are left.
    ///
    /// # Errors
    /// As [`StreamEncoder::push`]; else as [`Tokenizer::encode`].
    pub fn finish(&mut self) -> Result<Vec<TokenId>> {
        let mut ids = self.begun()?;
        self.state = State::Finished;
        let tail = std::mem::take(&mut self.tail);
        self.encode(&tail, false, &mut ids)?;
        if self.add_special_tokens {
            let after = self.tokenizer.template.around_single().1;
            ids.make_room(after.len())?;
            ids.extend(after);
        }
        Ok(ids)
    }

    /// Refuses a text that has ended.
    ///
    /// # Errors
    /// [`Error::Encode`] after [`StreamEncoder::finish`].
    pub fn check_open(&self) -> Result<()> {
        match self.state {
            State::Finished => Err(Error::Encode(
                "this StreamEncoder is finished: its text ended; make another one for the next text".into(),
            )),
            State::Fresh | State::Begun | State::Held => Ok(()),
        }
    }

    /// How many bytes of text it holds, whose ids are not final.
    pub fn n_held(&self) -> usize {
        self.tail.len()
    }

    /// The ids with which the output begins, if it does now.
    fn begun(&mut self) -> Result<Vec<TokenId>> {
        self.check_open()?;
        if self.state != State::Fresh || !self.add_special_tokens {
            return Ok(Vec::new());
        }
        self.state = State::Begun;
        Ok(self.tokenizer.template.around_single().0)
    }

    /// Encodes up to the last safe place.
    fn advance(&mut self, ids: &mut Vec<TokenId>) -> Result<()> {
        let Some(at) = self.next_place()? else { return Ok(()) };
        let tail = std::mem::take(&mut self.tail);
        let n = ids.len();
        let done = self.encode(&tail[..at], true, ids);
        self.tail = tail;
        match done {
            Ok(()) => {
                self.tail.drain(..at);
                self.examined = self.examined.saturating_sub(at);
                self.searched = self.searched.saturating_sub(at);
                Ok(())
            }
            Err(error) => {
                ids.truncate(n);
                self.state = State::Held;
                // The text as a whole may be within a limit of the normalizer that a part is not.
                let may_pass = matches!(error, Error::Encode(_)) && !matches!(self.specials, Chosen::Raise);
                if may_pass && self.tokenizer.pipeline.normalizer.is_some() { Ok(()) } else { Err(error) }
            }
        }
    }

    /// The last safe place of the tail.
    fn next_place(&mut self) -> Result<Option<usize>> {
        let tokenizer = self.tokenizer.clone();
        let policy = tokenizer.policy(self.specials.get())?.at(self.from.at + self.searched);
        let places: &SafePlaces = policy.safe_places(&tokenizer.pipeline)?;
        if places.are_none() {
            return Ok(None);
        }
        let found = places.find(&tokenizer.pipeline, &self.tail, self.examined);
        self.examined = found.examined;
        if found.safe.is_some() {
            return Ok(found.safe);
        }
        let Some(clean) = found.clean.filter(|&clean| clean > self.searched) else { return Ok(None) };
        let end = tokenizer.last_token_end(&policy, &self.tail[self.searched..clean])?;
        let end = end.map(|end| self.searched + end);
        self.searched = clean;
        Ok(end.filter(|&end| places.may_resume_at(&self.tail, end)))
    }

    /// Appends the ids of the next part.
    fn encode(&mut self, part: &str, is_open: bool, ids: &mut Vec<TokenId>) -> Result<()> {
        let tokenizer = &self.tokenizer;
        let options = EncodeOptions {
            add_special_tokens: self.add_special_tokens,
            specials: self.specials.get(),
            seed: self.seed,
            ..EncodeOptions::default()
        };
        let policy = tokenizer.policy(options.specials)?.at(self.from.at);
        let places = policy.safe_places(&tokenizer.pipeline)?;
        tokenizer.encode_part(&policy, places, part, is_open, &options, &mut self.from, ids)
    }
}

impl Chosen {
    fn get(&self) -> Specials<'_> {
        match self {
            Self::None => Specials::None,
            Self::All => Specials::All,
            Self::Raise => Specials::Raise,
            Self::Only(names) => Specials::Only(names),
        }
    }
}
