//! `PreTokenizer`: byte ranges of the pieces that no merge may cross.
//!
//! One file per family, each a function from the start of a piece to its end,
//! so that a vectorised one can take its place. No regular expression runs for
//! a published pattern. [`oracle`] follows each pattern literally and is the
//! specification; whether pieces are then seen as bytes is the model's affair.
//!
//! Time is linear in the text for every variant; with a custom pattern
//! ([`PreTokenizer::Regex`]) it is, or the split ends in an error.

mod bert;
mod blanks;
mod byte_level;
mod byte_spelled;
pub(crate) mod chunks;
mod cl100k;
mod contraction;
mod cuts;
mod deepseek;
mod facts;
mod fixed_length;
mod google_bert;
mod gpt2;
#[cfg(test)]
mod linear_time;
mod metaspace;
mod o200k;
#[doc(hidden)]
pub mod oracle;
mod published;
mod regex;
mod sequence;
mod spaces;
mod split;
mod unicode_scripts;
pub(crate) mod users;
mod whitespace;

use std::num::NonZeroUsize;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::cl100k::Digits;
pub(crate) use self::cuts::{LOOK_BACK, cut_before_blank};
pub use self::metaspace::{Marked, Prepend};
pub use self::regex::SplitPattern;
pub(crate) use self::spaces::Spaces;
pub use self::split::{Behavior, Delimiter, Split};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalizer::{Aligned, Plain, Rewrite, no_fields};
use crate::text::SPACE_MARK;
use crate::text::pattern::StepBudget;
use crate::text::unicode::flag::LETTER;

/// Bytes of a text from which on windows are quicker than characters.
const WINDOW_PAYS: usize = 32;

/// Where a text is split.
///
/// ```
/// use sentitok::PreTokenizer;
///
/// let pieces = PreTokenizer::from_name("gpt2")?.split("It's  fine.")?;
/// assert_eq!(pieces, [0..2, 2..4, 4..5, 5..10, 10..11]);
/// # Ok::<(), sentitok::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum PreTokenizer {
    /// No split: a text is one piece.
    #[serde(deserialize_with = "no_fields")]
    Bytes,
    /// GPT-2, r50k, p50k.
    Gpt2 {
        /// Whether a section that does not begin with U+0020 gets one in front.
        add_prefix_space: bool,
    },
    /// cl100k, Llama-3, Qwen.
    Cl100k {
        /// How many digits a piece has at most.
        digits: Digits,
        /// Whether white space at the end of a text stays together, as in tiktoken 0.14.
        possessive: bool,
    },
    /// o200k, gpt-oss, Llama-4.
    #[serde(deserialize_with = "no_fields")]
    O200k,
    /// Mistral's tekken.
    #[serde(deserialize_with = "no_fields")]
    Tekken,
    /// `\w+|[^\w\s]+`; white space is dropped.
    #[serde(deserialize_with = "no_fields")]
    Whitespace,
    /// `\S+`; white space is dropped.
    #[serde(deserialize_with = "no_fields")]
    WhitespaceSplit,
    /// White space is dropped, punctuation stands alone.
    #[serde(deserialize_with = "no_fields")]
    Bert,
    /// As [`PreTokenizer::Bert`], with the punctuation of Unicode 16, for Google's mode.
    #[serde(deserialize_with = "no_fields")]
    GoogleBert,
    /// Spaces become U+2581.
    Metaspace {
        /// Which sections get one in front.
        prepend: Prepend,
        /// Whether a piece starts at each.
        split: bool,
    },
    /// White space is dropped; each word between gets a U+2581 in front, and a
    /// piece starts at each: `WhitespaceSplit`, then `Metaspace` (T5, XLNet).
    #[serde(deserialize_with = "no_fields")]
    MetaspaceWords,
    /// As [`PreTokenizer::Metaspace`], with a mark that the file chooses.
    Marked(Marked),
    /// A custom pattern.
    Regex(SplitPattern),
    /// Delimiters, and what becomes of them.
    Split(Split),
    /// Pieces of so many characters.
    FixedLength {
        /// How many; the last piece may have fewer.
        length: NonZeroUsize,
    },
    /// Pieces of one script, as tokenizers knows them; kana count as Han.
    #[serde(deserialize_with = "no_fields")]
    UnicodeScripts,
    /// No split; a section that does not begin with U+0020 gets one in front.
    #[serde(deserialize_with = "no_fields")]
    PrefixSpace,
    /// Bytes as characters, for models whose tokens are so spelled.
    ByteLevel {
        /// Whether a section that does not begin with U+0020 gets one in front.
        add_prefix_space: bool,
        /// Whether GPT-2's pieces are cut; one piece otherwise.
        use_regex: bool,
    },
    /// Splitters that see each byte as a character of its own.
    #[serde(deserialize_with = "sequence::read_byte_spelled")]
    ByteSpelled {
        /// The splitters; none of them rewrites text.
        steps: Vec<PreTokenizer>,
    },
    /// Splitters one after the other, each cutting the pieces of the one before.
    #[serde(deserialize_with = "sequence::read")]
    Sequence {
        /// The splitters; none but the first rewrites text.
        steps: Vec<PreTokenizer>,
    },
    /// What cuts, and what rewrites and cuts each piece by itself.
    #[serde(deserialize_with = "sequence::read_within")]
    Within {
        /// What cuts; it does not rewrite text.
        outer: Box<PreTokenizer>,
        /// What rewrites and cuts each piece.
        inner: Box<PreTokenizer>,
    },
}

