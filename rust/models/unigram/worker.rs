//! `Worker`: a [`Unigram`] and what one thread needs to encode, with a memo.
//!
//! A text is cut into units, each from one `▁` to the next, where no piece can
//! reach over the cut; the search runs in each, and its sums continue from the unit
//! before. A unit's path is kept when it is the best whatever was before it up
//! to a bound ([`super::memo`]), so the memo never decides an id. It is bounded, two
//! places a unit: with one, a fifth of a running text's units drove each other
//! out (4 MB of reviews: 99,000 searches in the first pass, 49,000 in the next).
//! Of a unit that holds unknown characters each step of the path is kept with its length.

use std::iter;
use std::ops::Range;

use super::memo::{COUNT, LIMIT, WITH_UNKNOWN, kept_score, kept_steps, steps, total_after};
use super::output::Output;
use super::viterbi::{Viterbi, char_len, kept, or_reset};
use super::{Precision, Unigram};
use crate::cache::piece_table::{self, Key, MAX_KEY, NO_KEY, PieceTable, hash};
use crate::error::{Error, Result};
use crate::models::unigram::partial::Partial;
use crate::text::Piece;
use crate::text::SPACE_MARK_BYTES;
use crate::vocab::TokenId;

/// 8 MiB: a miss costs ten times a lookup in slow memory.
pub(super) const MOST_SETS: usize = 1 << 17;
/// Marks the key of a unit that begins with `▁`.
const MARKED: Key = 1 << 127;
/// So many units are known by their ends and keys before the first is looked up.
pub(super) const WAITING: usize = 64;

/// A unit that is going to be looked up.
#[derive(Clone, Copy, Default)]
pub(super) struct WaitingUnit {
    /// [`NO_KEY`] if it is too long for one.
    pub(super) key: Key,
    pub(super) hash: u64,
    pub(super) start: usize,
    pub(super) end: usize,
    ends_piece: bool,
}

/// The units of pieces: those of the rest of one, then of the next ones.
pub(super) struct Units<P> {
    pub(super) pieces: P,
    pub(super) piece: Range<usize>,
}

/// The buffers and the memo of one thread, good for one model alone: what a
/// [`Worker`] leaves behind.
pub(crate) struct Scratch {
    pub(super) viterbi: Viterbi,
    pub(super) memo: PieceTable,
    pub(super) waiting: [WaitingUnit; WAITING],
    /// Whether units are looked for in the memo, and kept there.
    learns: bool,
    /// The ids of kept paths of more than three.
    pub(super) long: Vec<TokenId>,
    /// Memory for the next partial result, while there are partial results.
    pub(super) spare: Partial,
    /// That there was no memory for a unit, which has no ids.
    pub(super) missing: Option<Error>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            viterbi: Viterbi::default(),
            memo: PieceTable::new(MOST_SETS),
            waiting: [WaitingUnit::default(); WAITING],
            learns: true,
            long: Vec::new(),
            spare: Partial::default(),
            missing: None,
        }
    }
}

/// The state with which one thread encodes; made by [`Unigram::worker`].
pub struct Worker<'m> {
    pub(super) model: &'m Unigram,
    pub(super) scratch: Box<Scratch>,
}

impl Unigram {
    /// A worker for this model.
    pub fn worker(&self) -> Worker<'_> {
        self.worker_with(Box::default())
    }

    /// A worker that continues what another one of this model left behind.
    pub(crate) fn worker_with(&self, scratch: Box<Scratch>) -> Worker<'_> {
        Worker { model: self, scratch }
    }
}

impl Worker<'_> {
    /// The memory that another worker of the same model can use: without the memory of long
    /// texts.
    pub(crate) fn into_scratch(mut self) -> Box<Scratch> {
        self.scratch.viterbi.rest();
        self.scratch.rest_memo();
        self.scratch.spare = Partial::default();
        self.scratch.learns = true;
        self.scratch
    }

    /// Whether the pieces that follow are looked up in the memo: not if the caller caches their
    /// ids, because then the lookup would wait for slow memory in vain.
    pub(crate) fn set_learning(&mut self, learns: bool) {
        self.scratch.learns = learns;
    }

    /// Appends the ids of the piece `text[start..end]`.
    pub fn encode(&mut self, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        self.scratch.run(self.model, text, iter::once(start..end), Output::of(ids));
    }

    /// Whether there was memory for all that was encoded since the last look;
    /// ids are missing where there was not.
    ///
    /// # Errors
    /// [`Error::Memory`] if not.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        self.scratch.missing.take().map_or(Ok(()), Err)
    }

    /// Appends the ids of pieces of a text, in order.
    pub(crate) fn encode_chunk(&mut self, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        self.scratch.run(self.model, text, pieces.iter().map(|piece| piece.range()), Output::of(ids));
    }

    /// Appends the ids of a piece and the bytes that each covers.
    pub fn encode_with_lens(&mut self, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        let output = Output { ids, lens: Some(lens), unknown: None, uncovered: 0 };
        self.scratch.run(self.model, piece, iter::once(0..piece.len()), output);
    }
}

