//! Runs of one character that have one score, as merges in an order.
//!
//! Mistral's `▁▁` to `▁` x 16 all have the least score of its file, so that the
//! leftmost pair merges first: a run becomes pieces of 16 from the left, then
//! the rest. No order of merges does that step by step, but one gives
//! the same in the end. First all pairs of equal length, the shortest first: a
//! run of n is then pieces of the greatest length and the binary digits of the
//! rest, the greatest first. Then a digit joins the sum of those before it, the
//! greatest digit first, until the rest is one piece.
//!
//! It holds where the lengths from 2 to a power of two allow it, which is tried
//! out on every run shorter than twice that; longer ones begin with a piece of
//! that length in either order, and continue as the rest alone would. No other piece
//! may have two of the character next to each other, and no other pair merge as late:
//! then a run meets nothing but itself.

use std::collections::BTreeSet;

use super::pairs::PairTable;
use crate::vocab::{TokenId, Vocab};

/// The greatest length that is tried out.
const MOST: usize = 64;

/// The merges of the pieces of this rank; `None` if they are not such runs.
pub(super) fn as_list(vocab: &Vocab, pairs: &PairTable, rank: u32) -> Option<Vec<(TokenId, TokenId)>> {
    let (_, _, any) = pairs.iter().find(|(_, _, merged)| merged.rank == rank)?;
    let text = std::str::from_utf8(vocab.bytes(any.id)?).ok()?;
    let unit = text.chars().next()?.to_string();
    let double = unit.repeat(2);
    let mut lengths = BTreeSet::from([1]);
    for (_, _, merged) in pairs.iter() {
        let piece = vocab.bytes(merged.id)?;
        if merged.rank < rank {
            if memchr::memmem::find(piece, double.as_bytes()).is_some() {
                return None;
            }
            continue;
        }
        let is_run = merged.rank == rank && piece.chunks(unit.len()).all(|chunk| chunk == unit.as_bytes());
        if !is_run {
            return None;
        }
        lengths.insert(piece.len() / unit.len());
    }
    let merges = of_lengths(&lengths)?;
    let run = |length: usize| vocab.id(unit.repeat(length).as_bytes());
    merges.into_iter().map(|(left, right)| Some((run(left)?, run(right)?))).collect()
}

/// The merges as lengths, if they do what merging from the left does.
fn of_lengths(lengths: &BTreeSet<usize>) -> Option<Vec<(usize, usize)>> {
    let most = lengths.last().copied()?;
    if !most.is_power_of_two() || most > MOST {
        return None;
    }
    let powers: Vec<usize> = (0..most.trailing_zeros()).map(|n| 1 << n).collect();
    let mut merges: Vec<(usize, usize)> = powers.iter().map(|&length| (length, length)).collect();
    for &digit in powers.iter().rev() {
        let sums = (2 * digit..most.saturating_sub(digit)).step_by(2 * digit);
        merges.extend(sums.map(|sum| (sum, digit)));
    }
    let is_there = |length: &usize| lengths.contains(length);
    merges.retain(|(left, right)| [*left, *right, left + right].iter().all(is_there));
    let same = |n| from_the_left(lengths, n) == in_order(&merges, n);
    ((1..2 * most).all(same) && from_the_left(lengths, most) == [most]).then_some(merges)
}

/// A run of `n` where the leftmost pair whose sum is a length merges first.
fn from_the_left(lengths: &BTreeSet<usize>, n: usize) -> Vec<usize> {
    let mut parts = vec![1; n];
    while let Some(at) = parts.windows(2).position(|pair| lengths.contains(&(pair[0] + pair[1]))) {
        parts[at] += parts.remove(at + 1);
    }
    parts
}

/// A run of `n` where merges go in order, each from the left.
fn in_order(merges: &[(usize, usize)], n: usize) -> Vec<usize> {
    let mut parts = vec![1; n];
    while let Some(&(left, right)) =
        merges.iter().find(|merge| parts.windows(2).any(|pair| (pair[0], pair[1]) == **merge))
    {
        let Some(at) = parts.windows(2).position(|pair| (pair[0], pair[1]) == (left, right)) else { break };
        parts[at] += parts.remove(at + 1);
    }
    parts
}
