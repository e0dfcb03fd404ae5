//! `Normalizer`: what a text becomes before it is split.
//!
//! The set is closed: a new step is a variant here and an arm in
//! [`Normalizer::normalize`]. Every step reports its edits, so offsets always
//! lead back to the original text.

pub mod alignment;

pub use alignment::Aligned;
use serde::{Deserialize, Serialize};

/// A normalization step, or several in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Normalizer {
    /// Puts `prepend` before every text that is not empty.
    Prepend {
        /// What is put there.
        prepend: String,
    },
    /// Replaces each occurrence of `pattern`, a literal string, by `content`.
    Replace {
        /// What is looked for; not empty.
        pattern: String,
        /// What takes its place.
        content: String,
    },
    /// The steps one after the other.
    Sequence {
        /// The steps.
        normalizers: Vec<Normalizer>,
    },
}

impl Normalizer {
    /// The normalized text with its alignment; `None` when nothing changes.
    pub fn normalize(&self, text: &str) -> Option<Aligned> {
        match self {
            Self::Prepend { prepend } => {
                if text.is_empty() || prepend.is_empty() {
                    return None;
                }
                let mut aligned = Aligned::default();
                aligned.insert(prepend);
                aligned.copy(text);
                Some(aligned)
            }
            Self::Replace { pattern, content } => replace(text, pattern, content),
            Self::Sequence { normalizers } => {
                let mut result: Option<Aligned> = None;
                for step in normalizers {
                    let current = result.as_ref().map_or(text, |aligned| aligned.text.as_str());
                    if let Some(next) = step.normalize(current) {
                        result = Some(match result {
                            Some(first) => first.then(next),
                            None => next,
                        });
                    }
                }
                result
            }
        }
    }
}

/// Replaces every occurrence of a literal pattern; `None` when there is none.
pub(crate) fn replace(text: &str, pattern: &str, content: &str) -> Option<Aligned> {
    if pattern.is_empty() {
        return None;
    }
    let mut aligned = Aligned::default();
    let mut end = 0;
    for at in memchr::memmem::find_iter(text.as_bytes(), pattern.as_bytes()) {
        aligned.copy(&text[end..at]);
        aligned.replace(pattern.len(), content);
        end = at + pattern.len();
    }
    if end == 0 {
        return None;
    }
    aligned.copy(&text[end..]);
    Some(aligned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llama_steps_keep_their_way_back() {
        let normalizer = Normalizer::Sequence {
            normalizers: vec![
                Normalizer::Prepend { prepend: "▁".into() },
                Normalizer::Replace { pattern: " ".into(), content: "▁".into() },
            ],
        };
        let aligned = normalizer.normalize("a bc").unwrap();
        assert_eq!(aligned.text, "▁a▁bc");
        for (normalized, original) in [(0..4, 0..1), (0..3, 0..0), (4..7, 1..2), (4..9, 1..4), (7..9, 2..4)] {
            assert_eq!(aligned.to_original(normalized), original);
        }
        assert!(normalizer.normalize("").is_none());
    }
}
