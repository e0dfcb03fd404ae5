//! The merge loop: symbols in, tokens out, lowest rank first, leftmost among
//! equals.
//!
//! Every piece is merged by [`Symbols`], in one of four ways with one result:
//!
//! | symbols | by | because |
//! |---|---|---|
//! | up to 16 | `short_merge` | the symbols that are left are bits of a word; several pieces at once |
//! | up to 64 | `array_merge` | scans an array in which nothing moves; each scan waits for the last write |
//! | more | `windowed_merge` | joins windows of 64, so time is linear |
//! | any number | `merge_queue` | O(n log n); dropout, ranks above 2^25, and windows that do not agree |
//!
//! Only `resegment` has its own merging: it remembers what each unused piece was made of last.
//!
//! Where results share a rank (equal scores), one place may wait twice with one
//! rank: for a pair that is gone, and for the pair that is there now. The two
//! are one candidate. They leave the queue one after the other, as nothing comes
//! in between, so the second is known by the first.

use std::alloc::{Layout, handle_alloc_error};

use super::pairs::{Merged, PairTable};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::bpe::array_merge::{self, Scan};
use crate::models::bpe::merge_queue::MergeQueue;
use crate::models::bpe::short_merge::{self, ShortMerge};
use crate::models::bpe::windowed_merge::Windows;
use crate::vocab::TokenId;

/// A piece of up to so many symbols leaves its memory to the next: about 1 MiB.
const KEPT_SYMBOLS: usize = 1 << 14;

/// The end of the linked list.
const NONE: u32 = u32::MAX;

/// The `next` of a symbol that was merged away. (Its length does not say so: bytes
/// that spell a prefix cover nothing from the start.)
const GONE: u32 = u32::MAX - 1;

