//! `Set`: a set of characters with fast lookup for ASCII.

/// Sorted ranges of code points, and one bit for each ASCII character.
#[derive(Debug)]
pub(super) struct Set {
    ascii: u128,
    others: Box<[(u32, u32)]>,
}

impl Set {
    /// The set of these sorted, disjoint ranges.
    pub(super) fn new(ranges: &[(u32, u32)]) -> Self {
        let mut ascii = 0;
        for &(first, last) in ranges {
            (first..=last.min(127)).for_each(|point| ascii |= 1 << point);
        }
        let others = ranges.iter().filter(|range| range.1 > 127).map(|&(first, last)| (first.max(128), last));
        Self { ascii, others: others.collect() }
    }

    /// Whether the set contains `c`.
    #[inline]
    pub(super) fn has(&self, c: char) -> bool {
        let point = c as u32;
        if point < 128 {
            return self.ascii >> point & 1 != 0;
        }
        let after = self.others.partition_point(|range| range.0 <= point);
        after.checked_sub(1).and_then(|at| self.others.get(at)).is_some_and(|range| point <= range.1)
    }
}
