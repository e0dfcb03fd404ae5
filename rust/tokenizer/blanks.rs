//! What the file's post-processor leaves out of offsets.

use super::Tokenizer;
use crate::bpe::Unit;
use crate::encoding::{Blanks, Span};
use crate::template::TrimOffsets;
use crate::vocab::TokenId;

impl Tokenizer {
    /// The white space that offsets leave out by the file; `None` where they are
    /// whole. `text` gives what lies at a span, by the place of the id.
    pub fn blanks<'a>(
        &self,
        ids: &[TokenId],
        spans: &[Span],
        text: impl Fn(usize) -> &'a [u8],
    ) -> Option<Blanks> {
        let after_prefix_space = match self.template.trim_offsets {
            TrimOffsets::No => return None,
            TrimOffsets::Yes => false,
            TrimOffsets::AfterPrefixSpace => true,
        };
        let unk = self.model.unk_id();
        let unit = self.model.unit();
        let count = |at: usize, id: TokenId| {
            let bytes = self.model.vocab().bytes(id);
            match bytes.filter(|_| unk != Some(id) && self.added.by_id(id).is_none()) {
                Some(bytes) if unit == Unit::Bytes => Blanks::of_bytes(bytes),
                Some(bytes) => Blanks::of_spelling(&String::from_utf8_lossy(bytes)),
                None => {
                    let [start, end] = spans.get(at).copied().unwrap_or_default();
                    let surface = text(at).get(start as usize..end as usize).unwrap_or_default();
                    Blanks::of_spelling(&String::from_utf8_lossy(surface))
                }
            }
        };
        let counts = ids.iter().enumerate().map(|(at, &id)| count(at, id)).collect();
        Some(Blanks { after_prefix_space, counts })
    }
}
