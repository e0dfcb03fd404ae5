//! The backtracking engine, for patterns with look-around, atomic groups and backreferences.
//!
//! Such an engine is not linear for every pattern. So every instruction, every character of a run
//! and every backtracking step is counted over the whole text, and a text that exceeds its budget
//! is an error; the same text always gives the same result. The stack is explicit: calls only nest
//! as deep as groups in the pattern.

use std::ops::Range;

use fancy_regex::Assertion;

use super::dialect::is_word;
use super::program::{Insn, Program, Taking};
use super::{StepBudget, Stop};

/// The maximum number of entries on the stack: 64 MiB.
const WAYS_BACK: usize = 2 << 20;

/// The value of a slot before it is set.
const UNSET: usize = usize::MAX;

/// An alternative to try after a failure.
enum Way {
    /// The other branch of a split.
    Branch { pc: u32, at: usize },
    /// Give back one character of a run, down to `least`.
    Give { pc: u32, at: usize, least: usize },
    /// Take one more character in a run, whose instruction is `pc`.
    Take { pc: u32, at: usize, left: u32 },
    /// Restore the value of a slot.
    Slot { slot: u32, held: usize },
}

/// Calls `f` with each match, from left to right. Stops at the first error of `f` and returns it.
///
/// # Errors
/// [`Stop::TooMuch`] if the text exceeds the budget.
pub(super) fn for_each_match<E>(
    program: &Program,
    text: &str,
    budget: &StepBudget,
    mut f: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<Result<(), E>, Stop> {
    let mut machine =
        Machine { program, text, ways: Vec::new(), slots: vec![UNSET; program.n_slots], budget };
    let (mut from, mut last_end) = (0, None);
    while from <= text.len() {
        let Some(found) = machine.search(from)? else { return Ok(Ok(())) };
        from = found.end;
        if found.is_empty() {
            from += machine.char_at(from).map_or(1, char::len_utf8);
            if last_end == Some(found.end) {
                continue;
            }
        }
        last_end = Some(found.end);
        if let Err(error) = f(found) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

struct Machine<'a> {
    program: &'a Program,
    text: &'a str,
    ways: Vec<Way>,
    slots: Vec<usize>,
    budget: &'a StepBudget,
}

impl Machine<'_> {
    #[inline]
    fn char_at(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(&byte) if byte < 128 => Some(char::from(byte)),
            Some(_) => self.text.get(at..).and_then(|rest| rest.chars().next()),
            None => None,
        }
    }

    fn char_before(&self, at: usize) -> Option<char> {
        self.text.get(..at).and_then(|before| before.chars().next_back())
    }

    /// The leftmost match at or after `from`.
    fn search(&mut self, from: usize) -> Result<Option<Range<usize>>, Stop> {
        let mut start = from;
        loop {
            self.slots.fill(UNSET);
            if let Some(end) = self.run(0, start, None)? {
                self.ways.clear();
                return Ok(Some(start..end));
            }
            match self.char_at(start) {
                Some(c) => start += c.len_utf8(),
                None => return Ok(None),
            }
        }
    }

    /// Runs from `pc` to the end of its part. If `target` is given, the match must end there. After
    /// a match, alternatives remain on the stack.
    fn run(&mut self, pc: u32, at: usize, target: Option<usize>) -> Result<Option<usize>, Stop> {
        let base = self.ways.len();
        let (mut pc, mut at) = (pc, at);
        loop {
            self.budget.take(1)?;
            let program = self.program;
            let next = match &program.insns[pc as usize] {
                Insn::Literal(literal) => {
                    let found = self.text.as_bytes()[at..].starts_with(literal.as_bytes());
                    found.then(|| (pc + 1, at + literal.len()))
                }
                Insn::Set(set) => {
                    let c = self.char_at(at).filter(|&c| program.sets[*set as usize].has(c));
                    c.map(|c| (pc + 1, at + c.len_utf8()))
                }
                Insn::Run { set, min, max, taking } => {
                    let first = if *taking == Taking::Lazy { *min } else { *max };
                    let (end, n, least) = self.take(*set, at, first, *min)?;
                    if n < *min {
                        None
                    } else {
                        match taking {
                            Taking::Greedy if end > least => {
                                self.push(Way::Give { pc: pc + 1, at: end, least })?
                            }
                            Taking::Lazy if n < *max => {
                                self.push(Way::Take { pc, at: end, left: *max - n })?
                            }
                            _ => {}
                        }
                        Some((pc + 1, end))
                    }
                }
                Insn::Split(first, second) => {
                    self.push(Way::Branch { pc: *second, at })?;
                    Some((*first, at))
                }
                Insn::Jump(to) => Some((*to, at)),
                Insn::Look { behind, negative, after } => {
                    let found = self.look(pc + 1, at, *behind, *negative)?;
                    (found != *negative).then_some((*after, at))
                }
                Insn::Atomic { after } => {
                    let ways = self.ways.len();
                    let end = self.run(pc + 1, at, None)?;
                    self.keep_slots_only(ways);
                    end.map(|end| (*after, end))
                }
                Insn::Save(slot) => {
                    let held = std::mem::replace(&mut self.slots[*slot as usize], at);
                    self.push(Way::Slot { slot: *slot, held })?;
                    Some((pc + 1, at))
                }
                Insn::Leave { slot, after } => {
                    Some(if self.slots[*slot as usize] == at { (*after, at) } else { (pc + 1, at) })
                }
                Insn::Backref { group, folded } => {
                    self.repeated(*group, *folded, at)?.map(|end| (pc + 1, end))
                }
                Insn::Assert(assertion) => self.holds(*assertion, at).then_some((pc + 1, at)),
                Insn::Done if target.is_none_or(|target| target == at) => return Ok(Some(at)),
                Insn::Done => None,
            };
            let Some(next) = next.or_else(|| self.back(base)) else { return Ok(None) };
            (pc, at) = next;
        }
    }

    /// Takes the next alternative above `base` from the stack.
    fn back(&mut self, base: usize) -> Option<(u32, usize)> {
        while self.ways.len() > base {
            match self.ways.pop()? {
                Way::Branch { pc, at } => return Some((pc, at)),
                Way::Give { pc, at, least } => {
                    let at = at - self.char_before(at).map_or(1, char::len_utf8);
                    if at > least {
                        self.ways.push(Way::Give { pc, at, least });
                    }
                    return Some((pc, at));
                }
                Way::Take { pc, at, left } => {
                    let Insn::Run { set, .. } = &self.program.insns[pc as usize] else { continue };
                    let Some(c) = self.char_at(at).filter(|&c| self.program.sets[*set as usize].has(c))
                    else {
                        continue;
                    };
                    let at = at + c.len_utf8();
                    if left > 1 {
                        self.ways.push(Way::Take { pc, at, left: left - 1 });
                    }
                    return Some((pc + 1, at));
                }
                Way::Slot { slot, held } => self.slots[slot as usize] = held,
            }
        }
        None
    }

    fn push(&mut self, way: Way) -> Result<(), Stop> {
        if self.ways.len() >= WAYS_BACK {
            return Err(Stop::TooMuch);
        }
        self.ways.push(way);
        Ok(())
    }

    /// Matches up to `max` characters of a set. Returns the end, the number of characters, and the
    /// end of the first `min`.
    fn take(&mut self, set: u32, at: usize, max: u32, min: u32) -> Result<(usize, u32, usize), Stop> {
        let set = &self.program.sets[set as usize];
        let (mut end, mut n, mut least) = (at, 0, at);
        while n < max {
            let Some(c) = self.char_at(end).filter(|&c| set.has(c)) else { break };
            end += c.len_utf8();
            n += 1;
            if n == min {
                least = end;
            }
        }
        self.budget.take(u64::from(n))?;
        Ok((end, n, least))
    }

    /// Whether a part matches from here, or ending here. Slots that it set are kept if requested.
    fn look(
        &mut self,
        pc: u32,
        at: usize,
        behind: Option<(usize, usize)>,
        negative: bool,
    ) -> Result<bool, Stop> {
        let ways = self.ways.len();
        let found = match behind {
            None => self.run(pc, at, None)?.is_some(),
            Some((least, most)) => self.look_behind(pc, at, least, most)?,
        };
        if negative {
            self.undo(ways);
        } else {
            self.keep_slots_only(ways);
        }
        Ok(found)
    }

    fn look_behind(&mut self, pc: u32, at: usize, least: usize, most: usize) -> Result<bool, Stop> {
        let mut start = at;
        for n in 0..=most {
            if n >= least && self.run(pc, start, Some(at))?.is_some() {
                return Ok(true);
            }
            let Some(before) = self.char_before(start) else { return Ok(false) };
            start -= before.len_utf8();
            self.budget.take(1)?;
        }
        Ok(false)
    }

    /// Removes alternatives from the stack, but keeps the entries that restore slots.
    fn keep_slots_only(&mut self, from: usize) {
        let mut kept = from;
        for way in from..self.ways.len() {
            if matches!(self.ways[way], Way::Slot { .. }) {
                self.ways.swap(kept, way);
                kept += 1;
            }
        }
        self.ways.truncate(kept);
    }

    /// Restores slots.
    fn undo(&mut self, from: usize) {
        while self.ways.len() > from {
            if let Some(Way::Slot { slot, held }) = self.ways.pop() {
                self.slots[slot as usize] = held;
            }
        }
    }

    /// The end of a repetition at `at` of what a group matched; `None` if there is none.
    fn repeated(&mut self, group: u32, folded: bool, at: usize) -> Result<Option<usize>, Stop> {
        let slot = 2 * group as usize;
        let (start, end) = (self.slots[slot], self.slots[slot + 1]);
        let Some(group) = self.text.get(start..end) else { return Ok(None) };
        self.budget.take(group.len() as u64)?;
        let Some(rest) = self.text.get(at..) else { return Ok(None) };
        if !folded {
            return Ok(rest.starts_with(group).then(|| at + group.len()));
        }
        let mut end = at;
        let mut found = rest.chars();
        for expected in group.chars() {
            match found.next() {
                Some(c) if c == expected || c.to_lowercase().eq(expected.to_lowercase()) => {
                    end += c.len_utf8()
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(end))
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let is_boundary =
            || self.char_before(at).is_some_and(is_word) != self.char_at(at).is_some_and(is_word);
        match assertion {
            Assertion::StartText => at == 0,
            Assertion::EndText => at == bytes.len(),
            Assertion::StartLine { .. } => at == 0 || bytes[at - 1] == b'\n',
            Assertion::EndLine { .. } => at == bytes.len() || bytes[at] == b'\n',
            Assertion::WordBoundary => is_boundary(),
            Assertion::NotWordBoundary => !is_boundary(),
            // The compiler refuses all other assertions.
            _ => false,
        }
    }
}
