//! The best way through one stretch of text, and its lead over the next best.
//!
//! Scores are sums from the left, in the precision of the reference: 32 bits
//! with `SINGLE`, as in SentencePiece 0.2.3, which also takes the sum off all
//! that follow where it has grown large; else 64, as in tokenizers 0.23. Of
//! equal scores the earlier start stays.
//!
//! The rounding depends on the sum before the stretch, so the best way
//! may, too. [`Margin`] says when it cannot. Time is that of finding all pieces at
//! all places (`pieces`). Source: Kudo 2018; Viterbi 1967.

use super::{PieceKind, Precision, Unigram, UnigramOptions};
use crate::error::Result;
use crate::memory::MakeRoom;
use crate::vocab::{TokenId, Vocab};

/// How much less probable an unknown character is than the rarest piece.
const UNKNOWN_PENALTY: f64 = 10.0;
/// Added to the score of a user-defined piece for each byte after the first.
const USER_DEFINED_BONUS: f64 = 0.1;

/// The best way to one end so far.
#[derive(Clone, Copy)]
pub(super) struct Node {
    score: f64,
    /// The score of the best way that did not win.
    second: f64,
    id: TokenId,
    /// The bytes of the last piece; 0 until there is a way. With [`CUT`] where that is so.
    len: u32,
}

/// Marks in [`Node::len`] that no piece reaches across, so that every way passes here.
const CUT: u32 = 1 << 31;

/// A part of a path, between two places where no piece reaches across.
pub(super) struct PathPart {
    pub(super) n_steps: usize,
    /// Where it ends in the stretch.
    pub(super) end: usize,
    /// As [`Viterbi::search`] returns it.
    pub(super) lead: f64,
}

const UNREACHED: Node = Node { score: 0.0, second: f64::NEG_INFINITY, id: 0, len: 0 };

/// The numbers that a search needs of a model.
#[derive(Clone, Default)]
pub(super) struct Scores {
    /// The score of each piece.
    pub(super) by_id: Vec<f64>,
    /// The score of an unknown character.
    pub(super) unknown: f64,
    /// The greatest absolute value of these.
    pub(super) greatest: f64,
}

impl Scores {
    /// The numbers, each made as the reference makes it.
    pub(super) fn of(vocab: &Vocab, scores: &[f64], options: &UnigramOptions) -> Self {
        let kind = |id: usize| kind_in_search(options, id);
        let mut by_id = scores.to_vec();
        let unknown = match options.precision {
            Precision::F64 => by_id.iter().copied().fold(f64::INFINITY, f64::min) - UNKNOWN_PENALTY,
            Precision::F32 => {
                let normal = (0..scores.len()).filter(|&id| kind(id) == PieceKind::Normal);
                let least = normal.map(|id| scores[id] as f32).fold(f32::MAX, f32::min);
                for (id, bytes) in vocab.iter() {
                    let score = match kind(id as usize) {
                        PieceKind::UserDefined => USER_DEFINED_BONUS * (bytes.len() - 1) as f64,
                        _ => scores[id as usize],
                    };
                    by_id[id as usize] = f64::from(score as f32);
                }
                f64::from(least - UNKNOWN_PENALTY as f32)
            }
        };
        let greatest = by_id.iter().fold(unknown.abs(), |greatest, score| greatest.max(score.abs()));
        Self { by_id, unknown, greatest }
    }
}

/// The kind of a piece for the search, if a file has no kinds.
pub(super) fn kind_in_search(options: &UnigramOptions, id: usize) -> PieceKind {
    match options.kinds.get(id) {
        Some(kind) => *kind,
        None if options.unk_id == Some(id as TokenId) => PieceKind::Unknown,
        None => PieceKind::Normal,
    }
}

/// The sum from which SentencePiece begins again at 0.
pub(super) const RESET: f64 = 100_000.0;

/// Rounds a sum to the precision of the search.
#[inline]
pub(super) fn kept<const SINGLE: bool>(sum: f64) -> f64 {
    // Of two 32-bit numbers the 64-bit sum rounds to their 32-bit sum.
    if SINGLE { f64::from(sum as f32) } else { sum }
}

/// The sum with which a search continues.
#[inline]
pub(super) fn or_reset<const SINGLE: bool>(sum: f64) -> f64 {
    if SINGLE && sum.abs() > RESET { 0.0 } else { sum }
}

impl Node {
    #[inline]
    fn offer(&mut self, sum: f64, id: TokenId, len: usize) {
        if self.len == 0 || sum > self.score {
            if self.len != 0 {
                self.second = self.score;
            }
            self.score = sum;
            self.id = id;
            self.len = len as u32;
        } else if sum > self.second {
            self.second = sum;
        }
    }
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

/// The buffers of a search.
#[derive(Default)]
pub(super) struct Viterbi {
    nodes: Vec<Node>,
    /// The pieces found, with their lengths; unknown characters have the id
    /// [`Unigram::unknown_mark`].
    pub(super) path: Vec<(TokenId, u32)>,
}

/// A stretch of up to so many bytes leaves its memory to the next: half a MiB.
const KEPT_NODES: usize = 1 << 14;

impl Viterbi {
    /// Lets go of what a long stretch took.
    pub(super) fn rest(&mut self) {
        if self.nodes.capacity() > KEPT_NODES {
            *self = Self::default();
        }
    }

    /// Makes room for a search in so many bytes.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub(super) fn make_room(&mut self, len: usize) -> Result<()> {
        self.nodes.clear();
        self.path.clear();
        self.nodes.make_room(len + 1)?;
        self.path.make_room(len)
    }

