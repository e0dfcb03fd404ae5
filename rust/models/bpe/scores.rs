//! `Scored`: merging by the scores of pieces, as SentencePiece does.
//!
//! A piece of text begins as its characters. Of all neighbours whose joined
//! text is in the vocabulary the pair of the greatest score merges first, the
//! leftmost among equals; there is no list of merges. Scores become dense ranks,
//! equal scores one rank, so that the merge loop is that of the other orders.
//!
//! What differs from them: a character that is not a piece may still merge into
//! one, so it gets an id beyond the vocabulary while it is merged; pieces
//! of the user's are found first, the longest, and never merge; `unused` pieces
//! merge, but are taken apart again (`resegment`). Source: the model format and
//! `bpe_model` of google/sentencepiece 0.2.3.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::merge::{PassOver, Symbols};
use super::pairs::{Merged, PairTable};
use super::{Bpe, BpeOptions, Dropout, Unit, chars, orders, resegment};
use crate::error::{Error, Result};
use crate::models::bpe::score_runs;
use crate::text::automaton::Strings;
use crate::text::single_char;
use crate::vocab::{TokenId, Vocab};

/// A symbol that is in no piece; it merges with nothing.
pub(super) const UNKNOWN: TokenId = TokenId::MAX;
/// Characters below this are looked up in an array.
const BASIC_PLANE: usize = 1 << 16;

/// The data for merging by scores, in addition to the table of pairs.
#[derive(Clone)]
pub(super) struct Scored {
    /// Ids from here on are characters that are not pieces.
    limit: TokenId,
    /// The symbol of each character of the Basic Multilingual Plane.
    basic: Vec<TokenId>,
    /// The symbols of all further characters.
    others: HashMap<char, TokenId>,
    /// The user's pieces, and their ids by number of pattern.
    user_defined: Option<(Arc<Strings>, Vec<TokenId>)>,
    /// Pieces that are taken apart again: unused ones of more than a character.
    pub(super) unused: HashSet<TokenId>,
}

/// The tables of [`Scored::make`].
pub(super) struct ScoredTables {
    pub(super) scored: Scored,
    pub(super) pairs: PairTable,
    /// All that can be in a text: pieces, and characters that are none.
    pub(super) symbols: Vocab,
}

impl Scored {
    /// Makes the tables. `reserved` are ids that no text becomes by merging.
    pub(super) fn make(
        vocab: &Vocab,
        scores: &[f32],
        options: &BpeOptions,
        reserved: &HashSet<TokenId>,
    ) -> Result<ScoredTables> {
        check(vocab, scores, options)?;
        let user: HashSet<TokenId> = options.user_defined.iter().copied().collect();
        // Of one character, an unused piece has no parts: it is unknown.
        let is_char = |id: &TokenId| vocab.bytes(*id).is_some_and(|bytes| single_char(bytes).is_some());
        let (lone, unused): (HashSet<TokenId>, _) = options.unused.iter().copied().partition(is_char);
        let is_found = |id: &TokenId| !reserved.contains(id) && !lone.contains(id);
        let mut entries: Vec<(&[u8], TokenId)> =
            vocab.iter().filter(|(id, _)| is_found(id)).map(|(id, bytes)| (bytes, id)).collect();
        let limit = vocab.id_limit() as TokenId;
        let known: HashSet<&[u8]> =
            entries.iter().map(|entry| entry.0).filter(|bytes| bytes.len() <= 4).collect();
        let mut hidden: Vec<&[u8]> =
            entries.iter().flat_map(|entry| chars(entry.0)).filter(|c| !known.contains(c)).collect();
        hidden.sort_unstable();
        hidden.dedup();
        entries.extend(hidden.into_iter().zip(limit..));
        let symbols = Vocab::from_pairs(entries)?;

        let ranks = ranks(scores);
        let by_id = orders::by_rank(&symbols);
        let mut pairs = PairTable::with_capacity(by_id.len());
        for (left, right, Merged { id, .. }) in by_id.iter() {
            // Adjacent characters that spell a user-defined piece
            // were found as such, so such a piece is neither a result nor a part.
            if ![left, right, id].iter().any(|id| user.contains(id)) {
                pairs.insert(left, right, Merged { rank: ranks[id as usize], id });
            }
        }

        let (mut basic, mut others) = (vec![UNKNOWN; BASIC_PLANE], HashMap::new());
        for (id, bytes) in symbols.iter().filter(|(id, _)| !user.contains(id)) {
            if let Some(c) = single_char(bytes) {
                match basic.get_mut(c as usize) {
                    Some(place) => *place = id,
                    None => drop(others.insert(c, id)),
                }
            }
        }
        let user_defined = matcher(vocab, options)?;
        Ok(ScoredTables { scored: Self { limit, basic, others, user_defined, unused }, pairs, symbols })
    }

