//! `Trie`: finds every key that begins at a position, with one memory load per byte.
//!
//! A double array (Aoe 1989) addressed by XOR, in one flat vector of words. A unit holds the byte
//! that leads to it, the base of its children, and the value of the key that ends there. No two
//! nodes have the same base, so the byte alone shows whether a child belongs to the node. Built in
//! the order of the sorted keys, in time linear in their bytes.

use crate::error::{Error, Result};

/// The bits of a unit: label, base, value.
const LABEL_BITS: u32 = 9;
const BASE_BITS: u32 = 27;
const LABEL_MASK: u64 = (1 << LABEL_BITS) - 1;
const BASE_MASK: u64 = (1 << BASE_BITS) - 1;
const VALUE_SHIFT: u32 = LABEL_BITS + BASE_BITS;
/// The label of a free unit, which is not a byte.
const FREE: u64 = LABEL_MASK;
/// Units are allocated in blocks, inside which every XOR with a byte stays.
const BLOCK: usize = 256;
/// How many free units are tried for a node with several children.
const TRIES: usize = 48;
/// The largest value: the remaining bits of 64, less one value for "none".
pub(crate) const MAX_VALUE: u32 = (1 << (64 - VALUE_SHIFT)) - 2;

/// The node that a byte led to.
#[derive(Clone, Copy)]
pub(crate) struct Step(u64);

impl Step {
    /// The base of the node's children.
    #[inline]
    pub(crate) fn base(self) -> u32 {
        ((self.0 >> LABEL_BITS) & BASE_MASK) as u32
    }

    /// The value of the key that ends at the node.
    #[inline]
    pub(crate) fn value(self) -> Option<u32> {
        ((self.0 >> VALUE_SHIFT) as u32).checked_sub(1)
    }
}

/// An immutable map from byte strings to numbers, searched by prefix.
#[derive(Clone, Default)]
pub(crate) struct Trie {
    units: Vec<u64>,
    root: u32,
}

impl Trie {
    /// Builds a trie from keys in any order, with values up to 2^28 - 2. Of equal keys one is kept.
    ///
    /// # Errors
    /// [`Error::Format`] for more than 2^27 nodes or a greater value.
    pub(crate) fn new(keys: Vec<(&[u8], u32)>) -> Result<Self> {
        if let Some((_, value)) = keys.iter().find(|(_, value)| *value > MAX_VALUE) {
            return Err(Error::format("pieces", format!("id {value} is above {MAX_VALUE}")));
        }
        let keys = sorted(keys);
        Builder::default().build(&keys)
    }

    /// The base of the root, where searches begin.
    #[inline]
    pub(crate) fn root(&self) -> u32 {
        self.root
    }

    /// The node that `byte` leads to from the node with the children at `base`.
    #[inline]
    pub(crate) fn step(&self, base: u32, byte: u8) -> Option<Step> {
        let unit = *self.units.get((base ^ u32::from(byte)) as usize)?;
        (unit & LABEL_MASK == u64::from(byte)).then_some(Step(unit))
    }

    /// The length of the longest key that is a prefix of `text`.
    pub(crate) fn longest_prefix(&self, text: &[u8]) -> Option<usize> {
        self.longest(text).map(|(len, _)| len)
    }

    /// The length and the value of the longest key that is a prefix of `text`.
    pub(crate) fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        let mut base = self.root;
        let mut longest = None;
        for (at, &byte) in text.iter().enumerate() {
            let Some(step) = self.step(base, byte) else { break };
            base = step.base();
            longest = step.value().map(|value| (at + 1, value)).or(longest);
        }
        longest
    }
}

/// The keys sorted, without duplicates. The first eight bytes decide most comparisons.
pub(crate) fn sorted(keys: Vec<(&[u8], u32)>) -> Vec<(&[u8], u32)> {
    let head = |key: &[u8]| {
        let mut head = [0; 8];
        head.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(head)
    };
    let mut keys: Vec<_> = keys.into_iter().map(|key| (head(key.0), key)).collect();
    keys.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| left.1.cmp(&right.1)));
    keys.dedup_by_key(|key| key.1.0);
    keys.into_iter().map(|key| key.1).collect()
}

