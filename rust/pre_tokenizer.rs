//! `PreTokenizer`: cuts a text into *pieces* (pre-tokens).
//!
//! A piece is a byte range of the text, for example a word with the space before it. The model
//! encodes each piece separately, so no merge crosses the boundary of a piece. The *tokens* are the
//! units of the vocabulary into which the model divides a piece.
//!
//! Each family of patterns has a file with its scalar rule, from the start of a piece to its end. The
//! families that published models use also have a rule for windows of 64 bytes, which runs on vector
//! instructions. Published patterns never run as regular expressions. [`oracle`] is the reference
//! implementation, which follows each pattern literally.
//!
//! Every variant takes linear time. A custom pattern ([`PreTokenizer::Regex`]) that would need more
//! ends in an error.

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
mod families;
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
mod superwords;
mod unicode_scripts;
pub(crate) mod users;
mod whitespace;

use std::num::NonZeroUsize;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::cl100k::Digits;
pub(crate) use self::cuts::{LOOK_BACK, cut_before_blank};
use self::families::Family;
pub use self::metaspace::{Marked, Prepend};
pub use self::regex::SplitPattern;
pub(crate) use self::spaces::Spaces;
pub use self::split::{Behavior, Delimiter, Split};
pub use self::superwords::SuperwordPieces;
#[cfg(feature = "train")]
pub(crate) use self::superwords::is_word;
use crate::error::{Error, Result};
use crate::memory;
use crate::normalizer::{Aligned, Plain, Rewrite, no_fields};
use crate::text::SPACE_MARK;
use crate::text::pattern::StepBudget;

/// From this length in bytes, windows are faster than the scalar rule.
const WINDOW_PAYS: usize = 32;

/// How a text is cut into pieces.
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
    /// No split: the whole text is one piece.
    ///
    /// This is not byte-level BPE. Whether tokens are made of bytes is an option of the model; its usual
    /// pre-tokenizer is [`PreTokenizer::Gpt2`].
    #[serde(deserialize_with = "no_fields")]
    Bytes,
    /// GPT-2, r50k, p50k.
    Gpt2 {
        /// Whether a space is inserted before a section that does not begin with U+0020.
        add_prefix_space: bool,
    },
    /// cl100k, Llama-3, Qwen.
    Cl100k {
        /// The maximum number of digits in a piece.
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
    /// White space is dropped; each punctuation character is a piece.
    #[serde(deserialize_with = "no_fields")]
    Bert,
    /// As [`PreTokenizer::Bert`], with the punctuation of Unicode 16, as in Google's code.
    #[serde(deserialize_with = "no_fields")]
    GoogleBert,
    /// Spaces become U+2581.
    Metaspace {
        /// Which sections get a mark inserted before them.
        prepend: Prepend,
        /// Whether a piece starts at each mark.
        split: bool,
    },
    /// White space is dropped, U+2581 is inserted before each word, and a piece starts at each:
    /// `WhitespaceSplit`, then `Metaspace` (T5, XLNet).
    #[serde(deserialize_with = "no_fields")]
    MetaspaceWords,
    /// As [`PreTokenizer::Metaspace`], with a mark that the file defines.
    Marked(Marked),
    /// Stretches of pieces that superwords may join.
    Superwords {
        /// The pre-tokenizer of the pieces.
        pieces: SuperwordPieces,
    },
    /// A custom pattern.
    Regex(SplitPattern),
    /// Delimiters, and what becomes of them.
    Split(Split),
    /// Pieces with a fixed number of characters.
    FixedLength {
        /// The number of characters; the last piece may have fewer.
        length: NonZeroUsize,
    },
    /// Pieces of one script, as in Hugging Face; kana count as Han.
    #[serde(deserialize_with = "no_fields")]
    UnicodeScripts,
    /// No split. A space is inserted before a section that does not begin with U+0020.
    #[serde(deserialize_with = "no_fields")]
    PrefixSpace,
    /// Rewrites bytes as characters, for models whose tokens are spelled that way.
    ByteLevel {
        /// Whether a space is inserted before a section that does not begin with U+0020.
        add_prefix_space: bool,
        /// Whether the text is cut into GPT-2's pieces; otherwise it is one piece.
        use_regex: bool,
    },
    /// Splitters that see each byte as a separate character.
    #[serde(deserialize_with = "sequence::read_byte_spelled")]
    ByteSpelled {
        /// The splitters. None of them rewrites text.
        steps: Vec<PreTokenizer>,
    },
    /// Several splitters in order, each of which cuts the pieces of the previous one.
    #[serde(deserialize_with = "sequence::read")]
    Sequence {
        /// The splitters. Only the first may rewrite text.
        steps: Vec<PreTokenizer>,
    },
    /// A splitter, and another that rewrites and cuts each of its pieces separately.
    #[serde(deserialize_with = "sequence::read_within")]
    Within {
        /// The splitter for the text; it does not rewrite.
        outer: Box<PreTokenizer>,
        /// The splitter that rewrites and cuts each piece.
        inner: Box<PreTokenizer>,
    },
}

impl PreTokenizer {
    /// Several splitters in order. A single step is returned as it is.
    ///
    /// # Errors
    /// [`Error::Format`] for an unsupported combination of steps that rewrite text, or too many
    /// steps.
    pub fn sequence(steps: Vec<Self>) -> Result<Self> {
        sequence::joined(steps)
    }

