//! Hugging Face's bookkeeping, step by step, for the one case where it differs
//! from counting: a merge makes a token that already stands in pieces, because
//! the corpus spells out the prefix or the suffix.
//!
//! Then its trainer (0.23) works on with counts that no longer count: a merged
//! pair keeps its own count, a pair born twice is queued twice, each entry
//! with the pieces of its own birth, and counts below zero compare as huge.
//! We follow so that ids are equal. Not the usual path: it rescans a piece for
//! each merge that touches it. Ties between two entries of one pair, which it
//! leaves to hash order, go to the entry queued first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::layout::Layout;
use super::merger::Limits;
use super::tokens::Tokens;
use super::{Merge, Stop};
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

type Pair = (TokenId, TokenId);

/// Count, pair, and the number of the entry: the order of the queue.
type Queue = BinaryHeap<(u64, Reverse<Pair>, Reverse<usize>)>;

/// A piece: symbols with their lengths in first symbols, and its count.
struct Word {
    symbols: Vec<(TokenId, usize)>,
    weight: i64,
}

/// The live state of the trainer.
#[derive(Default)]
struct Books {
    counts: FxHashMap<Pair, i64>,
    /// Pieces where pairs were born since the queue was last fed, in order of
    /// birth.
    births: Vec<(Pair, Vec<u32>)>,
    birth_index: FxHashMap<Pair, usize>,
    /// The pieces each queue entry carries.
    carried: Vec<Vec<u32>>,
    queue: Queue,
}

impl Books {
    fn add(&mut self, tokens: &Tokens, pair: Pair, by: i64) -> Result<()> {
        let count = self.counts.entry(pair).or_default();
        *count = count.checked_add(by).ok_or_else(|| Error::CountOverflow {
            what: format!("the pair {:?}", String::from_utf8_lossy(&tokens.joined(pair.0, pair.1))),
        })?;
        Ok(())
    }

    fn born(&mut self, pair: Pair, word: u32) {
        let at = *self.birth_index.entry(pair).or_insert_with(|| {
            self.births.push((pair, Vec::new()));
            self.births.len() - 1
        });
        let words = &mut self.births[at].1;
        if words.last() != Some(&word) {
            words.push(word);
        }
    }

    /// Queues what was born.
    fn feed(&mut self) {
        self.birth_index.clear();
        for (pair, words) in self.births.drain(..) {
            let count = self.counts[&pair];
            if count > 0 {
                self.queue.push((count as u64, Reverse(pair), Reverse(self.carried.len())));
                self.carried.push(words);
            }
        }
    }
}

/// Trains from first symbols.
pub(super) fn train(
    layout: &Layout,
    tokens: &mut Tokens,
    limits: &Limits,
    progress: &mut Progress,
) -> Result<(Vec<Merge>, Stop)> {
    let mut words = words(layout)?;
    let mut books = Books::default();
    for (at, word) in words.iter().enumerate() {
        for pair in word.symbols.windows(2) {
            let pair = (pair[0].0, pair[1].0);
            books.add(tokens, pair, word.weight)?;
            books.born(pair, at as u32);
        }
    }
    books.feed();

    let mut merges = Vec::new();
    let stop = loop {
        progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        if tokens.len() >= limits.vocab_size {
            break Stop::VocabFull;
        }
        let Some((count, Reverse(pair), Reverse(entry))) = books.queue.pop() else { break Stop::NoPairs };
        let live = books.counts[&pair] as u64;
        if count != live {
            books.queue.push((live, Reverse(pair), Reverse(entry)));
            continue;
        }
        if count == 0 {
            break Stop::NoPairs;
        }
        if count < limits.min_frequency {
            break Stop::BelowMinFrequency { count };
        }
        let bytes = tokens.joined(pair.0, pair.1);
        let id = tokens.intern(&bytes);
        merges.push(Merge { left: pair.0, right: pair.1, id, count });
        for at in std::mem::take(&mut books.carried[entry]) {
            let word = &mut words[at as usize];
            let weight = word.weight;
            word.merge(pair, id, limits.max_token_length, |pair, is_birth| {
                if is_birth {
                    books.born(pair, at);
                }
                books.add(tokens, pair, if is_birth { weight } else { -weight })
            })?;
            progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
        }
        books.feed();
    };
    Ok((last_of_each(merges), stop))
}

/// The model keeps merges by pair, so of a pair merged twice the last stays.
fn last_of_each(merges: Vec<Merge>) -> Vec<Merge> {
    let last: FxHashMap<Pair, usize> =
        merges.iter().enumerate().map(|(rank, merge)| ((merge.left, merge.right), rank)).collect();
    let keep = |(rank, merge): &(usize, Merge)| last[&(merge.left, merge.right)] == *rank;
    merges.into_iter().enumerate().filter(keep).map(|(_, merge)| merge).collect()
}

fn words(layout: &Layout) -> Result<Vec<Word>> {
    let mut words = Vec::new();
    let mut fits = true;
    layout.for_each_run(|run, weight| {
        fits &= i64::try_from(weight).is_ok();
        words.push(Word { symbols: run.iter().map(|&id| (id, 1)).collect(), weight: weight as i64 });
    });
    if fits { Ok(words) } else { Err(Error::CountOverflow { what: "a piece, doubled,".to_owned() }) }
}

impl Word {
    /// Merges a pair from left to right, and tells of each pair that goes
    /// (`false`) or comes (`true`).
    fn merge(
        &mut self,
        (left, right): Pair,
        id: TokenId,
        max_length: usize,
        mut tell: impl FnMut(Pair, bool) -> Result<()>,
    ) -> Result<()> {
        let (mut from, mut to) = (0, 0);
        while from < self.symbols.len() {
            let first = self.symbols[from];
            let second = self.symbols.get(from + 1).copied();
            match second {
                Some(second) if first.0 == left && second.0 == right => {
                    let length = first.1 + second.1;
                    if to > 0 {
                        let before = self.symbols[to - 1];
                        tell((before.0, left), false)?;
                        if before.1 + length < max_length {
                            tell((before.0, id), true)?;
                        }
                    }
                    if let Some(&after) = self.symbols.get(from + 2) {
                        tell((right, after.0), false)?;
                        if after.1 + length < max_length {
                            tell((id, after.0), true)?;
                        }
                    }
                    self.symbols[to] = (id, length);
                    from += 2;
                }
                _ => {
                    self.symbols[to] = first;
                    from += 1;
                }
            }
            to += 1;
        }
        self.symbols.truncate(to);
        Ok(())
    }
}
