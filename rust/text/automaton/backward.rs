//! Finds the leftmost longest strings by reading the text from right to left.
//!
//! A search from left to right reads on after a match, because a longer one may follow, and if none
//! does, these bytes are read again: with the strings `a` and `a…ab`, each `a` of a text costs as
//! many bytes as the second string has. From right to left a single pass suffices. After the bytes
//! `text[i..]`, the automaton of Aho and Corasick (1975) over the reversed strings is at the
//! longest prefix of a reversed string that these bytes, reversed, end with. So the longest string
//! that begins at `i` is known. A pass from left to right then takes the first start that is not
//! before the end of the last match.
//!
//! Cost: the text is read in blocks. The state at the end of a block depends on at most as many
//! bytes after it as the longest string has, and no block is shorter than that. So each byte is
//! read at most twice, and memory holds the matches of one block.

use std::collections::VecDeque;
use std::ops::Range;

use crate::step_counter::step;

/// The size of a block, unless a string is longer.
const BLOCK: usize = 1 << 14;

const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;

/// The automaton of reversed strings.
pub(crate) struct Backward {
    /// The index of the first child of each node. Nodes are numbered level by level, so the
    /// children end where those of the next node begin.
    first_child: Vec<u32>,
    /// The byte that leads to each node; ascending among the children of a node.
    label: Vec<u8>,
    /// The node of the longest proper suffix that is also a prefix of a string.
    suffix: Vec<u32>,
    /// The longest string that ends at each node, or `NONE`.
    string: Vec<u32>,
    lens: Vec<usize>,
    block: usize,
    longest: usize,
}

/// The progress of a search through one text.
#[derive(Default)]
pub(super) struct Position {
    /// The end of the last match.
    at: usize,
    /// The end of the last block.
    block_end: usize,
    /// The starts of strings in the block, in descending order.
    starts: Vec<(usize, u32)>,
}

impl Backward {
    /// Builds the automaton; `None` if the numbers of nodes exceed 32 bits.
    pub(super) fn new<S: AsRef<[u8]>>(strings: &[S]) -> Option<Self> {
        let lens: Vec<usize> = strings.iter().map(|string| string.as_ref().len()).collect();
        if lens.iter().sum::<usize>() >= NONE as usize {
            return None;
        }
        let mut reversed: Vec<(Vec<u8>, u32)> =
            strings.iter().map(|string| string.as_ref().iter().rev().copied().collect()).zip(0..).collect();
        reversed.sort_unstable();
        // Of equal strings the first one is found.
        reversed.dedup_by(|next, kept| next.0 == kept.0);
        let longest = lens.iter().copied().max().unwrap_or(0);
        let mut automaton = Self {
            first_child: Vec::new(),
            label: vec![0],
            suffix: vec![ROOT],
            string: vec![NONE],
            lens,
            block: longest.max(BLOCK),
            longest,
        };
        // The strings that share the path of a node, which has `depth` bytes.
        let mut level = VecDeque::from([(0..reversed.len(), 0)]);
        while let Some((mut range, depth)) = level.pop_front() {
            let node = automaton.first_child.len() as u32;
            automaton.first_child.push(automaton.label.len() as u32);
            if reversed.get(range.start).is_some_and(|(string, _)| string.len() == depth) {
                automaton.string[node as usize] = reversed[range.start].1;
                range.start += 1;
            }
            while !range.is_empty() {
                let byte = reversed[range.start].0[depth];
                let n = reversed[range.clone()].partition_point(|(string, _)| string[depth] == byte);
                automaton.label.push(byte);
                automaton.suffix.push(node);
                automaton.string.push(NONE);
                level.push_back((range.start..range.start + n, depth + 1));
                range.start += n;
            }
        }
        automaton.first_child.push(automaton.label.len() as u32);
        automaton.link();
        Some(automaton)
    }

    /// Replaces the parent of each node by its suffix link, level by level.
    fn link(&mut self) {
        for node in 1..self.label.len() {
            let (parent, byte) = (self.suffix[node], self.label[node]);
            self.suffix[node] = match parent {
                ROOT => ROOT,
                _ => self.next(self.suffix[parent as usize], byte),
            };
            if self.string[node] == NONE {
                self.string[node] = self.string[self.suffix[node] as usize];
            }
        }
    }

    /// Makes blocks as short as the strings allow, for tests.
    #[cfg(test)]
    pub(super) fn shorten_blocks(&mut self) {
        self.block = self.longest.max(1);
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let (first, end) = (self.first_child[node as usize], self.first_child[node as usize + 1]);
        let at = self.label[first as usize..end as usize].binary_search(&byte).ok()?;
        Some(first + at as u32)
    }

    /// The state after one more byte. Over a whole text, suffix links are followed at most once per
    /// byte.
    fn next(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            step();
            match self.child(state, byte) {
                Some(child) => return child,
                None if state == ROOT => return ROOT,
                None => state = self.suffix[state as usize],
            }
        }
    }

    /// The next match from left to right.
    pub(super) fn next_match(&self, text: &[u8], position: &mut Position) -> Option<(usize, Range<usize>)> {
        loop {
            while let Some((start, string)) = position.starts.pop() {
                if start >= position.at {
                    position.at = start + self.lens[string as usize];
                    return Some((string as usize, start..position.at));
                }
            }
            let start = position.at.max(position.block_end);
            if start >= text.len() {
                return None;
            }
            position.block_end = text.len().min(start + self.block);
            let mut state = ROOT;
            for at in (start..text.len().min(position.block_end + self.longest)).rev() {
                state = self.next(state, text[at]);
                let string = self.string[state as usize];
                if at < position.block_end && string != NONE {
                    position.starts.push((at, string));
                }
            }
        }
    }
}
