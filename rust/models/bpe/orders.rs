//! From an order of merging to the table of pairs.

use super::PARALLEL_TOKENS;
use super::pairs::{Merged, PairTable};
use crate::error::{Error, Result};
use crate::parallel;
use crate::text::trie::sorted;
use crate::vocab::{TokenId, Vocab};

/// All ways to cut a token into two tokens, ranked by the token's id.
///
/// Every token that begins another is its longest such beginning, or begins
/// that; so one search a token finds them all, as a chain, and likewise for
/// endings. A cut is a beginning and an ending whose lengths make up the whole.
/// There are at most as many as bytes; time is that of sorting the tokens.
pub(super) fn by_rank(vocab: &Vocab) -> PairTable {
    let heads =
        || longest_beginnings(vocab.iter().map(|(id, bytes)| (bytes, id)).collect(), vocab.id_limit());
    let tails = || longest_endings(vocab);
    let (heads, tails) =
        if vocab.len() < PARALLEL_TOKENS { (heads(), tails()) } else { parallel::both(heads, tails) };
    let len = |id: TokenId| vocab.bytes(id).map_or(0, <[u8]>::len);
    let cuts = |ids: std::ops::Range<usize>| -> Vec<(TokenId, TokenId, TokenId)> {
        let mut cuts = Vec::with_capacity(ids.len() * 9 / 4);
        let mut endings = Vec::new();
        for id in ids.map(|id| id as TokenId) {
            let whole = len(id);
            endings.clear();
            endings.extend(chain(&tails, id).map(|right| (right, len(right))));
            // Beginnings become shorter, the endings that fit them longer.
            for left in chain(&heads, id) {
                let rest = whole - len(left);
                while endings.last().is_some_and(|&(_, len)| len < rest) {
                    endings.pop();
                }
                if let Some(&(right, len)) = endings.last()
                    && len == rest
                {
                    cuts.push((left, right, id));
                }
            }
        }
        cuts
    };
    let found = parallel::in_chunks(vocab.id_limit(), PARALLEL_TOKENS, cuts);
    let mut pairs = PairTable::with_capacity(found.iter().map(Vec::len).sum());
    for (left, right, id) in found.into_iter().flatten() {
        pairs.insert(left, right, Merged { rank: id, id });
    }
    pairs
}

/// The longest other token that each token begins with, by id; `TokenId::MAX`
/// where there is none.
///
/// In the order of bytes, the prefixes of a token come before it, and so does everything
/// that begins with them: the earlier tokens that are left on a stack are the
/// prefixes of the one that comes next.
fn longest_beginnings(tokens: Vec<(&[u8], TokenId)>, id_limit: usize) -> Vec<TokenId> {
    let mut longest = vec![TokenId::MAX; id_limit];
    let mut stack: Vec<(&[u8], TokenId)> = Vec::new();
    for (bytes, id) in sorted(tokens) {
        while stack.pop_if(|(begins, _)| !bytes.starts_with(begins)).is_some() {}
        longest[id as usize] = stack.last().map_or(TokenId::MAX, |last| last.1);
        if !bytes.is_empty() {
            stack.push((bytes, id));
        }
    }
    longest
}

/// As [`longest_beginnings`], of the other end.
fn longest_endings(vocab: &Vocab) -> Vec<TokenId> {
    let mut backwards = Vec::new();
    let mut ends = Vec::with_capacity(vocab.len());
    for (id, bytes) in vocab.iter() {
        backwards.extend(bytes.iter().rev());
        ends.push((id, backwards.len()));
    }
    let mut start = 0;
    let tokens = ends.into_iter().map(|(id, end)| (&backwards[std::mem::replace(&mut start, end)..end], id));
    longest_beginnings(tokens.collect(), vocab.id_limit())
}

/// What `next` leads to from an id, one after the other.
fn chain(next: &[TokenId], from: TokenId) -> impl Iterator<Item = TokenId> {
    let step = |id: &TokenId| Some(next[*id as usize]).filter(|&id| id != TokenId::MAX);
    std::iter::successors(step(&from), step)
}

pub(super) fn by_list(vocab: &Vocab, merges: &[(TokenId, TokenId)], prefix: &str) -> Result<PairTable> {
    let mut pairs = PairTable::with_capacity(merges.len());
    let mut joined = Vec::new();
    let mut next: TokenId = 0;
    for (rank, &(left, right)) in merges.iter().enumerate() {
        let place = || format!("$.model.merges[{rank}]");
        let (Some(left_bytes), Some(right_bytes)) = (vocab.bytes(left), vocab.bytes(right)) else {
            return Err(Error::format(
                place(),
                format!("ids {left} and {right} are not both in the vocabulary"),
            ));
        };
        joined.clear();
        joined.extend_from_slice(left_bytes);
        joined.extend_from_slice(right_bytes.strip_prefix(prefix.as_bytes()).unwrap_or(right_bytes));
        // Most lists are in the order of their results.
        next = next.saturating_add(1);
        let id = if vocab.bytes(next) == Some(&joined) { Some(next) } else { vocab.id(&joined) };
        let Some(id) = id else {
            return Err(Error::format(
                place(),
                format!("its result {:?} is not in the vocabulary", String::from_utf8_lossy(&joined)),
            ));
        };
        let Ok(rank) = u32::try_from(rank) else {
            return Err(Error::format(place(), "more than 2^32 merges"));
        };
        pairs.insert(left, right, Merged { rank, id });
        next = id;
    }
    Ok(pairs)
}