impl PreTokenizer {
    /// Splitters one after the other; of one step, that step.
    ///
    /// # Errors
    /// [`Error::Format`] for a second step that rewrites text, or too many steps.
    pub fn sequence(steps: Vec<Self>) -> Result<Self> {
        sequence::joined(steps)
    }

    /// Splitters that see each byte as a character of its own.
    ///
    /// # Errors
    /// [`Error::Format`] for a step that rewrites text, or too many steps.
    pub fn byte_spelled(steps: Vec<Self>) -> Result<Self> {
        sequence::byte_spelled(steps)
    }

    /// Calls `f` with each stretch of a section that is rewritten by itself, whether it
    /// begins where the text does, and what rewrites and cuts it: for all but
    /// [`PreTokenizer::Within`] the whole section and this.
    ///
    /// `begins` tells of a place of the section whether its origin is the start of the
    /// text; it is asked in order, and not again behind a place where it is not.
    ///
    /// # Errors
    /// As [`PreTokenizer::for_each_piece`].
    #[inline]
    pub(crate) fn for_each_stretch<E: From<Error>>(
        &self,
        section: &str,
        begins: impl Fn(usize) -> bool,
        budget: &StepBudget,
        mut f: impl FnMut(&Self, Range<usize>, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Within { outer, inner } => {
                let mut at_start = inner.looks_at_origin();
                outer.walk_within(section, budget, |stretch| {
                    at_start = at_start && begins(stretch.start);
                    f(inner, stretch, at_start)
                })
            }
            whole => f(whole, 0..section.len(), whole.looks_at_origin() && begins(0)),
        }
    }

    /// Rewrites a section of text before it is split; `None` when nothing changes.
    ///
    /// A section is what lies between two added tokens; `at_start` tells that
    /// its first character comes from the start of the text. A `String` is the text alone, an
    /// [`Aligned`] keeps the alignment.
    pub fn rewrite<R: Rewrite + Default>(&self, section: &str, at_start: bool) -> Option<R> {
        match self {
            Self::Gpt2 { add_prefix_space: true } | Self::PrefixSpace
                if !section.is_empty() && !section.starts_with(' ') =>
            {
                let mut out = R::default();
                out.insert(" ");
                out.copy(section);
                Some(out)
            }
            Self::Metaspace { prepend, .. } => metaspace::rewrite(section, at_start, *prepend, SPACE_MARK),
            Self::Marked(Marked { mark, prepend, .. }) => {
                metaspace::rewrite(section, at_start, *prepend, *mark)
            }
            Self::MetaspaceWords => Some(metaspace::rewrite_words(section)),
            Self::ByteLevel { add_prefix_space, .. } => byte_level::rewrite(section, *add_prefix_space),
            Self::Sequence { steps } => steps.first()?.rewrite(section, at_start),
            _ => None,
        }
    }

    /// The text of [`PreTokenizer::rewrite`] alone.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is no memory for it.
    pub(crate) fn rewrite_text(&self, section: &str, at_start: bool) -> Result<Option<String>> {
        self.rewrite(section, at_start).map(Plain::checked).transpose()
    }

    /// The text of [`PreTokenizer::rewrite`] with the alignment.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is no memory for it.
    pub(crate) fn rewrite_aligned(&self, section: &str, at_start: bool) -> Result<Option<Aligned>> {
        self.rewrite(section, at_start).map(Aligned::checked).transpose()
    }

