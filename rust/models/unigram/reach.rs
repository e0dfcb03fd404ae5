//! Which pieces a text can become: no special ones, and none that lose to
//! different pieces on their own text.

use super::viterbi::{RESET, Viterbi};
use super::{PieceKind, Precision, Unigram, UnigramOptions};
use crate::error::Result;
use crate::vocab::TokenId;

/// The longest text, in bytes, that is reckoned with: 4 GiB.
const LONGEST_TEXT: f64 = 4_294_967_296.0;

impl Unigram {
    /// This model, in which no text becomes one of `specials` by being its text;
    /// `None` if it is so already.
    ///
    /// # Errors
    /// As [`Unigram::new`], which took the same before: only for want of memory.
    pub(crate) fn without_specials(&self, specials: &[TokenId]) -> Result<Option<Self>> {
        let mut kinds = self.options.kinds.clone();
        kinds.resize(self.vocab.len(), PieceKind::Normal);
        let mut changes = self.excluded != specials;
        for &id in specials {
            let Some(kind) = kinds.get_mut(id as usize).filter(|kind| kind.is_in_text()) else { continue };
            *kind = if self.options.unk_id == Some(id) { PieceKind::Unknown } else { PieceKind::Control };
            changes = true;
        }
        let options = UnigramOptions { kinds, ..self.options.clone() };
        if !changes {
            return Ok(None);
        }
        let model = Self::new(self.vocab.clone(), self.scores.clone(), options)?;
        Ok(Some(Self { excluded: specials.to_vec(), ..model }))
    }

    /// Pieces that no text becomes: on their own text different pieces are better by so
    /// much that no rounding of long sums makes up for it, and the better ones
    /// could take their place in any text. Ids ascend; pieces that are not found
    /// in text are left out.
    pub fn unreachable(&self) -> Vec<TokenId> {
        let searched = self
            .vocab
            .iter()
            .filter(|&(id, _)| self.kind(id).is_in_text() && Some(id) != self.options.unk_id);
        let mut viterbi = Viterbi::default();
        let lost = searched.filter(|&(id, piece)| self.always_loses(id, piece, &mut viterbi));
        lost.map(|(id, _)| id).collect()
    }

    fn always_loses(&self, id: TokenId, piece: &[u8], viterbi: &mut Viterbi) -> bool {
        let scores = self.scores_in_search();
        if self.options.precision == Precision::F32 && (piece.len() + 1) as f64 * scores.greatest > RESET {
            // Sums begin again inside it, more than the once that is reckoned with.
            return false;
        }
        let (best, unit, most) = match self.options.precision {
            Precision::F32 => {
                let (best, _) = viterbi.search::<true>(self, piece, 0.0);
                (best, f64::from(f32::EPSILON) / 2.0, RESET)
            }
            Precision::F64 => {
                let (best, _) = viterbi.search::<false>(self, piece, 0.0);
                (best, f64::EPSILON / 2.0, LONGEST_TEXT * scores.greatest)
            }
        };
        let n = viterbi.path.len() as f64;
        let lead = best - scores.by_id[id as usize];
        // Each sum errs by `unit` of its size: those of the better pieces, that
        // of this one, and the amount taken off all where sums begin again.
        let errors = 1.01 * (n + 3.0) * unit * (most + (n + 1.0) * scores.greatest);
        let mut ids = Vec::new();
        self.for_ids_of(piece, &viterbi.path, |id| ids.push(id));
        lead > errors && ids != [id]
    }
}
