//! `Marked`: Metaspace with a mark that the file chooses in the place of `▁`.
//!
//! The same rules, one character at a time. Not for `▁`, whose splitter is in `metaspace`.

use serde::{Deserialize, Serialize};

use super::Prepend;
use crate::step_counter::step;

/// Spaces as a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marked {
    /// What stands for a space.
    pub mark: char,
    /// Which sections get one in front.
    pub prepend: Prepend,
    /// Whether a piece starts at each.
    pub split: bool,
}

impl Marked {
    /// End of the piece that starts at `start`: before the next mark, or the end.
    pub(super) fn piece_end(&self, text: &str, start: usize) -> usize {
        step();
        let rest = text.get(start..).unwrap_or_default();
        let first = rest.chars().next().map_or(0, char::len_utf8);
        match rest.get(first..).and_then(|rest| rest.find(self.mark)).filter(|_| self.split) {
            Some(len) => start + first + len,
            None => text.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre_tokenizer::PreTokenizer;

    #[test]
    fn a_piece_starts_at_each_mark() {
        let pieces = |text: &str, prepend, split| {
            let marked = PreTokenizer::Marked(Marked { mark: '·', prepend, split });
            let text = marked.rewrite_text(text, true).unwrap().unwrap_or_else(|| text.to_owned());
            let pieces = marked.split(&text).unwrap().into_iter();
            pieces.map(|piece| text[piece].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(pieces("a  b ·", Prepend::Always, true), ["·a", "·", "·b", "·", "·"]);
        assert_eq!(pieces(" a▁b", Prepend::First, true), ["·a▁b"]);
        assert_eq!(pieces("a b", Prepend::Never, false), ["a·b"]);
        assert!(pieces("", Prepend::Always, true).is_empty());
    }
}
