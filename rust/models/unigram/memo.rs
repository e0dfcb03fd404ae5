//! The memo of a unit: the ids of its path, and the greatest sum before it with which they are certain.
//!
//! Not the memo itself, which is a [`PieceTable`](crate::cache::piece_table::PieceTable), nor when it is
//! asked: see [`super::worker`].

use super::Unigram;
use super::viterbi::{Margin, kept};
use super::worker::{MOST_SETS, Scratch};
use crate::cache::piece_table::{Call, Key, PieceTable, Value};
use crate::memory::MakeRoom;
use crate::vocab::TokenId;

/// How many ids of longer paths are kept: 4 MiB; then all is forgotten.
const MAX_LONG: usize = 1 << 20;
/// The same in a long call: 16 MiB.
const MAX_LONG_IN_LONG_CALL: usize = 1 << 22;
/// The bits of an entry's limit that hold the number of ids.
pub(super) const COUNT: u32 = 15;
/// Instead of that number: the path has unknown characters, and is in [`Scratch::long`] with
/// the lengths of its steps.
pub(super) const WITH_UNKNOWN: u32 = 0;

/// Where in a value the limit is: the greatest total before the unit, as `f32`, except
/// for the four lowest bits, which are the number of ids. Before it are one id and its
/// score as `f32`, or up to three ids; of more, where they begin in [`Scratch::long`].
pub(super) const LIMIT: usize = 3;
/// Where in a value of a path with unknown characters the number of its steps is.
const STEPS: usize = 1;

impl Scratch {
    /// Ends a call: frees memory that only a long call may hold, and the paths in it.
    pub(super) fn rest_memo(&mut self) {
        if self.memo.end_call() == Call::Short && (self.memo.is_large() || self.long.len() > MAX_LONG) {
            self.memo = PieceTable::new(MOST_SETS);
            self.long = Vec::new();
        }
    }

    /// Caches the path that was found last, with the limit up to which it is certain.
    pub(super) fn keep<const SINGLE: bool>(
        &mut self,
        model: &Unigram,
        unit: &[u8],
        key: Key,
        lead: f64,
        total: f64,
    ) {
        let path = &self.viterbi.path;
        let Some(limit) = Margin::new::<SINGLE>(model, unit.len()).limit(lead, total) else { return };
        if path.len() > COUNT as usize {
            return;
        }
        let has_unknown = path.iter().any(|(id, _)| *id == model.unknown_mark());
        if has_unknown && holds_unknown_token(model, unit) {
            return;
        }
        let most = if self.memo.is_in_long_call() { MAX_LONG_IN_LONG_CALL } else { MAX_LONG };
        if self.long.len() + 2 * path.len() > most {
            self.long.clear();
            self.memo.clear();
        }
        // Without memory for it, the path is not cached.
        if self.long.make_room(2 * path.len()).is_err() {
            return;
        }
        let count = if has_unknown { WITH_UNKNOWN } else { path.len() as u32 };
        let mut value: Value = [0; 4];
        // The bits that are cut off round it down.
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

/// The cached path with unknown characters: an id and a length for each step.
pub(super) fn kept_steps<'a>(long: &'a [TokenId], value: &Value) -> &'a [TokenId] {
    let start = value[0] as usize;
    &long[start..start + 2 * value[STEPS] as usize]
}

/// The steps of a path that is kept as ids and lengths.
pub(super) fn steps(kept: &[TokenId]) -> impl Iterator<Item = (TokenId, u32)> + Clone + '_ {
    kept.chunks_exact(2).map(|step| (step[0], step[1]))
}

/// Whether a unit holds the text of the unknown token, which has its own score where it
/// is found as a piece, and in a path looks like an unknown character.
pub(super) fn holds_unknown_token(model: &Unigram, unit: &[u8]) -> bool {
    let token = model.vocab().bytes(model.unknown_mark()).filter(|token| !token.is_empty());
    token.is_some_and(|token| memchr::memmem::find(unit, token).is_some())
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
pub(super) fn kept_score<const SINGLE: bool>(model: &Unigram, id: TokenId, kept: u32) -> f64 {
    if SINGLE { f64::from(f32::from_bits(kept)) } else { model.scores_in_search().by_id[id as usize] }
}
