//! Added tokens: strings that are one token wherever they stand in a text,
//! found before anything else by one automaton, longest match first.
//!
//! *Special* ones frame data (`<|endoftext|>`); text from outside must not be
//! able to name them, so they match only when the caller says so. The rules of
//! `single_word`, `lstrip`, `rstrip` and `normalized` are Hugging Face's.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Result};
use crate::normalizer::Normalizer;
use crate::unicode::{flag, flags};
use crate::vocab::TokenId;

/// A string that is one token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddedToken {
    /// The string.
    pub content: String,
    /// Its id.
    pub id: TokenId,
    /// Whether it frames data: matched and decoded only on request.
    pub special: bool,
    /// Whether it matches only where no word character touches it.
    pub single_word: bool,
    /// Whether it takes the white space before it along.
    pub lstrip: bool,
    /// Whether it takes the white space after it along.
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

/// A stretch of text, or an added token found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) range: Range<usize>,
    pub(crate) token: Option<TokenId>,
}

/// An automaton and what its patterns stand for.
#[derive(Clone)]
struct Matcher {
    automaton: AhoCorasick,
    tokens: Vec<usize>,
}

/// The matchers of a text before and after normalization.
#[derive(Clone, Default)]
struct Matchers {
    raw: Option<Matcher>,
    normalized: Option<Matcher>,
}

/// All added tokens of a tokenizer.
#[derive(Clone, Default)]
pub struct AddedTokens {
    tokens: Vec<AddedToken>,
    by_content: HashMap<String, usize>,
    by_id: HashMap<TokenId, usize>,
    all: Matchers,
    plain: Matchers,
    normalizer: Option<Normalizer>,
}

impl AddedTokens {
    /// Makes the automata of `tokens`; those with `normalized` are looked for
    /// as `normalizer` leaves them.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty token, or one that stands twice.
    pub fn new(mut tokens: Vec<AddedToken>, normalizer: Option<&Normalizer>) -> Result<Self> {
        tokens.sort_by_key(|token| token.id);
        let mut by_content = HashMap::with_capacity(tokens.len());
        let mut by_id = HashMap::with_capacity(tokens.len());
        for (at, token) in tokens.iter().enumerate() {
            if token.content.is_empty() {
                return Err(Error::format("added token", format!("id {} has no text", token.id)));
            }
            if by_content.insert(token.content.clone(), at).is_some() {
                return Err(Error::format("added token", format!("{:?} stands twice", token.content)));
            }
            if by_id.insert(token.id, at).is_some() {
                return Err(Error::format("added token", format!("id {} stands twice", token.id)));
            }
        }
        let mut added =
            Self { tokens, by_content, by_id, normalizer: normalizer.cloned(), ..Self::default() };
        added.all = added.matchers(|_| true)?;
        added.plain = added.matchers(|token| !token.special)?;
        Ok(added)
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

    /// The rule for one call, its automata built if need be.
    ///
    /// # Errors
    /// [`Error::Encode`] for a name that is no special token.
    pub(crate) fn finder<'a>(&'a self, specials: Specials<'_>) -> Result<Finder<'a>> {
        Ok(match specials {
            Specials::All => Finder { added: self, matchers: Owned::Borrowed(&self.all), raise: false },
            Specials::None => Finder { added: self, matchers: Owned::Borrowed(&self.plain), raise: false },
            Specials::Raise => Finder { added: self, matchers: Owned::Borrowed(&self.all), raise: true },
            Specials::Only(names) => {
                if let Some(name) =
                    names.iter().find(|name| !self.by_content(name).is_some_and(|token| token.special))
                {
                    let specials: Vec<_> = self.tokens.iter().filter(|token| token.special).collect();
                    let some: Vec<_> = specials.iter().take(16).map(|token| &token.content).collect();
                    let more = match specials.len() - some.len() {
                        0 => String::new(),
                        more => format!(" and {more} more"),
                    };
                    return Err(Error::Encode(format!(
                        "{name:?} is no special token of this tokenizer; its special tokens are {some:?}{more}"
                    )));
                }
                let matchers = self.matchers(|token| !token.special || names.contains(&token.content))?;
                Finder { added: self, matchers: Owned::Own(Box::new(matchers)), raise: false }
            }
        })
    }

    fn matchers(&self, wanted: impl Fn(&AddedToken) -> bool) -> Result<Matchers> {
        let build = |normalized: bool| -> Result<Option<Matcher>> {
            let (mut tokens, mut patterns) = (Vec::new(), Vec::new());
            for (at, token) in self.tokens.iter().enumerate() {
                if !wanted(token) || token.normalized != normalized {
                    continue;
                }
                let pattern = self.pattern(token)?;
                if !pattern.is_empty() {
                    tokens.push(at);
                    patterns.push(pattern);
                }
            }
            if tokens.is_empty() {
                return Ok(None);
            }
            let automaton =
                AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).map_err(
                    |error| Error::format("added tokens", format!("no automaton can be built: {error}")),
                )?;
            Ok(Some(Matcher { automaton, tokens }))
        };
        Ok(Matchers { raw: build(false)?, normalized: build(true)? })
    }

