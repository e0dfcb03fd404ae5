//! `Units`: the symbols that a piece of few bytes begins as, for merging side by side.
//!
//! Only where all of them are tokens: what unknown characters become, affixes, the
//! user's pieces and tokens taken whole are the work of [`Bpe::encode`].

use super::{Bpe, Unit};
use crate::{models::bpe::short_merge, models::bpe::short_merge::Few};

/// What symbols are.
pub(super) enum FewUnits {
    Bytes,
    Chars,
    /// Neither, or not only: pieces are encoded one by one.
    Other,
}

/// Takes pieces apart.
pub(super) trait Units {
    /// Takes in a piece of at most [`short_merge::MOST`] bytes; `false` if a symbol is no token.
    fn push(&self, bpe: &Bpe, piece: &[u8], few: &mut Few) -> bool;
}

/// All bytes are tokens.
pub(super) struct Bytes;

/// Characters may be tokens.
pub(super) struct Chars;

impl Units for Bytes {
    #[inline(always)]
    fn push(&self, bpe: &Bpe, piece: &[u8], few: &mut Few) -> bool {
        bpe.push_few(piece, few);
        true
    }
}

impl Units for Chars {
    #[inline(always)]
    fn push(&self, bpe: &Bpe, piece: &[u8], few: &mut Few) -> bool {
        few.clear();
        let Ok(text) = std::str::from_utf8(piece) else { return false };
        text.chars().all(|c| {
            let id = bpe.char_id(c);
            id.inspect(|&id| few.push(id)).is_some()
        })
    }
}

impl Bpe {
    /// What symbols are, where pieces become what merging makes of them.
    #[inline(always)]
    pub(super) fn few_units(&self) -> FewUnits {
        if self.pairs.greatest_rank() > short_merge::GREATEST_RANK {
            FewUnits::Other
        } else if self.plain_bytes {
            FewUnits::Bytes
        } else if self.has_plain_chars() {
            FewUnits::Chars
        } else {
            FewUnits::Other
        }
    }

    fn has_plain_chars(&self) -> bool {
        self.options.unit == Unit::Chars
            && !self.emits_whole_tokens()
            && !self.has_affixes()
            && self.scored.as_ref().is_none_or(|scored| scored.merges_chars_only())
    }

    /// Takes in a piece of at most [`short_merge::MOST`] bytes, where symbols are bytes.
    #[inline(always)]
    pub(super) fn push_few(&self, piece: &[u8], few: &mut Few) {
        few.clear();
        self.atoms.push_symbols(piece, &self.byte_ids, |id, _| few.push(id));
    }
}
