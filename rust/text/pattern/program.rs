//! `Program`: a pattern with look-around, compiled to instructions for `backtrack`.
//!
//! `fancy-regex` parses the pattern into a tree whose leaves are sets of characters, literals and
//! assertions. Repetitions of more than one character are unrolled, so a program may be far longer
//! than its pattern; its size is limited.

use std::collections::HashMap;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::PROGRAM_BYTES;
use super::set::Set;
use super::tree::{check_assertion, class_of, collect_referred, count_groups, lengths};

/// An instruction. Numbers are indices of instructions, sets or slots.
#[derive(Clone, Debug)]
pub(super) enum Insn {
    /// The characters of a string.
    Literal(Box<str>),
    /// One character of a set.
    Set(u32),
    /// `min` to `max` characters of a set.
    Run {
        set: u32,
        min: u32,
        max: u32,
        taking: Taking,
    },
    /// Continue at the first; after a failure, at the second.
    Split(u32, u32),
    Jump(u32),
    /// Continue at `after` if the instructions up to [`Insn::Done`] match here, or if they do not.
    /// For a look-behind: if something of `min` to `max` characters that matches ends here.
    Look {
        behind: Option<(usize, usize)>,
        negative: bool,
        after: u32,
    },
    /// The instructions up to [`Insn::Done`], without backtracking into them.
    Atomic {
        after: u32,
    },
    /// Store the position in a slot.
    Save(u32),
    /// Leave a loop if its current iteration began here, according to the slot.
    Leave {
        slot: u32,
        after: u32,
    },
    /// The text that a group matched, with or without regard to case.
    Backref {
        group: u32,
        folded: bool,
    },
    Assert(Assertion),
    /// The end of the pattern or of a part.
    Done,
}

/// How many characters a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// As many as possible, with backtracking.
    Greedy,
    /// As few as possible.
    Lazy,
    /// As many as possible, without backtracking.
    Possessive,
}

/// A compiled pattern.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) insns: Vec<Insn>,
    pub(super) sets: Vec<Set>,
    pub(super) n_slots: usize,
}

type Outcome<T = ()> = Result<T, String>;

impl Program {
    /// Compiles a pattern. `Err` names the mistake in it.
    pub(super) fn new(pattern: &str) -> Outcome<Self> {
        let tree = Expr::parse_tree(pattern).map_err(|error| error.to_string())?;
        let mut referred = Vec::new();
        collect_referred(&tree.expr, &mut referred);
        let groups = count_groups(&tree.expr);
        let mut compiler = Compiler {
            program: Self::default(),
            known: HashMap::new(),
            read: HashMap::new(),
            bytes: 0,
            groups,
            referred,
        };
        compiler.program.n_slots = if compiler.referred.is_empty() { 0 } else { 2 * groups };
        let mut group = 0;
        compiler.expr(&tree.expr, &mut group)?;
        compiler.push(Insn::Done)?;
        Ok(compiler.program)
    }
}

struct Compiler {
    program: Program,
    /// Sets by their ranges, to reuse equal ones.
    known: HashMap<Vec<(u32, u32)>, u32>,
    /// Sets by their notation, because repetitions name the same sets many times.
    read: HashMap<(String, bool), u32>,
    bytes: usize,
    groups: usize,
    /// The groups that backreferences name. Other groups store nothing.
    referred: Vec<usize>,
}

impl Compiler {
    fn push(&mut self, insn: Insn) -> Outcome<usize> {
        self.bytes += size_of::<Insn>()
            + match &insn {
                Insn::Literal(text) => text.len(),
                _ => 0,
            };
        self.check_size()?;
        self.program.insns.push(insn);
        Ok(self.program.insns.len() - 1)
    }

    fn check_size(&self) -> Outcome {
        if self.bytes > PROGRAM_BYTES {
            return Err(format!("the compiled pattern takes more than {PROGRAM_BYTES} bytes"));
        }
        Ok(())
    }

    fn here(&self) -> u32 {
        self.program.insns.len() as u32
    }

