//! `Table`: the bytes that each id represents once a text has begun, in entries
//! that are copied whole.
//!
//! Up to 15 bytes and their number are one entry of 16, so that a token is one
//! look-up and one store; longer ones lie in a slab. Made by running the decoder on
//! each id, which is the reference implementation. The start of a text, where decoders
//! take spaces away, is decoded id by id.

use std::collections::TryReserveError;

use crate::vocab::TokenId;

/// The bytes of an id in the lower 15, their number in the highest. For more bytes:
/// [`LONG`], with the place in the slab and the number.
type Entry = u128;

/// Bytes of an entry.
const WIDTH: usize = size_of::<Entry>();
/// More bytes than an entry holds.
const LONG: u8 = 0xFE;
/// No token.
const MISSING: u8 = 0xFF;
/// Ids between two looks at the output.
const BLOCK: usize = 512;
/// The same for few ids: to clear the room for a block takes longer than to look these up.
const SHORT_BLOCK: usize = 32;

/// The bytes of ids.
pub(crate) struct TokenTable {
    entries: Vec<Entry>,
    slab: Vec<u8>,
}

impl TokenTable {
    /// The table of `n_ids` ids; `bytes_of` writes those of an id, or says `false`.
    pub(crate) fn new(n_ids: usize, mut bytes_of: impl FnMut(TokenId, &mut Vec<u8>) -> bool) -> Self {
        let mut table = Self { entries: Vec::with_capacity(n_ids), slab: Vec::new() };
        let mut bytes = Vec::new();
        for id in 0..n_ids {
            bytes.clear();
            let known = bytes_of(id as TokenId, &mut bytes);
            let entry = if known { table.entry(&bytes) } else { marked(MISSING) };
            table.entries.push(entry);
        }
        table.slab.shrink_to_fit();
        table
    }

    fn entry(&mut self, bytes: &[u8]) -> Entry {
        let mut entry = [0; WIDTH];
        if bytes.len() < WIDTH {
            entry[..bytes.len()].copy_from_slice(bytes);
            return Entry::from_le_bytes(entry) | marked(bytes.len() as u8);
        }
        let (Ok(start), Ok(len)) = (u32::try_from(self.slab.len()), u32::try_from(bytes.len())) else {
            return marked(MISSING); // beyond 4 GiB they are decoded one by one
        };
        self.slab.extend_from_slice(bytes);
        marked(LONG) | Entry::from(start) | Entry::from(len) << 32
    }

    /// The number of bytes of ids, without unknown ids.
    pub(crate) fn n_bytes(&self, ids: &[TokenId]) -> usize {
        let of_id = |&id: &TokenId| match self.entries.get(id as usize) {
            Some(&entry) => match (entry >> 120) as u8 {
                LONG => (entry >> 32) as u32 as usize,
                MISSING => 0,
                len => usize::from(len),
            },
            None => 0,
        };
        ids.iter().map(of_id).sum()
    }

    /// Appends the bytes of ids up to the first that it does not know; returns how
    /// many ids these are.
    ///
    /// # Errors
    /// Where there is not enough memory.
    pub(crate) fn push(&self, ids: &[TokenId], out: &mut Vec<u8>) -> Result<usize, TryReserveError> {
        if ids.len() <= SHORT_BLOCK {
            return self.push_blocks(ids, &mut [0; SHORT_BLOCK * WIDTH], out);
        }
        self.push_blocks(ids, &mut [0; BLOCK * WIDTH], out)
    }

    /// The same in blocks of as many ids as `buffer` has room for.
    #[inline]
    fn push_blocks<const N: usize>(
        &self,
        ids: &[TokenId],
        buffer: &mut [u8; N],
        out: &mut Vec<u8>,
    ) -> Result<usize, TryReserveError> {
        let mut done = 0;
        while done < ids.len() {
            let block = &ids[done..ids.len().min(done + N / WIDTH)];
            let (mut n, mut at) = (0, 0);
            let mut odd = None;
            for &id in block {
                let entry = self.entries.get(id as usize).copied().unwrap_or(marked(MISSING));
                let len = usize::from((entry >> 120) as u8);
                // As an array, so that it is one store and no call.
                let to = buffer.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<WIDTH>());
                let (true, Some(to)) = (len < WIDTH, to) else {
                    odd = Some(entry);
                    break;
                };
                *to = entry.to_le_bytes();
                at += len;
                n += 1;
            }
            out.try_reserve(at)?;
            out.extend_from_slice(&buffer[..at]);
            done += n;
            let Some(entry) = odd else { continue };
            if (entry >> 120) as u8 != LONG {
                return Ok(done);
            }
            let (start, len) = (entry as u32 as usize, (entry >> 32) as u32 as usize);
            let bytes = self.slab.get(start..start + len).unwrap_or_default();
            out.try_reserve(bytes.len())?;
            out.extend_from_slice(bytes);
            done += 1;
        }
        Ok(done)
    }
}

/// An entry with nothing but its highest byte.
const fn marked(byte: u8) -> Entry {
    (byte as Entry) << 120
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_their_bytes_one_after_the_other() {
        let tokens: [&[u8]; 7] =
            [b"a", b"", b"fifteen bytes..", b"sixteen bytes...", "é".as_bytes(), &[7; 5000], b"end"];
        let table = TokenTable::new(8, |id, out| {
            let token = tokens.get(id as usize).filter(|_| id != 4);
            out.extend_from_slice(token.copied().unwrap_or_default());
            token.is_some()
        });
        let many: Vec<TokenId> = (0..3000).map(|n| [0, 1, 2, 3, 5, 6][n * n % 6]).collect();
        for ids in [&[][..], &[6, 2, 0, 1, 3, 3, 6], &[0, 4, 0], &[4], &[7, 0], &[9, 0], &[5; 3], &many] {
            let mut bytes = b"before".to_vec();
            let n = table.push(ids, &mut bytes).unwrap();
            let known = ids.iter().map_while(|&id| tokens.get(id as usize).filter(|_| id != 4).copied());
            let known: Vec<&[u8]> = known.collect();
            assert_eq!(table.n_bytes(&ids[..n]), bytes.len() - 6);
            assert_eq!((n, bytes), (known.len(), [b"before", &known.concat()[..]].concat()), "{ids:?}");
        }
    }
}