    /// Calls `f` with the range of each piece, in order.
    ///
    /// `text` is what [`PreTokenizer::rewrite`] made of it. Pieces are not
    /// empty and do not overlap; white space may lie between them.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] when a text takes a user's pattern
    /// more steps than its length allows.
    #[inline]
    pub fn for_each_piece(&self, text: &str, f: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        self.walk(text, f)
    }

    /// [`PreTokenizer::for_each_piece`] for an `f` with reasons of its own to end the walk.
    #[inline]
    pub(crate) fn walk<E: From<Error>>(
        &self,
        text: &str,
        f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.walk_within(text, &StepBudget::of(text.len()), f)
    }

    /// [`PreTokenizer::walk`] with what patterns may still do on the whole text.
    #[inline]
    fn walk_within<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        mut f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        // A short text would not fill a window, which is less work than to run a pattern; a very
        // long one fills no `u32`.
        let least = if self.runs_patterns() { 1 } else { WINDOW_PAYS };
        if !(least..=u32::MAX as usize).contains(&text.len()) {
            return self.walk_by_character(text, budget, f);
        }
        self.for_each_chunk(text, budget, |chunk| chunk.iter().try_for_each(|piece| f(piece.range())))
    }

    /// [`PreTokenizer::walk`] by the scalar rules, which define the pieces.
    #[inline]
    fn walk_by_character<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        mut f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Bytes | Self::PrefixSpace | Self::Metaspace { split: false, .. } => {
                if text.is_empty() {
                    Ok(())
                } else {
                    f(0..text.len())
                }
            }
            Self::Gpt2 { .. } => tile(text, gpt2::piece_end, f),
            Self::Cl100k { digits, possessive } => {
                let (digits, possessive) = (*digits as usize, *possessive);
                tile(text, |bytes, start| cl100k::piece_end(bytes, start, digits, possessive, LETTER), f)
            }
            Self::O200k => tile(text, |bytes, start| o200k::piece_end(bytes, start, 3, true), f),
            Self::Tekken => tile(text, |bytes, start| o200k::piece_end(bytes, start, 1, false), f),
            Self::Whitespace => between_blanks(text, whitespace::piece_end, f),
            Self::WhitespaceSplit => between_blanks(text, whitespace::blank_free_end, f),
            Self::Bert => between_blanks(text, bert::piece_end, f),
            Self::GoogleBert => between_blanks(text, google_bert::piece_end, f),
            Self::Metaspace { split: true, .. } | Self::MetaspaceWords => tile(text, metaspace::piece_end, f),
            Self::Marked(marked) => tile(text, |_, start| marked.piece_end(text, start), f),
            Self::FixedLength { length } => {
                tile(text, |bytes, start| fixed_length::piece_end(bytes, start, *length), f)
            }
            Self::UnicodeScripts => unicode_scripts::walk(text, f),
            Self::ByteLevel { use_regex, .. } => byte_level::walk(text, *use_regex, f),
            Self::Sequence { steps } => sequence::walk(steps, text, 0, budget, &mut f),
            Self::ByteSpelled { steps } => byte_spelled::walk(steps, text, budget, &mut f),
            Self::Regex(pattern) => pattern.walk(text, budget, f),
            Self::Split(split) => split.walk(text, budget, f),
            // Not the pieces of the rewritten text, which is made stretch by stretch.
            Self::Within { outer, .. } => {
                sequence::walk(std::slice::from_ref(&**outer), text, 0, budget, &mut f)
            }
        }
    }

    /// The ranges of all pieces.
    ///
    /// # Errors
    /// As [`PreTokenizer::for_each_piece`].
    pub fn split(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut pieces = Vec::new();
        self.for_each_piece(text, |piece| memory::push(&mut pieces, piece))?;
        Ok(pieces)
    }
}

/// Pieces that follow each other without gaps.
#[inline(always)]
fn tile<E>(
    text: &str,
    piece_end: impl Fn(&[u8], usize) -> usize,
    mut f: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let end = piece_end(bytes, start);
        debug_assert!(start < end && text.is_char_boundary(end));
        f(start..end)?;
        start = end;
    }
    Ok(())
}

/// Pieces with white space between them, in none of them.
#[inline(always)]
fn between_blanks<E>(
    text: &str,
    piece_end: impl Fn(&[u8], usize) -> usize,
    mut f: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let bytes = text.as_bytes();
    let mut end = 0;
    loop {
        let start = crate::text::unicode::end_of_run(bytes, end, crate::text::unicode::flag::SPACE);
        if start >= bytes.len() {
            return Ok(());
        }
        end = piece_end(bytes, start);
        debug_assert!(start < end && text.is_char_boundary(end));
        f(start..end)?;
    }
}