    /// Gives the space the symbol of a mark.
    pub(super) fn take_space_for(&mut self, mark: char) {
        let symbol = self.symbol(mark);
        if let Some(space) = self.basic.get_mut(usize::from(b' ')) {
            *space = symbol;
        }
    }

    /// Whether no piece is taken apart again.
    pub(super) fn merges_only(&self) -> bool {
        self.unused.is_empty()
    }

    /// Whether a text is all pieces that are in the vocabulary.
    pub(super) fn is_known(&self, text: &[u8]) -> bool {
        let mut symbols = Symbols::default();
        self.push_symbols(text, &mut symbols);
        symbols.insist();
        symbols.ids.iter().all(|&id| id < self.limit)
    }

    /// Pushes the symbols of a piece of text.
    pub(super) fn push_symbols(&self, piece: &[u8], symbols: &mut Symbols) {
        let Some((matcher, ids)) = &self.user_defined else { return self.push_chars(piece, symbols) };
        let mut at = 0;
        for (string, range) in matcher.find_iter(piece) {
            self.push_chars(&piece[at..range.start], symbols);
            symbols.push(ids[string], range.len() as u32);
            at = range.end;
        }
        self.push_chars(&piece[at..], symbols);
    }

    fn push_chars(&self, text: &[u8], symbols: &mut Symbols) {
        for chunk in text.utf8_chunks() {
            for c in chunk.valid().chars() {
                symbols.push(self.symbol(c), c.len_utf8() as u32);
            }
            chunk.invalid().iter().for_each(|_| symbols.push(UNKNOWN, 1));
        }
    }

    /// The symbol of a character.
    #[inline(always)]
    fn symbol(&self, c: char) -> TokenId {
        match self.basic.get(c as usize) {
            Some(&id) => id,
            None => self.others.get(&c).copied().unwrap_or(UNKNOWN),
        }
    }

    /// The token of a character, where none is found before all merging.
    #[inline(always)]
    pub(super) fn char_id(&self, c: char) -> Option<TokenId> {
        Some(self.symbol(c)).filter(|&id| id < self.limit)
    }

    /// Whether a text of characters that are tokens becomes what merging makes of them.
    pub(super) fn merges_chars_only(&self) -> bool {
        self.merges_only() && self.user_defined.is_none()
    }

    /// Puts the replacements of unknown characters in their places.
    pub(super) fn finish(
        &self,
        piece: &[u8],
        symbols: &mut Symbols,
        fallback: Option<&[TokenId; 256]>,
        unk: Option<TokenId>,
        fuse: bool,
    ) {
        if symbols.ids.iter().all(|&id| id < self.limit) {
            return;
        }
        let (ids, lens) = (std::mem::take(&mut symbols.ids), std::mem::take(&mut symbols.lens));
        let mut at = 0;
        for (id, len) in ids.into_iter().zip(lens) {
            let end = at + len as usize;
            match (fallback, unk) {
                _ if id < self.limit => symbols.push(id, len),
                (Some(bytes), _) => {
                    piece[at..end].iter().for_each(|&byte| symbols.push(bytes[usize::from(byte)], 1));
                }
                (None, Some(unk)) => match symbols.lens.last_mut() {
                    Some(before) if fuse && symbols.ids.last() == Some(&unk) => *before += len,
                    _ => symbols.push(unk, len),
                },
                (None, None) => {}
            }
            at = end;
        }
    }
}

/// The user's pieces; the leftmost is found, of those the longest.
fn matcher(vocab: &Vocab, options: &BpeOptions) -> Result<Option<(Arc<Strings>, Vec<TokenId>)>> {
    if options.user_defined.is_empty() {
        return Ok(None);
    }
    let patterns: Vec<&[u8]> =
        options.user_defined.iter().map(|&id| vocab.bytes(id).unwrap_or_default()).collect();
    let matcher =
        Strings::new(&patterns).map_err(|error| Error::format("user-defined pieces", error.to_string()))?;
    Ok(Some((Arc::new(matcher), options.user_defined.clone())))
}

/// The greatest score first; equal scores have one rank.
fn ranks(scores: &[f32]) -> Vec<u32> {
    let descending = |a: &f32, b: &f32| b.partial_cmp(a).unwrap_or(Ordering::Equal);
    let mut distinct = scores.to_vec();
    distinct.sort_unstable_by(descending);
    distinct.dedup_by(|a, b| a == b);
    let rank = |score: &f32| distinct.partition_point(|other| other > score) as u32;
    scores.iter().map(rank).collect()
}

