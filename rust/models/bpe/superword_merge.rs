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

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::hint::select_unpredictable;
use std::ops::Range;

use hashbrown::DefaultHashBuilder;

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
    /// The word that later pieces may continue, in a text that comes in chunks.
    open: OpenWord,
    /// Ids of pieces, each with [`END`] after it, that are not joined yet.
    ids: Vec<TokenId>,
    /// Ids that may join; kept for their memory.
    neighbours: Vec<Neighbour>,
    twos: Vec<Neighbour>,
}

/// A word whose end is not known yet.
#[derive(Clone, Copy, Default)]
struct OpenWord {
    start: usize,
    /// Whether its stretch may continue.
    joins: bool,
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
        if words.parts.len() + 2 > LONG_CHUNK {
            self.flush(words, text, ids);
        }
        let mut at = start;
        while at < end {
            // Nothing is cut inside a run.
            let end_of_run = end_of_run(text, at).min(end);
            for place in [end_of_run, end_of_run + 1] {
                if place > at && place < end && self.is_border(text[place - 1], text[place]) {
                    if words.parts.len() + 2 > LONG_CHUNK {
                        self.flush(words, text, ids);
                    }
                    self.push_word(words, text, start..place, ids);
                    start = place;
                }
            }
            at = end_of_run + 1;
        }
        self.push_word(words, text, start..end, ids);
        words.parts.push(Piece { start: piece.end, end: piece.end });
    }

    /// As [`WordEncoder::push`], for the pieces of a text that are joined into stretches. They come in chunks, and
    /// tile the text: the first begins it, and the last ends it.
    fn push_words(
        &self,
        words: &mut WordScratch,
        text: &[u8],
        pieces: &[Piece],
        joins: impl Fn(&[u8]) -> bool,
        ids: &mut Vec<TokenId>,
    ) {
        let mut open = words.open;
        for piece in pieces {
            let (start, joins) = (piece.start as usize, joins(&text[piece.range()]));
            let continues = open.joins & joins;
            if start == 0 {
                open.start = 0;
            } else if !continues || self.is_border(text[start - 1], text[start]) {
                self.push_word(words, text, open.start..start, ids);
                if !continues {
                    words.parts.push(Piece { start: piece.start, end: piece.start });
                }
                open.start = start;
            }
            open.joins = joins;
        }
        words.open = open;
        if let Some(last) = pieces.last()
            && last.end as usize == text.len()
        {
            self.push_word(words, text, open.start..text.len(), ids);
            words.parts.push(Piece { start: last.end, end: last.end });
        }
        self.flush(words, text, ids);
    }

    #[inline(always)]
    fn push_word(&self, words: &mut WordScratch, text: &[u8], word: Range<usize>, ids: &mut Vec<TokenId>) {
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
        for neighbours in [&mut self.neighbours, &mut self.twos] {
            neighbours.clear();
            neighbours.shrink_to(2 * MOST_IDS);
        }
    }
}

/// A model of words, and the merges that join them.
#[derive(Clone)]
pub(super) struct Superwords {
    words: WordEncoder,
    /// The merges that join words; for long runs.
    pairs: PairTable,
    table: JoinTable,
}

/// One of so many merges, or more, makes words; else the tokens of words are too short to pay off.
const LEAST_WORDS: usize = 8;
/// Ids of words are joined when there are so many.
const MOST_IDS: usize = 1 << 12;

/// Runs of at most so many neighbours are merged in place.
const SHORT_RUN: usize = 16;

/// A word that may be joined with the next.
#[derive(Clone, Copy)]
struct Neighbour {
    at: u32,
    /// What both merge into.
    merged: Merged,
}

impl Neighbour {
    /// The place of no word, and of none before or after one.
    const NOWHERE: Self = Self { at: u32::MAX - 1, merged: Merged::NEVER };
}

/// What pairs of tokens merge into, and whether a merge joins two words or tokens that end and begin with them.
///
/// The second is asked for all neighbours: a Bloom filter of one hash answers from the nearest cache. A merge has one
/// of two places in the table (cuckoo hashing, Pagh and Rodler 2004), so finding it has no branch that depends on the
/// pair: nobody can foretell which words join.
#[derive(Clone)]
struct JoinTable {
    bits: Vec<u64>,
    slots: Vec<Slot>,
    seed: u64,
}

