//! Seeds: the initial pieces of training, with the positions of each.
//!
//! Sorts the suffixes of the distinct segments, bucket by bucket and up to the maximum length of a
//! piece; a run of suffixes with a common prefix is a substring with all its positions. Candidates
//! have two or more characters and different followers ("inner nodes of the suffix tree"), because
//! a string that always has the same follower is never better than the longer string. The
//! [`Method`] says which followers are different, and what follows a word. The candidates with the
//! greatest product of count and length are kept.
//!
//! The cost is the sum of common prefixes, at most `max_piece_length` per position.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::blocks;
use super::followers::{Follower, MANY};
use super::lattices::Lattices;
use super::logarithm::ln;
use super::model::Model;
use super::{Method, UnigramTrainer};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::progress::{Progress, Stage};
use crate::sentencepiece_rules::characters::Characters;
use crate::sentencepiece_rules::rules::{Class, Rules};
use crate::sentencepiece_rules::segments::Segments;

/// Written after each segment; not a character of any segment.
const END: u32 = 0;

/// A run of sorted suffixes with a common prefix.
#[derive(Clone, Copy)]
struct Candidate {
    start: u32,
    end: u32,
    count: u64,
    len: u8,
    bytes: u16,
}

impl Candidate {
    fn score(&self) -> u128 {
        u128::from(self.count) * u128::from(self.len)
    }
}

/// All segments in order, as characters.
struct Text<'a> {
    method: Method,
    segments: &'a Segments<'a, Follower>,
    chars: Vec<u32>,
    /// The segment of each position.
    owners: Vec<u32>,
}

/// Finds the seeds: returns their log-probabilities and the lattices they form.
pub(super) fn find(
    options: &UnigramTrainer,
    characters: &Characters,
    rules: &Rules,
    segments: &Segments<'_, Follower>,
    threads: usize,
    progress: &mut Progress,
) -> Result<(Model, Lattices)> {
    let text = Text::of(options.method, segments)?;
    let (mut suffixes, buckets) = text.suffixes(characters)?;
    let total = suffixes.len() as u64;
    let done = AtomicU64::new(0);
    let mut tick = || progress.tick(Stage::Seed, done.load(Ordering::Relaxed), total);
    let mut found = search(&text, rules, &mut suffixes, &buckets, threads, &done, &mut tick)?;
    let order = |a: &Candidate| (Reverse((a.score(), a.bytes)), a.start);
    if found.len() > options.seed_size {
        if let Some(last) = options.seed_size.checked_sub(1) {
            found.select_nth_unstable_by_key(last, order);
        }
        found.truncate(options.seed_size);
        found.shrink_to_fit();
    }
    found.sort_unstable_by_key(order);

    let mut model = Model::default();
    let seen = characters.required.iter().filter(|seen| seen.1 > 0);
    let mut buffer = [0; 4];
    for &(c, count) in seen {
        model.push(c.encode_utf8(&mut buffer), count as f64)?;
    }
    let n_chars = model.len() as u32;
    for candidate in &found {
        let start = suffixes[candidate.start as usize] as usize;
        let chars = &text.chars[start..start + usize::from(candidate.len)];
        let piece: String = chars.iter().filter_map(|&c| char::from_u32(c)).collect();
        model.push(&piece, candidate.score() as f64)?;
    }
    // SentencePiece adds and rounds in 32 bits.
    let in_single = options.method == Method::SentencePiece;
    let rounded = |value: f64| if in_single { f64::from(value as f32) } else { value };
    let sum = model.scores.iter().fold(0.0, |sum, &score| rounded(sum + rounded(score)));
    let log_sum = rounded(ln(sum));
    model.scores.iter_mut().for_each(|score| *score = rounded(ln(rounded(*score)) - log_sum));
    let lattices = text.into_lattices(characters, &suffixes, &found, n_chars)?;
    Ok((model, lattices))
}

impl<'a> Text<'a> {
    fn of(method: Method, segments: &'a Segments<'a, Follower>) -> Result<Self> {
        let n: usize = segments.texts.iter().map(|text| text.chars().count() + 1).sum();
        if u32::try_from(n).is_err() {
            return Err(Error::Option {
                option: "pieces",
                value: format!("{n} characters in distinct segments"),
                reason: format!("places end at {}; train on a sample", u32::MAX),
            });
        }
        let (mut chars, mut owners) = (memory::reserved(n)?, memory::reserved(n)?);
        for (number, text) in segments.texts.iter().enumerate() {
            chars.extend(text.chars().map(u32::from));
            chars.push(END);
            owners.resize(chars.len(), number as u32);
        }
        Ok(Self { method, segments, chars, owners })
    }

