//! `Superwords`: encodes pieces of several words word by word, where superwords come last in the
//! list of merges.
//!
//! Merges before the first whose token joins words ([`joins_words`]) make words; the rest join them.
//! (Any place in the list would do, as the proof shows; this one keeps both halves fast.) A piece is cut
//! into words, which repeat and are cached, and encoded with the merges of words; then its tokens are
//! joined.
//!
//! Proof. The lowest rank merges first, so no other merge is made while one of words can be. A token
//! of the other merges is not part of a merge of words ([`Superwords::new`] checks it), so no merge of
//! words can be made after the first other one. So the tokens of words come first, then the other
//! merges. Each of these joins a token that ends in some token of words with one that begins with
//! another. A token has one merge, so both are always the same, and are kept in a set: between two
//! neighbours that are not in it nothing is joined.

use std::ops::Range;

use super::pairs::PairTable;
use super::worker::Scratch;
use super::{Bpe, BpeOptions, MergeOrder, Merged};
use crate::cache::piece_table::{MAX_KEY, key_of_piece};
use crate::error::Result;
use crate::memory::MakeRoom;
use crate::models::bpe::Symbols;
use crate::text::{LONG_CHUNK, Piece};
use crate::vocab::{TokenId, Vocab};

/// Follows the ids of each piece; no token has this id.
pub(crate) const END: TokenId = TokenId::MAX;

/// Whether a token holds a space behind a letter, digit or punctuation character of ASCII.
pub(crate) fn has_several_words(token: &[u8]) -> bool {
    token.windows(2).any(|pair| pair[0].is_ascii_graphic() && pair[1] == b' ')
}

/// Whether a token of the list of merges begins the merges that join words: it has several words, or a comma or
/// full stop of Chinese behind a character.
fn joins_words(token: &[u8]) -> bool {
    let is_stop = |window: &[u8]| {
        matches!(window[0], 0xE4..=0xE9)
            && matches!(window[3..], [0xEF, 0xBC, 0x8C] | [0xE3, 0x80, 0x81 | 0x82])
    };
    has_several_words(token) || token.windows(6).any(is_stop)
}

/// Encodes pieces of several words word by word.
///
/// A piece may be cut between two bytes that are neighbours in no token: a merge across the cut would
/// make a token that holds both.
#[derive(Clone)]
pub(crate) struct WordEncoder {
    words: Bpe,
    /// Pairs of bytes to cut between, as bits. Nothing is cut between letters, or within other scripts.
    borders: Vec<u64>,
}

/// The state with which one thread encodes words.
#[derive(Default)]
pub(crate) struct WordScratch {
    scratch: Scratch,
    /// Waiting words, with an empty one after the last of each piece.
    parts: Vec<Piece>,
    /// Ids of pieces, each with [`END`] after it; kept for its memory.
    ids: Vec<TokenId>,
    /// Ids that may join; kept for its memory.
    neighbours: Vec<Neighbour>,
}

impl WordEncoder {
    pub(crate) fn new(words: Bpe) -> Self {
        let is_inside = |byte: usize| byte >= 0x80 || (byte as u8).is_ascii_alphabetic();
        let mut borders = vec![0_u64; (1 << 16) / 64];
        for pair in 0..1_usize << 16 {
            let is_border = !(is_inside(pair >> 8) && is_inside(pair & 0xFF));
            borders[pair / 64] |= u64::from(is_border) << (pair % 64);
        }
        for (_, token) in words.vocab().iter() {
            for pair in token.windows(2) {
                let pair = usize::from(pair[0]) << 8 | usize::from(pair[1]);
                borders[pair / 64] &= !(1 << (pair % 64));
            }
        }
        Self { words: words.cutting_words(), borders }
    }

    #[inline(always)]
    fn is_border(&self, left: u8, right: u8) -> bool {
        let pair = usize::from(left) << 8 | usize::from(right);
        self.borders[pair / 64] >> (pair % 64) & 1 != 0
    }

