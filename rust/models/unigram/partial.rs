//! `Partial`: a part of a long piece, encoded before the part in front of it.
//!
//! How sums are rounded depends on all that was summed before (`viterbi`), so a part of
//! a piece waits for the sum in front of it; but each unit's best way is the same up to
//! some size of that sum ([`Margin`]). A partial result keeps the ways and these sizes, which is
//! nearly all of the work; once the sum is known, it is added up unit by unit, and uncertain
//! units are searched then. So the ids are those
//! of the whole piece in one thread. The units are the ones that a worker finds.

use super::memo::{COUNT, LIMIT, WITH_UNKNOWN, holds_unknown_token, kept_steps, steps, total_after};
use super::output::Output;
use super::viterbi::{Margin, or_reset};
use super::worker::{Scratch, Units, WAITING, WaitingUnit, Worker, key};
use super::{Precision, Unigram};
use crate::cache::piece_table::NO_KEY;
use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::text::SPACE_MARK_BYTES;
use crate::vocab::TokenId;

/// A part of a piece, which begins with a unit, and the ways through its units.
#[derive(Default)]
pub(crate) struct Partial {
    /// The part.
    text: Vec<u8>,
    units: Vec<PartialUnit>,
    /// The ids of the ways without unknown characters, one after the other.
    ids: Vec<TokenId>,
    /// The steps of the ways with unknown characters: ids and lengths.
    steps: Vec<(TokenId, u32)>,
}

/// A unit of a partial result, or a stretch of a long one between two places where no piece reaches across.
#[derive(Clone, Copy)]
struct PartialUnit {
    /// Where it ends in the part.
    end: u32,
    /// How many of [`Partial::ids`] are the way, or of [`Partial::steps`] where it has unknown characters.
    n: u32,
    has_unknown: bool,
    /// Whether a run of unknown characters ends with it.
    ends_unknown: bool,
    /// The greatest size of a sum before it for which the way is certain; negative if
    /// there is none.
    limit: f32,
}

/// No way is certain.
const NO_LIMIT: f32 = -1.0;
/// A unit longer than this many bytes is divided: the way through less text stays certain after larger sums.
const LONG_UNIT: usize = 128;

impl Unigram {
    /// Whether a piece may be cut before a `▁` behind this byte: a unit ends
    /// there, and no run of unknown characters continues.
    pub(crate) fn may_cut_behind(&self, byte: u8) -> bool {
        !self.before_inner_mark[usize::from(byte)] && self.knows_mark()
    }

    /// Whether the `▁` is a piece; otherwise unknown text continues across it.
    pub(crate) fn knows_mark(&self) -> bool {
        let mut is_known = false;
        self.pieces.for_each_at(&SPACE_MARK_BYTES, 0, |_, id| is_known |= id.is_some());
        is_known && self.vocab.id(&SPACE_MARK_BYTES) != Some(self.unknown_mark())
    }
}

impl Worker<'_> {
    /// Encodes a part of a piece as far as possible without the text before it.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub(crate) fn encode_part(&mut self, part: Vec<u8>) -> Result<Partial> {
        match self.model.options().precision {
            Precision::F32 => self.scratch.encode_part::<true>(self.model, part),
            Precision::F64 => self.scratch.encode_part::<false>(self.model, part),
        }
    }

    /// Appends the ids of a partial result, where `total` is the sum before the part;
    /// returns that of all up to its end.
    pub(crate) fn finish(&mut self, partial: Partial, total: f64, ids: &mut Vec<TokenId>) -> f64 {
        match self.model.options().precision {
            Precision::F32 => self.scratch.finish::<true, f32>(self.model, partial, total, ids),
            Precision::F64 => self.scratch.finish::<false, f64>(self.model, partial, total, ids),
        }
    }
}

impl Scratch {
    fn encode_part<const SINGLE: bool>(&mut self, model: &Unigram, text: Vec<u8>) -> Result<Partial> {
        let mut partial = std::mem::take(&mut self.spare);
        partial.text = text;
        let end = partial.text.len();
        // In English a unit has five to six bytes, and a third of an id more.
        partial.units.make_room(end / 5)?;
        partial.ids.make_room(end / 4)?;
        let mut units = Units { pieces: std::iter::empty(), piece: 0..end };
        loop {
            let n_waiting = self.wait(model, &partial.text, &mut units);
            for next in 0..n_waiting {
                let unit = self.waiting[next];
                // A piece has a byte or more, and what lies in the memo is copied as so many.
                partial.ids.make_room((unit.end - unit.start).max(LIMIT))?;
                self.encode_part_unit::<SINGLE>(model, unit, &mut partial)?;
            }
            if n_waiting < WAITING {
                return Ok(partial);
            }
        }
    }