/// A node whose children have no units yet.
struct Pending {
    /// Its unit; `None` for the root.
    unit: Option<usize>,
    /// The keys that begin with its path.
    keys: std::ops::Range<usize>,
    depth: usize,
}

/// Builds the units. Free units form a doubly linked list, whose ends are [`NONE`].
#[derive(Default)]
struct Builder {
    units: Vec<u64>,
    next: Vec<u32>,
    prev: Vec<u32>,
    first: u32,
    last: u32,
    /// Whether each unit has left the list.
    is_out: Vec<bool>,
    /// Whether each base is in use.
    taken: Vec<bool>,
}

const NONE: u32 = u32::MAX;

impl Builder {
    fn build(mut self, keys: &[(&[u8], u32)]) -> Result<Trie> {
        (self.first, self.last) = (NONE, NONE);
        // The first block stays free, because a node without children has base 0.
        self.units = vec![FREE; BLOCK];
        self.taken = vec![true; BLOCK];
        self.is_out = vec![true; BLOCK];
        (self.next, self.prev) = (vec![NONE; BLOCK], vec![NONE; BLOCK]);
        let mut root = 0;
        let mut pending = vec![Pending { unit: None, keys: 0..keys.len(), depth: 0 }];
        let mut children: Vec<(u8, std::ops::Range<usize>)> = Vec::new();
        while let Some(node) = pending.pop() {
            let mut start = node.keys.start;
            if let Some((key, value)) = keys.get(start)
                && key.len() == node.depth
            {
                // The shortest key sorts first. Empty keys are not supported.
                if let Some(unit) = node.unit {
                    self.units[unit] |= (u64::from(*value) + 1) << VALUE_SHIFT;
                }
                start += 1;
            }
            children.clear();
            while start < node.keys.end {
                let label = keys[start].0[node.depth];
                let same = keys[start..node.keys.end].partition_point(|(key, _)| key[node.depth] == label);
                children.push((label, start..start + same));
                start += same;
            }
            if children.is_empty() {
                continue;
            }
            let base = self.place(&children)?;
            self.taken[base as usize] = true;
            match node.unit {
                Some(unit) => self.units[unit] |= u64::from(base) << LABEL_BITS,
                None => root = base,
            }
            for (label, keys) in children.drain(..) {
                let unit = (base ^ u32::from(label)) as usize;
                self.take(unit);
                self.units[unit] = u64::from(label);
                pending.push(Pending { unit: Some(unit), keys, depth: node.depth + 1 });
            }
        }
        Ok(Trie { units: self.units, root })
    }

    /// A base at which all children fit. A single child goes to the first free unit, and units that
    /// do not fit are removed from the list, so that they are not tried again. Several children are
    /// tried from the end, where most units are free.
    fn place(&mut self, children: &[(u8, std::ops::Range<usize>)]) -> Result<u32> {
        let label = u32::from(children[0].0);
        if children.len() == 1 {
            for _ in 0..TRIES {
                if self.first == NONE {
                    break;
                }
                let base = self.first ^ label;
                if !self.taken[base as usize] {
                    return Ok(base);
                }
                self.take(self.first as usize);
            }
        }
        let mut free = self.last;
        for _ in 0..TRIES {
            if free == NONE {
                break;
            }
            let base = free ^ label;
            let fits = |(label, _): &(u8, std::ops::Range<usize>)| {
                self.units[(base ^ u32::from(*label)) as usize] == FREE
            };
            if !self.taken[base as usize] && children.iter().all(fits) {
                return Ok(base);
            }
            free = self.prev[free as usize];
        }
        self.add_block()
    }