impl Scratch {
    /// Appends the ids of pieces, whose sums begin at nothing each.
    fn run(
        &mut self,
        model: &Unigram,
        text: &[u8],
        pieces: impl Iterator<Item = Range<usize>>,
        output: Output<'_>,
    ) {
        match (model.options().precision, output.lens.is_some()) {
            (Precision::F32, false) => self.encode_units::<true, false>(model, text, pieces, output),
            (Precision::F32, true) => self.encode_units::<true, true>(model, text, pieces, output),
            (Precision::F64, false) => self.encode_units::<false, false>(model, text, pieces, output),
            (Precision::F64, true) => self.encode_units::<false, true>(model, text, pieces, output),
        }
    }

    #[inline]
    fn encode_units<const SINGLE: bool, const LENS: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        pieces: impl Iterator<Item = Range<usize>>,
        mut output: Output<'_>,
    ) {
        let mut units = Units { pieces, piece: 0..0 };
        let mut total = 0.0;
        loop {
            let n_waiting = self.wait(model, text, &mut units);
            for next in 0..n_waiting {
                let unit = self.waiting[next];
                total = self.encode_unit::<SINGLE, LENS>(
                    model,
                    text,
                    unit,
                    or_reset::<SINGLE>(total),
                    &mut output,
                );
                if unit.ends_piece {
                    output.end_unknown(model, text, unit.end);
                    total = 0.0;
                }
            }
            if n_waiting < WAITING {
                return;
            }
        }
    }

    /// Appends the ids of a unit, given the sum `total` before it; returns the sum of both.
    #[inline(always)]
    fn encode_unit<const SINGLE: bool, const LENS: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        unit: WaitingUnit,
        mut total: f64,
        output: &mut Output<'_>,
    ) -> f64 {
        let WaitingUnit { key, hash, start, end, .. } = unit;
        if key == NO_KEY {
            return self.search_long::<SINGLE>(model, text, start, end, total, output);
        }
        let value = match self.memo.get(key, hash) {
            Some(value) if total.abs() <= f64::from(f32::from_bits(value[LIMIT] & !COUNT)) => value,
            _ => return self.search::<SINGLE>(model, text, start, end, total, Some(key), output),
        };
        if value[LIMIT] & COUNT == WITH_UNKNOWN {
            let path = steps(kept_steps(&self.long, value));
            output.follow(model, text, start, path.clone());
            return total_after::<SINGLE>(model, total, path);
        }
        let n = (value[LIMIT] & COUNT) as usize;
        if output.unknown.is_some() {
            output.end_unknown(model, text, start);
        }
        if n == 1 && !LENS {
            // Most words are one piece, whose score is next to it.
            let [id, score, ..] = *value;
            output.ids.push(id);
            return kept::<SINGLE>(total + kept_score::<SINGLE>(model, id, score));
        }
        let ids = match value[..LIMIT].get(..n) {
            Some(ids) => ids,
            None => &self.long[value[0] as usize..value[0] as usize + n],
        };
        for &id in ids {
            if LENS {
                output.push(id, model.vocab().bytes(id).map_or(0, <[u8]>::len) as u32);
            } else {
                output.ids.push(id);
            }
            total = kept::<SINGLE>(total + model.scores_in_search().by_id[id as usize]);
        }
        total
    }

    /// Lets the next units wait that there is room for, with a hint to the processor
    /// that they are going to be looked up; returns how many.
    #[inline]
    pub(super) fn wait(
        &mut self,
        model: &Unigram,
        text: &[u8],
        units: &mut Units<impl Iterator<Item = Range<usize>>>,
    ) -> usize {
        let mut n = 0;
        for unit in self.waiting.iter_mut() {
            if units.piece.is_empty() {
                let Some(piece) = units.pieces.find(|piece| !piece.is_empty()) else { break };
                units.piece = piece;
            }
            let Range { start, end } = units.piece;
            unit.start = start;
            unit.end = model.unit_end(text, start, end);
            unit.ends_piece = unit.end == end;
            unit.key = if self.learns { key(text, start, unit.end).unwrap_or(NO_KEY) } else { NO_KEY };
            unit.hash = hash(unit.key);
            self.memo.prefetch(unit.hash);
            units.piece.start = unit.end;
            n += 1;
        }
        self.memo.count_lookups(n);
        n
    }

    /// Encodes a unit that has no key. Characters that no piece holds are cut out: no piece reaches across
    /// one, so that there is one way through it, and the search runs between them.
    #[inline(never)]
    fn search_long<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        start: usize,
        end: usize,
        mut total: f64,
        output: &mut Output<'_>,
    ) -> f64 {
        if let Err(error) = output.make_room(end - start) {
            self.missing = Some(error);
            return total;
        }
        let unknown = model.scores_in_search().unknown;
        let mut at = start;
        while at < end {
            let mut next = at;
            while next < end && !model.is_in_no_piece(&text[next..end]) {
                next += char_len(text[next]);
            }
            next = next.min(end);
            if at < next {
                total = self.search::<SINGLE>(model, text, at, next, or_reset::<SINGLE>(total), None, output);
            }
            while next < end && model.is_in_no_piece(&text[next..end]) {
                total = kept::<SINGLE>(unknown + or_reset::<SINGLE>(total));
                if !model.options().fuse_unk {
                    output.end_unknown(model, text, next);
                }
                output.unknown.get_or_insert(next);
                next += char_len(text[next]);
            }
            at = next;
        }
        total
    }

    /// Encodes a unit by the search; with a key, caches the certain path.
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "the state of one loop, taken out of it")]
    pub(super) fn search<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        start: usize,
        end: usize,
        total: f64,
        key: Option<Key>,
        output: &mut Output<'_>,
    ) -> f64 {
        if let Err(error) = self.make_room(end - start, output) {
            self.missing = Some(error);
            return total;
        }
        let (after, lead) = self.viterbi.search::<SINGLE>(model, &text[start..end], total);
        output.follow(model, text, start, self.viterbi.path.iter().copied());
        if let Some(key) = key {
            self.keep::<SINGLE>(model, &text[start..end], key, lead, total);
        }
        after
    }

    fn make_room(&mut self, len: usize, output: &mut Output<'_>) -> Result<()> {
        self.viterbi.make_room(len)?;
        output.make_room(len)
    }
}