    /// Splitters that see each byte as a separate character.
    ///
    /// # Errors
    /// [`Error::Format`] for a step that rewrites text, or too many steps.
    pub fn byte_spelled(steps: Vec<Self>) -> Result<Self> {
        sequence::byte_spelled(steps)
    }

    /// Calls `f` with each stretch of a section that is rewritten separately, whether the stretch
    /// begins where the text does, and the pre-tokenizer that rewrites and cuts it. For all
    /// variants but [`PreTokenizer::Within`] that is the whole section and `self`.
    ///
    /// `begins` says whether an offset of the section comes from the start of the text. It is
    /// called with rising offsets, and no more after it has returned `false`.
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
                outer.visit_pieces_within(section, budget, |stretch| {
                    at_start = at_start && begins(stretch.start);
                    f(inner, stretch, at_start)
                })
            }
            whole => f(whole, 0..section.len(), whole.looks_at_origin() && begins(0)),
        }
    }

    /// Rewrites a section of text before it is split; `None` if nothing changes.
    ///
    /// A section is the text between two added tokens; `at_start` says that its first character
    /// comes from the start of the text. The type `R` decides whether the alignment is kept:
    /// [`Aligned`] keeps it.
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

    /// [`PreTokenizer::rewrite`] without the alignment.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory runs out.
    pub(crate) fn rewrite_text(&self, section: &str, at_start: bool) -> Result<Option<String>> {
        self.rewrite(section, at_start).map(Plain::checked).transpose()
    }

    /// [`PreTokenizer::rewrite`] with the alignment.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory runs out.
    pub(crate) fn rewrite_aligned(&self, section: &str, at_start: bool) -> Result<Option<Aligned>> {
        self.rewrite(section, at_start).map(Aligned::checked).transpose()
    }

    /// Calls `f` with the range of each piece, in order.
    ///
    /// `text` is a section after [`PreTokenizer::rewrite`]. Pieces are not empty and do not
    /// overlap; white space between them may be in no piece.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] when a custom pattern needs more steps than the length
    /// of the text allows.
    #[inline]
    pub fn for_each_piece(&self, text: &str, f: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        self.visit_pieces(text, f)
    }

    /// [`PreTokenizer::for_each_piece`] for an `f` with any type of error.
    #[inline]
    pub(crate) fn visit_pieces<E: From<Error>>(
        &self,
        text: &str,
        f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.visit_pieces_within(text, &StepBudget::of(text.len()), f)
    }

    /// [`PreTokenizer::visit_pieces`] with a budget for patterns that the whole text shares.
    #[inline]
    fn visit_pieces_within<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        mut f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        // A short text does not fill a window, so the scalar rule is faster, except for patterns. In
        // a very long text, offsets exceed the `u32` of a chunk.
        let least = if self.runs_patterns() { 1 } else { WINDOW_PAYS };
        if !(least..=u32::MAX as usize).contains(&text.len()) {
            return self.visit_pieces_by_character(text, budget, f);
        }
        self.for_each_chunk(text, budget, |chunk| chunk.iter().try_for_each(|piece| f(piece.range())))
    }

    /// [`PreTokenizer::visit_pieces`] by the scalar rules, which define the pieces.
    #[inline]
    fn visit_pieces_by_character<E: From<Error>>(
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
            Self::Gpt2 { .. }
            | Self::Cl100k { .. }
            | Self::O200k
            | Self::Tekken
            | Self::Whitespace
            | Self::WhitespaceSplit
            | Self::Bert
            | Self::GoogleBert
            | Self::Metaspace { split: true, .. }
            | Self::MetaspaceWords => match Family::of(self) {
                Some(family) => family.visit_pieces(text, f),
                None => Ok(()),
            },
            &Self::Superwords { pieces } => {
                let mut stretches = superwords::Stretches::new(pieces, text);
                let inner = pieces.pre_tokenizer();
                let mut join = |piece| stretches.push(piece, &mut f);
                // One type, because this function calls itself.
                let join: &mut dyn FnMut(Range<usize>) -> Result<(), E> = &mut join;
                inner.visit_pieces_by_character(text, budget, join)?;
                stretches.finish(f)
            }
            Self::Marked(marked) => tiles(text, |_, start| marked.piece_end(text, start), f),
            Self::FixedLength { length } => {
                tiles(text, |bytes, start| fixed_length::piece_end(bytes, start, *length), f)
            }
            Self::UnicodeScripts => unicode_scripts::visit_pieces(text, f),
            Self::ByteLevel { use_regex, .. } => byte_level::visit_pieces(text, *use_regex, f),
            Self::Sequence { steps } => sequence::visit_pieces(steps, text, 0, budget, &mut f),
            Self::ByteSpelled { steps } => byte_spelled::visit_pieces(steps, text, budget, &mut f),
            Self::Regex(pattern) => pattern.visit_pieces(text, budget, f),
            Self::Split(split) => split.visit_pieces(text, budget, f),
            // Cuts without rewriting. `for_each_stretch` handles stretches that are rewritten.
            Self::Within { outer, .. } => {
                sequence::visit_pieces(std::slice::from_ref(&**outer), text, 0, budget, &mut f)
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

/// Calls `f` with pieces that follow each other without gaps.
#[inline(always)]
fn tiles<E>(
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

/// Calls `f` with pieces that are separated by white space, which is in no piece.
#[inline(always)]
fn words<E>(
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
