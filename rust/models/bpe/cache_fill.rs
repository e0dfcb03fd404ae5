//! `Misses`: encodes the pieces that are not in a worker's cache.
//!
//! Short pieces are asked for together: memory is waited for once, not once a piece. Long
//! pieces are cut into runs, which have their own keys, as they are merged, never taken
//! whole.

use std::ops::Range;

use super::Bpe;
use super::merge::Symbols;
use super::short_merge::{self, Bytes, Chars, ShortMerge, SymbolKind, Units};
use crate::cache::long_pieces::LongPieces;
use crate::cache::piece_table::{Key, MAX_KEY, key, key_of_piece};
use crate::cache::pretoken_cache::{self, PretokenCache};
use crate::text::Piece;
use crate::text::simd::{Kernel, Level, Load};
use crate::vocab::TokenId;

/// Marks the key of a run inside a piece: it is merged, never taken whole, as no token's key
/// has this bit.
const RUN: Key = 1 << 127;

/// Encodes the pieces that are not in the cache.
pub(super) struct Misses<'a> {
    pub(super) bpe: &'a Bpe,
    pub(super) symbols: &'a mut Symbols,
    pub(super) long: &'a mut LongPieces,
    /// Where the runs of a piece end.
    pub(super) runs: &'a mut Vec<u32>,
}

impl pretoken_cache::Misses for Misses<'_> {
    fn short(&mut self, key: Key, ids: &mut Vec<TokenId>) {
        let bytes = (key & !RUN).to_le_bytes();
        self.bpe.encode_piece(&bytes[..usize::from(bytes[MAX_KEY])], key & RUN != 0, self.symbols);
        ids.extend_from_slice(&self.symbols.ids);
    }

    #[inline(always)]
    fn announce(&self, key: Key) {
        if let Some(tokens) = &self.bpe.symbols.tokens {
            tokens.prefetch(key);
        }
    }

    fn learn(&mut self, cache: &mut PretokenCache, n: usize) {
        match self.bpe.symbol_kind() {
            SymbolKind::Bytes => Level::best().run(Learn { misses: self, cache, n, units: Bytes }),
            SymbolKind::Chars => Level::best().run(Learn { misses: self, cache, n, units: Chars }),
            SymbolKind::Other => self.learn_each(cache, 0..n),
        }
    }

    fn keyless(&mut self, text: &[u8], part: Piece, ids: &mut Vec<TokenId>) {
        self.encode_long(&text[part.range()], true, ids);
    }

    #[inline(never)]
    fn long(
        &mut self,
        cache: &mut PretokenCache,
        text: &[u8],
        Piece { start, end }: Piece,
        ids: &mut Vec<TokenId>,
    ) {
        let piece = &text[start as usize..end as usize];
        let mut n = self.find_runs(piece, 0);
        if n.is_none() || self.runs[0] as usize == piece.len() {
            return self.encode_long(piece, false, ids);
        }
        let (from, mut done) = (ids.len(), 0);
        while let Some(n_runs) = n {
            let runs = std::mem::take(self.runs);
            match self.bpe.fused_unk() {
                Some(unk) => {
                    for &end in &runs[..n_runs] {
                        self.encode_fused(cache, &piece[done..end as usize], unk, from, ids);
                        done = end as usize;
                    }
                }
                None => {
                    let parts = runs[..n_runs].iter().map(|end| {
                        let part = Piece { start: start + done as u32, end: start + end };
                        done = *end as usize;
                        part
                    });
                    let key_of = |part| key_of_piece(text, part) | RUN;
                    cache.encode_parts(text, parts, |_| None, key_of, ids, self);
                }
            }
            *self.runs = runs;
            n = if done < piece.len() { self.find_runs(piece, done) } else { None };
        }
    }
}

/// The unknown pieces of a chunk that are not tokens, by their numbers.
struct Unknown<'a, U> {
    bpe: &'a Bpe,
    cache: &'a mut PretokenCache,
    left: Range<usize>,
    units: U,
    /// Those whose symbols are not all tokens.
    others: Vec<usize>,
}

impl<U: Units> short_merge::Pieces for Unknown<'_, U> {
    #[inline(always)]
    fn next(&mut self, place: &mut ShortMerge) -> bool {
        for at in self.left.by_ref() {
            let key = self.cache.unknown(at);
            if let Some(id) = self.bpe.whole_token_of(key) {
                self.cache.fill_unknown(at, &[id]);
                continue;
            }
            let bytes = (key & !RUN).to_le_bytes();
            if self.units.push(self.bpe, &bytes[..usize::from(bytes[MAX_KEY])], place) {
                place.number = at;
                return true;
            }
            self.others.push(at);
        }
        false
    }

    #[inline(always)]
    fn done(&mut self, merged: &ShortMerge) {
        let mut ids = [0; short_merge::MOST];
        let n = merged.write(&mut ids);
        self.cache.fill_unknown(merged.number, &ids[..n]);
    }
}

