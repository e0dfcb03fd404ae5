//! Replacements of characters in no piece: the tokens of their bytes, or the
//! unknown token.

use super::{PieceKind, Precision, Unigram, UnigramOptions};
use crate::error::Result;
use crate::memory;
use crate::token_lengths::{CharSet, TokenLengths, Unknown};
use crate::vocab::{TokenId, Vocab};

impl Unigram {
    /// The ids of a path, given as pieces or [`Unigram::unknown_mark`] with
    /// their lengths.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is no memory for them.
    pub(super) fn ids_of(&self, piece: &[u8], path: &[(TokenId, u32)]) -> Result<Vec<TokenId>> {
        let mut n = 0_usize;
        self.for_ids_of(piece, path, |_| n += 1);
        let mut ids = memory::reserved(n)?;
        self.for_ids_of(piece, path, |id| ids.push(id));
        Ok(ids)
    }

    /// Calls `push` with each of these ids.
    pub(super) fn for_ids_of(&self, piece: &[u8], path: &[(TokenId, u32)], mut push: impl FnMut(TokenId)) {
        let mut unknown: Option<usize> = None;
        let mut at = 0;
        for &(id, len) in path {
            let is_unknown = id == self.unknown_mark();
            if let Some(start) = unknown.take_if(|_| !is_unknown || !self.options.fuse_unk) {
                self.for_unknown(&piece[start..at], |id, _| push(id));
            }
            if is_unknown {
                unknown.get_or_insert(at);
            } else {
                push(id);
            }
            at += len as usize;
        }
        if let Some(start) = unknown {
            self.for_unknown(&piece[start..at], |id, _| push(id));
        }
    }

    /// Calls `push` with the replacement of a run of unknown characters.
    pub(super) fn for_unknown(&self, run: &[u8], mut push: impl FnMut(TokenId, u32)) {
        if self.begins_run[usize::from(run.first().copied().unwrap_or_default())]
            && run.len() <= self.max_piece_len
            && let Some(id) = self.vocab.id(run)
            && self.excluded.binary_search(&id).is_err()
            && self.kind(id) != PieceKind::Byte
        {
            // Hugging Face looks the text of a run up, so that of the unknown
            // token itself, found in a text, is that token. So is that of a byte,
            // except for a model that knows it as one (trained here).
            return push(id, run.len() as u32);
        }
        if let Some(ids) = &self.fallback_ids
            && run.iter().all(|&byte| ids[usize::from(byte)] != TokenId::MAX)
        {
            run.iter().for_each(|&byte| push(ids[usize::from(byte)], 1));
        } else if let Some(id) = self.options.unk_id {
            push(id, run.len() as u32);
        }
    }

    /// The ids of the bytes of a run, where it has no other replacement.
    #[inline]
    pub(super) fn spelled<'a>(&'a self, run: &'a [u8]) -> Option<impl Iterator<Item = TokenId> + 'a> {
        let first = *run.first()?;
        let ids = self
            .fallback_ids
            .as_deref()
            .filter(|_| self.spells_all && !self.begins_run[usize::from(first)])?;
        Some(run.iter().map(|&byte| ids[usize::from(byte)]))
    }

    /// The bytes that a token may begin with which is the text of a run of unknown
    /// characters: it begins with one, or with the text of the unknown token.
    pub(super) fn beginnings_of_runs(vocab: &Vocab, options: &UnigramOptions) -> [bool; 256] {
        let mut begins = [false; 256];
        if options.precision == Precision::F64 {
            let in_text = vocab.iter().filter(|&(id, _)| options.is_in_text(id));
            let unknown = CharSet::of_tokens(in_text.map(|(_, token)| token)).others(vocab.iter());
            for first in unknown.into_iter().chain(options.unk_id).filter_map(|id| vocab.bytes(id)?.first()) {
                begins[usize::from(*first)] = true;
            }
        }
        begins
    }

    /// How far ids reach; `None` where ids do not determine it, as unknown text is left out.
    pub(crate) fn token_lengths(&self) -> Option<TokenLengths> {
        let fallback = self.fallback_ids.as_deref().into_iter().flatten().copied();
        let token_lengths = TokenLengths::new(&self.vocab).with_bytes(fallback);
        let Some(unk) = self.options.unk_id else { return self.spells_all.then_some(token_lengths) };
        let tokens = || self.vocab.iter().filter(|&(id, _)| self.options.is_in_text(id));
        let known = CharSet::of_tokens(tokens().map(|(_, token)| token));
        let ending = known.others(tokens());
        let unknown = Unknown::Character { known, fused: self.options.fuse_unk, ending };
        Some(token_lengths.with_unknown(unk, unknown, &self.vocab))
    }

    /// The replacement of an unknown character in a path: the unknown token where
    /// there is one, since Hugging Face does not distinguish the two.
    pub(super) fn unknown_mark(&self) -> TokenId {
        self.options.unk_id.unwrap_or(TokenId::MAX)
    }
}
