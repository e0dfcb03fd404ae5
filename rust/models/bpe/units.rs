//! Units: what a piece is cut into where not every byte is a token.
//!
//! Prefix and suffix are put on, and symbols outside the vocabulary become bytes
//! (`<0xNN>`), the unknown token, or nothing. Follows huggingface/tokenizers 0.23, whose
//! order of unknown token and fallback bytes is kept.

use hashbrown::HashSet;

use super::merge::Symbols;
use super::{Bpe, Unit};
use crate::token_lengths::{CharSet, TokenLengths, Unknown};
use crate::vocab::TokenId;

/// No token.
const NONE: TokenId = TokenId::MAX;

impl Bpe {
    /// Pushes one symbol a unit, with prefix and suffix, or the replacement of a
    /// unit that is not in the vocabulary.
    pub(super) fn push_units<'a>(
        &self,
        piece: &[u8],
        units: impl Iterator<Item = &'a [u8]>,
        symbols: &mut Symbols,
    ) {
        let prefix = self.options.continuing_subword_prefix.as_deref().unwrap_or("");
        let mut key = Vec::new();
        let mut unknown: Option<u32> = None;
        let mut at = 0;
        for unit in units {
            self.spell_unit(unit, at, piece.len(), &mut key);
            at += unit.len();
            let len = unit.len() as u32;
            if let Some(id) = self.unit_id(&key) {
                if let (Some(unk), Some(len)) = (self.unk_id, unknown.take()) {
                    symbols.push(unk, len);
                }
                symbols.push(id, len);
            } else if let Some(ids) = self.fallback_ids.as_deref().filter(|ids| spell(ids, &key)) {
                // An unknown before continues behind it, and prefix and suffix are
                // spelled, too, as in Hugging Face. They cover nothing.
                let n_before = if at > unit.len() { prefix.len() } else { 0 };
                let covered = n_before..n_before + unit.len();
                for (place, &byte) in key.iter().enumerate() {
                    symbols.push(ids[usize::from(byte)], covered.contains(&place).into());
                }
            } else if let Some(unk) = self.unk_id {
                unknown = match unknown {
                    Some(before) if self.options.fuse_unk => Some(before + len),
                    Some(before) => {
                        symbols.push(unk, before);
                        Some(len)
                    }
                    None => Some(len),
                };
            }
        }
        if let (Some(unk), Some(len)) = (self.unk_id, unknown) {
            symbols.push(unk, len);
        }
    }
}

impl Bpe {
    /// Writes a unit that begins at a place of a piece, with prefix and suffix.
    fn spell_unit(&self, unit: &[u8], at: usize, piece_len: usize, key: &mut Vec<u8>) {
        let (prefix, suffix) = (&self.options.continuing_subword_prefix, &self.options.end_of_word_suffix);
        key.clear();
        if at > 0 {
            key.extend_from_slice(prefix.as_deref().unwrap_or("").as_bytes());
        }
        key.extend_from_slice(unit);
        if at + unit.len() == piece_len {
            key.extend_from_slice(suffix.as_deref().unwrap_or("").as_bytes());
        }
    }

    /// The first unit of a piece that is not in the vocabulary, and no tokens of bytes spell.
    pub(super) fn unknown_unit<'a>(
        &self,
        piece: &[u8],
        units: impl Iterator<Item = &'a [u8]>,
    ) -> Option<&'a [u8]> {
        let (mut key, mut at) = (Vec::new(), 0);
        for unit in units {
            self.spell_unit(unit, at, piece.len(), &mut key);
            at += unit.len();
            let is_spelled = self.fallback_ids.as_deref().is_some_and(|ids| spell(ids, &key));
            if self.unit_id(&key).is_none() && !is_spelled {
                return Some(unit);
            }
        }
        None
    }

    /// How far ids reach; `None` where ids do not determine it.
    pub(crate) fn token_lengths(&self) -> Option<TokenLengths> {
        let token_lengths = TokenLengths::new(&self.vocab);
        if self.plain_bytes {
            return Some(token_lengths);
        }
        let drops_out = self.options.dropout.is_some_and(|p| p > 0.0);
        if self.options.unit == Unit::Bytes || self.has_affixes() || drops_out {
            return None;
        }
        if let Some(ids) = self.fallback_ids.as_deref() {
            // Of bytes that merge, a token's text is not what it covers; where only some
            // have tokens, these come before an unknown token in front of them.
            let bytes: HashSet<TokenId> = ids.iter().copied().collect();
            let merges = |(left, right, _)| bytes.contains(&left) || bytes.contains(&right);
            let is_known = !bytes.contains(&NONE) && !self.pairs.iter().any(merges);
            return is_known.then(|| token_lengths.with_bytes(bytes));
        }
        let unk = self.unk_id?;
        // A token that an unknown character merges into covers more or less than its text.
        if self.pairs.iter().any(|(left, right, _)| left == unk || right == unk) {
            return None;
        }
        let is_control = |id: &TokenId| *id == unk || self.options.control.contains(id);
        let tokens = || self.vocab.iter().filter(|(id, _)| !is_control(id));
        let known = CharSet::of_tokens(tokens().map(|(_, token)| token).filter(|token| self.is_known(token)));
        // Without scores a character that is not a token is in none either.
        let ending = if self.scored.is_some() { known.others(tokens()) } else { Vec::new() };
        let unknown = Unknown::Character { known, fused: self.options.fuse_unk, ending };
        Some(token_lengths.with_unknown(unk, unknown, &self.vocab))
    }

    /// Whether a character does not become the unknown token.
    fn is_known(&self, c: &[u8]) -> bool {
        match &self.scored {
            Some(scored) => scored.is_known(c),
            None => self.unit_id(c).is_some(),
        }
    }

    /// The token of a character that text may become, where there are no affixes.
    #[inline(always)]
    pub(super) fn char_id(&self, c: char) -> Option<TokenId> {
        match &self.scored {
            Some(scored) => scored.char_id(c),
            None => self.symbols.chars.of(c).filter(|id| self.may_be_text(id)),
        }
    }

    /// The token of a unit with its prefix and suffix, if text may become it.
    fn unit_id(&self, key: &[u8]) -> Option<TokenId> {
        let id = self.symbols.chars.id(key).unwrap_or_else(|_| self.vocab.id(key));
        id.filter(|id| self.may_be_text(id))
    }
}

/// Whether each byte of a text has a token.
fn spell(ids: &[TokenId; 256], text: &[u8]) -> bool {
    text.iter().all(|&byte| ids[usize::from(byte)] != NONE)
}

/// The characters of a piece as byte slices; a byte that is not a character is
/// its own.
pub(super) fn chars(piece: &[u8]) -> impl Iterator<Item = &[u8]> {
    piece.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        valid
            .char_indices()
            .map(move |(at, c)| &valid.as_bytes()[at..at + c.len_utf8()])
            .chain(chunk.invalid().chunks(1))
    })
}
