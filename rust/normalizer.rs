//! `Normalizer`: rewrites a text before it is split.
//!
//! To add a step, add a variant and an arm in `Normalizer::step`. A step reads the old text in order and
//! writes the new one to a [`Rewrite`], so that offsets lead back to the original text:
//!
//! | Type | Meaning |
//! |---|---|
//! | [`Rewrite`] | Trait: the output of a step, which copies, replaces and inserts. |
//! | [`Aligned`] | A `Rewrite` that keeps the new text and its edits. |
//! | `Plain` | A `Rewrite` that keeps the new text only, for callers that need no spans. |
//! | [`Alignment`] | A cursor over the edits of an `Aligned`: maps ranges of the new text to the old one. |
//! | `Rewritten` | The result for either caller: unchanged, a `String`, or an `Aligned`. |

pub mod alignment;
pub(crate) mod bert;
mod chars;
mod charsmap;
mod forms;
mod frozen;
mod growth;
mod literal;
mod matches;
mod named;
mod normal_form_run;
mod point_map;
mod precompiled;
pub mod rewrite;
pub(crate) mod rewritten;
mod sentencepiece;
pub(crate) mod split_points;

pub(crate) use alignment::MarkedRuns;
pub use alignment::{Aligned, Alignment};
pub use bert::{Bert, GoogleBert};
pub use charsmap::Charsmap;
use forms::Form;
use growth::Growth;
pub(crate) use literal::{spell_spaces, spell_words};
pub use matches::Matches;
pub use precompiled::Precompiled;
pub(crate) use rewrite::Plain;
pub use rewrite::Rewrite;
pub(crate) use rewritten::Rewritten;
pub use sentencepiece::{SentencePiece, SentencePieceOptions};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::SPACE_MARK_STR;
use crate::text::pattern::StepBudget;

/// A normalization step, or several in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Normalizer {
    /// Inserts `prepend` before every text that is not empty.
    Prepend {
        /// The inserted string.
        prepend: String,
    },
    /// Replaces each occurrence of `pattern`, a literal string, by `content`.
    Replace {
        /// The string to replace; not empty.
        pattern: String,
        /// The replacement.
        content: String,
    },
    /// Replaces each match of a pattern by `content`.
    ReplaceMatches {
        /// The pattern to replace.
        pattern: Matches,
        /// The replacement, a literal string.
        content: String,
    },
    /// The normalizer of a SentencePiece model, as SentencePiece applies it.
    SentencePiece(Box<SentencePiece>),
    /// The rules of a SentencePiece file, as Hugging Face applies them.
    Precompiled(Precompiled),
    /// BERT's clean-up, as Hugging Face does it.
    Bert(Bert),
    /// BERT's clean-up, as Google does it.
    GoogleBert(GoogleBert),
    /// Unicode's normal form C: composed.
    #[serde(deserialize_with = "no_fields")]
    Nfc,
    /// Unicode's normal form D: decomposed.
    #[serde(deserialize_with = "no_fields")]
    Nfd,
    /// Unicode's normal form KC: compatibility forms replaced, composed.
    #[serde(deserialize_with = "no_fields")]
    Nfkc,
    /// Unicode's normal form KD: compatibility forms replaced, decomposed.
    #[serde(deserialize_with = "no_fields")]
    Nfkd,
    /// Lower case, character by character.
    #[serde(deserialize_with = "no_fields")]
    Lowercase,
    /// Drops combining marks. Precomposed letters (`é`, U+00E9) stay.
    #[serde(deserialize_with = "no_fields")]
    StripAccents,
    /// Drops white space at the ends.
    Strip {
        /// Whether at the start.
        left: bool,
        /// Whether at the end.
        right: bool,
    },
    /// Drops control characters and makes odd spaces plain, as Moses does.
    #[serde(deserialize_with = "no_fields")]
    Nmt,
    /// Several steps in order.
    Sequence {
        /// The steps.
        #[serde(deserialize_with = "steps")]
        normalizers: Vec<Normalizer>,
    },
}

