//! `LanguagePairs`: the pairs that are frequent in some language, with their counts per language and
//! their positions in all of them.
//!
//! This is the window of [`crate::trainers::pair_merging::window`] for many languages: each has its
//! own `least` count, and a pair is stored if it reaches that of at least one. A pair below it in
//! every language stays so until the next scan, because counts only fall. Development texts are
//! groups of the layout without counts: only the positions of their pairs are stored.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::progress::{Progress, Stage};
use crate::trainers::bpe::TieBreak;
use crate::trainers::pair_merging::Limits;
use crate::trainers::pair_merging::by_count::CandidateHeap;
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::pairs::{Candidate, Positions, key, parts};
use crate::trainers::pair_merging::rewrite::{PairChange, Rewriter};
use crate::trainers::pair_merging::scan::{Scan, Sketch};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::vocab::TokenId;

/// At least this many pairs of each language are stored, if it has as many.
const MIN_PAIRS: usize = 1 << 12;
/// All sketches together have at most this many sums, as a power of two.
const SKETCH_BITS: u32 = 22;

/// A pair that is frequent in some language.
#[derive(Default)]
struct StoredPair {
    /// The count in each language where it occurs, in order.
    counts: Vec<(u32, u64)>,
    positions: Positions,
}

impl StoredPair {
    fn count(&self, language: usize) -> u64 {
        let found = self.counts.binary_search_by_key(&(language as u32), |count| count.0);
        found.map_or(0, |at| self.counts[at].1)
    }

    fn lower(&mut self, language: usize, by: u64) {
        if let Ok(at) = self.counts.binary_search_by_key(&(language as u32), |count| count.0) {
            self.counts[at].1 = self.counts[at].1.saturating_sub(by);
        }
    }
}

/// Frequent pairs, with a queue for each language.
///
/// All languages together are one more "language" with the last number, while it is wanted.
pub(super) struct LanguagePairs {
    n_languages: usize,
    has_total: bool,
    min_frequency: u64,
    /// The least count of a stored pair, by language.
    least: Vec<u64>,
    heaps: Vec<CandidateHeap>,
    list: Vec<StoredPair>,
    index: FxHashMap<u64, u32>,
    /// Where each group of the layout begins.
    groups: Vec<u32>,
    rewriter: Rewriter,
    /// The counts of the pairs that the current merge creates: pair, language and count.
    born: Vec<(u64, u32, u64)>,
    /// One plus the number of each pair that the current merge creates, by its other symbol: pairs
    /// that end with the new token, and pairs that begin with it.
    new_numbers: [Vec<u32>; 2],
}

impl LanguagePairs {
    /// No pairs. `has_total` says whether the pairs of all languages together are wanted.
    pub(super) fn new(n_languages: usize, has_total: bool, limits: &Limits) -> Self {
        Self {
            n_languages,
            has_total,
            min_frequency: limits.min_frequency,
            least: vec![u64::MAX; n_languages + 1],
            heaps: (0..=n_languages).map(|_| CandidateHeap::new(TieBreak::Text)).collect(),
            list: Vec::new(),
            index: FxHashMap::default(),
            groups: Vec::new(),
            rewriter: Rewriter::default(),
            born: Vec::new(),
            new_numbers: Default::default(),
        }
    }

    /// The number of all languages together.
    pub(super) fn total(&self) -> usize {
        self.n_languages
    }

    /// Forgets the pairs of all languages together.
    pub(super) fn drop_total(&mut self) {
        self.has_total = false;
        self.least[self.n_languages] = u64::MAX;
        self.heaps[self.n_languages] = CandidateHeap::new(TieBreak::Text);
    }

    /// The most frequent pair of a language; `None` if a rarer one might be, or if there is none.
    pub(super) fn best(&mut self, tokens: &Tokens, language: usize) -> Option<Candidate> {
        let Self { heaps, list, least, .. } = self;
        heaps[language].best(tokens, least[language], |pair| list[pair.index as usize].count(language))
    }