impl Unigram {
    /// Whether a text begins with a character of two or three bytes that no piece holds.
    #[inline]
    fn is_in_no_piece(&self, text: &[u8]) -> bool {
        let Some(chars) = &self.chars else { return false };
        let tail =
            |at: usize| text.get(at).filter(|byte| *byte & 0xC0 == 0x80).map(|byte| u32::from(byte & 0x3F));
        let point = match text.first() {
            Some(lead @ 0xE0..=0xEF) => {
                let (Some(second), Some(third)) = (tail(1), tail(2)) else { return false };
                u32::from(lead & 0x0F) << 12 | second << 6 | third
            }
            Some(lead @ 0xC0..=0xDF) => {
                let Some(second) = tail(1) else { return false };
                u32::from(lead & 0x1F) << 6 | second
            }
            _ => return false,
        };
        char::from_u32(point).is_some_and(|c| !chars.contains(c))
    }
}

/// A unit as a number that is not 0; `None` if it is too long.
#[inline]
pub(super) fn key(text: &[u8], start: usize, end: usize) -> Option<Key> {
    let (start, mark) = match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(&SPACE_MARK_BYTES) => (start + SPACE_MARK_BYTES.len(), MARKED),
        _ => (start, 0),
    };
    match end - start {
        0 => Some(mark),
        len if len > MAX_KEY => None,
        len => Some(piece_table::key(text, start, len) | mark),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Random, UnigramOptions};
    use super::*;
    use crate::vocab::Vocab;

    /// Pieces of a chunk wait together; each is encoded separately.
    #[test]
    fn chunks_give_what_pieces_give() {
        let pieces =
            ["<unk>", "▁", "a", "b", "ab", "▁ab", "ba", "▁b", "bb", "aab", "a▁", "abababababababababab"];
        for (precision, fuse_unk) in [(Precision::F32, true), (Precision::F64, true), (Precision::F64, false)]
        {
            let options =
                UnigramOptions { unk_id: Some(0), precision, fuse_unk, ..UnigramOptions::default() };
            let scores = (0..pieces.len()).map(|n| f64::from(-1.1 - n as f32 * 0.7)).collect();
            let model = Unigram::new(Vocab::from_tokens(pieces).unwrap(), scores, options).unwrap();
            let mut random = Random::new(11);
            let mut below = |n: usize| (random.next_f64() * n as f64) as usize % n;
            let letters = ["a", "b", "a", "b", "▁", "é", "x"];
            let (mut text, mut chunk, mut expected) = (String::new(), Vec::new(), Vec::new());
            for n in 0..3000 {
                // Some begin where the one before ends, some later; some are empty, some long.
                text.push_str(["", " ", "éa"][n % 3]);
                let start = text.len();
                let most = [0, 3, 9, 40][below(4)];
                text.extend((0..below(most + 1)).map(|_| letters[below(letters.len())]));
                chunk.push(Piece { start: start as u32, end: text.len() as u32 });
                expected.extend(model.encode(&text.as_bytes()[start..]));
            }
            let mut worker = model.worker();
            for _ in 0..2 {
                let mut ids = Vec::new();
                for some in chunk.chunks(512) {
                    worker.encode_chunk(text.as_bytes(), some, &mut ids);
                }
                assert_eq!(ids, expected, "{precision:?} {fuse_unk}");
            }
        }
    }
}