/// More patterns than any known file has; each may take megabytes.
const MAX_PATTERNS: usize = 16;
/// More steps than any known file has; each reads the whole text.
const MAX_STEPS: usize = 64;

impl Normalizer {
    /// A sequence of steps.
    ///
    /// # Errors
    /// [`crate::Error::Format`] for more than 64 steps, or more than 16 patterns
    /// in them.
    pub fn sequence(steps: impl IntoIterator<Item = Result<Self>>) -> Result<Self> {
        let (mut normalizers, mut n_patterns, mut n_steps) = (Vec::new(), 0, 0);
        for step in steps {
            let step = step?;
            n_steps += step.n_steps();
            if n_steps > MAX_STEPS {
                return Err(Error::format(
                    "normalizer",
                    format!("more than {MAX_STEPS} steps, each of which reads the whole text; join them"),
                ));
            }
            n_patterns += step.n_patterns();
            if n_patterns > MAX_PATTERNS {
                return Err(Error::format(
                    "normalizer",
                    format!("more than {MAX_PATTERNS} patterns in a row; join them, or replace strings"),
                ));
            }
            normalizers.push(step);
        }
        Ok(Self::Sequence { normalizers })
    }

    fn n_steps(&self) -> usize {
        match self {
            Self::Sequence { normalizers } => normalizers.iter().map(Self::n_steps).sum::<usize>().max(1),
            _ => 1,
        }
    }

    fn n_patterns(&self) -> usize {
        match self {
            Self::ReplaceMatches { .. } => 1,
            Self::Sequence { normalizers } => normalizers.iter().map(Self::n_patterns).sum(),
            _ => 0,
        }
    }

    /// The normalized text with its alignment; `None` when nothing changes.
    ///
    /// # Errors
    /// [`crate::Error::Encode`] when a step makes the text more than 16 times as
    /// long as it was and 64 bytes, or all steps read more than 128 times the text
    /// and 1 KiB.
    pub fn normalize(&self, text: &str) -> Result<Option<Aligned>> {
        self.normalize_within(text, Growth::of_aligned(text.len())?)
    }

    /// Normalizes a part of a text, which may become `times` as long. If all parts keep to that bound, so
    /// does the text.
    ///
    /// # Errors
    /// As [`Normalizer::normalize`].
    pub(crate) fn normalize_part(&self, part: &str, times: usize) -> Result<Option<Aligned>> {
        self.normalize_within(part, Growth::of_part(part.len(), times))
    }

    fn normalize_within(&self, text: &str, mut growth: Growth) -> Result<Option<Aligned>> {
        let budget = StepBudget::of(text.len());
        let mut result: Option<Aligned> = None;
        self.for_each_step(&mut |step| {
            let current = result.as_ref().map_or(text, |aligned| aligned.text.as_str());
            growth.read(current.len())?;
            let mut next = Aligned::within(growth);
            if step.step(current, &budget, &mut next)? {
                let next = next.checked()?;
                result = Some(match result.take() {
                    Some(first) => first.then(next).checked()?,
                    None => next,
                });
            }
            Ok(())
        })?;
        Ok(result)
    }

    /// The normalized text alone; `None` when nothing changes.
    ///
    /// # Errors
    /// As [`Normalizer::normalize`].
    pub fn normalize_text(&self, text: &str) -> Result<Option<String>> {
        self.normalize_text_within(text, Growth::of(text.len()))
    }

    /// [`Normalizer::normalize_part`] without the alignment.
    ///
    /// # Errors
    /// As [`Normalizer::normalize_part`].
    pub(crate) fn normalize_part_text(&self, part: &str, times: usize) -> Result<Option<String>> {
        self.normalize_text_within(part, Growth::of_part(part.len(), times))
    }

    fn normalize_text_within(&self, text: &str, mut growth: Growth) -> Result<Option<String>> {
        let budget = StepBudget::of(text.len());
        let mut result: Option<String> = None;
        self.for_each_step(&mut |step| {
            let current = result.as_deref().unwrap_or(text);
            growth.read(current.len())?;
            let mut next = Plain::within(growth);
            if step.step(current, &budget, &mut next)? {
                result = Some(next.checked()?);
            }
            Ok(())
        })?;
        Ok(result)
    }

