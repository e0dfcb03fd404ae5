//! Spells Oniguruma's `^` and `$`, which match at the ends of lines, in syntax that both dialects
//! share.

use super::{Scanner, refused};
use crate::error::Result;

/// The start of a line in Oniguruma. A line feed at the end of the text starts no line.
const LINE_START: &str = r"(?:\A|(?<=\n)(?!\z))";
/// The end of a line. In Oniguruma `m` is a different flag, which does not affect `$`.
pub(super) const LINE_END: &str = "(?m:$)";

/// A pattern that means the same in both dialects as `pattern` in Oniguruma: `^` and `$` are
/// spelled out.
///
/// # Errors
/// As [`check`].
pub(crate) fn from_oniguruma(pattern: &str) -> Result<String> {
    let refuse = |reason| refused(pattern, reason);
    let mut scanner = Scanner::new(pattern, true).map_err(refuse)?;
    scanner.anchors = Some(Vec::new());
    let anchors = scanner.run().map_err(refuse)?.anchors;
    let (mut spelled, mut end) = (String::with_capacity(pattern.len()), 0);
    for at in anchors {
        spelled.push_str(&pattern[end..at]);
        spelled.push_str(if pattern[at..].starts_with('^') { LINE_START } else { LINE_END });
        end = at + 1;
    }
    spelled.push_str(&pattern[end..]);
    Ok(spelled)
}

#[cfg(test)]
mod tests {
    use super::from_oniguruma;

    #[test]
    fn line_ends_are_spelled_out() {
        for (pattern, expected) in [
            ("^a$", r"(?:\A|(?<=\n)(?!\z))a(?m:$)"),
            (r"\^[$^]\$|(?m:$)", r"\^[$^]\$|(?m:$)"),
            ("é$|", "é(?m:$)|"),
        ] {
            assert_eq!(from_oniguruma(pattern).unwrap(), expected);
            // Spelling out is idempotent.
            assert_eq!(from_oniguruma(expected).unwrap(), expected);
        }
        assert!(from_oniguruma("a{1,3}+^").is_err());
    }
}
