//! `Draft`: a part of a long piece, encoded before what stands in front of it.
//!
//! How sums are rounded depends on all that was summed before (`viterbi`), so a part of
//! a piece waits for the sum in front of it; but each unit's best way is the same up to
//! some size of that sum ([`Margin`]). A draft keeps the ways and these sizes, which is
//! nearly all of the work; once the sum is known, it is added up unit by unit, and what
//! is not certain, or holds unknown characters, is searched then. So the ids are those
//! of the whole piece in one thread. The units are those that a worker finds.

use super::memo::{COUNT, LIMIT, WITH_UNKNOWN, kept_path, total_after};
use super::output::Output;
use super::viterbi::{Margin, or_reset};
use super::worker::{Scratch, Units, WAITING, WaitingUnit, Worker, key};
use super::{Precision, Unigram};
use crate::error::Result;
use crate::memory;
use crate::piece_table::{Key, NO_KEY, hash};
use crate::vocab::TokenId;

/// A part of a piece, which begins with a unit, and the ways through its units.
#[derive(Default)]
pub(crate) struct Draft {
    /// The part.
    text: Vec<u8>,
    units: Vec<DraftUnit>,
    /// The ids of all ways, one after the other.
    ids: Vec<TokenId>,
}

/// A unit of a draft.
#[derive(Clone, Copy)]
struct DraftUnit {
    /// Where it ends in the part.
    end: u32,
    n_ids: u32,
    /// The greatest size of a sum before it for which the way is certain; negative if
    /// there is none.
    limit: f32,
}

/// No way is certain.
const NO_LIMIT: f32 = -1.0;

impl Unigram {
    /// Whether a piece may be cut before a `▁` that stands behind this byte: a unit ends
    /// there, and no run of unknown characters goes on.
    pub(crate) fn may_cut_behind(&self, byte: u8) -> bool {
        !self.before_inner_mark[usize::from(byte)] && self.knows_mark()
    }

    fn knows_mark(&self) -> bool {
        let mut is_known = false;
        self.pieces.for_each_at("▁".as_bytes(), 0, |_, id| is_known |= id.is_some());
        is_known && self.vocab.id("▁".as_bytes()) != Some(self.unknown_mark())
    }
}

impl Worker<'_> {
    /// Encodes a part of a piece as far as that can be done without what is before it.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub(crate) fn draft(&mut self, part: Vec<u8>) -> Result<Draft> {
        match self.model.options().precision {
            Precision::F32 => self.scratch.draft::<true>(self.model, part),
            Precision::F64 => self.scratch.draft::<false>(self.model, part),
        }
    }

    /// Appends the ids of a draft, where `total` is the sum of what is before the part;
    /// returns that of all up to its end.
    pub(crate) fn settle(&mut self, draft: Draft, total: f64, ids: &mut Vec<TokenId>) -> f64 {
        match self.model.options().precision {
            Precision::F32 => self.scratch.settle::<true, f32>(self.model, draft, total, ids),
            Precision::F64 => self.scratch.settle::<false, f64>(self.model, draft, total, ids),
        }
    }
}

impl Scratch {
    fn draft<const SINGLE: bool>(&mut self, model: &Unigram, text: Vec<u8>) -> Result<Draft> {
        let mut draft = std::mem::take(&mut self.spare);
        draft.text = text;
        let end = draft.text.len();
        // In English a unit has five to six bytes, and a third of an id more.
        memory::reserve(&mut draft.units, end / 5)?;
        memory::reserve(&mut draft.ids, end / 4)?;
        let mut units = Units { pieces: std::iter::empty(), piece: 0..end };
        loop {
            let n_waiting = self.wait(model, &draft.text, &mut units);
            for next in 0..n_waiting {
                let unit = self.waiting[next];
                let from = draft.ids.len();
                // A piece has a byte or more, and what lies in the memo is copied as so many.
                memory::reserve(&mut draft.ids, (unit.end - unit.start).max(LIMIT))?;
                let limit = self.way::<SINGLE>(model, &draft.text, unit, &mut draft.ids)?;
                let n_ids = (draft.ids.len() - from) as u32;
                memory::push(&mut draft.units, DraftUnit { end: unit.end as u32, n_ids, limit })?;
            }
            if n_waiting < WAITING {
                return Ok(draft);
            }
        }
    }

