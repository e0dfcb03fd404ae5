//! `LongPieces`: the ids of pieces that are too long for a key.
//!
//! Indentation, rules of `=`, words of other scripts: few, but each merge of one
//! costs as much as a hundred look-ups. Bounded: when it is full, all is
//! forgotten. Filled only by running the model. Pieces with a key are in
//! [`PretokenCache`](crate::cache::pretoken_cache::PretokenCache).

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::memory::MakeRoom;
use crate::vocab::TokenId;

/// The longest piece that is kept.
const MAX_LEN: usize = 256;
/// How many pieces are kept: as many as a table of 2^15 places holds.
const MOST_PIECES: usize = (1 << 15) / 8 * 7;
/// How many bytes of pieces are kept, and how many ids: 1 MiB each.
const MOST_BYTES: usize = 1 << 20;
const MOST_IDS: usize = 1 << 18;

struct Entry {
    /// The hash of the bytes, without which many would be compared in vain.
    hash: u64,
    bytes: u32,
    ids: u32,
    len: u16,
    n_ids: u16,
}

/// A bounded map from long pieces, whole ones and runs inside, to their ids;
/// belongs to one thread and one model. Without it a repeated pass over many scripts takes 1.35 (cl100k) and
/// 1.14 (BERT) times as long.
#[derive(Default)]
pub(crate) struct LongPieces {
    index: HashTable<Entry>,
    hasher: DefaultHashBuilder,
    bytes: Vec<u8>,
    ids: Vec<TokenId>,
}

impl LongPieces {
    /// Appends the ids of a piece, cached ones or the ones that `encode` makes;
    /// `is_run` marks runs inside pieces, in contrast to whole pieces.
    pub(crate) fn encode(
        &mut self,
        piece: &[u8],
        is_run: bool,
        ids: &mut Vec<TokenId>,
        encode: impl FnOnce(&mut Vec<TokenId>),
    ) {
        let Self { index, hasher, bytes, ids: known } = self;
        if piece.len() > MAX_LEN {
            return encode(ids);
        }
        let hash = hasher.hash_one((piece, is_run));
        let found = index.find(hash, |entry| {
            let start = entry.bytes as usize;
            entry.hash == hash && &bytes[start..start + usize::from(entry.len)] == piece
        });
        if let Some(entry) = found {
            let start = entry.ids as usize;
            ids.extend_from_slice(&known[start..start + usize::from(entry.n_ids)]);
            return;
        }
        let from = ids.len();
        encode(ids);
        let new = &ids[from..];
        let (Ok(len), Ok(n_ids)) = (u16::try_from(piece.len()), u16::try_from(new.len())) else { return };
        if index.len() >= MOST_PIECES
            || bytes.len() + piece.len() > MOST_BYTES
            || known.len() + new.len() > MOST_IDS
        {
            index.clear();
            bytes.clear();
            known.clear();
        }
        let entry = Entry { hash, bytes: bytes.len() as u32, ids: known.len() as u32, len, n_ids };
        // Without memory for it, the piece is not cached.
        let has_room = index.try_reserve(1, |entry| entry.hash).is_ok()
            && bytes.make_room(piece.len()).is_ok()
            && known.make_room(new.len()).is_ok();
        if !has_room {
            return;
        }
        index.insert_unique(hash, entry, |entry| entry.hash);
        bytes.extend_from_slice(piece);
        known.extend_from_slice(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_made() {
        let mut long = LongPieces::default();
        let mut n_made = 0;
        let mut ask = |piece: &[u8], is_run: bool, expected: &[TokenId]| {
            let mut ids = vec![9];
            long.encode(piece, is_run, &mut ids, |ids| {
                n_made += 1;
                ids.extend_from_slice(expected);
            });
            assert_eq!(ids, [&[9], expected].concat());
            n_made
        };
        let piece = [b'='; 40];
        for _ in 0..3 {
            assert_eq!(ask(&piece, false, &[1, 2]), 1);
        }
        // A run of the same bytes, a part of them, and one too long to be kept.
        assert_eq!(ask(&piece, true, &[3]), 2);
        assert_eq!(ask(&piece[1..], false, &[]), 3);
        for n_made in 4..7 {
            assert_eq!(ask(&[b'='; MAX_LEN + 1], false, &[4]), n_made);
        }
        assert_eq!(ask(&piece[1..], false, &[]), 6);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for n_ids in [1, 200] {
            let mut long = LongPieces::default();
            let ids_of = |n: usize| vec![n as TokenId; n_ids];
            for n in 0..3 * MOST_PIECES {
                let piece = format!("{n:0>32}").repeat(1 + n % 4);
                let mut ids = Vec::new();
                long.encode(piece.as_bytes(), false, &mut ids, |ids| ids.extend(ids_of(n)));
                assert_eq!(ids, ids_of(n));
            }
            assert!(!long.index.is_empty() && long.index.len() <= MOST_PIECES);
            assert!(long.bytes.len() <= MOST_BYTES && long.ids.len() <= MOST_IDS);
        }
    }
}
