//! The linear-time engine: a lazy DFA, which is built as the text is read.
//!
//! A single search is linear in what it reads, but it may read far beyond the match it finds
//! (`a*b|a` on `aaa…`), and the next search would read that again. So states from which no match
//! followed are recorded with their positions, and a search that reaches one of them stops (Reps
//! 1998, "Maximal munch tokenization in linear time"). Recording, and counting the cost of building
//! states, only begin once a text has been read a few times over. Then the search restarts with an
//! empty cache, so that the count depends on the text alone and not on earlier texts.
//!
//! Before that, the engine searches for a match at each position where one may begin. This also
//! gives the start of the match, without a reverse search and its states. If too many bytes are
//! read without a match, one unanchored search finds the next match. A pattern that only matches at
//! the ends of a text is only searched for there.

mod edges;
mod failures;
mod firsts;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use self::failures::Failures;
use self::firsts::Firsts;
use super::{PROGRAM_BYTES, StepBudget, Stop};
use crate::parallel;
use crate::scratch_pool::{Owner, ScratchPool};
use crate::text::unicode::properties::spell_out;

/// How many times each byte may be read before counting begins, and how many bytes in addition.
const FREE_LOOKS: usize = 4;
const FREE_BYTES: usize = 4 << 10;
/// The memory for states in each of the two caches per processor, in bytes.
const CACHE_BYTES: usize = 1 << 20;
/// The cost of filling the cache once, in bytes read.
const REFILL: u64 = 2 << 20;
/// How many bytes anchored searches may read without a match, in addition to half of the text.
const VAIN: usize = 32;
/// How far beyond a match states are recorded, in bytes; recording further ones does not pay off.
const FAR: usize = 64;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    dfas: Arc<Dfas>,
}

struct Dfas {
    forward: Arc<DFA>,
    reverse: Arc<DFA>,
    /// Computed on first use.
    firsts: OnceLock<Box<Firsts>>,
    /// Whether every match begins at the start of the text or ends at its end.
    at_edges: bool,
    pool: ScratchPool<Box<Caches>>,
    owner: Owner,
}

struct Caches {
    forward: Cache,
    reverse: Cache,
}

impl std::fmt::Debug for Dfas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Dfas({} and {} bytes)",
            self.forward.get_nfa().memory_usage(),
            self.reverse.get_nfa().memory_usage()
        )
    }
}

impl Dfas {
    /// Runs `work` with the caches of an earlier search, or with new ones.
    fn with_caches<T>(&self, work: impl FnOnce(&mut Caches) -> T) -> T {
        let mut caches = self.pool.take(self.owner).unwrap_or_else(|| {
            Box::new(Caches { forward: self.forward.create_cache(), reverse: self.reverse.create_cache() })
        });
        let result = work(&mut caches);
        self.pool.put(self.owner, caches);
        result
    }
}

impl Dfas {
    fn firsts(&self, cache: &mut Cache) -> &Firsts {
        self.firsts.get_or_init(|| Box::new(Firsts::of(&self.forward, cache)))
    }
}