    /// Fills `path`; `total` is the score of all before the text. Returns the
    /// score after it, and the least lead of a choice on the path, divided by the
    /// roundings that could decide it (see [`Margin`]).
    pub(super) fn search<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        text: &[u8],
        total: f64,
    ) -> (f64, f64) {
        let (scores, unknown) = (model.scores_in_search(), model.unknown_mark());
        self.nodes.clear();
        self.nodes.resize(text.len() + 1, UNREACHED);
        self.nodes[0].score = total;
        let mut start = 0;
        let mut frontier = 0;
        while start < text.len() {
            if start == frontier {
                self.nodes[start].len |= CUT;
            }
            let mut here = self.nodes[start].score;
            if SINGLE && here.abs() > RESET {
                for node in &mut self.nodes[start..=frontier] {
                    node.score = kept::<SINGLE>(node.score - here);
                    node.second -= here;
                }
                here = 0.0;
            }
            start = model.pieces().for_each_at(text, start, |end, id| {
                let (id, score) = match id {
                    Some(id) => (id, scores.by_id[id as usize]),
                    None => (unknown, scores.unknown),
                };
                frontier = frontier.max(end);
                self.nodes[end].offer(kept::<SINGLE>(score + here), id, end - start);
            });
        }
        self.path.clear();
        let (mut lead, mut lead_to_cut) = (f64::INFINITY, f64::INFINITY);
        let mut end = text.len();
        let mut cut_end = end;
        while let Some(node) = self.nodes.get(end).filter(|node| node.len & !CUT != 0) {
            let len = node.len & !CUT;
            lead_to_cut = least(node.score - node.second, lead_to_cut);
            self.path.push((node.id, len));
            end -= len as usize;
            if self.nodes[end].len & CUT != 0 {
                if lead_to_cut != f64::INFINITY {
                    lead = least(lead_to_cut / roundings(cut_end - end), lead);
                }
                (lead_to_cut, cut_end) = (f64::INFINITY, end);
            }
        }
        self.path.reverse();
        (self.nodes[text.len()].score, lead)
    }

    /// The first part of the path that was found last, from its step `from`, which begins at `start`, to a
    /// place that no piece reaches across and that is `n_bytes` on, or to the end.
    pub(super) fn part(&self, from: usize, start: usize, n_bytes: usize) -> PathPart {
        let (mut lead, mut lead_to_cut) = (f64::INFINITY, f64::INFINITY);
        let (mut n_steps, mut at, mut cut) = (0, start, start);
        for (_, len) in &self.path[from..] {
            at += *len as usize;
            n_steps += 1;
            let node = self.nodes[at];
            lead_to_cut = least(node.score - node.second, lead_to_cut);
            if node.len & CUT != 0 || from + n_steps == self.path.len() {
                if lead_to_cut != f64::INFINITY {
                    lead = least(lead_to_cut / roundings(at - cut), lead);
                }
                (lead_to_cut, cut) = (f64::INFINITY, at);
                if at - start >= n_bytes {
                    break;
                }
            }
        }
        PathPart { n_steps, end: at, lead }
    }
}

/// Sums near the greatest number overflow, of which the proof knows nothing.
const GREATEST_SUM: f64 = 1e300;

/// The smaller number, or NaN: `min` ignores it.
#[inline]
pub(super) fn least(one: f64, other: f64) -> f64 {
    if one >= other { other } else { one }
}

/// How many roundings decide between two ways through so many bytes.
#[inline]
fn roundings(n_bytes: usize) -> f64 {
    4.0 * n_bytes as f64 + 4.0
}

/// When the best way through a stretch stays the best after other beginnings.
///
/// A kept sum errs by at most `u` times its size. Two ways of at most `n`
/// pieces differ in the sums by at most `4n + 2` such errors from their exact
/// difference (each piece adds one rounding and one comparison of rounded
/// values), so a lead of more than that decides alike everywhere. Where no piece
/// reaches across, all ways have the same sum, so only the pieces from there on
/// count: `n` is the length between two such cuts. The sum must not
/// come to where sums begin again at 0 inside the stretch.
pub(super) struct Margin {
    /// Half the distance of neighbouring numbers near 1.
    error: f64,
    /// The greatest size that the stretch itself may add to a sum.
    size: f64,
    /// The size of a sum before the stretch from which sums are not only added
    /// in it.
    greatest: f64,
}

impl Margin {
    pub(super) fn new<const SINGLE: bool>(model: &Unigram, len: usize) -> Self {
        let greatest = if SINGLE { RESET } else { GREATEST_SUM };
        let unit = if SINGLE { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
        // A little more than proven, for the errors of these very lines.
        let size = (len as f64 + 1.0) * model.scores_in_search().greatest;
        Self { error: 1.01 * unit, size, greatest: greatest - size }
    }

    /// The greatest size of a total before the stretch up to which a path found by `lead`
    /// after `total` is the best, and what it adds the sum of its pieces' scores; `None`
    /// where it need not be so again.
    pub(super) fn limit(&self, lead: f64, total: f64) -> Option<f32> {
        if total.abs() >= self.greatest {
            return None;
        }
        // Both after `total` and after the new one the sums err by their size.
        let limit = (lead / self.error - (total.abs() + self.size) - self.size).min(self.greatest);
        // After nothing the same sums are made again, certain or not. Rounded down.
        (limit > 0.0 || total == 0.0).then(|| (limit.max(0.0) * 0.999).min(f64::from(f32::MAX)) as f32)
    }
}
