//! Which pieces a text can become: none that are special, none that lose to
//! others on their own text.

use super::{Kind, Unigram, UnigramOptions};
use crate::vocab::TokenId;

impl Unigram {
    /// This model, in which no text becomes one of `specials` by being its text;
    /// `None` if it is so already.
    pub(crate) fn barring(&self, specials: &[TokenId]) -> Option<Self> {
        let mut kinds = self.options.kinds.clone();
        kinds.resize(self.vocab.len(), Kind::Normal);
        let mut changes = self.barred != specials;
        for &id in specials {
            let Some(kind) = kinds.get_mut(id as usize).filter(|kind| kind.is_in_text()) else { continue };
            *kind = if self.options.unk_id == Some(id) { Kind::Unknown } else { Kind::Control };
            changes = true;
        }
        let options = UnigramOptions { kinds, ..self.options.clone() };
        // What was taken before is taken again: this cannot fail.
        let made = changes.then(|| Self::new(self.vocab.clone(), self.scores.clone(), options).ok());
        made.flatten().map(|model| Self { barred: specials.to_vec(), ..model })
    }

    /// Pieces that are never the best way to write their own text, and so are
    /// never in the best way to write any: the better one could take their
    /// place. Ids ascend; pieces that are not found in text are left out.
    pub fn unreachable(&self) -> Vec<TokenId> {
        let searched = self
            .vocab
            .iter()
            .filter(|&(id, _)| self.kind(id).is_in_text() && Some(id) != self.options.unk_id);
        searched.filter(|&(id, piece)| self.encode(piece) != [id]).map(|(id, _)| id).collect()
    }
}
