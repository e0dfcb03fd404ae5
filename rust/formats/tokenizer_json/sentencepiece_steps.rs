//! Converts SentencePiece's normalizer to steps of Hugging Face and back.
//!
//! Without rules, the steps give the same text (checked by a property test). With rules, the first
//! step is `Precompiled`, which applies them by grapheme and so may differ; such steps are not
//! converted back.

use crate::error::{Error, Result};
use crate::normalizer::{Matches, Normalizer, Precompiled, SentencePiece, SentencePieceOptions};
use crate::text::{SPACE_MARK, SPACE_MARK_STR};

/// Spaces at the ends. At the end of the text this also removes a `▁` that was in the text.
const ENDS: &str = r"\A +|[ ▁]+\z";
/// The same if spaces are not written as marks; a `▁` is then an ordinary character.
const UNMARKED_ENDS: &str = r"\A +| +\z";
const RUNS: &str = " {2,}";

/// The steps for these options.
///
/// # Errors
/// [`Error::NotRepresentable`] for options that tokenizers has no step for.
pub(super) fn steps(options: &SentencePieceOptions) -> Result<Vec<Normalizer>> {
    let refuse = |reason: &str| Err(Error::NotRepresentable { format: super::NAME, reason: reason.into() });
    if options.treat_whitespace_as_suffix {
        return refuse("a space is put after the text, not before");
    }
    // SentencePiece removes no spaces in user-defined strings, as the steps would. (It writes them as
    // marks there, as the steps do.)
    let loses_spaces = |text: &&String| options.remove_extra_whitespaces && text.contains([' ', SPACE_MARK]);
    if let Some(text) = options.user_defined.iter().find(loses_spaces) {
        return refuse(&format!(
            "the spaces of the user-defined piece {text:?}, which stay when all other spaces are dropped"
        ));
    }
    let replace = |pattern: &str, content: &str| -> Result<Normalizer> {
        Ok(Normalizer::ReplaceMatches { pattern: Matches::new(pattern)?, content: content.into() })
    };
    let mut steps = Vec::new();
    if !options.charsmap.is_empty() {
        steps.push(Normalizer::Precompiled(Precompiled { charsmap: options.charsmap.clone() }));
    }
    if options.remove_extra_whitespaces {
        steps.push(replace(if options.escape_whitespaces { ENDS } else { UNMARKED_ENDS }, "")?);
        steps.push(replace(RUNS, " ")?);
    }
    let mark = if options.escape_whitespaces { SPACE_MARK_STR } else { " " };
    if options.add_dummy_prefix {
        steps.push(Normalizer::Prepend { prepend: mark.into() });
    }
    if options.escape_whitespaces {
        steps.push(Normalizer::Replace { pattern: " ".into(), content: SPACE_MARK_STR.into() });
    }
    Ok(steps)
}

/// The normalizer that is equivalent to these steps; `None` if there is none without rules.
pub(super) fn joined(found: &[Normalizer]) -> Option<Normalizer> {
    let with = |remove_extra_whitespaces, add_dummy_prefix| SentencePieceOptions {
        remove_extra_whitespaces,
        add_dummy_prefix,
        ..SentencePieceOptions::default()
    };
    // Excludes inserting a mark and replacing spaces alone, because Llama does that, too.
    let known = [with(true, true), with(false, true), with(true, false)];
    let options = known.into_iter().find(|options| steps(options).is_ok_and(|steps| steps == found))?;
    Some(Normalizer::SentencePiece(Box::new(SentencePiece::new(options).ok()?)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn steps_equal_the_normalizer(
            text in "[ab ▁\u{3000}\n]{0,12}", collapses: bool, prefix: bool, escapes: bool,
        ) {
            let options = SentencePieceOptions {
                remove_extra_whitespaces: collapses,
                add_dummy_prefix: prefix,
                escape_whitespaces: escapes,
                ..SentencePieceOptions::default()
            };
            let steps = steps(&options).unwrap();
            let sequence = Normalizer::Sequence { normalizers: steps.clone() };
            let whole = Normalizer::SentencePiece(Box::new(SentencePiece::new(options).unwrap()));
            let text_of = |normalizer: &Normalizer| {
                normalizer.normalize_text(&text).unwrap().unwrap_or_else(|| text.clone())
            };
            prop_assert_eq!(text_of(&sequence), text_of(&whole));
            if escapes && (collapses || prefix) {
                prop_assert_eq!(joined(&steps), Some(whole));
            }
        }
    }
}