    /// Appends the ids of a piece, with [`END`] after them, at once or with those of a later piece.
    pub(crate) fn push(&self, words: &mut WordScratch, text: &[u8], piece: Piece, ids: &mut Vec<TokenId>) {
        let (mut start, end) = (piece.start as usize, piece.end as usize);
        let mut at = start;
        while at < end {
            // Nothing is cut inside a run.
            let end_of_run = end_of_run(text, at).min(end);
            for place in [end_of_run, end_of_run + 1] {
                if place > at && place < end && self.is_border(text[place - 1], text[place]) {
                    self.push_word(words, text, start..place, ids);
                    start = place;
                }
            }
            at = end_of_run + 1;
        }
        self.push_word(words, text, start..end, ids);
        words.parts.push(Piece { start: piece.end, end: piece.end });
    }

    /// As [`WordEncoder::push`], for pieces of one word each, with an empty piece after the last of each
    /// stretch.
    fn push_words(&self, words: &mut WordScratch, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        let mut start = pieces.first().map_or(0, |piece| piece.start as usize);
        for pair in pieces.windows(2) {
            let place = pair[0].end as usize;
            if pair[1].start == pair[1].end {
                self.push_word(words, text, start..place, ids);
                words.parts.push(pair[1]);
                start = place;
            } else if place > start && self.is_border(text[place - 1], text[place]) {
                self.push_word(words, text, start..place, ids);
                start = place;
            }
        }
    }

    #[inline(always)]
    fn push_word(&self, words: &mut WordScratch, text: &[u8], word: Range<usize>, ids: &mut Vec<TokenId>) {
        if words.parts.len() + 2 > LONG_CHUNK {
            self.flush(words, text, ids);
        }
        if word.len() > MAX_KEY {
            return self.push_long(words, text, word, ids);
        }
        words.parts.push(Piece { start: word.start as u32, end: word.end as u32 });
    }

    /// Adds a word that is too long for a key, cut where no merge crosses.
    #[inline(never)]
    fn push_long(&self, words: &mut WordScratch, text: &[u8], word: Range<usize>, ids: &mut Vec<TokenId>) {
        let (bytes, mut done) = (&text[word.clone()], 0);
        let part = |from: usize, to: usize| Piece {
            start: (word.start + from) as u32,
            end: (word.start + to) as u32,
        };
        while done < bytes.len() {
            let (_, mut misses) = words.scratch.parts(&self.words);
            // Letters of ASCII are adjacent in some token.
            let n = if bytes.is_ascii() { None } else { misses.find_runs(bytes, done) };
            let ends = n.and_then(|n| misses.runs.get(..n)).unwrap_or_default();
            for &end in ends {
                words.parts.push(part(done, end as usize));
                done = end as usize;
            }
            if ends.is_empty() {
                words.parts.push(part(done, bytes.len()));
                done = bytes.len();
            }
            if words.parts.len() + 2 > LONG_CHUNK {
                self.flush(words, text, ids);
            }
        }
    }

    /// Appends the ids of all waiting words.
    pub(crate) fn flush(&self, words: &mut WordScratch, text: &[u8], ids: &mut Vec<TokenId>) {
        let WordScratch { scratch, parts, .. } = words;
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        // An id covers a byte or more.
        let most = (last.end - first.start) as usize + parts.len();
        let (cache, mut misses) = scratch.parts(&self.words);
        match ids.make_room(most) {
            Ok(()) => {
                let known = |part: Piece| (part.start == part.end).then_some([END, 0, 0, 1]);
                let key_of = |part| key_of_piece(text, part);
                cache.encode_parts(text, parts.iter().copied(), known, key_of, ids, &mut misses);
            }
            Err(error) => misses.symbols.note(Err(error)),
        }
        parts.clear();
    }
}

/// The end of the run from `at` of letters of ASCII and bytes of other scripts. May stop early in the
/// last seven bytes.
#[inline(always)]
fn end_of_run(bytes: &[u8], mut at: usize) -> usize {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let every = |byte: u8| u64::from_ne_bytes([byte; 8]);
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let eight = u64::from_le_bytes(*eight);
        // No sum carries into the next byte, because none exceeds 0xFF.
        let low = (eight | every(0x20)) & !HIGH;
        let letters = (low + every(0x80 - b'a')) & !(low + every(0x7F - b'z'));
        let others = !(letters | eight) & HIGH;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at
}