    /// Calls `each` with every step that is not a sequence, in order.
    fn for_each_step(&self, each: &mut impl FnMut(&Self) -> Result<()>) -> Result<()> {
        match self {
            Self::Sequence { normalizers } => {
                normalizers.iter().try_for_each(|step| step.for_each_step(each))
            }
            step => each(step),
        }
    }

    /// Whether a space mark (`▁`) is inserted before a text.
    pub fn puts_space_in_front(&self) -> bool {
        match self {
            Self::SentencePiece(whole) => {
                whole.options().add_dummy_prefix && !whole.options().treat_whitespace_as_suffix
            }
            Self::Prepend { prepend } => prepend == SPACE_MARK_STR,
            Self::Sequence { normalizers } => normalizers.iter().any(Self::puts_space_in_front),
            _ => false,
        }
    }

    /// Whether space marks end words (`word▁`) instead of beginning them (`▁word`).
    pub fn puts_space_behind(&self) -> bool {
        match self {
            Self::SentencePiece(whole) => whole.options().treat_whitespace_as_suffix,
            Self::Sequence { normalizers } => normalizers.iter().any(Self::puts_space_behind),
            _ => false,
        }
    }

    /// Writes the result of one step to `out`. Returns `false` if the step changes nothing; the caller then
    /// discards `out`.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] if a pattern needs more than `budget` on this text.
    fn step<R: Rewrite>(&self, text: &str, budget: &StepBudget, out: &mut R) -> Result<bool> {
        Ok(match self {
            Self::Prepend { prepend } => {
                if text.is_empty() || prepend.is_empty() {
                    return Ok(false);
                }
                out.insert(prepend);
                out.copy(text);
                true
            }
            Self::Replace { pattern, content } => literal::replace(text, pattern, content, out),
            Self::ReplaceMatches { pattern, content } => pattern.replace(text, content, budget, out)?,
            Self::SentencePiece(normalizer) => normalizer.step(text, out),
            Self::Precompiled(rules) => rules.step(text, out),
            Self::Bert(bert) => bert::rewrite(bert.table(), text, out),
            Self::GoogleBert(bert) => bert::rewrite(bert.table(), text, out),
            Self::Nfc => Form::Nfc.rewrite(text, out),
            Self::Nfd => Form::Nfd.rewrite(text, out),
            Self::Nfkc => Form::Nfkc.rewrite(text, out),
            Self::Nfkd => Form::Nfkd.rewrite(text, out),
            Self::Lowercase => chars::lowercase(text, out),
            Self::StripAccents => chars::strip_accents(text, out),
            Self::Strip { left, right } => chars::strip(text, *left, *right, out),
            Self::Nmt => chars::nmt(text, out),
            // `for_each_step` has flattened sequences.
            Self::Sequence { .. } => false,
        })
    }
}

/// Deserializes steps one by one, so that reading stops at the first pattern too many.
fn steps<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<Normalizer>, D::Error> {
    struct Steps;
    impl<'de> serde::de::Visitor<'de> for Steps {
        type Value = Vec<Normalizer>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of normalizers")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut list: A,
        ) -> std::result::Result<Self::Value, A::Error> {
            let mut failed = None;
            let read = std::iter::from_fn(|| match list.next_element() {
                Ok(step) => step.map(Ok),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            });
            let sequence = Normalizer::sequence(read).map_err(serde::de::Error::custom);
            match (failed, sequence?) {
                (Some(error), _) => Err(error),
                (None, Normalizer::Sequence { normalizers }) => Ok(normalizers),
                (None, _) => Ok(Vec::new()),
            }
        }
    }
    deserializer.deserialize_seq(Steps)
}

/// Deserializes a variant without data and refuses any field, which serde alone would ignore.
pub(crate) fn no_fields<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoFields {}
    NoFields::deserialize(deserializer).map(|NoFields {}| ())
}

/// The end of the ASCII run that begins at `at`.
#[inline]
fn ascii_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii) {
        let run = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>());
        at += if run.is_some_and(|run| run.is_ascii()) { 32 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests;
