//! The best way through one stretch of text, and how far ahead of the others.
//!
//! Scores are sums from the left, in the precision of the reference: 32 bits
//! with `SINGLE`, as in SentencePiece 0.2.3, which also takes the sum off all
//! that follow where it has grown large; else 64, as in tokenizers 0.23. Of
//! equal scores the earlier start stays.
//!
//! The rounding depends on what was summed before the stretch, so the best way
//! may, too. [`Margin`] says when it cannot. Time is that of finding all pieces at
//! all places (`pieces`), and of one sum and one comparison for each: those of a
//! run of long pieces by vector instructions. Source: Kudo 2018; Viterbi 1967.

use super::pieces::{Found, Pieces};
use super::{Kind, Precision, Unigram, UnigramOptions};
use crate::vocab::{TokenId, Vocab};

/// How much less probable an unknown character is than the rarest piece.
const UNKNOWN_PENALTY: f64 = 10.0;
/// What a piece of the user's is worth for each byte after the first.
const USER_DEFINED_BONUS: f64 = 0.1;

/// The numbers that a search needs of a model.
#[derive(Clone, Default)]
pub(super) struct Scores {
    /// What each piece adds.
    pub(super) by_id: Vec<f64>,
    /// The same in the precision of the search, and what long pieces add, by number.
    single: Addends<f32>,
    double: Addends<f64>,
    /// What an unknown character adds.
    pub(super) unknown: f64,
    /// The greatest absolute value of these.
    pub(super) greatest: f64,
}

impl Scores {
    /// The numbers, each made as the reference makes it.
    pub(super) fn of(vocab: &Vocab, scores: &[f64], options: &UnigramOptions, pieces: &Pieces) -> Self {
        let kind = |id: usize| kind_in_search(options, id);
        let mut by_id = scores.to_vec();
        let unknown = match options.precision {
            Precision::F64 => by_id.iter().copied().fold(f64::INFINITY, f64::min) - UNKNOWN_PENALTY,
            Precision::F32 => {
                let normal = (0..scores.len()).filter(|&id| kind(id) == Kind::Normal);
                let least = normal.map(|id| scores[id] as f32).fold(f32::MAX, f32::min);
                for (id, bytes) in vocab.iter() {
                    let score = match kind(id as usize) {
                        Kind::UserDefined => USER_DEFINED_BONUS * (bytes.len() - 1) as f64,
                        _ => scores[id as usize],
                    };
                    by_id[id as usize] = f64::from(score as f32);
                }
                f64::from(least - UNKNOWN_PENALTY as f32)
            }
        };
        let greatest = by_id.iter().fold(unknown.abs(), |greatest, score| greatest.max(score.abs()));
        let long = || pieces.long_ids().iter().map(|&id| by_id[id as usize]);
        let (single, double) = match options.precision {
            Precision::F32 => (Addends::of(by_id.iter().copied(), long()), Addends::default()),
            Precision::F64 => (Addends::default(), Addends::of(by_id.iter().copied(), long())),
        };
        Self { by_id, single, double, unknown, greatest }
    }
}

/// What pieces add: by id, and those of long ones by number.
#[derive(Clone, Default)]
struct Addends<S> {
    by_id: Vec<S>,
    long: Vec<S>,
}

impl<S: Sum> Addends<S> {
    fn of(by_id: impl Iterator<Item = f64>, long: impl Iterator<Item = f64>) -> Self {
        Self { by_id: by_id.map(S::kept).collect(), long: long.map(S::kept).collect() }
    }
}

/// A number in the precision of a reference.
trait Sum:
    Copy + PartialOrd + Default + Into<f64> + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self>
{
    /// Whether sums begin again at 0 where they have grown large.
    const BEGINS_AGAIN: bool;

    /// Rounds to what is kept.
    fn kept(sum: f64) -> Self;
}

impl Sum for f32 {
    const BEGINS_AGAIN: bool = true;

    fn kept(sum: f64) -> Self {
        sum as f32
    }
}

impl Sum for f64 {
    const BEGINS_AGAIN: bool = false;

    fn kept(sum: f64) -> Self {
        sum
    }
}

/// What a piece is to the search, where a file has no kinds.
pub(super) fn kind_in_search(options: &UnigramOptions, id: usize) -> Kind {
    match options.kinds.get(id) {
        Some(kind) => *kind,
        None if options.unk_id == Some(id as TokenId) => Kind::Unknown,
        None => Kind::Normal,
    }
}

/// The sum from which SentencePiece begins again at 0.
pub(super) const RESET: f64 = 100_000.0;

/// Rounds a sum to what is kept of it.
#[inline]
pub(super) fn kept<const SINGLE: bool>(sum: f64) -> f64 {
    // Of two 32-bit numbers the 64-bit sum rounds to their 32-bit sum.
    if SINGLE { f64::from(sum as f32) } else { sum }
}

/// The sum with which a search goes on.
#[inline]
pub(super) fn or_reset<const SINGLE: bool>(sum: f64) -> f64 {
    if SINGLE && sum.abs() > RESET { 0.0 } else { sum }
}