    fn pattern(&self, token: &AddedToken) -> Result<String> {
        let normalized = match &self.normalizer {
            Some(normalizer) if token.normalized => normalizer.normalize_text(&token.content),
            _ => Ok(None),
        };
        match normalized {
            Ok(normalized) => Ok(normalized.unwrap_or_else(|| token.content.clone())),
            Err(error) => Err(Error::format(format!("added token {}", token.id), error.to_string())),
        }
    }
}

enum Owned<'a> {
    Borrowed(&'a Matchers),
    Own(Box<Matchers>),
}

/// Finds the added tokens that one call lets match.
pub(crate) struct Finder<'a> {
    added: &'a AddedTokens,
    matchers: Owned<'a>,
    raise: bool,
}

impl Finder<'_> {
    fn matchers(&self) -> &Matchers {
        match &self.matchers {
            Owned::Borrowed(matchers) => matchers,
            Owned::Own(matchers) => matchers,
        }
    }

    /// Cuts a text at the tokens that match before normalization.
    pub(crate) fn raw<E: From<Error>>(
        &self,
        text: &str,
        each: impl FnMut(Section) -> Result<(), E>,
    ) -> Result<(), E> {
        self.cut(self.matchers().raw.as_ref(), text, each)
    }

    /// Cuts a normalized text at the tokens that match after normalization.
    pub(crate) fn normalized<E: From<Error>>(
        &self,
        text: &str,
        each: impl FnMut(Section) -> Result<(), E>,
    ) -> Result<(), E> {
        self.cut(self.matchers().normalized.as_ref(), text, each)
    }

    /// Whether a normalized text can hold tokens at all.
    pub(crate) fn cuts_normalized(&self) -> bool {
        self.matchers().normalized.is_some()
    }

    fn cut<E: From<Error>>(
        &self,
        matcher: Option<&Matcher>,
        text: &str,
        mut each: impl FnMut(Section) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        if let Some(matcher) = matcher {
            for found in matcher.automaton.find_iter(text) {
                let token = &self.added.tokens[matcher.tokens[found.pattern().as_usize()]];
                let (mut start, mut end) = (found.start(), found.end());
                // White space an earlier token took along may hold a later match.
                if start < done || token.single_word && touches_word(text, start, end) {
                    continue;
                }
                if self.raise && token.special {
                    return Err(Error::Encode(format!(
                        "the text holds the special token {:?} at byte {start}; pass specials=\"none\" to take it as \
                         text, or \"all\" to take it as a token",
                        token.content
                    ))
                    .into());
                }
                if token.lstrip {
                    start = text[..start].trim_end_matches(is_white_space).len().max(done);
                }
                if token.rstrip {
                    end = text.len() - text[end..].trim_start_matches(is_white_space).len();
                }
                if done < start {
                    each(Section { range: done..start, token: None })?;
                }
                each(Section { range: start..end, token: Some(token.id) })?;
                done = end;
            }
        }
        if done < text.len() { each(Section { range: done..text.len(), token: None }) } else { Ok(()) }
    }
}

fn touches_word(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c| flags(c) & flag::WORD != 0;
    text[..start].chars().next_back().is_some_and(is_word) || text[end..].chars().next().is_some_and(is_word)
}

fn is_white_space(c: char) -> bool {
    flags(c) & flag::SPACE != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(added: &AddedTokens, specials: Specials<'_>, text: &str) -> Vec<(String, Option<TokenId>)> {
        let mut out = Vec::new();
        added
            .finder(specials)
            .unwrap()
            .raw(text, |section| {
                out.push((text[section.range].to_owned(), section.token));
                Ok::<(), Error>(())
            })
            .unwrap();
        out
    }

    #[test]
    fn rules_of_matching() {
        let plain = |content: &str, id| AddedToken { special: false, ..AddedToken::special(content, id) };
        let added = AddedTokens::new(
            vec![
                AddedToken::special("<s>", 0),
                AddedToken::special("<s>>", 1),
                AddedToken { single_word: true, ..plain("foo", 2) },
                AddedToken { lstrip: true, rstrip: true, ..plain("<m>", 3) },
            ],
            None,
        )
        .unwrap();
        let only = ["<s>>".to_owned()];
        for (name, specials, text, expected) in [
            ("text stays text", Specials::None, "<s>a", vec![("<s>a", None)]),
            ("longest", Specials::All, "<s>>a<s>", vec![("<s>>", Some(1)), ("a", None), ("<s>", Some(0))]),
            ("only", Specials::Only(&only), "<s><s>>", vec![("<s>", None), ("<s>>", Some(1))]),
            ("single word", Specials::None, "food foo", vec![("food ", None), ("foo", Some(2))]),
            ("strips", Specials::None, "a <m>\t b", vec![("a", None), (" <m>\t ", Some(3)), ("b", None)]),
            ("empty", Specials::All, "", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(text, id)| (text.to_owned(), id)).collect();
            assert_eq!(sections(&added, specials, text), expected, "{name}");
        }
        assert!(added.finder(Specials::Only(&["foo".to_owned()])).is_err());
        assert!(added.finder(Specials::Raise).unwrap().raw("x<s>", |_| Ok::<(), Error>(())).is_err());
    }
}
