//! `PointMap`: a number for each code point, in two stages.
//!
//! Built at run time from the lists in `tables.rs`, which are short to check in but slow to search.
//! Equal blocks are stored once, so large scripts with a single value cost almost nothing.

use std::collections::HashMap;

const SHIFT: u32 = 7;
const BLOCK: usize = 1 << SHIFT;
const N_BLOCKS: usize = 0x11_0000 >> SHIFT;

/// A total map from code points to numbers; 0 by default.
pub(super) struct PointMap {
    blocks: Box<[u16; N_BLOCKS]>,
    values: Vec<u32>,
}

impl PointMap {
    /// The map of runs `(first, last, value)`, sorted and disjoint.
    pub(super) fn from_runs(runs: impl IntoIterator<Item = (u32, u32, u32)>) -> Self {
        let mut map = Self::blank();
        let mut seen = HashMap::from([([0; BLOCK], 0)]);
        let (mut number, mut block) = (0, [0; BLOCK]);
        for (first, last, value) in runs {
            let mut point = first as usize;
            while point <= last as usize {
                if point >> SHIFT != number {
                    map.set(number, &block, &mut seen);
                    (number, block) = (point >> SHIFT, [0; BLOCK]);
                }
                let end = (point | (BLOCK - 1)).min(last as usize);
                block[point & (BLOCK - 1)..=end & (BLOCK - 1)].fill(value);
                point = end + 1;
            }
        }
        map.set(number, &block, &mut seen);
        map
    }

    /// The map of single code points, sorted.
    pub(super) fn from_points(points: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self::from_runs(points.into_iter().map(|(point, value)| (point, point, value)))
    }

    /// The map that is 1 on runs `(first, last)`, sorted and disjoint.
    pub(super) fn from_set(runs: &[(u32, u32)]) -> Self {
        Self::from_runs(runs.iter().map(|&(first, last)| (first, last, 1)))
    }

    /// A map whose `value` depends only on the values of `maps`. It is computed for one block of code
    /// points for each combination of their blocks.
    pub(super) fn combined(maps: &[&Self], value: impl Fn(u32) -> u32) -> Self {
        let mut map = Self::blank();
        let mut seen = HashMap::from([([0; BLOCK], 0)]);
        let mut known: HashMap<Vec<u16>, u16> = HashMap::new();
        for number in 0..N_BLOCKS {
            let parts: Vec<u16> = maps.iter().map(|map| map.blocks[number]).collect();
            let at = *known.entry(parts).or_insert_with(|| {
                let first = (number << SHIFT) as u32;
                let block = std::array::from_fn(|low| value(first + low as u32));
                map.set(number, &block, &mut seen);
                map.blocks[number]
            });
            map.blocks[number] = at;
        }
        map
    }

    fn blank() -> Self {
        Self { blocks: Box::new([0; N_BLOCKS]), values: vec![0; BLOCK] }
    }

    fn set(&mut self, number: usize, block: &[u32; BLOCK], seen: &mut HashMap<[u32; BLOCK], u16>) {
        let next = (self.values.len() / BLOCK) as u16;
        let at = *seen.entry(*block).or_insert(next);
        if at == next {
            self.values.extend_from_slice(block);
        }
        self.blocks[number] = at;
    }

    /// The number of a code point.
    #[inline(always)]
    pub(super) fn get(&self, point: u32) -> u32 {
        let Some(&block) = self.blocks.get((point >> SHIFT) as usize) else { return 0 };
        let at = usize::from(block) << SHIFT | point as usize & (BLOCK - 1);
        self.values.get(at).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_round_trip() {
        let runs = [(0, 0, 9), (5, 700, 1), (701, 701, 2), (0x3_0000, 0x10_FFFF, 3)];
        let map = PointMap::from_runs(runs);
        let both = PointMap::combined(&[&map], |point| map.get(point) * 2);
        for point in 0..0x11_0000 {
            let expected =
                runs.iter().find(|(first, last, _)| (*first..=*last).contains(&point)).map_or(0, |run| run.2);
            assert_eq!(map.get(point), expected, "{point}");
            assert_eq!(both.get(point), expected * 2, "{point}");
        }
        assert_eq!(map.get(u32::MAX), 0);
        assert!(map.values.len() < 20 * BLOCK, "{}", map.values.len());
    }
}