    /// Whether all pairs of a language that may be merged are stored.
    pub(super) fn holds_all(&self, language: usize) -> bool {
        self.least[language] <= self.min_frequency
    }

    /// Merges a pair everywhere. Calls `merged` with each group and how often the pair was merged
    /// there. If the token occurred before, pairs must be scanned again.
    pub(super) fn merge(
        &mut self,
        layout: &mut SymbolLayout,
        tokens: &Tokens,
        best: Candidate,
        id: TokenId,
        mut merged: impl FnMut(usize, u64),
        tick: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let pair = (best.left, best.right);
        self.index.remove(&key(best.left, best.right));
        let positions = std::mem::take(&mut self.list[best.index as usize]).positions;
        let mut rest = positions.as_slice();
        let mut rewriter = std::mem::take(&mut self.rewriter);
        while let Some(&first) = rest.first() {
            let group = self.groups.partition_point(|&start| start <= first) - 1;
            let end = self.groups[group + 1];
            let (here, after) = rest.split_at(rest.partition_point(|&position| position < end));
            merged(group, rewriter.merge(layout, tokens, pair, id, here, tick)?);
            rewriter.take_changes(pair, id, |change| self.change(group, &change))?;
            rest = after;
        }
        let first_new = self.list.len();
        let keys = self.store_born(tokens)?;
        // Faster than looking up the pair of each position.
        for numbers in &mut self.new_numbers {
            memory::resize(numbers, tokens.len(), 0)?;
        }
        let place = |(left, right)| if right == id { (0, left as usize) } else { (1, right as usize) };
        for (number, &key) in (first_new as u32 + 1..).zip(&keys) {
            let (side, symbol) = place(parts(key));
            self.new_numbers[side][symbol] = number;
        }
        rewriter.take_births(id, |pair, position| {
            let (side, symbol) = place(pair);
            match self.new_numbers[side][symbol].checked_sub(1) {
                Some(number) => self.list[number as usize].positions.push(position),
                None => Ok(()),
            }
        })?;
        for key in keys {
            let (side, symbol) = place(parts(key));
            self.new_numbers[side][symbol] = 0;
        }
        self.rewriter = rewriter;
        Ok(())
    }

    /// Applies a change of counts in a group.
    fn change(&mut self, group: usize, change: &PairChange) -> Result<()> {
        if group >= self.n_languages {
            return Ok(());
        }
        if change.lost > 0
            && let Some(&number) = self.index.get(&key(change.old.0, change.old.1))
        {
            let pair = &mut self.list[number as usize];
            pair.lower(group, change.lost);
            if self.has_total {
                pair.lower(self.n_languages, change.lost);
            }
        }
        if change.born > 0 {
            memory::push(&mut self.born, (key(change.new.0, change.new.1), group as u32, change.born))?;
        }
        Ok(())
    }

    /// Stores the new pairs that are frequent in some language; returns their keys.
    fn store_born(&mut self, tokens: &Tokens) -> Result<Vec<u64>> {
        let mut keys = Vec::new();
        let mut born = std::mem::take(&mut self.born);
        born.sort_unstable();
        for same in born.chunk_by(|a, b| a.0 == b.0) {
            let total: u64 = if self.has_total { same.iter().map(|count| count.2).sum() } else { 0 };
            let is_frequent = same.iter().any(|count| count.2 >= self.least[count.1 as usize])
                || self.has_total && total >= self.least[self.n_languages];
            if is_frequent {
                let mut counts: Vec<(u32, u64)> = memory::reserved(same.len() + usize::from(self.has_total))?;
                counts.extend(same.iter().map(|&(_, language, count)| (language, count)));
                self.store(tokens, same[0].0, StoredPair { counts, positions: Positions::default() }, true)?;
                memory::push(&mut keys, same[0].0)?;
            }
        }
        born.clear();
        self.born = born;
        Ok(keys)
    }

