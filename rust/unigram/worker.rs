//! `Worker`: a [`Unigram`] and what one thread needs to encode, with a memo.
//!
//! A text is cut into units, each from one `▁` to the next, where no piece can
//! reach over the cut; the search runs in each, its sums going on from the one
//! before. A unit's path is kept when it is the best whatever was before it up
//! to a bound ([`Margin`]), so the memo never decides an id. It is bounded, two
//! places a unit: with one, a fifth of a running text's units drove each other
//! out (4 MB of reviews: 99,000 searches in the first pass, 49,000 in the next).
//! Of a unit that holds unknown characters each step of the path is kept with its length.

use super::draft::Draft;
use super::output::Output;
use super::viterbi::{Margin, Viterbi, kept, or_reset};
use super::{MARK, Precision, Unigram};
use crate::error::{Error, Result};
use crate::memory;
use crate::piece_table::{self, Key, MAX_KEY, NO_KEY, PieceTable, Value, hash};
use crate::pre_tokenizer::chunks::Piece;
use crate::vocab::TokenId;

/// 8 MiB: a miss costs ten times what a look into slow memory does.
const MOST_SETS: usize = 1 << 17;
/// How many ids of longer paths are kept: 4 MiB; then all is forgotten.
const MAX_LONG: usize = 1 << 20;
/// Marks the key of a unit that begins with `▁`.
const MARKED: Key = 1 << 127;
/// The bits of an entry's limit that hold the number of ids.
pub(super) const COUNT: u32 = 15;
/// In place of that number: the path holds what is unknown, and is in [`Scratch::long`] with
/// the lengths of its steps.
pub(super) const WITH_UNKNOWN: u32 = 0;

/// Where in a value the limit is: the greatest total before the unit, as `f32`, but
/// for the four lowest bits, which are the number of ids. Before it are one id and its
/// score as `f32`, or up to three ids; of more, where they begin in [`Scratch::long`].
pub(super) const LIMIT: usize = 3;
/// Where in a value of a path with unknown characters the number of its steps is.
const STEPS: usize = 1;

/// So many units are known by their ends and keys before the first is looked up.
const WAITING: usize = 64;

/// A unit that is going to be looked up.
#[derive(Clone, Copy, Default)]
struct WaitingUnit {
    /// [`NO_KEY`] if it is too long for one.
    key: Key,
    hash: u64,
    end: usize,
}

/// The buffers and the memo of one thread, good for one model alone: what a
/// [`Worker`] leaves behind.
pub(crate) struct Scratch {
    pub(super) viterbi: Viterbi,
    pub(super) memo: PieceTable,
    waiting: [WaitingUnit; WAITING],
    /// Whether units are looked for in the memo, and kept there.
    learns: bool,
    /// The ids of kept paths of more than three.
    pub(super) long: Vec<TokenId>,
    /// Memory for the next draft, while there are drafts.
    pub(super) spare: Draft,
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
            spare: Draft::default(),
            missing: None,
        }
    }
}

/// What one thread encodes with; made by [`Unigram::worker`].
pub struct Worker<'m> {
    pub(super) model: &'m Unigram,
    pub(super) scratch: Box<Scratch>,
}

impl Unigram {
    /// A worker for this model.
    pub fn worker(&self) -> Worker<'_> {
        self.worker_with(Box::default())
    }

    /// A worker that goes on with what another one of this model left behind.
    pub(crate) fn worker_with(&self, scratch: Box<Scratch>) -> Worker<'_> {
        Worker { model: self, scratch }
    }
}

