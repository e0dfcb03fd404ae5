//! What the file's post-processor leaves out of offsets.

use super::Tokenizer;
use crate::models::Model;
use crate::models::bpe::Unit;
use crate::tokenizer::encoding::{Blanks, Surfaces};
use crate::tokenizer::template::TrimOffsets;
use crate::vocab::TokenId;

impl Tokenizer {
    /// The white space that offsets leave out by the file; `None` where they are
    /// whole. `surfaces` are what stood in the normalized text where the ids do not
    /// say it.
    pub fn blanks(&self, ids: &[TokenId], surfaces: &Surfaces) -> Option<Blanks> {
        let after_prefix_space = match self.template.trim_offsets {
            TrimOffsets::No => return None,
            TrimOffsets::Yes => false,
            TrimOffsets::AfterPrefixSpace => true,
        };
        let unit = self.model.unit();
        let mut surfaces = surfaces.iter().peekable();
        let count = |(at, &id): (usize, &TokenId)| {
            let shown = surfaces.next_if(|&(place, _)| place == at).map(|(_, text)| text);
            let shown = shown.filter(|_| self.shows_surface(id));
            match (shown, self.added.by_id(id), self.model.vocab().bytes(id)) {
                (Some(surface), ..) => Blanks::of_spelling(surface),
                (None, Some(token), _) => Blanks::of_spelling(&token.content),
                (None, None, Some(bytes)) if unit == Unit::Bytes => Blanks::of_bytes(bytes),
                (None, None, bytes) => {
                    Blanks::of_spelling(&String::from_utf8_lossy(bytes.unwrap_or_default()))
                }
            }
        };
        let counts = ids.iter().enumerate().map(count).collect();
        Some(Blanks { after_prefix_space, counts })
    }

    /// Whether Hugging Face shows what stood in the text for an id: of added
    /// tokens and Unigram's unknown token. The unknown token of others is spelled.
    fn shows_surface(&self, id: TokenId) -> bool {
        match self.model.unk_id() {
            Some(unk) if unk == id => matches!(*self.model, Model::Unigram(_)),
            _ => self.added.by_id(id).is_some(),
        }
    }
}