    /// Appends a unit with the way through it, and up to which sum before it this is the best.
    #[inline]
    fn encode_part_unit<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        WaitingUnit { key, hash, start, end, .. }: WaitingUnit,
        partial: &mut Partial,
    ) -> Result<()> {
        let Some(value) = (if key == NO_KEY { None } else { self.memo.get(key, hash) }) else {
            return self.search_part_unit::<SINGLE>(model, start, end, partial);
        };
        let mut n = (value[LIMIT] & COUNT) as usize;
        let has_unknown = value[LIMIT] & COUNT == WITH_UNKNOWN;
        if has_unknown {
            let kept = kept_steps(&self.long, value);
            n = kept.len() / 2;
            partial.steps.make_room(n)?;
            partial.steps.extend(steps(kept));
        } else if n <= LIMIT {
            // So many always: their number is known where this is compiled.
            partial.ids.extend_from_slice(&value[..LIMIT]);
            partial.ids.truncate(partial.ids.len() - (LIMIT - n));
        } else {
            partial.ids.extend_from_slice(&self.long[value[0] as usize..value[0] as usize + n]);
        }
        let limit = f32::from_bits(value[LIMIT] & !COUNT);
        let (end, n) = (end as u32, n as u32);
        memory::push(&mut partial.units, PartialUnit { end, n, has_unknown, ends_unknown: true, limit })
    }

    /// The same by the search.
    #[inline(never)]
    fn search_part_unit<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        start: usize,
        end: usize,
        partial: &mut Partial,
    ) -> Result<()> {
        let Partial { text, units, ids, steps } = partial;
        let unit = &text[start..end];
        self.viterbi.make_room(unit.len())?;
        let (_, lead) = self.viterbi.search::<SINGLE>(model, unit, 0.0);
        let path = &self.viterbi.path;
        let (mut from, mut at) = (0, 0);
        while from < path.len() {
            let part = self.viterbi.part(from, at, LONG_UNIT);
            let way = &path[from..from + part.n_steps];
            let bytes = &unit[at..part.end];
            (from, at) = (from + part.n_steps, part.end);
            let has_unknown = way.iter().any(|(id, _)| *id == model.unknown_mark());
            let is_ambiguous = has_unknown && holds_unknown_token(model, bytes);
            if has_unknown {
                memory::extend(steps, way)?;
            } else {
                ids.make_room(way.len())?;
                ids.extend(way.iter().map(|(id, _)| id));
            }
            let limit = Margin::new::<SINGLE>(model, bytes.len()).limit(part.lead, 0.0);
            let limit = limit.filter(|_| !is_ambiguous).unwrap_or(NO_LIMIT);
            let (end, n, ends_unknown) = ((start + at) as u32, way.len() as u32, from == path.len());
            memory::push(units, PartialUnit { end, n, has_unknown, ends_unknown, limit })?;
        }
        if let Some(key) = key(text, start, end) {
            self.keep::<SINGLE>(model, unit, key, lead, 0.0);
        }
        Ok(())
    }

    fn finish<const SINGLE: bool, S: Sum>(
        &mut self,
        model: &Unigram,
        mut partial: Partial,
        total: f64,
        ids: &mut Vec<TokenId>,
    ) -> f64 {
        let scores = &model.scores_in_search().by_id;
        let mut output = Output::of(ids);
        let (mut start, mut from, mut from_step, mut copied) = (0, 0, 0, 0);
        let mut sum = S::of(total);
        // As many bytes as a separate text would have reserved.
        if let Err(error) = output.ids.make_room(partial.text.len()) {
            self.missing = Some(error);
            return total;
        }
        for unit in &partial.units {
            let end = unit.end as usize;
            let (to, to_step) = match unit.has_unknown {
                true => (from, from_step + unit.n as usize),
                false => (from + unit.n as usize, from_step),
            };
            let is_certain = sum.is_within(unit.limit);
            if is_certain && !unit.has_unknown {
                // A run that continues to here was put out at once, and all ids before it.
                if output.unknown.is_some() {
                    output.end_unknown(model, &partial.text, start);
                }
                for &id in &partial.ids[from..to] {
                    sum = sum.plus(scores[id as usize]);
                }
            } else {
                output.ids.extend_from_slice(&partial.ids[copied..from]);
                copied = to;
                let total = or_reset::<SINGLE>(sum.total());
                let total = if is_certain {
                    let path = partial.steps[from_step..to_step].iter().copied();
                    output.follow(model, &partial.text, start, path.clone());
                    total_after::<SINGLE>(model, total, path)
                } else {
                    self.search::<SINGLE>(model, &partial.text, start, end, total, None, &mut output)
                };
                if unit.ends_unknown {
                    output.end_unknown(model, &partial.text, end);
                }
                sum = S::of(total);
            }
            (start, from, from_step) = (end, to, to_step);
        }
        output.ids.extend_from_slice(&partial.ids[copied..]);
        partial.units.clear();
        partial.ids.clear();
        partial.steps.clear();
        self.spare = partial;
        sum.total()
    }
}

/// A sum in the precision of the search; a score is added to it.
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

    /// A text in partial results is that text in one piece, whatever was before it.
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
            let letters = ["a", "b", "a", "b", "é", "x", "▁", "▁"];
            // Units of a few characters, and such as are divided.
            let short: String = (0..60_000).map(|_| letters[below(letters.len())]).collect();
            let long =
                (0..60_000).map(|n| if n % 300 == 0 { "▁" } else { letters[below(letters.len() - 2)] });
            for text in [short, long.collect()] {
                let mut expected = Vec::new();
                model.worker().encode(text.as_bytes(), 0, text.len(), &mut expected);
                assert_eq!(expected, model.encode(text.as_bytes()));
                let starts =
                    text.match_indices("▁").map(|(at, _)| at).filter(|at| at % 11 % 5 == 3 && *at > 0);
                let starts: Vec<usize> = starts.collect();
                assert!(starts.len() > 10 && model.may_cut_behind(b'a'));
                let (mut ids, mut total, mut from) = (Vec::new(), 0.0, 0);
                let mut worker = model.worker();
                for end in starts.into_iter().chain([text.len()]) {
                    let partial = worker.encode_part(text.as_bytes()[from..end].to_vec()).unwrap();
                    total = worker.finish(partial, total, &mut ids);
                    from = end;
                }
                assert_eq!(ids, expected, "{precision:?} {scale}");
            }
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