    /// All positions grouped by their character, and the end of each group.
    fn suffixes(&self, characters: &Characters) -> Result<(Vec<u32>, Vec<usize>)> {
        let mut chars: Vec<(char, u64)> = characters.required.clone();
        chars.sort_unstable();
        let bucket = |c: u32| chars.partition_point(|seen| u32::from(seen.0) < c);
        let ascii: Vec<usize> = (0..128).map(bucket).collect();
        let bucket = |c: u32| ascii.get(c as usize).copied().unwrap_or_else(|| bucket(c));
        let mut ends = vec![0; chars.len() + 1];
        for &c in self.chars.iter().filter(|c| **c != END) {
            ends[bucket(c) + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut suffixes = memory::filled(ends.last().copied().unwrap_or(0), 0)?;
        for (position, &c) in self.chars.iter().enumerate().filter(|(_, c)| **c != END) {
            let next = &mut ends[bucket(c)];
            suffixes[*next] = position as u32;
            *next += 1;
        }
        // Counting has moved the start of each group to its end.
        ends.pop();
        Ok((suffixes, ends))
    }

    /// The character at a position or, at the end of a segment, what follows the segment.
    fn follower(&self, position: usize) -> Follower {
        match self.chars[position] {
            END => self.segments.notes[self.owners[position] as usize],
            c => self.method.follower(c),
        }
    }

    fn weight(&self, position: u32) -> u64 {
        self.segments.weights[self.owners[position as usize] as usize]
    }

    /// The candidate for suffixes that share `len` characters, if it keeps the rules.
    fn candidate(&self, rules: &Rules, suffixes: &[u32], start: usize, len: usize) -> Option<Candidate> {
        let position = suffixes[0] as usize;
        let chars = self.chars[position..position + len].iter().filter_map(|&c| char::from_u32(c));
        let mut classes = [Class::Space; u8::MAX as usize];
        let mut bytes = 0;
        for (class, c) in classes.iter_mut().zip(chars) {
            *class = Class::of(c);
            bytes += c.len_utf8();
        }
        let count = suffixes.iter().map(|&position| self.weight(position)).sum();
        let is_allowed = count >= 2 && rules.allow(classes[..len].iter().copied());
        is_allowed.then(|| Candidate {
            start: start as u32,
            end: (start + suffixes.len()) as u32,
            count,
            len: len as u8,
            bytes: bytes as u16,
        })
    }

    /// Sorts the suffixes of one bucket and finds its candidates.
    fn search(
        &self,
        rules: &Rules,
        suffixes: &mut [u32],
        start: usize,
        found: &mut Vec<Candidate>,
    ) -> Result<()> {
        let mut keys = Vec::new();
        let mut groups = vec![(0, suffixes.len(), 1)];
        while let Some((from, to, len)) = groups.pop() {
            let group = &mut suffixes[from..to];
            if let &mut [position] = group {
                // A single suffix: only its whole segment can have different followers.
                let position = position as usize;
                let rest =
                    self.chars[position..].iter().take_while(|c| **c != END).take(rules.max_length + 1);
                let rest = rest.count();
                if rest >= len.max(2) && rest <= rules.max_length && self.follower(position + rest) == MANY {
                    found.make_room(1)?;
                    found.extend(self.candidate(rules, group, start + from, rest));
                }
                continue;
            }
            keys.clear();
            keys.make_room(group.len())?;
            let next = |position: u32| u64::from(self.chars[position as usize + len]) << 32;
            keys.extend(group.iter().map(|&position| next(position) | u64::from(position)));
            keys.sort_unstable();
            let lead = |key: u64| self.follower((key & u64::from(u32::MAX)) as usize + len);
            let first = lead(keys[0]);
            let mut differs = first == MANY;
            let mut at = from;
            for same in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
                let is_end = same[0] >> 32 == u64::from(END);
                differs |= match is_end {
                    true => {
                        same.iter().any(|&key| matches!(lead(key), other if other == MANY || other != first))
                    }
                    false => lead(same[0]) != first,
                };
                if !is_end && len < rules.max_length {
                    memory::push(&mut groups, (at, at + same.len(), len + 1))?;
                }
                at += same.len();
            }
            for (suffix, key) in group.iter_mut().zip(&keys) {
                *suffix = *key as u32;
            }
            if len >= 2 && differs {
                found.make_room(1)?;
                found.extend(self.candidate(rules, group, start + from, len));
            }
        }
        Ok(())
    }

    /// Writes for each position which pieces begin there.
    fn into_lattices(
        self,
        characters: &Characters,
        suffixes: &[u32],
        found: &[Candidate],
        n_chars: u32,
    ) -> Result<Lattices> {
        let mut by_len: Vec<u32> = memory::collected(0..found.len() as u32)?;
        by_len.sort_unstable_by_key(|&number| (found[number as usize].len, number));
        let mut numbers: Vec<(u32, u32)> =
            (0..n_chars).zip(&characters.required).map(|(number, seen)| (seen.0.into(), number)).collect();
        numbers.sort_unstable();
        let mut counts: Vec<u8> = memory::collected(self.chars.iter().map(|&c| u8::from(c != END)))?;
        for candidate in found {
            for &position in &suffixes[candidate.start as usize..candidate.end as usize] {
                counts[position as usize] += 1;
            }
        }
        let n_places = counts.iter().map(|&count| usize::from(count)).sum();
        let (mut pieces, mut piece_lens) = (memory::filled(n_places, 0)?, memory::filled(n_places, 0)?);
        let mut next = 0;
        let mut cursors = memory::reserved(counts.len())?;
        for (&c, &count) in self.chars.iter().zip(&counts) {
            cursors.push(next + usize::from(c != END));
            if c != END {
                let number = numbers.binary_search_by_key(&c, |seen| seen.0).map_or(0, |at| numbers[at].1);
                (pieces[next], piece_lens[next]) = (number, 1);
            }
            next += usize::from(count);
        }
        for number in by_len {
            let candidate = &found[number as usize];
            for &position in &suffixes[candidate.start as usize..candidate.end as usize] {
                let cursor = &mut cursors[position as usize];
                (pieces[*cursor], piece_lens[*cursor]) = (n_chars + number, candidate.len);
                *cursor += 1;
            }
        }
        drop(cursors);
        let mut ends = self.chars.iter().map(|&c| c == END);
        counts.retain(|_| ends.next() == Some(false));
        let lens = memory::collected(self.segments.texts.iter().map(|text| text.chars().count() as u32))?;
        let weights = memory::collected(self.segments.weights.iter().copied())?;
        Ok(Lattices::new(weights, lens, counts, pieces, piece_lens))
    }
}

/// Sorts all buckets and finds all candidates, in any order.
fn search(
    text: &Text<'_>,
    rules: &Rules,
    suffixes: &mut [u32],
    ends: &[usize],
    threads: usize,
    done: &AtomicU64,
    tick: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<Candidate>> {
    let mut rest = suffixes;
    let mut start = 0;
    let mut buckets = Vec::with_capacity(ends.len());
    for &end in ends {
        let (bucket, others) = rest.split_at_mut(end - start);
        buckets.push(Mutex::new((start, bucket)));
        (rest, start) = (others, end);
    }
    // The longest buckets first, so that no thread is left with a long one at the end.
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&number| Reverse(ends[number] - if number == 0 { 0 } else { ends[number - 1] }));
    let work = |number: usize, found: &mut Result<Vec<Candidate>>| {
        let Ok(all) = found else { return };
        let mut bucket = buckets[order[number]].lock().unwrap_or_else(PoisonError::into_inner);
        let (start, suffixes) = &mut *bucket;
        if !suffixes.is_empty() {
            if let Err(error) = text.search(rules, suffixes, *start, all) {
                *found = Err(error);
                return;
            }
            done.fetch_add(suffixes.len() as u64, Ordering::Relaxed);
        }
    };
    let found = blocks::each(threads, buckets.len(), tick, || Ok(Vec::new()), work)?;
    let mut all = Vec::new();
    for found in found {
        memory::extend(&mut all, &found?)?;
    }
    Ok(all)
}