    /// Adds a block of free units, in which any base fits.
    fn add_block(&mut self) -> Result<u32> {
        let start = self.units.len();
        let end = start + BLOCK;
        if end > 1 << BASE_BITS {
            return Err(Error::format("pieces", "their tree has more than 2^27 nodes; use fewer pieces"));
        }
        self.units.resize(end, FREE);
        self.taken.resize(end, false);
        self.is_out.resize(end, false);
        self.next.extend((start..end).map(|unit| if unit + 1 == end { NONE } else { unit as u32 + 1 }));
        self.prev.extend((start..end).map(|unit| if unit == start { self.last } else { unit as u32 - 1 }));
        match self.next.get_mut(self.last as usize) {
            Some(next) => *next = start as u32,
            None => self.first = start as u32,
        }
        self.last = end as u32 - 1;
        Ok(start as u32)
    }

    /// Removes a unit from the list, if it is there.
    fn take(&mut self, unit: usize) {
        if std::mem::replace(&mut self.is_out[unit], true) {
            return;
        }
        let (next, prev) = (self.next[unit], self.prev[unit]);
        match self.next.get_mut(prev as usize) {
            Some(after) => *after = next,
            None => self.first = next,
        }
        match self.prev.get_mut(next as usize) {
            Some(before) => *before = prev,
            None => self.last = prev,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn prefixes(trie: &Trie, text: &[u8]) -> Vec<(usize, u32)> {
        let mut found = Vec::new();
        let mut base = trie.root();
        for (at, &byte) in text.iter().enumerate() {
            let Some(step) = trie.step(base, byte) else { break };
            base = step.base();
            found.extend(step.value().map(|value| (at + 1, value)));
        }
        found
    }

    proptest! {
        #[test]
        fn trie_agrees_with_a_map(
            keys in prop::collection::btree_map(prop::collection::vec(any::<u8>(), 1..5), 0..99u32, 0..300),
            short in prop::collection::btree_map("[a-c\\x00\\xFF]{1,6}", 0..99u32, 0..200),
            texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..8), 1..20),
        ) {
            let mut all: BTreeMap<Vec<u8>, u32> = keys;
            all.extend(short.into_iter().map(|(key, value)| (key.into_bytes(), value)));
            let trie = Trie::new(all.iter().map(|(key, value)| (&key[..], *value)).collect()).unwrap();
            for text in texts.iter().chain(all.keys()) {
                let naive: Vec<_> =
                    (1..=text.len()).filter_map(|end| Some((end, *all.get(&text[..end])?))).collect();
                prop_assert_eq!(trie.longest(text), naive.last().copied());
                prop_assert_eq!(prefixes(&trie, text), naive);
            }
        }
    }

    #[test]
    fn free_units_are_filled() {
        // Words over few letters, as in a vocabulary: many nodes have one child.
        let words: Vec<String> = (0..5000u32).map(|n| format!("{:o}x{:x}", n * 7919, n * n)).collect();
        let trie = Trie::new(words.iter().map(|word| (word.as_bytes(), 0)).collect()).unwrap();
        let nodes = trie.units.iter().filter(|unit| **unit & LABEL_MASK != FREE).count();
        assert!(trie.units.len() < nodes * 2, "{} units for {nodes} nodes", trie.units.len());
    }

    #[test]
    fn empty_and_extreme_keys() {
        assert_eq!(prefixes(&Trie::new(vec![]).unwrap(), b"a"), []);
        assert_eq!(prefixes(&Trie::default(), b"\0"), []);
        let long = vec![7; 20_000];
        let trie = Trie::new(vec![(&long, 3), (b"", 1), (b"\x07", MAX_VALUE)]).unwrap();
        assert_eq!(prefixes(&trie, &long), [(1, MAX_VALUE), (20_000, 3)]);
        assert!(Trie::new(vec![(b"a", MAX_VALUE + 1)]).is_err());
    }
}