/// A pair of tokens, packed, and what they merge into.
#[derive(Clone, Copy)]
struct Slot {
    pair: u64,
    merged: Merged,
}

/// Bits of the filter for each pair.
const BITS: usize = 16;
/// Pairs that are moved to their other place, at most, to insert one.
const MOST_MOVES: usize = 64;
/// How often a table is built again with another seed; a few are enough for any pairs.
const MOST_SEEDS: u64 = 32;

impl JoinTable {
    /// A table of merges, and of neighbours between which words may be joined. `None` where no seed has places for
    /// all merges.
    fn new(
        merges: &[(TokenId, TokenId, Merged)],
        neighbours: impl Iterator<Item = (TokenId, TokenId)> + Clone,
    ) -> Option<Self> {
        // At most 0.4 are taken; at a half, moves may have no end.
        let n_slots = (merges.len() * 5 / 2).next_power_of_two().max(2);
        let n_bits = (merges.len() * BITS).next_power_of_two().max(64);
        (0..MOST_SEEDS).find_map(|attempt| {
            let mut table = Self {
                bits: vec![0; n_bits / 64],
                slots: vec![Slot { pair: u64::MAX, merged: Merged::NEVER }; n_slots],
                seed: DefaultHashBuilder::default().hash_one(attempt),
            };
            for (left, right) in neighbours.clone() {
                let bit = table.bit(table.hash(pack(left, right)));
                table.bits[bit / 64] |= 1 << (bit % 64);
            }
            merges.iter().all(|&(left, right, merged)| table.insert(left, right, merged)).then_some(table)
        })
    }

    #[inline(always)]
    fn hash(&self, pair: u64) -> u64 {
        let product = u128::from(pair ^ self.seed) * 0x9E37_79B9_7F4A_7C15;
        (product >> 64) as u64 ^ product as u64
    }

    #[inline(always)]
    fn places(&self, hash: u64) -> [usize; 2] {
        let mask = self.slots.len() - 1;
        [hash as usize & mask, (hash >> 32) as usize & mask]
    }

    #[inline(always)]
    fn bit(&self, hash: u64) -> usize {
        (hash >> 8) as usize & (self.bits.len() * 64 - 1)
    }

    /// Inserts a merge that is not there; `false` if it finds no free place.
    fn insert(&mut self, left: TokenId, right: TokenId, merged: Merged) -> bool {
        let mut slot = Slot { pair: pack(left, right), merged };
        let mut place = self.places(self.hash(slot.pair))[0];
        for _ in 0..MOST_MOVES {
            std::mem::swap(&mut slot, &mut self.slots[place]);
            if slot.pair == u64::MAX {
                return true;
            }
            let [first, second] = self.places(self.hash(slot.pair));
            place ^= first ^ second;
        }
        false
    }

    /// Whether something may be joined between two neighbours.
    #[inline(always)]
    fn may_join(&self, left: TokenId, right: TokenId) -> bool {
        let bit = self.bit(self.hash(pack(left, right)));
        (self.bits[bit / 64] >> (bit % 64) & 1 != 0) & (left != END) & (right != END)
    }

    /// What a pair merges into.
    #[inline(always)]
    fn get(&self, left: TokenId, right: TokenId) -> Merged {
        let pair = pack(left, right);
        let [first, second] = self.places(self.hash(pair));
        // Both are read at once, and the place is chosen, not its value: that would be a branch.
        let (is_first, is_second) = (self.slots[first].pair == pair, self.slots[second].pair == pair);
        let merged = self.slots[select_unpredictable(is_second, second, first)].merged;
        let is_found = is_first | is_second;
        Merged {
            rank: select_unpredictable(is_found, merged.rank, Merged::NEVER.rank),
            id: select_unpredictable(is_found, merged.id, Merged::NEVER.id),
        }
    }
}

