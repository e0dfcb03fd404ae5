//! `Matches`: a pattern whose matches are replaced, as Hugging Face's `Replace`
//! does with a regular expression.
//!
//! Runs on the linear engine of `pattern`, or on its backtracking engine if the pattern needs
//! look-around.

use serde::{Deserialize, Serialize};

use super::Rewrite;
use crate::error::{Error, Result};
use crate::text::pattern::{Pattern, StepBudget};

/// A compiled pattern. Two are equal if their patterns are equal strings.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Matches {
    pattern: Pattern,
}

impl PartialEq for Matches {
    fn eq(&self, other: &Self) -> bool {
        self.pattern() == other.pattern()
    }
}

impl Eq for Matches {}

impl TryFrom<String> for Matches {
    type Error = Error;

    fn try_from(pattern: String) -> Result<Self> {
        Self::new(&pattern)
    }
}

impl From<Matches> for String {
    fn from(matches: Matches) -> Self {
        matches.pattern().to_owned()
    }
}

impl Matches {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`Error::Pattern`] if it does not compile.
    pub fn new(pattern: &str) -> Result<Self> {
        let linear = Pattern::new(pattern, false);
        let pattern = linear.or_else(|error| Pattern::new(pattern, true).map_err(|_| error))?;
        Ok(Self { pattern })
    }

    /// The pattern string.
    pub fn pattern(&self) -> &str {
        self.pattern.source()
    }

    /// Replaces every match by `content`; an empty match inserts it. Returns `false` if nothing
    /// matches. An empty text never matches.
    ///
    /// # Errors
    /// [`Error::Pattern`] if the pattern needs too many steps on this text.
    pub(super) fn replace<R: Rewrite>(
        &self,
        text: &str,
        content: &str,
        budget: &StepBudget,
        out: &mut R,
    ) -> Result<bool> {
        if text.is_empty() {
            return Ok(false);
        }
        let (mut end, mut changed) = (0, false);
        self.pattern.for_each_match(text, budget, |found| -> Result<()> {
            out.copy(&text[end..found.start]);
            out.replace_match(&text[found.start..found.end], content);
            (end, changed) = (found.end, true);
            Ok(())
        })?;
        if !changed {
            return Ok(false);
        }
        out.copy(&text[end..]);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalizer::Aligned;

    #[test]
    fn replace_matches_keeps_alignment() {
        for (pattern, content, text, expected) in [
            (" {2,}", " ", "a  b   c d", Some("a b c d")),
            (" {2,}", "▁", "a b", None),
            (r"\A +| +\z", "", "  a b ", Some("a b")),
            ("x", "", "xx", Some("")),
            (r"x*", "-", "axb", Some("-a-b-")),
            (r"(?<=\n)a", "b", "a\na", Some("a\nb")),
            (r"x*", "-", "", None),
        ] {
            let matches = Matches::new(pattern).unwrap();
            let mut aligned = Aligned::default();
            let changed = matches.replace(text, content, &StepBudget::of(text.len()), &mut aligned).unwrap();
            assert_eq!(changed.then_some(aligned.text.as_str()), expected, "{pattern} {text}");
        }
        let mut aligned = Aligned::default();
        assert!(
            Matches::new(" {2,}").unwrap().replace("a   b", " ", &StepBudget::of(5), &mut aligned).unwrap()
        );
        assert_eq!(aligned.to_original(2..3), 4..5);
    }

    #[test]
    fn invalid_pattern_is_refused() {
        assert!(matches!(Matches::new("("), Err(Error::Pattern { .. })));
    }
}