    fn slot(&mut self) -> u32 {
        self.program.n_slots += 1;
        self.program.n_slots as u32 - 1
    }

    fn set(&mut self, class: &ClassUnicode) -> Outcome<u32> {
        let ranges: Vec<(u32, u32)> =
            class.ranges().iter().map(|range| (range.start() as u32, range.end() as u32)).collect();
        if let Some(&known) = self.known.get(&ranges) {
            return Ok(known);
        }
        self.bytes += 2 * size_of_val(&ranges[..]) + size_of::<Set>();
        self.check_size()?;
        let number = self.program.sets.len() as u32;
        self.program.sets.push(Set::new(&ranges));
        self.known.insert(ranges, number);
        Ok(number)
    }

    /// The set for an expression that matches exactly one character; `None` for other expressions.
    fn set_of(&mut self, expr: &Expr) -> Outcome<Option<u32>> {
        let class = match expr {
            Expr::Any { newline, crlf } => {
                let mut class = ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]);
                if !newline {
                    let mut breaks = vec![ClassUnicodeRange::new('\n', '\n')];
                    breaks.extend(crlf.then(|| ClassUnicodeRange::new('\r', '\r')));
                    class.difference(&ClassUnicode::new(breaks));
                }
                class
            }
            Expr::Delegate { inner, casei } => {
                if let Some(&known) = self.read.get(&(inner.clone(), *casei)) {
                    return Ok(Some(known));
                }
                let set = self.set(&class_of(inner, *casei)?)?;
                self.read.insert((inner.clone(), *casei), set);
                return Ok(Some(set));
            }
            Expr::Literal { val, casei } if val.chars().nth(1).is_none() => {
                let mut class = ClassUnicode::new(val.chars().map(|c| ClassUnicodeRange::new(c, c)));
                if *casei {
                    class.try_case_fold_simple().map_err(|error| error.to_string())?;
                }
                class
            }
            _ => return Ok(None),
        };
        self.set(&class).map(Some)
    }

    fn expr(&mut self, expr: &Expr, group: &mut usize) -> Outcome {
        match expr {
            Expr::Empty => {}
            Expr::Any { .. } | Expr::Delegate { .. } => {
                if let Some(set) = self.set_of(expr)? {
                    self.push(Insn::Set(set))?;
                }
            }
            Expr::Literal { val, casei: false } => {
                self.push(Insn::Literal(val.as_str().into()))?;
            }
            Expr::Literal { val, casei: true } => {
                for c in val.chars() {
                    self.expr_of_char(c)?;
                }
            }
            Expr::Assertion(assertion) => {
                check_assertion(*assertion)?;
                self.push(Insn::Assert(*assertion))?;
            }
            Expr::Concat(parts) => {
                for part in parts {
                    self.expr(part, group)?;
                }
            }
            Expr::Alt(parts) => self.alternatives(parts, group)?,
            Expr::Group(inner) => {
                let slot = 2 * *group as u32;
                let is_referred = self.referred.contains(group);
                *group += 1;
                if !is_referred {
                    return self.expr(inner, group);
                }
                self.push(Insn::Save(slot))?;
                self.expr(inner, group)?;
                self.push(Insn::Save(slot + 1))?;
            }
            Expr::LookAround(inner, kind) => self.look(inner, *kind, group)?,
            Expr::AtomicGroup(inner) => {
                if let Expr::Repeat { child, lo, hi, greedy: true } = &**inner
                    && let Some(set) = self.set_of(child)?
                {
                    self.run(set, *lo, *hi, Taking::Possessive)?;
                    return Ok(());
                }
                let at = self.push(Insn::Atomic { after: 0 })?;
                self.expr(inner, group)?;
                self.push(Insn::Done)?;
                self.program.insns[at] = Insn::Atomic { after: self.here() };
            }
            Expr::Repeat { child, lo, hi, greedy } => self.repeat(child, *lo, *hi, *greedy, group)?,
            Expr::Backref { group, casei } => {
                let known = group.checked_sub(1).filter(|group| *group < self.groups);
                let group = known.ok_or_else(|| format!("there is no group {group}"))? as u32;
                self.push(Insn::Backref { group, folded: *casei })?;
            }
            other => {
                let name = format!("{other:?}");
                let name = name.split(['(', ' ', '{']).next().unwrap_or_default();
                return Err(format!(
                    "{name} is not supported: write it with groups, look-around, atomic groups and backreferences"
                ));
            }
        }
        Ok(())
    }

    /// A character, ignoring case.
    fn expr_of_char(&mut self, c: char) -> Outcome {
        if let Some(set) = self.set_of(&Expr::Literal { val: c.to_string(), casei: true })? {
            self.push(Insn::Set(set))?;
        }
        Ok(())
    }

    fn alternatives(&mut self, parts: &[Expr], group: &mut usize) -> Outcome {
        let mut ends = Vec::with_capacity(parts.len());
        for (number, part) in parts.iter().enumerate() {
            if number + 1 == parts.len() {
                self.expr(part, group)?;
                break;
            }
            let split = self.push(Insn::Split(0, 0))?;
            self.expr(part, group)?;
            ends.push(self.push(Insn::Jump(0))?);
            self.program.insns[split] = Insn::Split(split as u32 + 1, self.here());
        }
        let after = self.here();
        ends.into_iter().for_each(|end| self.program.insns[end] = Insn::Jump(after));
        Ok(())
    }

    fn look(&mut self, inner: &Expr, kind: LookAround, group: &mut usize) -> Outcome {
        let negative = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
        let behind = match kind {
            LookAround::LookBehind | LookAround::LookBehindNeg => Some(lengths(inner)),
            LookAround::LookAhead | LookAround::LookAheadNeg => None,
        };
        let at = self.push(Insn::Done)?;
        self.expr(inner, group)?;
        self.push(Insn::Done)?;
        self.program.insns[at] = Insn::Look { behind, negative, after: self.here() };
        Ok(())
    }

    fn run(&mut self, set: u32, lo: usize, hi: usize, taking: Taking) -> Outcome {
        let bound = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.push(Insn::Run { set, min: bound(lo), max: bound(hi), taking })?;
        Ok(())
    }

    fn repeat(&mut self, child: &Expr, lo: usize, hi: usize, greedy: bool, group: &mut usize) -> Outcome {
        if let Some(set) = self.set_of(child)? {
            return self.run(set, lo, hi, if greedy { Taking::Greedy } else { Taking::Lazy });
        }
        let first_group = *group;
        let once = |this: &mut Self, group: &mut usize| {
            // Each copy fills the same groups.
            *group = first_group;
            // Counts copies that need no instructions, too.
            this.bytes += 1;
            this.check_size()?;
            this.expr(child, group)
        };
        if hi == 0 {
            // The groups of an omitted part exist but stay unset.
            *group += count_groups(child);
            return Ok(());
        }
        for _ in 0..lo {
            once(self, group)?;
        }
        let order =
            |body: u32, after: u32| if greedy { Insn::Split(body, after) } else { Insn::Split(after, body) };
        if hi == usize::MAX {
            let mark = (lengths(child).0 == 0).then(|| self.slot());
            let split = self.push(Insn::Done)?;
            if let Some(slot) = mark {
                self.push(Insn::Save(slot))?;
            }
            once(self, group)?;
            let leave = mark
                .map(|slot| self.push(Insn::Leave { slot, after: 0 }).map(|at| (at, slot)))
                .transpose()?;
            self.push(Insn::Jump(split as u32))?;
            let after = self.here();
            self.program.insns[split] = order(split as u32 + 1, after);
            if let Some((at, slot)) = leave {
                self.program.insns[at] = Insn::Leave { slot, after };
            }
            return Ok(());
        }
        let mut splits = Vec::new();
        for _ in lo..hi {
            splits.push(self.push(Insn::Done)?);
            once(self, group)?;
        }
        let after = self.here();
        splits.into_iter().for_each(|split| self.program.insns[split] = order(split as u32 + 1, after));
        Ok(())
    }
}
