//! `ShortMerge`: merges at most 16 symbols, most pieces that no cache knows.
//!
//! Nothing moves and nothing is linked: which symbols are left are the bits of a
//! word, in which a neighbour is the next bit. Rank and place of a merge are one
//! number, so the lowest rank, leftmost among equals, is the least of them.
//!
//! Each merge asks for the pairs around its result and waits for the memory, so
//! several pieces are merged in parallel, alternately a merge of each; where one ends,
//! the next begins. So vectors can compare the numbers: the numbers that a turn writes were
//! written long before the piece's next turn reads them.

use super::pairs::{Merged, PairTable};
use super::{Bpe, Unit};
use crate::vocab::TokenId;

/// The most symbols.
pub(super) const MOST: usize = 16;

/// The pieces that are merged in parallel.
pub(super) const AT_ONCE: usize = 8;

/// The greatest rank that fits in a word with a place.
pub(super) const GREATEST_RANK: u32 = (NEVER as u32 >> PLACE_BITS) - 1;

const PLACE_BITS: u32 = MOST.trailing_zeros();
const PLACE: usize = MOST - 1;
/// The number of a place where nothing merges.
const NEVER: i32 = i32::MAX;

/// Symbols while they are merged.
#[derive(Clone, Copy)]
pub(super) struct ShortMerge {
    ids: [TokenId; MOST],
    /// Rank and place of the merge with the symbol after, and its result.
    keys: [i32; MOST],
    into: [TokenId; MOST],
    len: usize,
    /// The places of the symbols that are left, each a bit.
    left_over: u32,
    /// Where the last merge was.
    merged: usize,
    /// The number that its caller gave it.
    pub(super) number: usize,
}

/// The pieces that are merged in parallel.
pub(super) trait Pieces {
    /// Puts the next one in a place; `false` if there is none left.
    fn next(&mut self, place: &mut ShortMerge) -> bool;

    /// Takes what a piece became.
    fn done(&mut self, merged: &ShortMerge);
}

impl Default for ShortMerge {
    fn default() -> Self {
        Self {
            ids: [0; MOST],
            keys: [NEVER; MOST],
            into: [0; MOST],
            len: 0,
            left_over: 0,
            merged: 0,
            number: 0,
        }
    }
}

impl ShortMerge {
    /// Empties the piece.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a symbol; one past the last place takes the place of the last.
    #[inline(always)]
    pub(super) fn push(&mut self, id: TokenId) {
        self.ids[self.len & PLACE] = id;
        self.len += 1;
    }

    /// Merges until no pair is left to merge; returns the places of the symbols
    /// that are left, each a bit. No rank is above [`GREATEST_RANK`].
    #[inline]
    pub(super) fn merge(&mut self, pairs: &PairTable) -> u32 {
        let mut least = self.begin(pairs);
        while least != NEVER {
            self.merge_at(least, pairs);
            least = self.look_around(pairs);
        }
        self.left_over
    }

    /// Merges pieces in parallel until none is left. No rank is above
    /// [`GREATEST_RANK`].
    #[inline(always)]
    pub(super) fn merge_each(places: &mut [Self; AT_ONCE], pairs: &PairTable, pieces: &mut impl Pieces) {
        let mut n = 0;
        while n < AT_ONCE && places[n].start(pairs, pieces) {
            n += 1;
        }
        while n > 0 {
            let mut at = 0;
            while at < n {
                let place = &mut places[at];
                let least = place.look_around(pairs);
                if least != NEVER {
                    place.merge_at(least, pairs);
                    at += 1;
                    continue;
                }
                pieces.done(place);
                if place.start(pairs, pieces) {
                    at += 1;
                } else {
                    n -= 1;
                    places.swap(at, n);
                }
            }
        }
    }

    /// Takes the next piece in which something merges, and does its first merge; `false` if
    /// there is none left.
    #[inline(always)]
    fn start(&mut self, pairs: &PairTable, pieces: &mut impl Pieces) -> bool {
        while pieces.next(self) {
            let least = self.begin(pairs);
            if least != NEVER {
                self.merge_at(least, pairs);
                return true;
            }
            pieces.done(self);
        }
        false
    }

    /// Looks up all pairs; returns the least number.
    #[inline(always)]
    fn begin(&mut self, pairs: &PairTable) -> i32 {
        let n = self.len.min(MOST);
        self.left_over = if n == 0 { 0 } else { u32::MAX >> (32 - n) };
        self.keys = [NEVER; MOST];
        let mut least = NEVER;
        for at in 1..n {
            let key = self.set(at - 1, pairs.get(self.ids[at - 1], self.ids[at]));
            least = least.min(key);
        }
        least
    }

