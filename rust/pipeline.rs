//! `Pipeline`: a normalizer and a pre-tokenizer, which turn a document into pieces.
//!
//! Counting, training and encoding share one object, so that they cannot split by different rules.
//! Count files contain it; counts may only be added if the SHA-256 of their pipelines agree.

pub(crate) mod split_points;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::normalizer::{Normalizer, Rewritten};
use crate::pre_tokenizer::{PreTokenizer, cut_before_blank};
#[cfg(feature = "corpus")]
use crate::text::Piece;
use crate::text::pattern::StepBudget;

/// A normalizer and a pre-tokenizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Rewrites a text before it is split; `None` leaves it as it is.
    pub normalizer: Option<Normalizer>,
    /// Splits the text.
    pub pre_tokenizer: PreTokenizer,
}

impl Pipeline {
    /// A pipeline without a normalizer.
    pub fn new(pre_tokenizer: PreTokenizer) -> Self {
        Self { normalizer: None, pre_tokenizer }
    }

    /// Refuses a normalizer that writes a space after a word with a pre-tokenizer that cuts before
    /// the space: the space would become a part of the next word.
    ///
    /// # Errors
    /// [`Error::Option`], which names a valid combination.
    pub fn check(&self) -> Result<()> {
        let cuts =
            matches!(self.pre_tokenizer, PreTokenizer::Metaspace { .. } | PreTokenizer::MetaspaceWords);
        match &self.normalizer {
            Some(normalizer) if cuts && normalizer.puts_space_behind() => Err(Error::Option {
                option: "normalizer",
                value: normalizer.name().unwrap_or_else(|| "this one".into()),
                reason: format!(
                    "it writes spaces behind words, and the pre-tokenizer {} cuts before them: pass \
                     the normalizer `sentencepiece` or `sentencepiece-collapse`",
                    self.pre_tokenizer.name()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// The pipeline as JSON; equal pipelines give the same text.
    ///
    /// # Errors
    /// [`Error::Internal`] if it cannot be written, which would be a bug.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()))
    }

    /// Reads what [`Pipeline::to_json`] wrote.
    ///
    /// # Errors
    /// [`Error::Format`], which names the mistake.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| Error::format("pipeline", error.to_string()))
    }

    /// SHA-256 of [`Pipeline::to_json`], in hexadecimal.
    ///
    /// # Errors
    /// As [`Pipeline::to_json`].
    pub fn fingerprint(&self) -> Result<String> {
        Ok(hex(&Sha256::digest(self.to_json()?.as_bytes())))
    }

    /// Calls `f` with each piece of `document`, in order. A piece may end inside a character if
    /// splitters see bytes.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] if a custom pattern exceeds its step limit;
    /// [`Error::Encode`] if the normalizer makes the text too long.
    pub fn for_each_piece(&self, document: &str, mut f: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.split(document, |step, text| step.for_each_piece(text, |piece| f(&text.as_bytes()[piece])))
    }

    /// As [`Pipeline::for_each_piece`], in chunks.
    ///
    /// # Errors
    /// As [`Pipeline::for_each_piece`].
    #[cfg(feature = "corpus")]
    pub(crate) fn for_each_chunk(
        &self,
        document: &str,
        mut f: impl FnMut(Pieces<'_>) -> Result<()>,
    ) -> Result<()> {
        self.split(document, |step, text| {
            let bytes = text.as_bytes();
            if u32::try_from(text.len()).is_err() {
                return step.for_each_piece(text, |piece| f(Pieces::One(&bytes[piece])));
            }
            step.for_each_chunk(text, &StepBudget::of(text.len()), |pieces| f(Pieces::Chunk(bytes, pieces)))
        })
    }

    /// Calls `split` with each stretch of the normalized and rewritten text, and the pre-tokenizer
    /// for it.
    fn split(&self, document: &str, mut split: impl FnMut(&PreTokenizer, &str) -> Result<()>) -> Result<()> {
        // A stretch at offset 0 counts as the start of the document, even if the normalizer removed
        // text before it. `Within` instead looks at the origin.
        let is_cut_first = matches!(self.pre_tokenizer, PreTokenizer::Within { .. });
        let normalized = self.normalize(document, is_cut_first && self.looks_at_origin())?;
        let text = normalized.text(document);
        let begins = |place| place == 0 && !is_cut_first || normalized.origin(place) == 0;
        self.pre_tokenizer.for_each_stretch(
            text,
            begins,
            &StepBudget::of(text.len()),
            |step, stretch, at_start| {
                let text = &text[stretch];
                let rewritten = step.rewrite_text(text, at_start)?;
                split(step, rewritten.as_deref().unwrap_or(text))
            },
        )
    }
}

impl Pipeline {
    /// Normalizes a text, with the alignment if requested.
    pub(crate) fn normalize(&self, text: &str, keeps_alignment: bool) -> Result<Rewritten> {
        let Some(normalizer) = &self.normalizer else { return Ok(Rewritten::Unchanged) };
        Rewritten::new(keeps_alignment, || normalizer.normalize(text), || normalizer.normalize_text(text))
    }

    /// Whether the pieces depend on the alignment of the normalized text.
    pub(crate) fn looks_at_origin(&self) -> bool {
        self.normalizer.is_some() && self.pre_tokenizer.looks_at_origin()
    }

    /// Whether [`Pipeline::safe_cut`] can ever find a cut.
    pub(crate) fn can_be_cut(&self) -> bool {
        match (&self.normalizer, &self.pre_tokenizer) {
            (None, pre_tokenizer) => !pre_tokenizer.rewrites() && !pre_tokenizer.runs_patterns(),
            (Some(Normalizer::Bert(_)), PreTokenizer::Bert) => true,
            (Some(Normalizer::GoogleBert(_)), PreTokenizer::GoogleBert) => true,
            _ => false,
        }
    }

    /// The last offset at or before `near` where a text may be cut: the pieces of both parts are
    /// those of the whole, whatever follows.
    pub(crate) fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        match &self.normalizer {
            None => self.pre_tokenizer.safe_cut(text, near),
            // BERT's rules look at one character and the marks after it, so they never cross a
            // blank, and a blank remains a blank.
            Some(Normalizer::Bert(_) | Normalizer::GoogleBert(_)) => cut_before_blank(text, near),
            Some(_) => None,
        }
    }
}

/// Pieces in the form that counting needs.
#[cfg(feature = "corpus")]
pub(crate) enum Pieces<'a> {
    /// Up to [`LONG_CHUNK`](crate::text::LONG_CHUNK) pieces of these bytes.
    Chunk(&'a [u8], &'a [Piece]),
    /// One piece, of a text too long for the offsets of a chunk, or of invalid UTF-8.
    One(&'a [u8]),
}

/// Bytes in lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