impl WordScratch {
    /// See [`Worker::check`](super::Worker::check).
    pub(crate) fn check(&mut self) -> Result<()> {
        self.scratch.check()
    }

    /// Lets go of what long texts took.
    pub(super) fn rest(&mut self) {
        self.scratch.rest();
        self.parts.clear();
        self.parts.shrink_to(2 * LONG_CHUNK);
        self.ids.clear();
        self.ids.shrink_to(2 * MOST_IDS);
        self.neighbours.clear();
        self.neighbours.shrink_to(2 * MOST_IDS);
    }
}

/// A model of words, and the merges that join them.
#[derive(Clone)]
pub(super) struct Superwords {
    words: WordEncoder,
    pairs: PairTable,
    neighbours: Neighbours,
}

/// One of so many merges, or more, makes words; else the tokens of words are too short to pay off.
const LEAST_WORDS: usize = 8;
/// Ids of words are joined when there are so many.
const MOST_IDS: usize = 1 << 12;

/// A word that may be joined with the next.
#[derive(Clone, Copy, Default)]
struct Neighbour {
    at: u32,
    /// What both merge into; [`END`] if they do not.
    merged: TokenId,
}

/// A Bloom filter of one hash of the neighbours that a merge joins.
#[derive(Clone)]
struct Neighbours {
    bits: Vec<u64>,
    shift: u32,
}

/// Bits of the filter for each merge.
const BITS: usize = 16;

impl Neighbours {
    fn new(n: usize) -> Self {
        let size = (n * BITS).next_power_of_two().max(64);
        Self { bits: vec![0; size / 64], shift: u64::BITS - size.trailing_zeros() }
    }

