//! Several splitters in order: each cuts the pieces of the previous one.
//!
//! Only the last pieces count. The first step may rewrite the text, and the later steps see the
//! result. A later step that rewrites does so in each piece separately; such a sequence becomes a
//! [`PreTokenizer::Within`] of an outer part that cuts and an inner part that rewrites and cuts
//! each piece.

use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::PreTokenizer;
use crate::error::{Error, Result};
use crate::text::pattern::StepBudget;

/// More steps than any known file has; each is a level of nested calls.
pub const MAX_STEPS: usize = 16;

/// A sequence of these steps, or the only step.
pub(super) fn joined(mut steps: Vec<PreTokenizer>) -> Result<PreTokenizer> {
    if let Some(at) = steps.iter().skip(1).position(PreTokenizer::rewrites) {
        let inner = joined(steps.split_off(at + 1))?;
        let outer = joined(steps)?;
        check_within(&outer, &inner)?;
        return Ok(PreTokenizer::Within { outer: Box::new(outer), inner: Box::new(inner) });
    }
    if steps.len() == 1
        && let Some(only) = steps.pop()
    {
        return Ok(only);
    }
    check(&steps)?;
    Ok(PreTokenizer::Sequence { steps })
}

/// Refuses an inner part that cannot rewrite the pieces of the outer part separately.
fn check_within(outer: &PreTokenizer, inner: &PreTokenizer) -> Result<()> {
    let is_nested = |step: &PreTokenizer| matches!(step, PreTokenizer::Within { .. });
    // A byte-level piece may end inside a character, so it cannot be rewritten.
    if outer.rewrites() || is_nested(inner) || outer.cuts_characters() {
        return refuse(format!(
            "{} after {} is not supported; in a sequence of splitters one may rewrite text, before any \
             behind ByteLevel",
            inner.name(),
            outer.name()
        ));
    }
    Ok(())
}

/// Refuses steps that cannot be part of a sequence.
pub(super) fn check(steps: &[PreTokenizer]) -> Result<()> {
    if steps.len() > MAX_STEPS {
        return refuse(format!("{} splitters in a row; at most {MAX_STEPS} are supported", steps.len()));
    }
    let is_out_of_place = |(at, step): &(usize, &PreTokenizer)| match step {
        PreTokenizer::Sequence { .. } | PreTokenizer::Within { .. } => true,
        // Steps after it would see characters again.
        PreTokenizer::ByteSpelled { .. } => at + 1 < steps.len(),
        step => *at > 0 && step.rewrites(),
    };
    match steps.iter().enumerate().find(is_out_of_place) {
        Some((at, step)) => refuse(format!("{} cannot be step {at} of a sequence of splitters", step.name())),
        None => Ok(()),
    }
}

/// Splitters that see each byte as a character.
pub(super) fn byte_spelled(steps: Vec<PreTokenizer>) -> Result<PreTokenizer> {
    let is_out_of_place =
        |step: &&PreTokenizer| step.rewrites() || matches!(step, PreTokenizer::ByteSpelled { .. });
    if let Some(step) = steps.iter().find(is_out_of_place) {
        return refuse(format!("{} cannot follow ByteLevel", step.name()));
    }
    check(&steps)?;
    Ok(PreTokenizer::ByteSpelled { steps })
}

/// Reads the steps of a sequence and checks them.
pub(super) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<PreTokenizer>, D::Error> {
    let Steps { steps } = Steps::deserialize(deserializer)?;
    check(&steps).map_err(D::Error::custom)?;
    Ok(steps)
}

/// Reads the steps of [`byte_spelled`].
pub(super) fn read_byte_spelled<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<PreTokenizer>, D::Error> {
    let Steps { steps } = Steps::deserialize(deserializer)?;
    match byte_spelled(steps).map_err(D::Error::custom)? {
        PreTokenizer::ByteSpelled { steps } => Ok(steps),
        _ => Ok(Vec::new()),
    }
}

/// Reads the two parts of [`PreTokenizer::Within`].
pub(super) fn read_within<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<(Box<PreTokenizer>, Box<PreTokenizer>), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parts {
        outer: PreTokenizer,
        inner: PreTokenizer,
    }
    let Parts { outer, inner } = Parts::deserialize(deserializer)?;
    check_within(&outer, &inner).map_err(D::Error::custom)?;
    Ok((Box::new(outer), Box::new(inner)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    steps: Vec<PreTokenizer>,
}

fn refuse<T>(reason: String) -> Result<T> {
    Err(Error::format("pre_tokenizer", reason))
}

/// Calls `f` with the pieces of `text`, which begins at `base`. `budget` limits the work of all
/// patterns on the whole text.
pub(super) fn visit_pieces<E: From<Error>>(
    steps: &[PreTokenizer],
    text: &str,
    base: usize,
    budget: &StepBudget,
    f: &mut dyn FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    match steps {
        [] if text.is_empty() => Ok(()),
        [] => f(base..base + text.len()),
        // Its pieces may end inside a character, so no step follows it.
        [PreTokenizer::ByteSpelled { steps }] => {
            super::byte_spelled::visit_pieces(steps, text, budget, &mut |piece: Range<usize>| {
                f(base + piece.start..base + piece.end)
            })
        }
        [first, rest @ ..] => first.visit_pieces_within(text, budget, |piece| {
            let start = base + piece.start;
            visit_pieces(rest, &text[piece], start, budget, f)
        }),
    }
}