    /// Stores a pair, and queues it for the languages where it is frequent if `queues`.
    fn store(&mut self, tokens: &Tokens, key: u64, mut pair: StoredPair, queues: bool) -> Result<()> {
        if self.has_total {
            let total = pair.counts.iter().map(|count| count.1).sum();
            pair.counts.push((self.n_languages as u32, total));
        }
        let index = self.list.len() as u32;
        let (left, right) = parts(key);
        if queues {
            for &(language, count) in &pair.counts {
                if count >= self.least[language as usize] {
                    let candidate = Candidate { count, left, right, index };
                    self.heaps[language as usize].push(tokens, candidate)?;
                }
            }
        }
        self.index.make_room(1)?;
        memory::push(&mut self.list, pair)?;
        self.index.insert(key, index);
        Ok(())
    }

    /// Scans the layout again for the most frequent pairs of each language. Those of `wanted` are
    /// rarer than all that were stored, down to its first pair at least, if it has one.
    ///
    /// # Errors
    /// [`Error::CountOverflow`](crate::Error) if the count of a pair exceeds 2^64 - 1.
    pub(super) fn refill(
        &mut self,
        layout: &mut SymbolLayout,
        tokens: &Tokens,
        limits: &Limits,
        (wanted, n_merges): (Option<usize>, usize),
        progress: &mut Progress,
    ) -> Result<()> {
        self.list = Vec::new();
        self.index = FxHashMap::default();
        layout.compact();
        self.groups = layout.group_positions();
        let scan = Scan { layout, tokens, limits };
        let sketches = self.sketches(&scan, progress)?;
        // Most merges also remove other pairs.
        let n_pairs = 3 * n_merges / self.n_languages + MIN_PAIRS;
        for (language, sketch) in sketches.iter().enumerate() {
            let known = if wanted == Some(language) { self.least[language] - 1 } else { u64::MAX };
            let bound = sketch.max().min(known).max(self.min_frequency);
            self.least[language] = sketch.reached_by(n_pairs, self.min_frequency, bound);
        }
        let mut least = self.least.clone();
        let mut frequent = self.frequent(&scan, &sketches, &least, progress)?;
        if let Some(wanted) = wanted {
            while frequent.n[wanted] == 0 && self.least[wanted] > self.min_frequency {
                let sketch = &sketches[wanted];
                self.least[wanted] = sketch.reached_by(n_pairs, self.min_frequency, self.least[wanted] - 1);
                least.fill(u64::MAX);
                least[wanted] = self.least[wanted];
                let more = self.frequent(&scan, &sketches, &least, progress)?;
                frequent.n[wanted] = more.n[wanted];
                frequent.keys.extend(more.keys);
            }
        }
        drop(sketches);
        self.count(&scan, frequent.keys, progress)
    }

    /// The greatest count that a pair has in a language, over all languages.
    pub(super) fn max_count(
        &mut self,
        layout: &mut SymbolLayout,
        tokens: &Tokens,
        limits: &Limits,
        progress: &mut Progress,
    ) -> Result<u64> {
        layout.compact();
        self.groups = layout.group_positions();
        let scan = Scan { layout, tokens, limits };
        let sketches = self.sketches(&scan, progress)?;
        let mut bound = sketches.iter().map(Sketch::max).max().unwrap_or(0);
        while bound > 0 {
            let least = bound.div_ceil(2);
            let found = self.frequent(&scan, &sketches, &vec![least; self.least.len()], progress)?;
            if found.max > 0 {
                return Ok(found.max);
            }
            bound = least - 1;
        }
        Ok(0)
    }

    /// The number of languages, with all together if they are wanted.
    fn n_orders(&self) -> usize {
        self.n_languages + usize::from(self.has_total)
    }

