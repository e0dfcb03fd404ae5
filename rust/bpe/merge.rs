//! The merge loop: symbols in, tokens out, lowest rank first, leftmost among
//! equals.
//!
//! Three forms with one result. Short pieces scan an array (`scan`); longer ones
//! are cut into windows that do (`windows`). An agenda over a linked list, O(n
//! log n) on any input, is for what neither can do: dropout, and pieces of which
//! windows do not agree.

use super::agenda::Agenda;
use super::pairs::{Merged, PairTable};
use super::scan::{self, Scan};
use super::windows::Windows;
use crate::vocab::TokenId;

/// The end of the linked list.
const NONE: u32 = u32::MAX;

/// A piece while it is merged; kept between pieces for its memory.
///
/// `ids` and `lens` are the result: each token and how many bytes it covers.
#[derive(Default)]
pub(crate) struct Symbols {
    pub(crate) ids: Vec<TokenId>,
    pub(crate) lens: Vec<u32>,
    pub(super) scan: Scan,
    pub(super) windows: Windows,
    next: Vec<u32>,
    prev: Vec<u32>,
    agenda: Agenda,
    /// Ranks and places.
    skipped: Vec<(u32, u32)>,
}

impl Symbols {
    /// Empties the piece.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.lens.clear();
    }

    /// Adds a symbol that covers `len` bytes.
    #[inline]
    pub(crate) fn push(&mut self, id: TokenId, len: u32) {
        self.ids.push(id);
        self.lens.push(len);
    }

    /// Merges until no pair is left to merge.
    pub(crate) fn merge(&mut self, pairs: &PairTable) {
        if pairs.greatest_rank() > scan::GREATEST_RANK {
            self.merge_by_agenda(pairs, &mut || false);
        } else if self.ids.len() <= scan::MOST {
            self.merge_by_scan(pairs);
        } else {
            self.merge_in_windows(pairs);
        }
    }

    /// Merges, passing over a candidate whenever `skip` says so; a candidate
    /// passed over comes back after the next merge (BPE-dropout, Provilkov et
    /// al. 2020, as Hugging Face runs it).
    pub(crate) fn merge_with_dropout(&mut self, pairs: &PairTable, skip: &mut dyn FnMut() -> bool) {
        self.merge_by_agenda(pairs, skip);
    }

    fn merge_by_scan(&mut self, pairs: &PairTable) {
        let Self { ids, lens, scan, .. } = self;
        scan.run(pairs, ids);
        let mut kept = 0;
        for (start, end, id) in scan.tokens() {
            ids[kept] = id;
            lens[kept] = lens[start..end].iter().sum();
            kept += 1;
        }
        ids.truncate(kept);
        lens.truncate(kept);
    }

    pub(super) fn merge_by_agenda(&mut self, pairs: &PairTable, skip: &mut dyn FnMut() -> bool) {
        let Self { ids, lens, next, prev, agenda, skipped, .. } = self;
        let n = ids.len() as u32;
        next.clear();
        next.extend((1..n).chain([NONE]));
        prev.clear();
        prev.extend([NONE].into_iter().chain(0..n.saturating_sub(1)));
        agenda.clear();
        for (at, pair) in ids.windows(2).enumerate() {
            let merged = pairs.get(pair[0], pair[1]);
            if merged != Merged::NEVER {
                agenda.push(merged.rank, at as u32);
            }
        }
        skipped.clear();
        while let Some((rank, at)) = agenda.pop() {
            let left = at as usize;
            // A symbol merged away has no length; what waits for it is stale. So
            // is a merge whose pair has changed since, unless the new pair has the
            // same rank: then it waits at this place too.
            if lens[left] == 0 || next[left] == NONE {
                continue;
            }
            let right = next[left] as usize;
            let merged = pairs.get(ids[left], ids[right]);
            if merged.rank != rank {
                continue;
            }
            if skip() {
                skipped.push((rank, at));
                continue;
            }
            skipped.drain(..).for_each(|(rank, at)| agenda.push(rank, at));
            ids[left] = merged.id;
            lens[left] += lens[right];
            lens[right] = 0;
            next[left] = next[right];
            if prev[left] != NONE {
                let before = prev[left];
                let born = pairs.get(ids[before as usize], merged.id);
                if born != Merged::NEVER {
                    agenda.push(born.rank, before);
                }
            }
            if next[left] != NONE {
                let after = next[left] as usize;
                prev[after] = at;
                let born = pairs.get(merged.id, ids[after]);
                if born != Merged::NEVER {
                    agenda.push(born.rank, at);
                }
            }
        }
        let mut kept = 0;
        for at in 0..ids.len() {
            if lens[at] > 0 {
                ids[kept] = ids[at];
                lens[kept] = lens[at];
                kept += 1;
            }
        }
        ids.truncate(kept);
        lens.truncate(kept);
    }
}