/// Refuses options that have no meaning with scores.
fn check(vocab: &Vocab, scores: &[f32], options: &BpeOptions) -> Result<()> {
    let wrong = |reason: String| Err(Error::format("scores", reason));
    if scores.len() != vocab.id_limit() {
        return wrong(format!("{} scores for {} ids; each id has one", scores.len(), vocab.id_limit()));
    }
    if let Some(id) = scores.iter().position(|score| score.is_nan()) {
        return wrong(format!("that of id {id} is not a number"));
    }
    for (name, ids) in
        [("control", &options.control), ("user_defined", &options.user_defined), ("unused", &options.unused)]
    {
        if let Some(id) = ids.iter().find(|id| vocab.bytes(**id).is_none_or(<[u8]>::is_empty)) {
            return wrong(format!("the {name} id {id} is not a piece of the vocabulary"));
        }
    }
    let affix = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    if options.unit != Unit::Chars
        || affix(&options.continuing_subword_prefix)
        || affix(&options.end_of_word_suffix)
    {
        return wrong("they merge characters, without prefix or suffix".to_owned());
    }
    if options.dropout.is_some() && !options.unused.is_empty() {
        return wrong("dropout and unused pieces do not go together".to_owned());
    }
    Ok(())
}

impl Bpe {
    /// As [`Bpe::encode_run`].
    pub(super) fn encode_by_scores(
        &self,
        scored: &Scored,
        piece: &[u8],
        symbols: &mut Symbols,
        dropout: &mut Option<Dropout>,
    ) {
        scored.push_symbols(piece, symbols);
        match dropout {
            _ if !scored.merges_only() => {
                let done = resegment::merge(symbols, &self.pairs, &scored.unused);
                symbols.note(done);
            }
            None => symbols.merge(&self.pairs),
            Some(dropout) => {
                symbols.merge_with_dropout(&self.pairs, PassOver::Gone(&mut || dropout.skips()));
            }
        }
        scored.finish(piece, symbols, self.fallback_ids.as_deref(), self.unk_id, self.options.fuse_unk);
    }

    /// The token that runs of unknown characters become one of.
    pub(super) fn fused_unk(&self) -> Option<TokenId> {
        self.unk_id.filter(|_| self.scored.is_some() && self.options.fuse_unk)
    }

    /// The last merge of each token, in the order of scores.
    pub fn merges_of_scores(&self) -> Vec<(TokenId, TokenId)> {
        let mut merges: Vec<_> = self.last_merges().into_iter().flatten().collect();
        merges.sort_by_key(|&(left, right)| self.pairs.get(left, right));
        merges
    }

    /// A list of merges that encodes every text as the scores do, or why there
    /// is none.
    ///
    /// A token comes only from its last merge: the proof for ranks
    /// (`last_merge`) holds here too, as ties are broken alike inside a token
    /// and in a text. With one rank a token the list is therefore exact; runs of
    /// one character may share the last rank (`score_runs`).
    ///
    /// # Errors
    /// The reason, in words.
    pub fn scores_as_list(&self) -> std::result::Result<Vec<(TokenId, TokenId)>, String> {
        let name = |id: TokenId| {
            let bytes = self.vocab.bytes(id).unwrap_or_default();
            format!("{id} ({:?})", String::from_utf8_lossy(bytes))
        };
        if let Some(id) = self.options.unused.first() {
            return Err(format!("token {} is unused: it merges and is taken apart again", name(*id)));
        }
        let is_char = |id: &&TokenId| self.vocab.bytes(**id).is_some_and(|text| single_char(text).is_some());
        if let Some(id) = self.options.user_defined.iter().find(|id| !is_char(id)) {
            return Err(format!("token {} is user-defined: it is found before all merging", name(*id)));
        }
        if let Some(id) = self.options.control.iter().chain(&self.unk_id).find(is_char) {
            return Err(format!("token {} is a character that no text becomes; a list finds it", name(*id)));
        }
        let hidden = |id: &TokenId| *id as usize >= self.vocab.id_limit();
        let of_hidden = self.pairs.iter().filter(|(left, right, _)| hidden(left) || hidden(right));
        if let Some(merged) = of_hidden.map(|(_, _, merged)| merged).min() {
            return Err(format!("token {} holds a character that is not a token", name(merged.id)));
        }
        let mut merges = self.merges_of_scores();
        let merged = |&(left, right): &(TokenId, TokenId)| self.pairs.get(left, right);
        let tie = merges.windows(2).position(|pair| merged(&pair[0]).rank == merged(&pair[1]).rank);
        if let Some(at) = tie {
            let (first, second) = (merged(&merges[at]), merged(&merges[at + 1]));
            let Some(runs) = score_runs::as_list(&self.vocab, &self.pairs, first.rank) else {
                return Err(format!("tokens {} and {} have one score", name(first.id), name(second.id)));
            };
            merges.truncate(at);
            merges.extend(runs);
        }
        Ok(merges)
    }
}