    /// The hashed sums of the pairs of each language.
    fn sketches(&self, scan: &Scan<'_>, progress: &mut Progress) -> Result<Vec<Sketch>> {
        let share = SKETCH_BITS.saturating_sub(self.n_orders().next_power_of_two().trailing_zeros());
        let new = |language: usize| {
            let n_symbols = match language == self.n_languages {
                true => scan.layout.len(),
                false => (self.groups[language + 1] - self.groups[language]) as usize,
            };
            Sketch::new(n_symbols.next_power_of_two().trailing_zeros().min(share).clamp(8, 18))
        };
        let of_threads = scan.read(
            progress,
            || (GroupCursor::new(&self.groups), self.no_tables::<Sketch>()),
            |(cursor, sketches), position, left, right, weight| {
                let group = cursor.at(position);
                if group < self.n_languages {
                    for language in self.orders_of(group) {
                        let sketch = sketches[language].get_or_insert_with(|| new(language));
                        sketch.add(left, right, weight);
                    }
                }
                Ok(())
            },
        )?;
        let mut sums: Vec<Sketch> = (0..self.n_orders()).map(new).collect();
        for (_, sketches) in of_threads {
            for (sum, sketch) in sums.iter_mut().zip(sketches) {
                if let Some(sketch) = sketch {
                    sum.add_all(&sketch);
                }
            }
        }
        Ok(sums)
    }

    fn no_tables<T>(&self) -> Vec<Option<T>> {
        (0..self.n_orders()).map(|_| None).collect()
    }

    /// The language of a group, and all together.
    fn orders_of(&self, group: usize) -> impl Iterator<Item = usize> {
        [group].into_iter().chain(self.has_total.then_some(self.n_languages))
    }

    /// The pairs that reach the least count of some language, without their positions.
    fn frequent(
        &self,
        scan: &Scan<'_>,
        sketches: &[Sketch],
        least: &[u64],
        progress: &mut Progress,
    ) -> Result<Frequent> {
        let of_threads = scan.read(
            progress,
            || (GroupCursor::new(&self.groups), self.no_tables::<FxHashMap<u64, u64>>()),
            |(cursor, tables), position, left, right, weight| {
                let group = cursor.at(position);
                if group >= self.n_languages {
                    return Ok(());
                }
                for language in self.orders_of(group) {
                    if sketches[language].bound(left, right) >= least[language] {
                        let table = tables[language].get_or_insert_with(FxHashMap::default);
                        table.make_room(1)?;
                        let count = table.entry(key(left, right)).or_default();
                        *count = scan.sum(*count, weight, left, right)?;
                    }
                }
                Ok(())
            },
        )?;
        let mut sums = self.no_tables::<FxHashMap<u64, u64>>();
        for (_, tables) in of_threads {
            for (sum, table) in sums.iter_mut().zip(tables) {
                let Some(table) = table else { continue };
                let Some(sum) = sum else {
                    *sum = Some(table);
                    continue;
                };
                for (pair, more) in table {
                    sum.make_room(1)?;
                    let count = sum.entry(pair).or_default();
                    let (left, right) = parts(pair);
                    *count = scan.sum(*count, more, left, right)?;
                }
            }
        }
        let mut frequent = Frequent { keys: Vec::new(), n: vec![0; self.least.len()], max: 0 };
        for (language, table) in sums.into_iter().enumerate() {
            for (pair, count) in table.into_iter().flatten() {
                if count >= least[language] {
                    memory::push(&mut frequent.keys, pair)?;
                    frequent.n[language] += 1;
                    frequent.max = frequent.max.max(count);
                }
            }
        }
        Ok(frequent)
    }

