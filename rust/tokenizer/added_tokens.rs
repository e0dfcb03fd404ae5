//! Added tokens: strings that are one token wherever they occur in a text, longest match first.
//!
//! One automaton finds them in the text as it was given, another those marked `normalized` in normalized text.
//!
//! *Special* ones frame data (`<|endoftext|>`); text from outside must not be
//! able to name them, so they match only when the caller says so. The rules of
//! `single_word`, `lstrip`, `rstrip` and `normalized` are Hugging Face's.

mod bounds;
mod matcher;

use std::collections::HashMap;

pub(crate) use self::bounds::Bounds;
pub(crate) use self::matcher::{Matchers, Section, Side};
use crate::error::{Error, Result};
use crate::normalizer::Normalizer;
use crate::vocab::TokenId;

/// A string that is one token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AddedToken {
    /// The string.
    pub content: String,
    /// Its id.
    pub id: TokenId,
    /// Whether it frames data: matched and decoded only on request.
    pub special: bool,
    /// Whether it matches only where no word character touches it.
    pub single_word: bool,
    /// Whether a match includes the white space before it.
    pub lstrip: bool,
    /// Whether a match includes the white space after it.
    pub rstrip: bool,
    /// Whether it is looked for in the normalized text.
    pub normalized: bool,
}

impl AddedToken {
    /// A special token without further rules.
    pub fn special(content: impl Into<String>, id: TokenId) -> Self {
        Self {
            content: content.into(),
            id,
            special: true,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
        }
    }
}

/// A token to add, whose id follows from the tokenizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewToken {
    /// A special token; one that is there already keeps its rules.
    Special(String),
    /// A token with rules, which are then those of one that is there already. Its id is not read.
    Ruled(AddedToken),
}

impl NewToken {
    /// The string.
    pub fn content(&self) -> &str {
        match self {
            Self::Special(content) => content,
            Self::Ruled(token) => &token.content,
        }
    }

    /// This token with an id.
    fn with_id(self, id: TokenId) -> AddedToken {
        match self {
            Self::Special(content) => AddedToken::special(content, id),
            Self::Ruled(token) => AddedToken { id, ..token },
        }
    }
}

/// Which special tokens of a text are tokens, and not just text.
#[derive(Clone, Copy, Debug, Default)]
pub enum Specials<'a> {
    /// None: text stays text.
    #[default]
    None,
    /// All of them, as Hugging Face does.
    All,
    /// Those named.
    Only(&'a [String]),
    /// None, and to find one is an error, as in tiktoken.
    Raise,
}

/// Some of the special tokens: one bit for each added token, by its place.
pub(crate) type Named = Box<[u64]>;

/// All added tokens of a tokenizer.
#[derive(Clone, Default)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    by_content: HashMap<String, usize>,
    by_id: HashMap<TokenId, usize>,
    normalizer: Option<Normalizer>,
}

impl AddedTokens {
    /// Takes `tokens`; those with `normalized` are looked for as `normalizer`
    /// leaves them.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty token, or a repeated one.
    pub fn new(mut tokens: Vec<AddedToken>, normalizer: Option<&Normalizer>) -> Result<Self> {
        tokens.sort_by_key(|token| token.id);
        let mut by_content = HashMap::with_capacity(tokens.len());
        let mut by_id = HashMap::with_capacity(tokens.len());
        for (at, token) in tokens.iter().enumerate() {
            if token.content.is_empty() {
                return Err(Error::format("added token", format!("id {} has no text", token.id)));
            }
            if by_content.insert(token.content.clone(), at).is_some() {
                return Err(Error::format("added token", format!("{:?} occurs twice", token.content)));
            }
            if by_id.insert(token.id, at).is_some() {
                return Err(Error::format("added token", format!("id {} occurs twice", token.id)));
            }
        }
        Ok(Self { tokens, by_content, by_id, normalizer: normalizer.cloned() })
    }

    /// The tokens by ascending id.
    pub fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    /// The token with this text.
    pub fn by_content(&self, content: &str) -> Option<&AddedToken> {
        self.by_content.get(content).map(|&at| &self.tokens[at])
    }

    /// The token with this id.
    pub fn by_id(&self, id: TokenId) -> Option<&AddedToken> {
        // Most tokenizers have a few added tokens, all at one end of the ids.
        self.by_id.get(&id).map(|&at| &self.tokens[at])
    }

    /// These tokens with more of them: existing ones become special or get the new
    /// rules; the id of a new one is given by `id_of`, or else comes after `max_id`.
    ///
    /// # Errors
    /// [`Error::Encode`] when ids run out.
    pub(crate) fn with(
        &self,
        new: impl IntoIterator<Item = NewToken>,
        max_id: TokenId,
        id_of: impl Fn(&str) -> Option<TokenId>,
    ) -> Result<Vec<AddedToken>> {
        let (mut tokens, mut places, mut next) = (self.tokens.clone(), self.by_content.clone(), max_id);
        for token in new {
            if let Some(&at) = places.get(token.content()) {
                match token {
                    NewToken::Special(_) => tokens[at].special = true,
                    NewToken::Ruled(_) => tokens[at] = token.with_id(tokens[at].id),
                }
                continue;
            }
            let id = match id_of(token.content()) {
                Some(id) => id,
                None => {
                    next = next.checked_add(1).ok_or_else(|| Error::Encode("no id is left".into()))?;
                    next
                }
            };
            places.insert(token.content().to_owned(), tokens.len());
            tokens.push(token.with_id(id));
        }
        Ok(tokens)
    }

    /// The special tokens with these names.
    ///
    /// # Errors
    /// [`Error::Encode`] for a name that is not a special token, the least of many.
    pub(crate) fn named(&self, names: &[String]) -> Result<Named> {
        let mut named = vec![0; self.tokens.len().div_ceil(64)].into_boxed_slice();
        let mut unknown: Option<&String> = None;
        for name in names {
            match self.by_content.get(name) {
                Some(&at) if self.tokens[at].special => named[at / 64] |= 1 << (at % 64),
                _ => unknown = Some(unknown.map_or(name, |least| least.min(name))),
            }
        }
        match unknown {
            None => Ok(named),
            Some(name) => Err(self.unknown_name(name)),
        }
    }

    /// Which tokens match when the special ones among them are those named.
    pub(crate) fn matching<'a>(&'a self, named: &'a Named) -> impl Fn(usize) -> bool + 'a {
        |at| !self.tokens[at].special || named[at / 64] >> (at % 64) & 1 == 1
    }

    /// The automata of the tokens at the places `wanted`.
    ///
    /// # Errors
    /// [`Error::Format`] if they are too large for an automaton.
    pub(crate) fn matchers(&self, wanted: impl Fn(usize) -> bool) -> Result<Matchers> {
        let places: Vec<usize> = (0..self.tokens.len()).filter(|&at| wanted(at)).collect();
        Matchers::new(&self.tokens, &places, self.normalizer.as_ref())
    }

    fn unknown_name(&self, name: &str) -> Error {
        const SHOWN: usize = 20;
        let specials = || self.tokens.iter().filter(|token| token.special).map(|token| &token.content);
        let (n, first) = (specials().count(), specials().take(SHOWN).collect::<Vec<_>>());
        let more = if n > SHOWN { format!(" and {} more", n - SHOWN) } else { String::new() };
        Error::Encode(format!(
            "{name:?} is not a special token of this tokenizer; its special tokens are {first:?}{more}"
        ))
    }
}
