//! The loop of training by score: take the pair worth most, rewrite its places,
//! tell the candidates what that changed.
//!
//! A merge costs what it touches: the places of the pair, their neighbours, and
//! of the two symbols' other pairs those whose score may have come to matter.

use super::candidates::Candidates;
use super::score::Measure;
use crate::bpe::trainer::layout::Layout;
use crate::bpe::trainer::merger::Limits;
use crate::bpe::trainer::rewrite::Rewriter;
use crate::bpe::trainer::scan::Scan;
use crate::bpe::trainer::tokens::Tokens;
use crate::bpe::trainer::{Merge, Stop};
use crate::error::Result;
use crate::progress::{Progress, Stage};

/// Merges until there is a reason to stop. `counts` are those of all symbols.
pub(super) fn run<M: Measure>(
    measure: M,
    counts: &[u64],
    layout: &mut Layout,
    tokens: &mut Tokens,
    limits: &Limits,
    progress: &mut Progress,
) -> Result<(Vec<Merge>, Stop)> {
    let mut candidates = Candidates::new(measure, counts);
    let mut rewriter = Rewriter::default();
    let mut merges = Vec::new();
    while tokens.len() < limits.vocab_size {
        progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        let Some((best, count)) = candidates.best(limits) else {
            if candidates.refill(layout, tokens, limits, progress)? {
                continue;
            }
            return Ok((merges, why_none(layout, tokens, limits, progress)?));
        };
        if !M::gains(best.key) {
            return Ok((merges, Stop::NoGain));
        }
        let bytes = tokens.joined(best.left, best.right);
        // A corpus that spells out the prefix makes a token a second way.
        let reused = tokens.find(&bytes).is_some_and(|id| tokens.length(id) > 0);
        let length = tokens.length(best.left) + tokens.length(best.right);
        let id = tokens.intern(&bytes);
        tokens.set_length(id, length);
        let positions = candidates.take(best);
        let (pair, done) = ((best.left, best.right), tokens.len() as u64);
        let mut tick = || progress.tick(Stage::Merge, done, limits.vocab_size as u64);
        let by = rewriter.merge(layout, tokens, pair, id, positions.as_slice(), &mut tick)?;
        candidates.merged(pair, id, by);
        if reused {
            rewriter.recount(layout, tokens, pair, id, &mut candidates);
        }
        rewriter.apply(tokens, pair, id, &mut candidates);
        candidates.refresh(best.left);
        candidates.refresh(best.right);
        merges.push(Merge { left: best.left, right: best.right, id, count });
    }
    Ok((merges, Stop::VocabFull))
}

/// Why no pair is frequent enough: there is none, or the most frequent is too rare.
fn why_none(layout: &mut Layout, tokens: &Tokens, limits: &Limits, progress: &mut Progress) -> Result<Stop> {
    layout.compact();
    let scan = Scan { layout, tokens, vocab_size: limits.vocab_size, threads: limits.threads };
    let sketch = scan.sketch(progress)?;
    let mut bound = sketch.max().min(limits.min_frequency - 1);
    while bound > 0 {
        // Halves, so that the rare pairs of a large corpus are not all held.
        let least = bound.div_ceil(2);
        let pairs = scan.pairs(&sketch, least, progress)?;
        if let Some(count) = pairs.list.iter().map(|pair| pair.count).max() {
            return Ok(Stop::BelowMinFrequency { count });
        }
        bound = least - 1;
    }
    Ok(Stop::NoPairs)
}