/// [`Misses::learn_together`], compiled for the vectors of the machine.
struct Learn<'a, 'm, U> {
    misses: &'a mut Misses<'m>,
    cache: &'a mut PretokenCache,
    n: usize,
    units: U,
}

impl<U: Units> Kernel for Learn<'_, '_, U> {
    #[inline(always)]
    fn run(self, _: impl Load) {
        self.misses.learn_together(self.cache, self.n, self.units);
    }
}

impl Misses<'_> {
    /// Finds the runs of a piece; `None` if it cannot be cut.
    #[inline]
    pub(super) fn find_runs(&mut self, piece: &[u8], from: usize) -> Option<usize> {
        // Asked at the start alone: it may read all of the piece.
        let boundaries = self.bpe.boundaries.as_ref().filter(|all| from > 0 || all.may_cut(piece))?;
        let runs = boundaries.runs(piece, from, self.runs);
        runs.unwrap_or_else(|error| {
            self.symbols.missing = Some(error);
            None
        })
    }

    /// Appends the ids of the piece that a key spells, and keeps them.
    #[inline(never)]
    pub(super) fn encode_one(&mut self, cache: &mut PretokenCache, key: Key, ids: &mut Vec<TokenId>) {
        let from = ids.len();
        match self.bpe.whole_token_of(key) {
            Some(id) => ids.push(id),
            None => pretoken_cache::Misses::short(self, key, ids),
        }
        cache.insert(key, &ids[from..]);
    }

    /// Gives the cache the ids of its first `n` unknown pieces: the ones that are tokens, then
    /// the rest, then those with symbols that are not tokens.
    #[inline(always)]
    fn learn_together(&mut self, cache: &mut PretokenCache, n: usize, units: impl Units) {
        let bpe = self.bpe;
        if let Some(tokens) = &bpe.symbols.tokens {
            (0..n).for_each(|at| tokens.prefetch_token(cache.unknown(at)));
        }
        let mut pieces = Unknown { bpe, cache, left: 0..n, units, others: Vec::new() };
        ShortMerge::merge_each(&mut self.symbols.parallel, &bpe.pairs, &mut pieces);
        let others = pieces.others;
        if !others.is_empty() {
            pretoken_cache::Misses::learn_each(self, cache, others);
        }
    }

    /// Appends the ids of a piece that is too long for a key, or a run of one.
    fn encode_long(&mut self, piece: &[u8], is_run: bool, ids: &mut Vec<TokenId>) {
        let Self { bpe, symbols, long, .. } = self;
        long.encode(piece, is_run, ids, |ids| {
            bpe.encode_piece(piece, is_run, symbols);
            symbols.append_to(ids);
        });
    }

    /// Appends the ids of a run of a piece, which the cache does not know.
    #[inline(never)]
    fn encode_run(&mut self, cache: &mut PretokenCache, run: &[u8], ids: &mut Vec<TokenId>) {
        if run.len() > MAX_KEY {
            self.encode_long(run, true, ids);
        } else {
            self.encode_one(cache, key(run, 0, run.len()) | RUN, ids);
        }
    }

    /// Appends the ids of a run of a piece, whose ids begin at `from`: unknown
    /// characters on both sides of a cut are one.
    fn encode_fused(
        &mut self,
        cache: &mut PretokenCache,
        run: &[u8],
        unk: TokenId,
        from: usize,
        ids: &mut Vec<TokenId>,
    ) {
        let before = ids.len();
        if run.len() > MAX_KEY || !cache.hit(key(run, 0, run.len()) | RUN, ids) {
            self.encode_run(cache, run, ids);
        }
        if before > from && ids[before - 1] == unk && ids.get(before) == Some(&unk) {
            ids.remove(before);
        }
    }
}

impl Bpe {
    /// Fills `symbols` with the tokens of a piece, or of a run inside one.
    fn encode_piece(&self, piece: &[u8], is_run: bool, symbols: &mut Symbols) {
        if is_run {
            self.encode_run(piece, symbols, &mut None);
        } else {
            self.encode_symbols(piece, symbols, &mut None);
        }
    }
}