/// The length in bytes of the character a byte begins, as SentencePiece reads
/// it without looking further.
#[inline]
pub(super) fn char_len(lead: u8) -> usize {
    match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => 1,
    }
}

/// The id of an end to which there is no way yet.
const UNREACHED: TokenId = TokenId::MAX;
/// The id of an unknown character of no bytes; its length is added. Ids of
/// pieces are far below.
const UNKNOWN: TokenId = UNREACHED - 8;

/// How many ends are decided at once.
const LANES: usize = 8;

/// Offers sums to neighbouring ends, without branches: in vector instructions.
#[inline]
#[allow(clippy::needless_range_loop, reason = "five arrays side by side; of iterators no vectors are made")]
fn offer_lanes<S: Sum>(
    best: &mut [S; LANES],
    best_ids: &mut [TokenId; LANES],
    here: S,
    addends: &[S; LANES],
    ids: &[TokenId; LANES],
) {
    let (mut sums, mut scores, mut winners) = (*addends, *best, *best_ids);
    for at in 0..LANES {
        sums[at] = here + sums[at];
        let wins = (winners[at] == UNREACHED) | (sums[at] > scores[at]);
        winners[at] = if wins { ids[at] } else { winners[at] };
        scores[at] = if wins { sums[at] } else { scores[at] };
    }
    *best = scores;
    *best_ids = winners;
}

/// The best way to each end so far.
#[derive(Default)]
struct Ends<S> {
    scores: Vec<S>,
    /// The last piece.
    ids: Vec<TokenId>,
    /// The score of the best way that did not win, where it is asked for.
    seconds: Vec<f64>,
}

impl<S: Sum> Ends<S> {
    fn clear(&mut self, len: usize, total: f64, with_seconds: bool) {
        self.scores.clear();
        self.scores.resize(len + 1, S::default());
        self.scores[0] = S::kept(total);
        self.ids.clear();
        self.ids.resize(len + 1, UNREACHED);
        self.seconds.clear();
        self.seconds.resize(if with_seconds { len + 1 } else { 0 }, f64::NEG_INFINITY);
    }

    #[inline]
    fn offer<const SECONDS: bool>(&mut self, end: usize, sum: S, id: TokenId) {
        let (Some(best), Some(best_id)) = (self.scores.get_mut(end), self.ids.get_mut(end)) else { return };
        let is_reached = *best_id != UNREACHED;
        if !is_reached || sum > *best {
            if SECONDS && is_reached {
                self.seconds[end] = (*best).into();
            }
            *best = sum;
            *best_id = id;
        } else if SECONDS {
            self.seconds[end] = self.seconds[end].max(sum.into());
        }
    }

    /// Offers pieces that end one byte after the other, the first at `end`.
    #[inline]
    fn offer_run(&mut self, end: usize, here: S, addends: &[S], ids: &[TokenId]) {
        let n = addends.len().min(ids.len());
        let (Some(best), Some(best_ids)) =
            (self.scores.get_mut(end..end + n), self.ids.get_mut(end..end + n))
        else {
            return;
        };
        let (best, _) = best.as_chunks_mut::<LANES>();
        let (best_ids, _) = best_ids.as_chunks_mut::<LANES>();
        let (many, addends) = addends.as_chunks::<LANES>();
        let (many_ids, ids) = ids.as_chunks::<LANES>();
        for (((best, best_ids), addends), ids) in best.iter_mut().zip(best_ids).zip(many).zip(many_ids) {
            offer_lanes(best, best_ids, here, addends, ids);
        }
        let end = end + many.len() * LANES;
        for (at, (addend, id)) in addends.iter().zip(ids).enumerate() {
            self.offer::<false>(end + at, here + *addend, *id);
        }
    }

    /// Finds the best way to each end of a text.
    fn fill<const SECONDS: bool>(&mut self, model: &Unigram, addends: &Addends<S>, text: &[u8], total: f64) {
        self.clear(text.len(), total, SECONDS);
        let (pieces, unknown) = (model.pieces(), S::kept(model.scores_in_search().unknown));
        let (ids, lens) = (pieces.long_ids(), pieces.long_lens());
        let (mut start, mut frontier, mut last) = (0, 0, 0);
        while start < text.len() {
            let mut here = self.scores[start];
            if S::BEGINS_AGAIN && here.into().abs() > RESET {
                for score in &mut self.scores[start..=frontier] {
                    *score = *score - here;
                }
                if SECONDS {
                    self.seconds[start..=frontier].iter_mut().for_each(|second| *second -= here.into());
                }
                here = S::default();
            }
            start = pieces.for_each_run_at(text, start, &mut last, |end, what| {
                frontier = frontier.max(end);
                match what {
                    Found::Piece(id) => {
                        self.offer::<SECONDS>(end, here + addends.by_id[id as usize], id);
                    }
                    Found::Unknown => {
                        self.offer::<SECONDS>(end, here + unknown, UNKNOWN + (end - start) as TokenId);
                    }
                    Found::Run(run) => {
                        frontier = frontier.max(start + lens[run.end - 1] as usize);
                        let is_dense = lens[run.end - 1] - lens[run.start] == (run.len() - 1) as u32;
                        if is_dense && !SECONDS {
                            self.offer_run(end, here, &addends.long[run.clone()], &ids[run]);
                        } else {
                            for place in run {
                                let end = start + lens[place] as usize;
                                self.offer::<SECONDS>(end, here + addends.long[place], ids[place]);
                            }
                        }
                    }
                }
            });
        }
    }