impl Worker<'_> {
    /// What can be kept for another worker of the same model: without what long
    /// texts took.
    pub(crate) fn into_scratch(mut self) -> Box<Scratch> {
        self.scratch.viterbi.rest();
        self.scratch.spare = Draft::default();
        self.scratch.learns = true;
        self.scratch
    }

    /// Whether the pieces that follow are worth a look in the memo: not those whose ids the
    /// caller keeps, for whom it is a wait for slow memory in vain.
    pub(crate) fn set_learning(&mut self, learns: bool) {
        self.scratch.learns = learns;
    }

    /// Appends the ids of the piece `text[start..end]`.
    pub fn encode(&mut self, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let output = Output::of(ids);
        self.scratch.run(self.model, text, start, end, output);
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
        for piece in pieces {
            self.encode(text, piece.start as usize, piece.end as usize, ids);
        }
    }

    /// Appends the ids of a piece and the bytes that each covers.
    pub fn encode_with_lens(&mut self, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        let output = Output { ids, lens: Some(lens), unknown: None, uncovered: 0 };
        self.scratch.run(self.model, piece, 0, piece.len(), output);
    }
}

impl Scratch {
    fn run(&mut self, model: &Unigram, text: &[u8], start: usize, end: usize, output: Output<'_>) {
        match (model.options().precision, output.lens.is_some()) {
            (Precision::F32, false) => self.encode_units::<true, false>(model, text, start, end, output),
            (Precision::F32, true) => self.encode_units::<true, true>(model, text, start, end, output),
            (Precision::F64, false) => self.encode_units::<false, false>(model, text, start, end, output),
            (Precision::F64, true) => self.encode_units::<false, true>(model, text, start, end, output),
        }
    }

    #[inline]
    fn encode_units<const SINGLE: bool, const LENS: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        start: usize,
        end: usize,
        mut output: Output<'_>,
    ) {
        let mut total = 0.0;
        let mut at = start;
        let (mut n_waiting, mut next) = (0, 0);
        while at < end {
            if next == n_waiting {
                (n_waiting, next) = (self.wait(model, text, at, end), 0);
            }
            total = or_reset::<SINGLE>(total);
            let WaitingUnit { key, hash, end: unit_end } = self.waiting[next];
            next += 1;
            if key == NO_KEY {
                total = self.search::<SINGLE>(model, text, at, unit_end, total, None, &mut output);
                at = unit_end;
                continue;
            }
            match self.memo.get(key, hash) {
                Some(value) if total.abs() <= f64::from(f32::from_bits(value[LIMIT] & !COUNT)) => {
                    if value[LIMIT] & COUNT == WITH_UNKNOWN {
                        let path = kept_path(&self.long, value);
                        total = total_after::<SINGLE>(model, total, path.clone());
                        output.follow(model, text, at, path);
                        at = unit_end;
                        continue;
                    }
                    let n = (value[LIMIT] & COUNT) as usize;
                    if output.unknown.is_some() {
                        output.end_unknown(model, text, at);
                    }
                    if n == 1 && !LENS {
                        // Most words are one piece, whose score stands beside it.
                        let [id, score, ..] = *value;
                        output.ids.push(id);
                        total = kept::<SINGLE>(total + kept_score::<SINGLE>(model, id, score));
                    } else {
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
                    }
                }
                _ => {
                    total = self.search::<SINGLE>(model, text, at, unit_end, total, Some(key), &mut output);
                }
            }
            at = unit_end;
        }
        output.end_unknown(model, text, end);
    }

    /// Lets the units from `at` on wait that there is room for, with a hint to the
    /// processor that they are going to be looked up; returns how many.
    #[inline]
    fn wait(&mut self, model: &Unigram, text: &[u8], mut at: usize, end: usize) -> usize {
        let mut n = 0;
        for unit in self.waiting.iter_mut() {
            if at == end {
                break;
            }
            unit.end = model.unit_end(text, at, end);
            unit.key = if self.learns { key(text, at, unit.end).unwrap_or(NO_KEY) } else { NO_KEY };
            unit.hash = hash(unit.key);
            self.memo.prefetch(unit.hash);
            at = unit.end;
            n += 1;
        }
        n
    }

    /// Encodes a unit by the search; with a key, keeps what is certain.
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
        let (after, gap) = self.viterbi.search::<SINGLE>(model, &text[start..end], total);
        output.follow(model, text, start, self.viterbi.path.iter().copied());
        if let Some(key) = key {
            self.keep::<SINGLE>(model, &text[start..end], key, gap, total);
        }
        after
    }

    fn make_room(&mut self, len: usize, output: &mut Output<'_>) -> Result<()> {
        self.viterbi.make_room(len)?;
        memory::reserve(output.ids, len)?;
        output.lens.as_mut().map_or(Ok(()), |lens| memory::reserve(lens, len))
    }

    pub(super) fn keep<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        unit: &[u8],
        key: Key,
        gap: f64,
        total: f64,
    ) {
        let path = &self.viterbi.path;
        let limit = Margin::new::<SINGLE>(model, unit.len()).limit(gap, total);
        // From a total of 0 the same sums are made again, certain or not.
        if path.len() > COUNT as usize || !(limit > 0.0 || total == 0.0) {
            return;
        }
        let has_unknown = path.iter().any(|(id, _)| *id == model.unknown_mark());
        if has_unknown && holds_unknown_token(model, unit) {
            return;
        }
        if self.long.len() + 2 * path.len() > MAX_LONG {
            self.long.clear();
            self.memo.clear();
        }
        // What there is no memory to keep is not kept.
        if memory::reserve(&mut self.long, 2 * path.len()).is_err() {
            return;
        }
        // Rounded down, as are the bits that are cut off.
        let limit = (limit.max(0.0) * 0.999).min(f64::from(f32::MAX)) as f32;
        let count = if has_unknown { WITH_UNKNOWN } else { path.len() as u32 };
        let mut value: Value = [0; 4];
        value[LIMIT] = limit.to_bits() & !COUNT | count;
        if has_unknown {
            value[0] = self.long.len() as u32;
            value[STEPS] = path.len() as u32;
            self.long.extend(path.iter().flat_map(|&(id, len)| [id, len]));
        } else if path.len() <= LIMIT {
            value.iter_mut().zip(path).for_each(|(slot, (id, _))| *slot = *id);
            if let [(id, _)] = path[..] {
                value[1] = (model.scores_in_search().by_id[id as usize] as f32).to_bits();
            }
        } else {
            value[0] = self.long.len() as u32;
            self.long.extend(path.iter().map(|(id, _)| id));
        }
        self.memo.insert(key, value);
    }
}