    /// Does the merge that comes first, and asks for the memory of the pairs around its
    /// result.
    #[inline(always)]
    fn merge_at(&mut self, least: i32, pairs: &PairTable) {
        let at = least as usize & PLACE;
        let id = self.into[at];
        self.ids[at] = id;
        self.merged = at;
        self.keys[at] = NEVER;
        let behind = self.left_over & (u32::MAX << 1 << at);
        let after = behind & behind.wrapping_sub(1);
        self.left_over ^= behind ^ after;
        self.keys[behind.trailing_zeros() as usize & PLACE] = NEVER;
        if let Some(after) = self.after() {
            pairs.prefetch(id, self.ids[after]);
        }
        if let Some(before) = self.before() {
            self.keys[before] = NEVER;
            pairs.prefetch(self.ids[before], id);
        }
    }

    /// Looks up the pairs around the last merge's result; returns the least number.
    #[inline(always)]
    fn look_around(&mut self, pairs: &PairTable) -> i32 {
        let id = self.ids[self.merged];
        // Read before numbers are written: vectors would wait for these.
        let mut least = least(&self.keys);
        if let Some(after) = self.after() {
            let key = self.set(self.merged, pairs.get(id, self.ids[after]));
            least = least.min(key);
        }
        if let Some(before) = self.before() {
            let key = self.set(before, pairs.get(self.ids[before], id));
            least = least.min(key);
        }
        least
    }

    /// The place of the symbol after the last merge's result.
    #[inline(always)]
    fn after(&self) -> Option<usize> {
        let after = self.left_over & (u32::MAX << 1 << self.merged);
        (after != 0).then(|| after.trailing_zeros() as usize & PLACE)
    }

    /// The place of the symbol before it.
    #[inline(always)]
    fn before(&self) -> Option<usize> {
        let before = self.left_over & !(u32::MAX << self.merged);
        (before != 0).then(|| (u32::BITS - 1 - before.leading_zeros()) as usize & PLACE)
    }

    /// The ids of the symbols that are left, in order; returns how many these are.
    #[inline(always)]
    pub(super) fn write(&self, out: &mut [TokenId]) -> usize {
        let mut left_over = self.left_over;
        let n = left_over.count_ones() as usize;
        for to in out.iter_mut().take(n) {
            *to = self.ids[left_over.trailing_zeros() as usize & PLACE];
            left_over &= left_over.wrapping_sub(1);
        }
        n
    }

    /// Notes the merge of a place with the one after; returns its number.
    #[inline(always)]
    fn set(&mut self, at: usize, merged: Merged) -> i32 {
        let key = (merged.rank << PLACE_BITS) as i32 | at as i32;
        let key = if merged.rank > GREATEST_RANK { NEVER } else { key };
        self.keys[at] = key;
        self.into[at] = merged.id;
        key
    }
}

/// The least of all numbers.
#[inline(always)]
fn least(keys: &[i32; MOST]) -> i32 {
    let mut least = *keys;
    let mut half = MOST / 2;
    while half > 0 {
        for lane in 0..half {
            least[lane] = least[lane].min(least[lane + half]);
        }
        half /= 2;
    }
    least[0]
}

/// The kind of the symbols of a piece, if all of them are tokens.
pub(super) enum SymbolKind {
    Bytes,
    Chars,
    /// Neither, or not only: pieces are encoded one by one.
    Other,
}

/// Takes pieces apart.
pub(super) trait Units {
    /// Takes in a piece of at most [`MOST`] bytes; `false` if a symbol is not a token.
    fn push(&self, bpe: &Bpe, piece: &[u8], merge: &mut ShortMerge) -> bool;
}

/// All bytes are tokens.
pub(super) struct Bytes;

/// Characters may be tokens.
pub(super) struct Chars;

impl Units for Bytes {
    #[inline(always)]
    fn push(&self, bpe: &Bpe, piece: &[u8], merge: &mut ShortMerge) -> bool {
        merge.clear();
        piece.iter().for_each(|&byte| merge.push(bpe.byte_ids[usize::from(byte)]));
        true
    }
}

impl Units for Chars {
    #[inline(always)]
    fn push(&self, bpe: &Bpe, piece: &[u8], merge: &mut ShortMerge) -> bool {
        merge.clear();
        let Ok(text) = std::str::from_utf8(piece) else { return false };
        text.chars().all(|c| {
            let id = bpe.char_id(c);
            id.inspect(|&id| merge.push(id)).is_some()
        })
    }
}

impl Bpe {
    /// The kind of symbols, if pieces become the results of merging.
    #[inline(always)]
    pub(super) fn symbol_kind(&self) -> SymbolKind {
        if self.pairs.greatest_rank() > GREATEST_RANK {
            SymbolKind::Other
        } else if self.plain_bytes {
            SymbolKind::Bytes
        } else if self.has_plain_chars() {
            SymbolKind::Chars
        } else {
            SymbolKind::Other
        }
    }