    /// Appends the ids of a unit as they are up to some sum before it, which is returned.
    #[inline]
    fn way<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        WaitingUnit { key, hash, start, end, .. }: WaitingUnit,
        ids: &mut Vec<TokenId>,
    ) -> Result<f32> {
        if key != NO_KEY
            && let Some(value) = self.memo.get(key, hash)
        {
            let n = (value[LIMIT] & COUNT) as usize;
            if value[LIMIT] & COUNT == WITH_UNKNOWN {
                return Ok(NO_LIMIT);
            }
            if n <= LIMIT {
                // So many always: their number is known where this is compiled.
                ids.extend_from_slice(&value[..LIMIT]);
                ids.truncate(ids.len() - (LIMIT - n));
            } else {
                ids.extend_from_slice(&self.long[value[0] as usize..value[0] as usize + n]);
            }
            return Ok(f32::from_bits(value[LIMIT] & !COUNT));
        }
        self.searched_way::<SINGLE>(model, text, start, end, ids)
    }

    #[inline(never)]
    fn searched_way<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        start: usize,
        end: usize,
        ids: &mut Vec<TokenId>,
    ) -> Result<f32> {
        let unit = &text[start..end];
        self.viterbi.make_room(unit.len())?;
        let (_, gap) = self.viterbi.search::<SINGLE>(model, unit, 0.0);
        let limit = Margin::new::<SINGLE>(model, unit.len()).limit(gap, 0.0);
        let has_unknown = self.viterbi.path.iter().any(|(id, _)| *id == model.unknown_mark());
        if !has_unknown {
            ids.extend(self.viterbi.path.iter().map(|(id, _)| id));
        }
        if let Some(key) = key(text, start, end) {
            self.keep::<SINGLE>(model, unit, key, gap, 0.0);
        }
        Ok(limit.filter(|_| !has_unknown).unwrap_or(NO_LIMIT))
    }

    fn settle<const SINGLE: bool, S: Sum>(
        &mut self,
        model: &Unigram,
        mut draft: Draft,
        total: f64,
        ids: &mut Vec<TokenId>,
    ) -> f64 {
        let scores = &model.scores_in_search().by_id;
        let mut output = Output::of(ids);
        let (mut start, mut from, mut copied) = (0, 0, 0);
        let mut sum = S::of(total);
        // As many bytes as a text of its own would have reserved.
        if let Err(error) = memory::reserve(output.ids, draft.text.len()) {
            self.missing = Some(error);
            return total;
        }
        for unit in &draft.units {
            let (end, to) = (unit.end as usize, from + unit.n_ids as usize);
            if sum.is_within(unit.limit) {
                for &id in &draft.ids[from..to] {
                    sum = sum.plus(scores[id as usize]);
                }
            } else {
                output.ids.extend_from_slice(&draft.ids[copied..from]);
                copied = to;
                let total = or_reset::<SINGLE>(sum.total());
                let key = key(&draft.text, start, end);
                // Of the certain units before this one none holds what is unknown.
                let total = if let Some(path) = key.and_then(|key| self.kept_with_unknown(key, total)) {
                    output.follow(model, &draft.text, start, path.clone());
                    total_after::<SINGLE>(model, total, path)
                } else {
                    self.search::<SINGLE>(model, &draft.text, start, end, total, None, &mut output)
                };
                output.end_unknown(model, &draft.text, end);
                sum = S::of(total);
            }
            (start, from) = (end, to);
        }
        output.ids.extend_from_slice(&draft.ids[copied..]);
        draft.units.clear();
        draft.ids.clear();
        self.spare = draft;
        sum.total()
    }
}

impl Scratch {
    /// The way through a unit that holds unknown characters, if it is kept and certain
    /// behind this sum.
    #[inline]
    fn kept_with_unknown(
        &self,
        key: Key,
        total: f64,
    ) -> Option<impl Iterator<Item = (TokenId, u32)> + Clone + '_> {
        let value = self.memo.get(key, hash(key))?;
        let is_certain = total.abs() <= f64::from(f32::from_bits(value[LIMIT] & !COUNT));
        let is_kept = value[LIMIT] & COUNT == WITH_UNKNOWN && is_certain;
        is_kept.then(|| kept_path(&self.long, value))
    }
}