/// Whether merges are passed over (BPE-dropout, Provilkov et al. 2020), and what
/// becomes of one that is.
pub(super) enum PassOver<'a> {
    /// None is.
    Never,
    /// It waits until another candidate is not passed over, stale ones among
    /// them: as Hugging Face runs it.
    Waits(&'a mut dyn FnMut() -> bool),
    /// It never comes back, but the pairs of a later merge do: as SentencePiece
    /// runs it.
    Gone(&'a mut dyn FnMut() -> bool),
}

/// A piece while it is merged; kept between pieces for its memory.
///
/// `ids` and `lens` are the result: each token and how many bytes it covers.
#[derive(Default)]
pub(crate) struct Symbols {
    pub(crate) ids: Vec<TokenId>,
    pub(crate) lens: Vec<u32>,
    pub(super) scan: Scan,
    pub(super) windows: Windows,
    pub(super) short: ShortMerge,
    /// Pieces that are merged at once.
    pub(super) parallel: [ShortMerge; short_merge::AT_ONCE],
    next: Vec<u32>,
    prev: Vec<u32>,
    queue: MergeQueue,
    /// Ranks and places that were passed over.
    skipped: Vec<(u32, u32)>,
    /// That there was no memory for a piece, of which symbols are missing then.
    pub(super) missing: Option<Error>,
}

impl Symbols {
    /// Empties the piece.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
        self.lens.clear();
    }

    /// Takes note of what there was no memory for: then the piece has no symbols.
    pub(super) fn note(&mut self, done: Result<()>) {
        if let Err(error) = done {
            self.missing = Some(error);
            self.clear();
        }
    }

    /// Ends the process where there was no memory, as a vector that grows does:
    /// for work that gives no error, which must not continue without some symbols.
    pub(super) fn insist(&self) {
        if self.missing.is_some() {
            handle_alloc_error(Layout::new::<TokenId>());
        }
    }

    /// Whether there was memory for all symbols since the last check.
    ///
    /// # Errors
    /// [`Error::Memory`] if not.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.missing.take().map_or(Ok(()), Err)
    }

    /// Appends the ids to `ids`, as far as there is memory.
    pub(super) fn append_to(&mut self, ids: &mut Vec<TokenId>) {
        let done = memory::extend(ids, &self.ids);
        self.note(done);
    }

    /// Makes room for one more symbol, if there is memory; for few there is.
    #[cold]
    fn grow(&mut self) -> bool {
        let Self { ids, lens, missing, .. } = self;
        if missing.is_some() {
            // Asked once: each refusal is a call of the system.
            return false;
        }
        if ids.len() < KEPT_SYMBOLS {
            ids.reserve(1);
            lens.reserve(1);
            return true;
        }
        *missing = ids.make_room(1).and_then(|()| lens.make_room(1)).err();
        missing.is_none()
    }

    /// Lets go of what a long piece took.
    pub(crate) fn rest(&mut self) {
        let held = [self.ids.capacity(), self.next.capacity(), self.windows.capacity()];
        if held.into_iter().any(|symbols| symbols > KEPT_SYMBOLS) {
            *self = Self::default();
        }
    }

    /// Adds a symbol that covers `len` bytes; that there is no memory for it is noted.
    #[inline]
    pub(crate) fn push(&mut self, id: TokenId, len: u32) {
        if self.ids.len() == self.ids.capacity().min(self.lens.capacity()) && !self.grow() {
            return;
        }
        self.ids.push(id);
        self.lens.push(len);
    }

    /// Merges until no pair is left to merge.
    pub(crate) fn merge(&mut self, pairs: &PairTable) {
        if pairs.greatest_rank() > array_merge::GREATEST_RANK {
            let done = self.merge_down_to(1, pairs);
            self.note(done);
        } else if self.ids.len() <= short_merge::MOST {
            self.merge_short(pairs);
        } else if self.ids.len() <= array_merge::MOST {
            self.merge_by_scan(pairs);
        } else {
            let done = self.merge_in_windows(pairs);
            self.note(done);
        }
    }

    /// Writes what [`Symbols::merge`] makes of ids over them, without lengths; returns how many these are.
    pub(super) fn merge_in_place(&mut self, ids: &mut [TokenId], pairs: &PairTable) -> usize {
        if ids.len() <= short_merge::MOST && pairs.greatest_rank() <= short_merge::GREATEST_RANK {
            self.short.clear();
            ids.iter().for_each(|&id| self.short.push(id));
            self.short.merge(pairs);
            return self.short.write(ids);
        }
        self.clear();
        ids.iter().for_each(|&id| self.push(id, 0));
        self.merge(pairs);
        ids[..self.ids.len()].copy_from_slice(&self.ids);
        self.ids.len()
    }

    /// Merges until no pair is left to merge, or only `floor` symbols are.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    pub(super) fn merge_down_to(&mut self, floor: usize, pairs: &PairTable) -> Result<()> {
        self.merge_by_queue(floor, pairs, PassOver::Never)
    }

    /// Merges, passing over candidates.
    pub(super) fn merge_with_dropout(&mut self, pairs: &PairTable, dropout: PassOver<'_>) {
        let done = self.merge_by_queue(1, pairs, dropout);
        self.note(done);
    }

    fn merge_short(&mut self, pairs: &PairTable) {
        let Self { ids, lens, short, .. } = self;
        short.clear();
        ids.iter().for_each(|&id| short.push(id));
        let mut left_over = short.merge(pairs);
        let mut tokens = [0; short_merge::MOST];
        let n = short.write(&mut tokens);
        ids.clear();
        ids.extend_from_slice(&tokens[..n]);
        for kept in 0..n {
            let start = left_over.trailing_zeros() as usize;
            left_over &= left_over.wrapping_sub(1);
            let end = (left_over.trailing_zeros() as usize).min(lens.len());
            lens[kept] = lens[start..end].iter().sum();
        }
        lens.truncate(n);
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

    fn merge_by_queue(&mut self, floor: usize, pairs: &PairTable, mut dropout: PassOver<'_>) -> Result<()> {
        let Self { ids, lens, next, prev, queue, skipped, .. } = self;
        let n = ids.len() as u32;
        next.clear();
        next.make_room(ids.len().max(1))?;
        next.extend((1..n).chain([NONE]));
        prev.clear();
        prev.make_room(ids.len().max(1))?;
        prev.extend([NONE].into_iter().chain(0..n.saturating_sub(1)));
        queue.clear();
        for (at, pair) in ids.windows(2).enumerate() {
            let merged = pairs.get(pair[0], pair[1]);
            if merged != Merged::NEVER {
                queue.push(merged.rank, at as u32)?;
            }
        }
        skipped.clear();
        let mut n_left = ids.len();
        while n_left > floor
            && let Some((rank, at)) = queue.pop()
        {
            if let PassOver::Waits(skips) = &mut dropout {
                if skips() {
                    memory::push(skipped, (rank, at))?;
                    continue;
                }
                skipped.drain(..).try_for_each(|(rank, at)| queue.push(rank, at))?;
            }
            let left = at as usize;
            // A waiting merge of a symbol that was merged away is stale. So is a merge
            // whose pair has changed since, unless the new pair has the same rank:
            // then it waits at this place too.
            if next[left] >= GONE {
                continue;
            }
            let right = next[left] as usize;
            let merged = pairs.get(ids[left], ids[right]);
            if merged.rank != rank {
                continue;
            }
            if let PassOver::Gone(skips) = &mut dropout {
                if skipped.last() == Some(&(rank, at)) {
                    continue;
                }
                if skips() {
                    memory::push(skipped, (rank, at))?;
                    continue;
                }
                skipped.clear();
            }
            n_left -= 1;
            ids[left] = merged.id;
            lens[left] += lens[right];
            next[left] = next[right];
            next[right] = GONE;
            if prev[left] != NONE {
                let before = prev[left];
                let born = pairs.get(ids[before as usize], merged.id);
                if born != Merged::NEVER {
                    queue.push(born.rank, before)?;
                }
            }
            if next[left] != NONE {
                let after = next[left] as usize;
                prev[after] = at;
                let born = pairs.get(merged.id, ids[after]);
                if born != Merged::NEVER {
                    queue.push(born.rank, at)?;
                }
            }
        }
        let mut kept = 0;
        for at in 0..ids.len() {
            if next[at] != GONE {
                ids[kept] = ids[at];
                lens[kept] = lens[at];
                kept += 1;
            }
        }
        ids.truncate(kept);
        lens.truncate(kept);
        Ok(())
    }
}