    #[inline]
    fn bit(&self, left: TokenId, right: TokenId) -> usize {
        let key = u64::from(left) << 32 | u64::from(right);
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    fn insert(&mut self, left: TokenId, right: TokenId) {
        let bit = self.bit(left, right);
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    #[inline]
    fn may_hold(&self, left: TokenId, right: TokenId) -> bool {
        let bit = self.bit(left, right);
        self.bits[bit / 64] >> (bit % 64) & 1 != 0
    }
}

impl Superwords {
    /// `None` if no token joins words, if nearly all merges do, or if a merge within
    /// a word comes after one that joins words.
    ///
    /// # Errors
    /// As [`Bpe::new`].
    pub(super) fn new(
        vocab: &Vocab,
        merges: &[(TokenId, TokenId)],
        pairs: &PairTable,
        options: &BpeOptions,
    ) -> Result<Option<Box<Self>>> {
        let id_of = |&(left, right): &(TokenId, TokenId)| pairs.get(left, right).id;
        let joins = |merge: &(TokenId, TokenId)| vocab.bytes(id_of(merge)).is_some_and(joins_words);
        let Some(first) = merges.iter().position(joins) else { return Ok(None) };
        if first < merges.len() / LEAST_WORDS {
            return Ok(None);
        }
        let (words, others) = merges.split_at(first);
        let n_ids = vocab.id_limit();
        let (mut is_made, mut is_part, mut is_joined) =
            (vec![false; n_ids], vec![false; n_ids], vec![false; n_ids]);
        for merge in words {
            is_made[id_of(merge) as usize] = true;
            (is_part[merge.0 as usize], is_part[merge.1 as usize]) = (true, true);
        }
        // The first and the last token of words of each token.
        let mut ends: Vec<(TokenId, TokenId)> = (0..n_ids as TokenId).map(|id| (id, id)).collect();
        let mut joining = PairTable::with_capacity(others.len());
        let mut neighbours = Neighbours::new(others.len());
        for (at, &(left, right)) in others.iter().enumerate() {
            let merged = pairs.get(left, right);
            let id = merged.id as usize;
            // A pair that is listed twice has its last rank.
            if is_made[id] || is_part[id] || merged.rank as usize != first + at {
                return Ok(None);
            }
            (is_made[id], is_joined[id]) = (true, true);
            ends[id] = (ends[left as usize].0, ends[right as usize].1);
            neighbours.insert(ends[left as usize].1, ends[right as usize].0);
            joining.insert(left, right, Merged { rank: at as u32, id: merged.id });
        }
        let kept = vocab.iter().filter(|(id, _)| !is_joined[*id as usize]).map(|(id, bytes)| (bytes, id));
        let kept = Vocab::from_pairs(kept.collect())?;
        let words = Bpe::new(kept, MergeOrder::List(words.to_vec()), options.clone())?;
        Ok(Some(Box::new(Self { words: WordEncoder::new(words), pairs: joining, neighbours })))
    }

    /// Appends the ids of pieces.
    pub(super) fn encode(
        &self,
        words: &mut WordScratch,
        symbols: &mut Symbols,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) {
        let mut word_ids = std::mem::take(&mut words.ids);
        word_ids.clear();
        for &piece in pieces {
            self.words.push(words, text, piece, &mut word_ids);
            if word_ids.len() >= MOST_IDS {
                // Also the end of the piece.
                self.words.flush(words, text, &mut word_ids);
                self.join(&mut words.neighbours, symbols, &mut word_ids, ids);
                word_ids.clear();
            }
        }
        self.words.flush(words, text, &mut word_ids);
        self.join(&mut words.neighbours, symbols, &mut word_ids, ids);
        words.ids = word_ids;
    }

    /// The same of pieces of one word each, with an empty piece after the last of each stretch.
    pub(super) fn encode_words(
        &self,
        words: &mut WordScratch,
        symbols: &mut Symbols,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) {
        let mut word_ids = std::mem::take(&mut words.ids);
        word_ids.clear();
        self.words.push_words(words, text, pieces, &mut word_ids);
        self.words.flush(words, text, &mut word_ids);
        self.join(&mut words.neighbours, symbols, &mut word_ids, ids);
        words.ids = word_ids;
    }

    /// Appends the tokens of words, joined.
    ///
    /// By the proof above nothing is joined between neighbours that the filter does not hold, nor across
    /// [`END`]. So the words between such neighbours are runs that are merged separately. The first merge of a
    /// run is one of two words: in most runs there is none, and they stay as they are.
    ///
    /// Short loops, each without waiting for the one before: which neighbours the filter holds, what they merge
    /// into, the runs of those, in place, and what is left over.
    fn join(
        &self,
        neighbours: &mut Vec<Neighbour>,
        symbols: &mut Symbols,
        words: &mut [TokenId],
        ids: &mut Vec<TokenId>,
    ) {
        if let Err(error) = neighbours.make_room(words.len()).and_then(|()| ids.make_room(words.len())) {
            return symbols.note(Err(error));
        }
        if neighbours.len() < words.len() {
            neighbours.resize(words.len(), Neighbour::default());
        }
        let mut n = 0;
        for (at, pair) in words.windows(2).enumerate() {
            let (left, right) = (pair[0], pair[1]);
            // Written in any case, then counted or not: no branch.
            neighbours[n].at = at as u32;
            n += usize::from(self.neighbours.may_hold(left, right) & (left != END) & (right != END));
        }
        let neighbours = &mut neighbours[..n];
        for Neighbour { at, merged } in &mut *neighbours {
            let at = *at as usize;
            *merged = self.pairs.get(words[at], words[at + 1]).id;
        }
        for run in neighbours.chunk_by(|left, right| left.at + 1 == right.at) {
            if run.iter().all(|neighbour| neighbour.merged == END) {
                continue;
            }
            let start = run[0].at as usize;
            let run_of_words = &mut words[start..=start + run.len()];
            // A token that is left of one is END.
            if let [left, right] = run_of_words {
                (*left, *right) = (run[0].merged, END);
            } else {
                let n = symbols.merge_in_place(run_of_words, &self.pairs);
                run_of_words[n..].fill(END);
            }
        }
        let from = ids.len();
        // Room for all is there.
        ids.resize(from + words.len(), 0);
        let mut n_out = from;
        for &id in &*words {
            ids[n_out] = id;
            n_out += usize::from(id != END);
        }
        ids.truncate(n_out);
    }
}
