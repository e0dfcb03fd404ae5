//! Writes the double array of a charsmap in the layout of Darts-clone, which SentencePiece files
//! use.
//!
//! Keys with the same continuations share their units (a minimal automaton, since most rules of
//! NFKC end alike): 225,000 rules take about 60,000 units of 32 bits. `text::trie` has nodes of 64
//! bits and shares nothing, so it cannot write this layout, and the bytes in a file decide its
//! fingerprint.
//!
//! Source: Aoe 1989, "An Efficient Digital Search Algorithm by Using a Double-Array Structure".

use hashbrown::HashMap;

use super::{BLOCK, NO_UNIT};
use crate::error::{Error, Result};

/// The largest number of units that the offset bits of a unit can address.
const MAX_UNITS: usize = 1 << 21;
/// How many blocks at the end are searched for free units.
const OPEN_BLOCKS: usize = 16;
/// The bit of a unit which says that a value follows.
const HAS_VALUE: u32 = 1 << 8;

/// The continuations that several prefixes share.
#[derive(PartialEq, Eq, Hash)]
struct State {
    value: Option<u32>,
    /// The state to which each byte leads.
    children: Vec<(u8, usize)>,
}

/// The units for sorted, distinct keys that do not contain NUL.
///
/// # Errors
/// [`Error::Format`] if there are too many rules for the layout.
pub(super) fn units(keys: &[(&[u8], u32)]) -> Result<Vec<u32>> {
    let mut states = Vec::new();
    let root = state(keys, 0, &mut states, &mut HashMap::new());
    let mut array = Array::default();
    array.grow();
    array.is_used[0] = true;
    // A state comes after all states to which it leads.
    let mut bases: Vec<usize> = Vec::with_capacity(states.len());
    for State { value, children } in &states {
        let base = array.base(value.map(|_| 0).into_iter().chain(children.iter().map(|child| child.0)));
        if array.units.len() > MAX_UNITS {
            return Err(Error::format("precompiled_charsmap", format!("more than {MAX_UNITS} units")));
        }
        if let &Some(value) = value {
            array.set(base, value | NO_UNIT);
        }
        for &(byte, child) in children {
            let place = base ^ usize::from(byte);
            array.set(place, u32::from(byte) | leading(place, bases[child], &states[child]));
        }
        bases.push(base);
    }
    array.units[0] = leading(0, bases[root], &states[root]);
    Ok(array.units)
}

/// The bits of the unit at `place` that leads to `state`.
fn leading(place: usize, base: usize, state: &State) -> u32 {
    ((place ^ base) as u32) << 10 | if state.value.is_some() { HAS_VALUE } else { 0 }
}

/// The state for the rest of `keys` after `depth` bytes. Recurses as deep as a key is long.
fn state(
    keys: &[(&[u8], u32)],
    depth: usize,
    states: &mut Vec<State>,
    known: &mut HashMap<State, usize>,
) -> usize {
    let ends = keys.iter().take_while(|(key, _)| key.len() == depth).count();
    let value = keys[..ends].first().map(|key| key.1);
    let children = keys[ends..]
        .chunk_by(|a, b| a.0[depth] == b.0[depth])
        .map(|same| (same[0].0[depth], state(same, depth + 1, states, known)))
        .collect();
    let found = State { value, children };
    if let Some(&number) = known.get(&found) {
        return number;
    }
    states.push(State { value, children: found.children.clone() });
    known.insert(found, states.len() - 1);
    states.len() - 1
}

#[derive(Default)]
struct Array {
    units: Vec<u32>,
    is_used: Vec<bool>,
    /// Which units are the base of a state. No two states share a base.
    is_base: Vec<bool>,
}

impl Array {
    fn grow(&mut self) {
        let len = self.units.len() + BLOCK;
        self.units.resize(len, NO_UNIT);
        self.is_used.resize(len, false);
        self.is_base.resize(len, false);
    }

    fn set(&mut self, place: usize, unit: u32) {
        self.units[place] = unit;
        self.is_used[place] = true;
    }

    /// A base from which all these bytes lead to free units.
    fn base(&mut self, bytes: impl Iterator<Item = u8>) -> usize {
        let bytes: Vec<usize> = bytes.map(usize::from).collect();
        let Some(&first) = bytes.first() else { return 0 };
        let open = self.units.len().saturating_sub(OPEN_BLOCKS * BLOCK);
        let free = (open..self.units.len()).filter(|&place| !self.is_used[place]);
        let fits = |base: &usize| {
            *base != 0 && !self.is_base[*base] && bytes.iter().all(|byte| !self.is_used[base ^ byte])
        };
        let found = free.map(|place| place ^ first).find(fits);
        let base = found.unwrap_or_else(|| {
            self.grow();
            self.units.len() - BLOCK
        });
        self.is_base[base] = true;
        base
    }
}