/// A sum as it is kept; what is added to it is a score.
trait Sum: Copy {
    fn of(total: f64) -> Self;
    fn total(self) -> f64;
    fn plus(self, score: f64) -> Self;
    /// Whether its size is at most `limit`.
    fn is_within(self, limit: f32) -> bool;
}

/// In 32 bits: what goes in is of 32 bits. Past [`super::viterbi::RESET`], where it begins
/// again, no unit is certain.
impl Sum for f32 {
    fn of(total: f64) -> Self {
        total as Self
    }

    fn total(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn plus(self, score: f64) -> Self {
        self + score as Self
    }

    #[inline(always)]
    fn is_within(self, limit: f32) -> bool {
        self.abs() <= limit
    }
}

impl Sum for f64 {
    fn of(total: f64) -> Self {
        total
    }

    fn total(self) -> f64 {
        self
    }

    #[inline(always)]
    fn plus(self, score: f64) -> Self {
        self + score
    }

    #[inline(always)]
    fn is_within(self, limit: f32) -> bool {
        self.abs() <= Self::from(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Random, UnigramOptions};
    use super::*;
    use crate::vocab::Vocab;

    /// A text in drafts is that text in one piece, whatever was before it.
    #[test]
    fn drafts_settle_as_the_whole_is_encoded() {
        let pieces = ["<unk>", "▁", "a", "b", "ab", "▁ab", "ba", "▁b", "bb", "aab", "▁a"];
        // At the larger scale sums begin again inside units.
        let cases = [(Precision::F32, 40.0), (Precision::F32, 2777.7), (Precision::F64, 40.0)];
        for (precision, scale) in cases {
            let options = UnigramOptions { unk_id: Some(0), precision, ..UnigramOptions::default() };
            // Ties, and near ones, that rounding decides in long sums.
            let scores = [0.0, -2.0, -3.1, -3.3, -6.4, -8.4, -6.4, -5.3, -6.6, -9.5, -5.1]
                .map(|s: f32| f64::from(s * scale));
            let vocab = Vocab::from_tokens(pieces).unwrap();
            let model = Unigram::new(vocab, scores.to_vec(), options).unwrap();
            let mut random = Random::new(7);
            let mut below = |n: usize| (random.next_f64() * n as f64) as usize % n;
            let letters = ["a", "b", "a", "b", "▁", "▁", "é", "x"];
            let text: String = (0..60_000).map(|_| letters[below(letters.len())]).collect();
            let mut expected = Vec::new();
            model.worker().encode(text.as_bytes(), 0, text.len(), &mut expected);
            assert_eq!(expected, model.encode(text.as_bytes()));
            let starts = text.match_indices("▁").map(|(at, _)| at).filter(|at| at % 11 == 3 && *at > 0);
            let starts: Vec<usize> = starts.collect();
            assert!(starts.len() > 100 && model.may_cut_behind(b'a'));
            let (mut ids, mut total, mut from) = (Vec::new(), 0.0, 0);
            let mut worker = model.worker();
            for end in starts.into_iter().chain([text.len()]) {
                let draft = worker.draft(text.as_bytes()[from..end].to_vec()).unwrap();
                total = worker.settle(draft, total, &mut ids);
                from = end;
            }
            assert_eq!(ids, expected, "{precision:?} {scale}");
        }
    }

    #[test]
    fn a_part_goes_on_only_from_a_mark_that_is_known() {
        let of = |pieces: &[&str], unk| {
            let options = UnigramOptions { unk_id: Some(unk), ..UnigramOptions::default() };
            Unigram::new(Vocab::from_tokens(pieces).unwrap(), vec![-1.0; pieces.len()], options).unwrap()
        };
        assert!(of(&["<unk>", "▁", "a"], 0).may_cut_behind(b'a'));
        assert!(!of(&["<unk>", "▁a", "a"], 0).may_cut_behind(b'a'));
        assert!(!of(&["<unk>", "▁", "a", "a▁"], 0).may_cut_behind(b'a'));
        assert!(of(&["<unk>", "▁", "a", "a▁"], 0).may_cut_behind(b'b'));
        assert!(!of(&["▁", "a"], 0).may_cut_behind(b'a'));
    }
}