impl Linear {
    /// Compiles a pattern. `Err` names the mistake in it.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        // Parses the original pattern first, so that errors show it and not its translation.
        syntax::parse(pattern).map_err(|error| error.to_string())?;
        let hir = syntax::parse(&spell_out(pattern)?).map_err(|error| error.to_string())?;
        let build = |is_reverse: bool| {
            let nfa = thompson::Config::new()
                // The reverse program, which finds the start of a match, is about twice as large.
                .nfa_size_limit(Some(if is_reverse { 2 * PROGRAM_BYTES } else { PROGRAM_BYTES }))
                .reverse(is_reverse)
                .which_captures(thompson::WhichCaptures::None)
                .shrink(false);
            let kind = if is_reverse { MatchKind::All } else { MatchKind::LeftmostFirst };
            let nfa = thompson::Compiler::new().configure(nfa).build_from_hir(&hir);
            let nfa = nfa.map_err(|error| error.to_string())?;
            DFA::builder()
                .configure(
                    DFA::config()
                        .match_kind(kind)
                        .cache_capacity(CACHE_BYTES)
                        .skip_cache_capacity_check(true),
                )
                .build_from_nfa(nfa)
                .map(Arc::new)
                .map_err(|error| error.to_string())
        };
        let (forward, reverse) = (build(false)?, build(true)?);
        let pool = ScratchPool::new(parallel::default_threads());
        Ok(Self {
            dfas: Arc::new(Dfas {
                forward,
                reverse,
                firsts: OnceLock::new(),
                at_edges: edges::are_all(&hir),
                owner: pool.new_owner(),
                pool,
            }),
        })
    }

    /// Calls `f` with each match, from left to right. Stops at the first error of `f` and returns
    /// it.
    ///
    /// # Errors
    /// [`Stop::TooMuch`] if the text exceeds the budget.
    pub(super) fn for_each_match<E>(
        &self,
        text: &str,
        budget: &StepBudget,
        mut f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<Result<(), E>, Stop> {
        if self.dfas.firsts.get().is_some_and(|firsts| !firsts.are_in(text)) {
            return Ok(Ok(()));
        }
        self.dfas.with_caches(|caches| self.search(caches, text, budget, &mut f))
    }

    fn search<E>(
        &self,
        caches: &mut Caches,
        text: &str,
        budget: &StepBudget,
        f: &mut impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<Result<(), E>, Stop> {
        let mut reported = 0;
        let mut n_reported = 0;
        let free = text.len().saturating_mul(FREE_LOOKS).saturating_add(FREE_BYTES);
        let mut search = Search::new(&self.dfas, caches, text, None);
        search.free = free;
        let done = search.run(&mut |found| {
            n_reported += 1;
            f(found)
        })?;
        match done {
            Ok(true) => return Ok(Ok(())),
            Ok(false) => {}
            Err(error) => return Ok(Err(error)),
        }
        self.dfas.forward.reset_cache(&mut caches.forward);
        self.dfas.reverse.reset_cache(&mut caches.reverse);
        let mut search = Search::new(&self.dfas, caches, text, Some(budget));
        let done = search.run(&mut |found| {
            reported += 1;
            if reported > n_reported { f(found) } else { Ok(()) }
        })?;
        Ok(done.map(|_| ()))
    }
}

/// The search through one text.
struct Search<'a> {
    dfas: &'a Dfas,
    caches: &'a mut Caches,
    text: &'a str,
    /// The budget; `None` before counting begins.
    budget: Option<&'a StepBudget>,
    free: usize,
    clears: usize,
    /// How many bytes were read at positions where no match begins.
    vain: usize,
    failures: Failures,
}

impl<'a> Search<'a> {
    fn new(dfas: &'a Dfas, caches: &'a mut Caches, text: &'a str, budget: Option<&'a StepBudget>) -> Self {
        let clears = caches.forward.clear_count();
        Self { dfas, caches, text, budget, free: 0, clears, vain: 0, failures: Failures::default() }
    }

    /// Reports all matches; returns `false` when counting must begin.
    fn run<E>(&mut self, f: &mut dyn FnMut(Range<usize>) -> Result<(), E>) -> Result<Result<bool, E>, Stop> {
        let mut at = 0;
        let mut last_end = None;
        while at <= self.text.len() {
            let (start, end) = match self.next_match(at)? {
                Found::Match(start, end) => (start, end),
                Found::Nothing => return Ok(Ok(true)),
                Found::TooFar => return Ok(Ok(false)),
            };
            if start == end && (last_end == Some(end) || !self.text.is_char_boundary(end)) {
                // Skips an empty match directly after another match, or inside a character.
                let next = end + 1;
                at = (next..=self.text.len()).find(|&at| self.text.is_char_boundary(at)).unwrap_or(next);
                continue;
            }
            if let Err(error) = f(start..end) {
                return Ok(Err(error));
            }
            (at, last_end) = (end, Some(end));
        }
        Ok(Ok(true))
    }

    /// The leftmost match at or after `from`.
    fn next_match(&mut self, from: usize) -> Result<Found, Stop> {
        if self.dfas.at_edges {
            return self.next_at_edge(from);
        }
        let mut at = from;
        while self.budget.is_none() && self.vain <= VAIN + at / 2 {
            let free = self.free;
            match self.end_of_match(at, Anchored::Yes)? {
                End::At(end) => return Ok(Found::Match(at, end)),
                End::TooFar => return Ok(Found::TooFar),
                End::None if at == self.text.len() => return Ok(Found::Nothing),
                End::None => at = self.place_after(at),
            }
            self.vain += free - self.free;
        }
        Ok(match self.end_of_match(at, Anchored::No)? {
            End::At(end) => {
                let start = self.start_of_match(at, end)?;
                let start = start.ok_or_else(|| Stop::of_engine("a match without a start"))?;
                Found::Match(start, end)
            }
            End::None => Found::Nothing,
            End::TooFar => Found::TooFar,
        })
    }

