//! Finds added tokens in a text: automata, longest match first, and Hugging Face's rules for the white
//! space that a match includes.

use std::ops::Range;

use super::{AddedToken, Bounds};
use crate::error::{Error, Result};
use crate::normalizer::Normalizer;
use crate::text::automaton::Strings;
use crate::text::unicode::{flag, flags};

/// An added token found in a text, or the text between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) token: Option<&'a AddedToken>,
}

/// An automaton and the tokens of its patterns.
struct Matcher {
    strings: Strings,
    tokens: Vec<usize>,
}

/// Which of a text's two forms is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Before normalization.
    Raw,
    /// After it.
    Normalized,
}

/// The automata of some added tokens, for a text before and after normalization.
#[derive(Default)]
pub(crate) struct Matchers {
    raw: Option<Matcher>,
    normalized: Option<Matcher>,
}

impl Matchers {
    pub(super) fn new(
        tokens: &[AddedToken],
        places: &[usize],
        normalizer: Option<&Normalizer>,
    ) -> Result<Self> {
        let of = |normalized: bool| places.iter().filter(move |&&at| tokens[at].normalized == normalized);
        let raw = of(false).map(|&at| (at, tokens[at].content.clone())).collect();
        let normalized = of(true).map(|&at| Ok((at, normalized_text(&tokens[at], normalizer)?)));
        Ok(Self { raw: Matcher::new(raw)?, normalized: Matcher::new(normalized.collect::<Result<_>>()?)? })
    }

    /// Cuts a text at those of `tokens` that match there.
    pub(crate) fn cut<'a, E>(
        &self,
        side: Side,
        tokens: &'a [AddedToken],
        text: &str,
        each: impl FnMut(Section<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let matcher = match side {
            Side::Raw => &self.raw,
            Side::Normalized => &self.normalized,
        };
        cut(matcher.as_ref(), tokens, text, each)
    }

    /// The characters that the strings begin and end with by which tokens are found, on these sides.
    ///
    /// # Errors
    /// As [`Normalizer::normalize`].
    pub(crate) fn bounds(
        &self,
        sides: &[Side],
        tokens: &[AddedToken],
        normalizer: Option<&Normalizer>,
    ) -> Result<Option<Bounds>> {
        let mut patterns = Vec::new();
        for side in sides {
            let (matcher, normalizer) = match side {
                Side::Raw => (&self.raw, None),
                Side::Normalized => (&self.normalized, normalizer),
            };
            for &at in matcher.iter().flat_map(|matcher| &matcher.tokens) {
                patterns.push((&tokens[at], normalized_text(&tokens[at], normalizer)?));
            }
        }
        Ok(Bounds::new(patterns.iter().map(|(token, pattern)| (*token, pattern.as_str()))))
    }

    /// Whether a normalized text can hold tokens at all.
    pub(crate) fn cuts_normalized(&self) -> bool {
        self.normalized.is_some()
    }
}

/// A token, by its place, and the place of its text.
struct Found {
    place: usize,
    start: usize,
    end: usize,
}

impl Matcher {
    fn new(patterns: Vec<(usize, String)>) -> Result<Option<Self>> {
        let (tokens, patterns): (Vec<usize>, Vec<String>) =
            patterns.into_iter().filter(|(_, pattern)| !pattern.is_empty()).unzip();
        if tokens.is_empty() {
            return Ok(None);
        }
        let strings = Strings::new(&patterns)
            .map_err(|error| Error::format("added tokens", format!("no automaton can be built: {error}")))?;
        Ok(Some(Self { strings, tokens }))
    }

    fn find_in(&self, text: &str) -> impl Iterator<Item = Found> {
        self.strings.find_iter(text.as_bytes()).map(|(pattern, Range { start, end })| Found {
            place: self.tokens[pattern],
            start,
            end,
        })
    }
}

/// The text that a token is found by after normalization.
fn normalized_text(token: &AddedToken, normalizer: Option<&Normalizer>) -> Result<String> {
    let Some(normalizer) = normalizer else { return Ok(token.content.clone()) };
    match normalizer.normalize_text(&token.content) {
        Ok(normalized) => Ok(normalized.unwrap_or_else(|| token.content.clone())),
        Err(error) => Err(Error::format(format!("added token {}", token.id), error.to_string())),
    }
}

fn cut<'a, E>(
    matcher: Option<&Matcher>,
    tokens: &'a [AddedToken],
    text: &str,
    mut each: impl FnMut(Section<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = 0;
    for found in matcher.into_iter().flat_map(|matcher| matcher.find_in(text)) {
        let (token, mut start, mut end) = (&tokens[found.place], found.start, found.end);
        // A match may lie in the white space that an earlier token includes.
        if start < done || token.single_word && touches_word(text, start, end) {
            continue;
        }
        if token.lstrip {
            start = done + text[done..start].trim_end_matches(is_white_space).len();
        }
        if token.rstrip {
            end = text.len() - text[end..].trim_start_matches(is_white_space).len();
        }
        if done < start {
            each(Section { range: done..start, token: None })?;
        }
        each(Section { range: start..end, token: Some(token) })?;
        done = end;
    }
    if done < text.len() { each(Section { range: done..text.len(), token: None }) } else { Ok(()) }
}

fn touches_word(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c| flags(c) & flag::WORD != 0;
    text[..start].chars().next_back().is_some_and(is_word) || text[end..].chars().next().is_some_and(is_word)
}

fn is_white_space(c: char) -> bool {
    flags(c) & flag::SPACE != 0
}