    fn has_plain_chars(&self) -> bool {
        self.options.unit == Unit::Chars
            && !self.emits_whole_tokens()
            && !self.has_affixes()
            && self.scored.as_ref().is_none_or(|scored| scored.merges_chars_only())
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge::Symbols;
    use super::*;
    use crate::text::simd::{Kernel, Level, Load};

    /// Pieces, and what became of each.
    struct Listed {
        left: std::ops::Range<usize>,
        symbols: Vec<Vec<TokenId>>,
        merged: Vec<Vec<TokenId>>,
    }

    fn written(merge: &ShortMerge) -> Vec<TokenId> {
        let mut ids = [0; MOST];
        let n = merge.write(&mut ids);
        ids[..n].to_vec()
    }

    fn filled(place: &mut ShortMerge, symbols: &[TokenId]) {
        place.clear();
        symbols.iter().for_each(|&id| place.push(id));
    }

    impl Pieces for Listed {
        fn next(&mut self, place: &mut ShortMerge) -> bool {
            let Some(number) = self.left.next() else { return false };
            filled(place, &self.symbols[number]);
            place.number = number;
            true
        }

        fn done(&mut self, merged: &ShortMerge) {
            assert!(self.merged[merged.number].is_empty(), "done twice");
            self.merged[merged.number] = written(merged);
        }
    }

    /// Pieces in parallel, for any form.
    struct Merging<'a> {
        places: &'a mut [ShortMerge; AT_ONCE],
        pairs: &'a PairTable,
        listed: &'a mut Listed,
    }

    impl Kernel for Merging<'_> {
        #[inline(always)]
        fn run(self, _: impl Load) {
            ShortMerge::merge_each(self.places, self.pairs, self.listed);
        }
    }

    #[test]
    fn ranks_of_any_size_merge_alike() {
        for lowest in [0, GREATEST_RANK - 5, GREATEST_RANK, u32::MAX - 6] {
            let mut pairs = PairTable::with_capacity(0);
            for (n, (left, right)) in [(1, 2), (5, 2), (2, 1), (5, 5), (1, 5)].into_iter().enumerate() {
                pairs.insert(left, right, Merged { rank: lowest + n as u32, id: 5 });
            }
            let mut symbols = Symbols::default();
            [1, 2, 1, 2, 2, 1, 1, 2].into_iter().for_each(|id| symbols.push(id, 1));
            symbols.merge(&pairs);
            assert_eq!(symbols.ids, [5], "{lowest}");
        }
    }

    #[test]
    fn ids_merge_as_symbols_do() {
        let mut state = 5_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut pairs = PairTable::with_capacity(0);
        for rank in 0..60 {
            pairs.insert(random(30), random(30), Merged { rank, id: random(40) });
        }
        let mut n_merged = 0;
        for n in (0..2 * MOST).cycle().take(3000) {
            let run: Vec<TokenId> = (0..n).map(|_| random(30)).collect();
            let (mut symbols, mut ids) = (Symbols::default(), run.clone());
            let n_ids = symbols.merge_in_place(&mut ids, &pairs);
            symbols.clear();
            run.iter().for_each(|&id| symbols.push(id, 0));
            symbols.merge_down_to(1, &pairs).unwrap();
            assert_eq!(ids[..n_ids], symbols.ids, "{run:?}");
            n_merged += n - symbols.ids.len();
        }
        assert!(n_merged > 500, "{n_merged}");
    }

    #[test]
    fn side_by_side_is_one_by_one() {
        let mut state = 7_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut pairs = PairTable::with_capacity(0);
        for rank in 0..400 {
            let (left, right) = (240 + random(40), 240 + random(40));
            pairs.insert(left, right, Merged { rank, id: 240 + random(50) });
        }
        for n_pieces in (0..40).chain([500]) {
            let symbols: Vec<Vec<TokenId>> = (0..n_pieces)
                .map(|_| (0..=random(MOST as u32 - 1)).map(|_| 240 + random(40)).collect())
                .collect();
            let mut places = [ShortMerge::default(); AT_ONCE];
            let one_by_one: Vec<Vec<TokenId>> = symbols
                .iter()
                .map(|symbols| {
                    filled(&mut places[0], symbols);
                    places[0].merge(&pairs);
                    written(&places[0])
                })
                .collect();
            for level in Level::all() {
                let merged = vec![Vec::new(); n_pieces];
                let mut listed = Listed { left: 0..n_pieces, merged, symbols: symbols.clone() };
                level.run(Merging { places: &mut places, pairs: &pairs, listed: &mut listed });
                assert_eq!(listed.merged, one_by_one, "{}", level.name());
            }
            assert!(n_pieces < 500 || one_by_one.iter().zip(&symbols).any(|(a, b)| a.len() + 3 < b.len()));
        }
    }
}