/// The steps of a path with unknown characters: ids and lengths.
pub(super) fn kept_path<'a>(
    long: &'a [TokenId],
    value: &Value,
) -> impl Iterator<Item = (TokenId, u32)> + Clone + 'a {
    let start = value[0] as usize;
    long[start..start + 2 * value[STEPS] as usize].chunks_exact(2).map(|step| (step[0], step[1]))
}

/// Whether a unit holds the text of the unknown token, which has a score of its own where it
/// is found as a piece, and in a path looks like an unknown character.
fn holds_unknown_token(model: &Unigram, unit: &[u8]) -> bool {
    let token = model.vocab().bytes(model.unknown_mark()).filter(|token| !token.is_empty());
    token.is_some_and(|token| unit.windows(token.len()).any(|part| part == token))
}

/// The score after a path, summed as the search sums it.
pub(super) fn total_after<const SINGLE: bool>(
    model: &Unigram,
    total: f64,
    path: impl Iterator<Item = (TokenId, u32)>,
) -> f64 {
    let (scores, unknown) = (model.scores_in_search(), model.unknown_mark());
    path.fold(total, |total, (id, _)| {
        kept::<SINGLE>(total + if id == unknown { scores.unknown } else { scores.by_id[id as usize] })
    })
}

/// The score of a piece, or what an entry has of it.
#[inline]
fn kept_score<const SINGLE: bool>(model: &Unigram, id: TokenId, kept: u32) -> f64 {
    if SINGLE { f64::from(f32::from_bits(kept)) } else { model.scores_in_search().by_id[id as usize] }
}

/// A unit as a number that is not 0; `None` if it is too long.
#[inline]
pub(super) fn key(text: &[u8], start: usize, end: usize) -> Option<Key> {
    let (start, mark) = match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(&MARK) => (start + MARK.len(), MARKED),
        _ => (start, 0),
    };
    match end - start {
        0 => Some(mark),
        len if len > MAX_KEY => None,
        len => Some(piece_table::key(text, start, len) | mark),
    }
}
