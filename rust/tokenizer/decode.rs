//! Ids to text.
//!
//! [`Tokenizer::push_bytes`], id by id, is the reference implementation. Once a text has begun,
//! most decoders write the same bytes for a token in every place; these bytes are
//! looked up in a table, made at the first call.

use std::sync::OnceLock;

use super::Tokenizer;
use crate::error::{Error, Result};
use crate::memory;
use crate::tokenizer::decoder::table::TokenTable;
use crate::tokenizer::decoder::{Decoder, State};
use crate::tokenizer::encoding::Rows;
use crate::vocab::TokenId;

/// The bytes of ids, with special tokens and without; `None` where the decoder
/// has no such table.
#[derive(Default)]
pub(super) struct Tables {
    all: OnceLock<Option<TokenTable>>,
    without_special: OnceLock<Option<TokenTable>>,
}

impl Tokenizer {
    /// The bytes of ids.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token.
    pub fn decode_bytes(&self, ids: &[TokenId], skip_special: bool) -> Result<Vec<u8>> {
        let mut bytes = self.room_for(ids, skip_special)?;
        self.decode_into(ids, skip_special, &mut bytes)?;
        Ok(bytes)
    }

    /// The text of ids; bytes that are not a character become U+FFFD.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token.
    pub fn decode(&self, ids: &[TokenId], skip_special: bool) -> Result<String> {
        let bytes = self.decode_bytes(ids, skip_special)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Texts of many ids each.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token; [`Error::Encode`] for a row beyond the ids.
    pub fn decode_batch<I: Copy + TryInto<usize>>(
        &self,
        rows: Rows<'_, I>,
        skip_special: bool,
    ) -> Result<Vec<String>> {
        let beyond = |row| {
            let n_ids = rows.ids.len();
            Error::Encode(format!("row_offsets: row {row} does not lie within the {n_ids} ids"))
        };
        (0..rows.len())
            .map(|row| match rows.row(row).and_then(|ids| rows.ids.get(ids)) {
                Some(ids) => self.decode(ids, skip_special),
                None => Err(beyond(row)),
            })
            .collect()
    }

    /// Appends the bytes of texts of ids each, one after the other, and where each ends.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token.
    #[cfg(feature = "python")]
    pub(crate) fn decode_rows(
        &self,
        rows: Rows<'_, i64>,
        skip_special: bool,
        bytes: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        for row in rows.iter() {
            self.decode_into(row, skip_special, bytes)?;
            ends.push(bytes.len());
        }
        Ok(())
    }

    /// An empty vector with room for the bytes of ids: to let it grow would touch
    /// memory again and again, which costs more than to look up the ids twice.
    fn room_for(&self, ids: &[TokenId], skip_special: bool) -> Result<Vec<u8>> {
        let n = self.table(skip_special).map_or(0, |table| table.n_bytes(ids));
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(n).map_err(|_| no_memory_after(0))?;
        Ok(bytes)
    }

    fn decode_into(&self, ids: &[TokenId], skip_special: bool, bytes: &mut Vec<u8>) -> Result<()> {
        let table = self.table(skip_special);
        let mut state = State::default();
        let mut rest = ids;
        while let Some((&first, after)) = rest.split_first() {
            if let Some(table) = table.filter(|_| self.decoder.is_settled(&state)) {
                let n = table.push(rest, bytes).map_err(|_| no_memory_after(bytes.len()))?;
                rest = &rest[n..];
                if n > 0 {
                    continue;
                }
            }
            self.push_bytes(&mut state, first, skip_special, bytes)?;
            rest = after;
        }
        self.decoder.finish(&mut state, bytes)
    }

    /// The table. Threads that come first each make it, and one's is kept: nobody
    /// waits for another, whom a fork may have left behind.
    fn table(&self, skip_special: bool) -> Option<&TokenTable> {
        let known = if skip_special { &self.tables.without_special } else { &self.tables.all };
        if known.get().is_none() {
            let _ = known.set(self.compute_table(skip_special));
        }
        known.get()?.as_ref()
    }

    fn compute_table(&self, skip_special: bool) -> Option<TokenTable> {
        let settled = self.decoder.settled()?;
        let mut state = settled.clone();
        Some(TokenTable::new(self.max_id() as usize + 1, |id, out| {
            state.clone_from(&settled);
            self.push_bytes(&mut state, id, skip_special, out).is_ok()
        }))
    }

    /// Appends the bytes of one id of a text.
    pub(crate) fn push_bytes(
        &self,
        state: &mut State,
        id: TokenId,
        skip_special: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        // A token that is the model's, too, represents the model's bytes: over
        // bytes a special token `Ġa` may share the id of ` a`.
        let of_model = self.model.vocab().bytes(id);
        let token = match of_model {
            Some(bytes) if !skip_special => bytes,
            _ => match self.added.by_id(id) {
                Some(token) if token.special && skip_special => return Ok(()),
                Some(token) => of_model.unwrap_or(token.content.as_bytes()),
                None => of_model.ok_or_else(|| Error::UnknownId { id: u64::from(id), max: self.max_id() })?,
            },
        };
        if matches!(self.decoder, Decoder::Chain(_)) {
            return self.push_spelled(state, id, token, out);
        }
        // The sum of long tokens may be more than there is memory for.
        out.try_reserve(token.len() + Decoder::MOST_BETWEEN).map_err(|_| no_memory_after(out.len()))?;
        self.decoder.push(state, id, token, out)
    }

    /// The same of a chain, whose steps see tokens as the file spells them.
    #[cold]
    fn push_spelled(&self, state: &mut State, id: TokenId, token: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let spelled = self.id_to_token(id);
        let token = spelled.as_deref().map_or(token, str::as_bytes);
        out.try_reserve(token.len() + Decoder::MOST_BETWEEN).map_err(|_| no_memory_after(out.len()))?;
        self.decoder.push(state, id, token, out)
    }
}

fn no_memory_after(n_bytes: usize) -> Error {
    memory::missing::<u8>(n_bytes.saturating_add(1))
}