    /// Writes the best way to the end of a text and by how much each choice on it
    /// was made.
    fn trace(&self, model: &Unigram, len: usize, path: &mut Vec<(TokenId, u32)>) -> (f64, f64) {
        path.clear();
        let mut gap = f64::INFINITY;
        let mut end = len;
        while end > 0 && self.ids[end] != UNREACHED {
            if let Some(second) = self.seconds.get(end) {
                let lead = self.scores[end].into() - second;
                // Not `min`, which passes over what is no number.
                gap = if lead >= gap { gap } else { lead };
            }
            let id = self.ids[end];
            let (id, len) = match id.checked_sub(UNKNOWN) {
                Some(len) => (model.unknown_mark(), len),
                None => (id, model.vocab().bytes(id).map_or(1, <[u8]>::len) as u32),
            };
            path.push((id, len));
            end = end.saturating_sub(len as usize);
        }
        path.reverse();
        (self.scores[len].into(), gap)
    }
}

/// The buffers of a search.
#[derive(Default)]
pub(super) struct Viterbi {
    single: Ends<f32>,
    double: Ends<f64>,
    /// The pieces found, with their lengths; unknown characters have the id
    /// [`Unigram::unknown_mark`].
    pub(super) path: Vec<(TokenId, u32)>,
}

/// A stretch of up to so many bytes leaves its memory to the next: half a MiB.
const KEPT_ENDS: usize = 1 << 14;

impl Viterbi {
    /// Lets go of what a long stretch took.
    pub(super) fn rest(&mut self) {
        if self.single.ids.capacity().max(self.double.ids.capacity()) > KEPT_ENDS {
            *self = Self::default();
        }
    }

    /// Fills `path`; `total` is the score of all before the text. Returns the
    /// score after it.
    pub(super) fn search<const SINGLE: bool>(&mut self, model: &Unigram, text: &[u8], total: f64) -> f64 {
        self.run::<SINGLE, false>(model, text, total).0
    }

    /// As [`Viterbi::search`]; returns as well by how much each choice on the path
    /// was made.
    pub(super) fn search_with_gap<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        total: f64,
    ) -> (f64, f64) {
        self.run::<SINGLE, true>(model, text, total)
    }

    fn run<const SINGLE: bool, const GAP: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        total: f64,
    ) -> (f64, f64) {
        let scores = model.scores_in_search();
        if SINGLE {
            self.single.fill::<GAP>(model, &scores.single, text, total);
            self.single.trace(model, text.len(), &mut self.path)
        } else {
            self.double.fill::<GAP>(model, &scores.double, text, total);
            self.double.trace(model, text.len(), &mut self.path)
        }
    }
}

/// Sums near the greatest number overflow, of which the proof knows nothing.
const GREATEST_SUM: f64 = 1e300;

/// When the best way through a stretch stays the best after other beginnings.
///
/// A kept sum errs by at most `u` times its size. Two ways of at most `n`
/// pieces differ in the sums by at most `4n + 2` such errors from their exact
/// difference (each piece adds one rounding and one comparison of rounded
/// values), so a lead of more than that decides alike everywhere. It must not
/// come to where sums begin again at 0 inside the stretch.
pub(super) struct Margin {
    /// Half the distance of neighbouring numbers near 1, and the roundings.
    errors: f64,
    /// What the stretch itself may add to the size of a sum.
    size: f64,
    /// The size of a sum before the stretch from which sums are not only added
    /// in it.
    greatest: f64,
}

impl Margin {
    pub(super) fn new<const SINGLE: bool>(model: &Unigram, len: usize) -> Self {
        let greatest = if SINGLE { RESET } else { GREATEST_SUM };
        let unit = if SINGLE { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
        let n = len as f64;
        // A little more than proven, for the errors of these very lines.
        let size = (n + 1.0) * model.scores_in_search().greatest;
        Self { errors: 1.01 * (4.0 * n + 4.0) * unit, size, greatest: greatest - size }
    }

    /// The greatest total before the stretch for which a path found by `gap`
    /// after `total` is certain; negative if it is not even certain there.
    pub(super) fn limit(&self, gap: f64, total: f64) -> f64 {
        if total.abs() >= self.greatest {
            return -1.0;
        }
        let exact = gap - self.errors * (total.abs() + self.size);
        (exact / self.errors - self.size).min(self.greatest)
    }
}