    /// [`Search::next_match`] for a pattern that only matches at the ends of a text: a match that
    /// does not begin at 0 ends at the end of the text.
    fn next_at_edge(&mut self, from: usize) -> Result<Found, Stop> {
        if from == 0 {
            match self.end_of_match(0, Anchored::Yes)? {
                End::At(end) => return Ok(Found::Match(0, end)),
                End::TooFar => return Ok(Found::TooFar),
                End::None => {}
            }
        }
        let end = self.text.len();
        self.count(end - from)?;
        Ok(self.start_of_match(from, end)?.map_or(Found::Nothing, |start| Found::Match(start, end)))
    }

    /// The first position after `at` where a match may begin, or the end of the text.
    fn place_after(&mut self, at: usize) -> usize {
        let firsts = self.dfas.firsts(&mut self.caches.forward);
        firsts.next(self.text.as_bytes(), at + 1).unwrap_or(self.text.len())
    }

    /// The end of the leftmost match at or after `from`, or of one that begins at `from`.
    fn end_of_match(&mut self, from: usize, anchored: Anchored) -> Result<End, Stop> {
        let bytes = self.text.as_bytes();
        let dfa = &self.dfas.forward;
        let input = Input::new(bytes).span(from..bytes.len()).anchored(anchored);
        let cache = &mut self.caches.forward;
        let mut state = dfa.start_state_forward(cache, &input).map_err(Stop::of_engine)?;
        let mut found = None;
        // The position and state after which no further match was found.
        let mut last = (from, state);
        let mut at = from;
        let counts = self.budget.is_some();
        let is_dead = loop {
            let Some(&byte) = bytes.get(at) else { break false };
            state = dfa.next_state(cache, state, byte).map_err(Stop::of_engine)?;
            if state.is_tagged() {
                if state.is_match() {
                    found = Some(at);
                    last = (at, state);
                } else if state.is_dead() {
                    break true;
                } else if state.is_quit() {
                    return Err(Stop::of_engine("a byte that the engine does not take"));
                }
            }
            if counts && self.failures.has(at, state) {
                break true;
            }
            at += 1;
        };
        if !is_dead {
            state = dfa.next_eoi_state(cache, state).map_err(Stop::of_engine)?;
            if state.is_match() {
                found = Some(bytes.len());
                last = (bytes.len(), state);
            }
        }
        self.count(at - from)?;
        if self.budget.is_none() && (self.free == 0 || self.caches.forward.clear_count() != self.clears) {
            return Ok(End::TooFar);
        }
        if counts && at.saturating_sub(last.0) > FAR && found.is_some() {
            self.remember(last, at)?;
        }
        Ok(found.map_or(End::None, End::At))
    }

    /// Records the states after `at` and before `end`, from which no match follows.
    fn remember(&mut self, (mut at, mut state): (usize, LazyStateID), end: usize) -> Result<(), Stop> {
        let bytes = self.text.as_bytes();
        self.count(end - at)?;
        // A match state has already read the byte at its position.
        at += 1;
        self.failures.begin(at, end);
        while at < end {
            let Some(&byte) = bytes.get(at) else { break };
            state = self
                .dfas
                .forward
                .next_state(&mut self.caches.forward, state, byte)
                .map_err(Stop::of_engine)?;
            self.failures.keep(at, state);
            at += 1;
        }
        self.count(0)
    }

    /// Counts bytes read and fillings of the cache.
    fn count(&mut self, bytes: usize) -> Result<(), Stop> {
        self.free = self.free.saturating_sub(bytes);
        let Some(budget) = self.budget else { return Ok(()) };
        let clears = self.caches.forward.clear_count();
        if clears != self.clears {
            // Clearing the cache reused the ids of states.
            self.failures = Failures::default();
        }
        let refills = clears.saturating_sub(self.clears) as u64;
        self.clears = clears;
        budget.take(bytes as u64 + refills * REFILL)
    }

    /// The leftmost start at or after `from` of a match that ends at `end`.
    fn start_of_match(&mut self, from: usize, end: usize) -> Result<Option<usize>, Stop> {
        let input = Input::new(self.text.as_bytes()).span(from..end).anchored(Anchored::Yes);
        let found = self.dfas.reverse.try_search_rev(&mut self.caches.reverse, &input);
        Ok(found.map_err(Stop::of_engine)?.map(|half| half.offset()))
    }
}

/// The result of a search.
enum Found {
    Match(usize, usize),
    Nothing,
    TooFar,
}

/// The end of a match.
enum End {
    At(usize),
    None,
    TooFar,
}

#[cfg(test)]
mod tests;
