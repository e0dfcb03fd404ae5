//! Splitters one after the other: each cuts the pieces of the one before.
//!
//! Only the last pieces count. A step that rewrites text has no place in here:
//! its own step would have to run on each piece, and offsets with it.

use std::ops::Range;

use super::PreTokenizer;
use crate::error::{Error, Result};
use crate::pattern::Work;

/// More steps than any known file has; each is a level of nested calls.
pub const MAX_STEPS: usize = 16;

/// Refuses steps that cannot stand in a sequence.
pub(super) fn check(steps: &[PreTokenizer]) -> Result<()> {
    let refuse = |reason: String| Err(Error::format("pre_tokenizer", reason));
    if steps.len() > MAX_STEPS {
        return refuse(format!("{} splitters in a row; at most {MAX_STEPS} are supported", steps.len()));
    }
    match steps.iter().find(|step| step.rewrites() || matches!(step, PreTokenizer::Sequence { .. })) {
        Some(step) => refuse(format!("{} cannot stand in a sequence of splitters", step.name())),
        None => Ok(()),
    }
}

/// Calls `f` with the pieces of `text`, which begins at `base`; `work` is what all
/// patterns may do on the whole text.
pub(super) fn walk<E: From<Error>>(
    steps: &[PreTokenizer],
    text: &str,
    base: usize,
    work: &Work,
    f: &mut dyn FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    match steps {
        [] if text.is_empty() => Ok(()),
        [] => f(base..base + text.len()),
        [first, rest @ ..] => first.walk_within(text, work, |piece| {
            let start = base + piece.start;
            walk(rest, &text[piece], start, work, f)
        }),
    }
}
