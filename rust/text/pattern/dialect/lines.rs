//! `^` and `$` of Oniguruma, which are the ends of lines, in words that both dialects share.

use super::{Scanner, refused};
use crate::error::Result;

/// The start of a line as Oniguruma has it: there is none behind a last line feed.
const LINE_START: &str = r"(?:\A|(?<=\n)(?!\z))";
/// The end of a line: `m` is another flag there, and changes nothing of `$`.
pub(super) const LINE_END: &str = "(?m:$)";

/// A pattern of Oniguruma's as one that means the same to both: the ends of lines are
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
    fn the_ends_of_lines_are_spelled_out() {
        for (pattern, expected) in [
            ("^a$", r"(?:\A|(?<=\n)(?!\z))a(?m:$)"),
            (r"\^[$^]\$|(?m:$)", r"\^[$^]\$|(?m:$)"),
            ("é$|", "é(?m:$)|"),
        ] {
            assert_eq!(from_oniguruma(pattern).unwrap(), expected);
            // What is spelled out once stays.
            assert_eq!(from_oniguruma(expected).unwrap(), expected);
        }
        assert!(from_oniguruma("a{1,3}+^").is_err());
    }
}