    /// Counts these pairs in all groups, with their positions, and queues them.
    fn count(&mut self, scan: &Scan<'_>, mut keys: Vec<u64>, progress: &mut Progress) -> Result<()> {
        keys.sort_unstable();
        keys.dedup();
        let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
        numbers.make_room(keys.len())?;
        numbers.extend(keys.iter().zip(0..).map(|(&key, number)| (key, number)));
        let bits = (keys.len() * 8).next_power_of_two().trailing_zeros().clamp(10, 24);
        let mut filter = Sketch::new(bits);
        for &pair in &keys {
            let (left, right) = parts(pair);
            filter.add(left, right, 1);
        }
        let n_languages = self.n_languages;
        let of_threads = scan.read(
            progress,
            || (GroupCursor::new(&self.groups), FxHashMap::<u32, StoredPair>::default()),
            |(cursor, found), position, left, right, weight| {
                if filter.bound(left, right) == 0 {
                    return Ok(());
                }
                let Some(&number) = numbers.get(&key(left, right)) else { return Ok(()) };
                let group = cursor.at(position);
                found.make_room(1)?;
                let pair = found.entry(number).or_default();
                pair.positions.push(position as u32)?;
                if group < n_languages {
                    match pair.counts.last_mut() {
                        Some((language, count)) if *language as usize == group => {
                            *count = scan.sum(*count, weight, left, right)?;
                        }
                        _ => memory::push(&mut pair.counts, (group as u32, weight))?,
                    }
                }
                Ok(())
            },
        )?;
        drop(numbers);
        let mut threads: Vec<FxHashMap<u32, StoredPair>> =
            of_threads.into_iter().map(|(_, found)| found).collect();
        for (number, &pair) in keys.iter().enumerate() {
            let mut whole = StoredPair::default();
            for found in &mut threads {
                let Some(part) = found.remove(&(number as u32)) else { continue };
                if whole.counts.is_empty() && whole.positions.as_slice().is_empty() {
                    whole = part;
                    continue;
                }
                whole.positions.append(&part.positions)?;
                for (language, more) in part.counts {
                    match whole.counts.last_mut() {
                        Some((last, count)) if *last == language => {
                            let (left, right) = parts(pair);
                            *count = scan.sum(*count, more, left, right)?;
                        }
                        _ => memory::push(&mut whole.counts, (language, more))?,
                    }
                }
            }
            self.store(scan.tokens, pair, whole, false)?;
        }
        self.fill_heaps(scan.tokens, &keys)?;
        progress.tick(Stage::Merge, scan.tokens.len() as u64, scan.limits.vocab_size as u64)
    }

    /// Queues all stored pairs, whose keys these are, for each language.
    fn fill_heaps(&mut self, tokens: &Tokens, keys: &[u64]) -> Result<()> {
        let mut queues: Vec<Vec<Candidate>> = (0..=self.n_languages).map(|_| Vec::new()).collect();
        for ((&pair, stored), index) in keys.iter().zip(&self.list).zip(0..) {
            let (left, right) = parts(pair);
            for &(language, count) in &stored.counts {
                if count >= self.least[language as usize] {
                    let candidate = Candidate { count, left, right, index };
                    memory::push(&mut queues[language as usize], candidate)?;
                }
            }
        }
        for (heap, queue) in self.heaps.iter_mut().zip(queues) {
            heap.fill(tokens, queue.into_iter())?;
        }
        Ok(())
    }
}

/// The pairs that are frequent in some language.
struct Frequent {
    /// Their keys, one for each language where they are.
    keys: Vec<u64>,
    /// How many there are in each language.
    n: Vec<usize>,
    /// The greatest count.
    max: u64,
}

/// Finds the groups of ascending positions.
struct GroupCursor<'a> {
    starts: &'a [u32],
    group: usize,
}

impl<'a> GroupCursor<'a> {
    fn new(starts: &'a [u32]) -> Self {
        Self { starts, group: 0 }
    }

    #[inline]
    fn at(&mut self, position: usize) -> usize {
        while self.starts[self.group + 1] as usize <= position {
            self.group += 1;
        }
        self.group
    }
}
