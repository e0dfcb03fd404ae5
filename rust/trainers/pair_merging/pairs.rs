//! `Pairs`: the frequent pairs with their counts and positions. (`window` and `scan` handle the
//! rare pairs, which are most, without storing them.)

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::memory::{self, MakeRoom};
use crate::vocab::TokenId;

/// A frequent pair.
#[derive(Default)]
pub(crate) struct FrequentPair {
    /// The current count.
    pub(crate) count: u64,
    /// The positions recorded when the pair first appeared. Some may be stale.
    pub(crate) positions: Positions,
}

/// A pair that may be merged next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The count at the last check. The current count may be lower.
    pub(crate) count: u64,
    pub(crate) left: TokenId,
    pub(crate) right: TokenId,
    /// The number of the pair in [`Pairs`].
    pub(crate) index: u32,
}

/// Ascending positions. Most pairs have a single one, which needs no list.
pub(crate) enum Positions {
    One(u32),
    Many(Vec<u32>),
}

impl Default for Positions {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Positions {
    /// An empty list with memory for `n` positions.
    pub(super) fn with_room(n: usize) -> Result<Self> {
        Ok(Self::Many(if n > 1 { memory::reserved(n)? } else { Vec::new() }))
    }

    #[inline]
    pub(crate) fn push(&mut self, position: u32) -> Result<()> {
        match self {
            Self::Many(list) if list.len() < list.capacity() => {
                list.push(position);
                Ok(())
            }
            _ => self.grow(position),
        }
    }

    /// Adds a position when the list must grow; not inlined, so that loops that push stay small.
    #[inline(never)]
    fn grow(&mut self, position: u32) -> Result<()> {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, position]),
            Self::Many(list) if list.capacity() == 0 => *self = Self::One(position),
            Self::Many(list) => memory::push(list, position)?,
        }
        Ok(())
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(position) => std::slice::from_ref(position),
            Self::Many(list) => list,
        }
    }

    pub(crate) fn append(&mut self, others: &Self) -> Result<()> {
        others.as_slice().iter().try_for_each(|&position| self.push(position))
    }

    fn shrink_to_fit(&mut self) {
        if let Self::Many(list) = self {
            list.shrink_to_fit();
        }
    }
}

/// Frequent pairs, with an index from pair to number.
#[derive(Default)]
pub(crate) struct Pairs {
    list: Vec<FrequentPair>,
    index: FxHashMap<u64, u32>,
}

/// The key of a pair.
#[inline]
pub(crate) fn key(left: TokenId, right: TokenId) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The pair of a key.
#[inline]
pub(crate) fn parts(key: u64) -> (TokenId, TokenId) {
    ((key >> 32) as TokenId, key as TokenId)
}

impl Pairs {
    /// The number of pairs ever added. All numbers of pairs are lower.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The current count of the pair with this number; 0 if it was removed.
    #[inline]
    pub(crate) fn count(&self, index: u32) -> u64 {
        self.list[index as usize].count
    }

    #[inline]
    pub(super) fn get_mut(&mut self, left: TokenId, right: TokenId) -> Option<&mut FrequentPair> {
        self.index.get(&key(left, right)).map(|&index| &mut self.list[index as usize])
    }

    /// The pair, added if it is new. Inlined, because it is called at each position.
    #[inline(always)]
    pub(super) fn entry(&mut self, left: TokenId, right: TokenId) -> Result<&mut FrequentPair> {
        let Self { list, index } = self;
        index.make_room(1)?;
        list.make_room(1)?;
        let at = *index.entry(key(left, right)).or_insert_with(|| {
            list.push(FrequentPair::default());
            list.len() as u32 - 1
        });
        Ok(&mut list[at as usize])
    }

    /// Adds a pair and returns its number.
    pub(super) fn insert(&mut self, left: TokenId, right: TokenId, pair: FrequentPair) -> Result<u32> {
        let number = self.list.len() as u32;
        self.index.make_room(1)?;
        memory::push(&mut self.list, pair)?;
        self.index.insert(key(left, right), number);
        Ok(number)
    }

    #[inline]
    pub(super) fn push_position(&mut self, index: u32, position: u32) -> Result<()> {
        self.list[index as usize].positions.push(position)
    }

    /// Removes a pair and returns its positions.
    pub(crate) fn remove(&mut self, pair: Candidate) -> Positions {
        // The pair may have been added again under another number.
        if let Entry::Occupied(known) = self.index.entry(key(pair.left, pair.right))
            && *known.get() == pair.index
        {
            known.remove();
        }
        std::mem::take(&mut self.list[pair.index as usize]).positions
    }

    /// Removes all pairs of a token; calls `forgotten` with their numbers.
    pub(super) fn forget(&mut self, id: TokenId, mut forgotten: impl FnMut(u32)) {
        let Self { list, index } = self;
        index.retain(|&key, &mut number| {
            let (left, right) = parts(key);
            let stays = left != id && right != id;
            if !stays {
                list[number as usize] = FrequentPair::default();
                forgotten(number);
            }
            stays
        });
    }

    /// All pairs, in any order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Candidate> {
        self.index.iter().map(|(&key, &index)| {
            let (left, right) = parts(key);
            Candidate { count: self.count(index), left, right, index }
        })
    }

    /// All pairs, by value.
    pub(super) fn into_each(mut self) -> impl Iterator<Item = (TokenId, TokenId, FrequentPair)> {
        self.index.into_iter().map(move |(key, number)| {
            let (left, right) = parts(key);
            (left, right, std::mem::take(&mut self.list[number as usize]))
        })
    }

    /// Keeps the pairs with at least this count and frees the memory of the rest.
    pub(super) fn keep(self, least: u64) -> Result<Self> {
        let Self { mut list, mut index } = self;
        let n_kept = index.values().filter(|&&number| list[number as usize].count >= least).count();
        let mut kept = memory::reserved(n_kept)?;
        index.retain(|_, number| {
            let mut pair = std::mem::take(&mut list[*number as usize]);
            if pair.count < least {
                return false;
            }
            pair.positions.shrink_to_fit();
            *number = kept.len() as u32;
            kept.push(pair);
            true
        });
        index.shrink_to_fit();
        Ok(Self { list: kept, index })
    }
}