fn pack(left: TokenId, right: TokenId) -> u64 {
    u64::from(left) << 32 | u64::from(right)
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
        let mut neighbours = HashSet::new();
        for (at, &(left, right)) in others.iter().enumerate() {
            let merged = pairs.get(left, right);
            let id = merged.id as usize;
            // A pair that is listed twice has its last rank.
            if is_made[id] || is_part[id] || merged.rank as usize != first + at {
                return Ok(None);
            }
            (is_made[id], is_joined[id]) = (true, true);
            ends[id] = (ends[left as usize].0, ends[right as usize].1);
            neighbours.insert((ends[left as usize].1, ends[right as usize].0));
            joining.insert(left, right, Merged { rank: at as u32, id: merged.id });
        }
        let merges: Vec<_> = joining.iter().collect();
        let Some(table) = JoinTable::new(&merges, neighbours.iter().copied()) else { return Ok(None) };
        let kept = vocab.iter().filter(|(id, _)| !is_joined[*id as usize]).map(|(id, bytes)| (bytes, id));
        let kept = Vocab::from_pairs(kept.collect())?;
        let words = Bpe::new(kept, MergeOrder::List(words.to_vec()), options.clone())?;
        Ok(Some(Box::new(Self { words: WordEncoder::new(words), pairs: joining, table })))
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
                self.join(words, symbols, &mut word_ids, ids);
                word_ids.clear();
            }
        }
        self.words.flush(words, text, &mut word_ids);
        self.join(words, symbols, &mut word_ids, ids);
        words.ids = word_ids;
    }

    /// The same of a text that comes in chunks, which tile it; superwords may join neighbours for which `joins` says so.
    pub(super) fn encode_words(
        &self,
        words: &mut WordScratch,
        symbols: &mut Symbols,
        text: &[u8],
        pieces: &[Piece],
        joins: impl Fn(&[u8]) -> bool,
        ids: &mut Vec<TokenId>,
    ) {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
        let mut word_ids = std::mem::take(&mut words.ids);
        if first.start == 0 {
            word_ids.clear();
        }
        let n_before = word_ids.len();
        self.words.push_words(words, text, pieces, joins, &mut word_ids);
        let n = if last.end as usize == text.len() {
            word_ids.len()
        } else {
            // Words after the last neighbours that are not joined may be joined with those of the next chunk.
            let separate = |&at: &usize| !self.table.may_join(word_ids[at - 1], word_ids[at]);
            (n_before.max(1)..word_ids.len()).rev().find(separate).unwrap_or(0)
        };
        self.join(words, symbols, &mut word_ids[..n], ids);
        word_ids.drain(..n);
        words.ids = word_ids;
    }

    /// Appends the tokens of words, joined.
    ///
    /// By the proof above nothing is joined between neighbours that the filter does not hold, nor across
    /// [`END`]. So the words between such neighbours are runs that are merged separately.
    ///
    /// Short loops without branches that depend on the words: which neighbours the filter holds; what they merge into,
    /// and the runs of two words; the runs of three. The few longer runs are merged one after the other. A token that
    /// is left of a merge is [`END`].
    fn join(
        &self,
        scratch: &mut WordScratch,
        symbols: &mut Symbols,
        words: &mut [TokenId],
        ids: &mut Vec<TokenId>,
    ) {
        let WordScratch { neighbours, twos, .. } = scratch;
        // Two that are nowhere come last.
        let most = words.len() + 2;
        let room = neighbours.make_room(most).and_then(|()| twos.make_room(most));
        if let Err(error) = room.and_then(|()| ids.make_room(words.len())) {
            return symbols.note(Err(error));
        }
        for neighbours in [&mut *neighbours, &mut *twos] {
            if neighbours.len() < most {
                neighbours.resize(most, Neighbour::NOWHERE);
            }
        }
        let mut n = 0;
        for (at, pair) in words.windows(2).enumerate() {
            // Written in any case, then counted or not: no branch.
            neighbours[n].at = at as u32;
            n += usize::from(self.table.may_join(pair[0], pair[1]));
        }
        neighbours[n..n + 2].fill(Neighbour::NOWHERE);
        for Neighbour { at, merged } in &mut neighbours[..n] {
            let at = *at as usize;
            *merged = self.table.get(words[at], words[at + 1]);
        }
        let (mut n_long, mut n_twos) = (0, 0);
        // Whether the neighbours before, and those before them, are of the same run.
        let mut same = [false; 2];
        for place in 0..n {
            let Neighbour { at, merged } = neighbours[place];
            let next = [neighbours[place + 1].at == at + 1, neighbours[place + 2].at == at + 2];
            let is_alone = !same[0] & !next[0];
            let is_of_two = !same[0] & next[0] & !next[1] | same[0] & !same[1] & !next[0];
            let is_joined = is_alone & (merged.id != END);
            let pair = &mut words[at as usize..][..2];
            pair[0] = select_unpredictable(is_joined, merged.id, pair[0]);
            pair[1] = select_unpredictable(is_joined, END, pair[1]);
            twos[n_twos] = Neighbour { at, merged };
            n_twos += usize::from(is_of_two);
            neighbours[n_long] = Neighbour { at, merged };
            n_long += usize::from(!is_alone & !is_of_two);
            same = [next[0], same[0] & next[0]];
        }
        for two in twos[..n_twos].chunks_exact(2) {
            self.join_three(&mut words[two[0].at as usize..][..3], two[0].merged, two[1].merged);
        }
        for run in neighbours[..n_long].chunk_by_mut(|left, right| left.at + 1 == right.at) {
            let start = run[0].at as usize;
            let run_of_words = &mut words[start..=start + run.len()];
            if run.len() <= SHORT_RUN {
                self.join_run(run_of_words, run);
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

    /// Joins a run of three words, of which the first two merge into `left` and the last two into `right`.
    #[inline(always)]
    fn join_three(&self, words: &mut [TokenId], left: Merged, right: Merged) {
        let is_left = left.rank <= right.rank;
        let first = select_unpredictable(is_left, left.id, words[0]);
        let second = select_unpredictable(is_left, words[2], right.id);
        if left.rank.min(right.rank) != Merged::NEVER.rank {
            let merged = self.table.get(first, second);
            let joined = merged != Merged::NEVER;
            words[0] = select_unpredictable(joined, merged.id, first);
            words[1] = select_unpredictable(joined, END, second);
            words[2] = END;
        }
    }

    /// Joins a run of words, lowest rank first, leftmost among equals. The time is quadratic.
    ///
    /// `merges` has what each word and the next that is left merge into.
    #[inline]
    fn join_run(&self, words: &mut [TokenId], merges: &mut [Neighbour]) {
        loop {
            let mut at = 0;
            for place in 1..merges.len() {
                at = if merges[place].merged.rank < merges[at].merged.rank { place } else { at };
            }
            let merged = merges[at].merged;
            let next = |words: &[TokenId], at: usize| (at + 1..words.len()).find(|&at| words[at] != END);
            let Some(right) = next(words, at).filter(|_| merged != Merged::NEVER) else { return };
            (words[at], words[right]) = (merged.id, END);
            if let Some(merge) = merges.get_mut(right) {
                merge.merged = Merged::NEVER;
            }
            merges[at].merged =
                next(words, right).map_or(Merged::NEVER, |after| self.table.get(merged.id, words[after]));
            if let Some(before) = (0..at).rfind(|&at| words[at] != END) {
                merges[before].merged = self.table.get(words[before], merged.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre_tokenizer::PreTokenizer;
    use crate::random::Random;
    use crate::text::pattern::StepBudget;

    fn below(random: &mut Random, n: usize) -> usize {
        (random.next_u64() % n as u64) as usize
    }

    fn chosen<T: Copy>(random: &mut Random, all: &[T]) -> T {
        all[below(random, all.len())]
    }

    /// A model of all bytes, of merges within words and then of merges of any tokens, of characters of `alphabet`.
    fn model(random: &mut Random, alphabet: &str) -> Bpe {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let mut parts: Vec<TokenId> = alphabet.bytes().map(TokenId::from).collect();
        let mut merges = Vec::new();
        for (n, has_words) in [(20 + below(random, 30), true), (below(random, 150), false)] {
            for _ in 0..n {
                let (left, right) = (chosen(random, &parts), chosen(random, &parts));
                let bytes = [&tokens[left as usize][..], &tokens[right as usize]].concat();
                if !tokens.contains(&bytes) && bytes.len() < 40 && !(has_words && joins_words(&bytes)) {
                    merges.push((left, right));
                    parts.push(tokens.len() as TokenId);
                    tokens.push(bytes);
                }
            }
        }
        let vocab = Vocab::from_pairs(tokens.into_iter().zip(0..).collect()).unwrap();
        Bpe::new(vocab, MergeOrder::List(merges), BpeOptions::default()).unwrap()
    }

    #[test]
    fn words_join_as_the_list_of_merges_says() {
        let mut random = Random::new(3);
        let families = ["gpt2", "cl100k", "cl100k-1digit", "o200k", "tekken"];
        let mut n_fast = 0;
        for round in 0..300 {
            let alphabet = chosen(&mut random, &["ab .", "ab ,'s1", "ab .\n中，é", "a b"]);
            let bpe = model(&mut random, alphabet);
            n_fast += usize::from(bpe.superwords.is_some());
            let characters: Vec<char> = alphabet.chars().chain("   ab".chars()).collect();
            let n = below(&mut random, 3000);
            let text: String = (0..n).map(|_| chosen(&mut random, &characters)).collect();
            let lines = chosen(&mut random, &["", "-across-lines"]);
            let name = format!("{}-superwords{lines}", chosen(&mut random, &families));
            let pre_tokenizer = PreTokenizer::from_name(&name).unwrap();
            let PreTokenizer::Superwords { pieces: stretches } = pre_tokenizer else { panic!("{name}") };

            let (mut expected, mut one_by_one, mut worker) = (Vec::new(), Vec::new(), bpe.worker());
            pre_tokenizer
                .for_each_piece(&text, |stretch| {
                    expected.extend(bpe.encode(text[stretch.clone()].as_bytes()));
                    worker.encode(text.as_bytes(), stretch.start, stretch.end, &mut one_by_one);
                    Ok::<(), crate::Error>(())
                })
                .unwrap();
            assert_eq!(one_by_one, expected, "{round} {name} {text:?}");
            if !worker.joins_words() {
                continue;
            }
            let mut pieces = Vec::new();
            let budget = StepBudget::of(text.len());
            let whole = stretches.pre_tokenizer();
            whole
                .for_each_chunk(&text, &budget, |chunk| {
                    pieces.extend_from_slice(chunk);
                    Ok::<(), crate::Error>(())
                })
                .unwrap();
            let (mut ids, mut rest) = (Vec::new(), &pieces[..]);
            while !rest.is_empty() {
                let n = (1 + below(&mut random, LONG_CHUNK)).min(1 + below(&mut random, rest.len()));
                worker
                    .encode_words(text.as_bytes(), &rest[..n], |piece| stretches.joins(piece), &mut ids)
                    .unwrap();
                rest = &rest[n..];
            }
            assert_eq!(ids, expected, "{round} {name} {text:?}");
        }
        assert!(n_fast > 200, "{n_fast}");
    }

    #[test]
    fn a_table_gives_what_it_was_made_of() {
        let mut random = Random::new(5);
        for n in [0, 1, 2, 3, 100, 6553, 6554, 20_000] {
            let pairs: HashSet<(TokenId, TokenId)> = (0..n)
                .map(|_| (below(&mut random, 300) as TokenId, below(&mut random, 3000) as TokenId))
                .collect();
            let pairs: Vec<_> = pairs
                .into_iter()
                .zip(0..)
                .map(|((left, right), id)| (left, right, Merged { rank: id, id }))
                .collect();
            let neighbours = pairs.iter().map(|&(left, right, _)| (right, left));
            let table = JoinTable::new(&pairs, neighbours).unwrap();
            for &(left, right, merged) in &pairs {
                assert!(table.may_join(right, left));
                assert_eq!(table.get(left, right), merged);
                assert_eq!(table.get(left + 300, right), Merged::NEVER);
            }
        }
    }
}
