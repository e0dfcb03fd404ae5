//! `Bpe`: byte-pair encoding of one piece, exactly as the references do it.
//!
//! Two orders of merging, both lowest rank first and leftmost among equals:
//! by rank, where any two tokens whose bytes joined are a token may merge
//! (tiktoken), and by merge list, where only listed pairs may (Hugging Face).
//! They agree when every token came from a merge in order, but not in general.
//!
//! Not a tokenizer: it knows no text, only pieces.
//! Sources: Sennrich et al. 2016; openai/tiktoken; huggingface/tokenizers 0.23.

mod agenda;
mod atoms;
mod cuts;
mod last_merge;
mod merge;
pub mod pairs;
pub mod trainer;
mod worker;

use std::fmt;

use atoms::Atoms;
use cuts::Cuts;
use merge::Symbols;
pub use pairs::{Merged, PairTable};
pub use worker::{Dropout, Worker};

use crate::error::{Error, Result};
use crate::parallel;
use crate::vocab::{TokenId, Vocab};

/// Tokens of which tables are made by one thread; fewer are not worth two.
const PARALLEL_TOKENS: usize = 1 << 14;

/// What a piece is cut into before merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Its bytes: the byte-level BPE of GPT-2. In training they are numbered by
    /// the code points of their [`crate::byte_level`] characters.
    #[default]
    Bytes,
    /// Its Unicode characters, numbered by code point.
    Chars,
}

/// In which order pairs merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOrder {
    /// Any pair whose joined bytes are a token; the lowest id first. A piece
    /// that is a token is that token.
    Ranks,
    /// The pairs listed, in this order.
    List(Vec<(TokenId, TokenId)>),
}

/// What a model does beside merging. The defaults are those of a byte-level
/// tokenizer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BpeOptions {
    /// Bytes or characters.
    pub unit: Unit,
    /// What stands for symbols that are not in the vocabulary; without it they
    /// are left out, as Hugging Face leaves them out.
    pub unk_token: Option<String>,
    /// Whether a run of unknown symbols is one unknown token.
    pub fuse_unk: bool,
    /// Whether an unknown character becomes the tokens `<0xNN>` of its bytes.
    pub byte_fallback: bool,
    /// Whether a piece that is a token is that token, whatever the merges say.
    pub ignore_merges: bool,
    /// Probability to pass over a merge (BPE-dropout); 0 to 1.
    pub dropout: Option<f32>,
    /// What each symbol but the first of a piece begins with.
    pub continuing_subword_prefix: Option<String>,
    /// What the last symbol of a piece ends with.
    pub end_of_word_suffix: Option<String>,
}

/// A byte-pair-encoding model.
///
/// ```
/// use sentitok::{Vocab, bpe::{Bpe, BpeOptions, MergeOrder}};
/// let vocab = Vocab::from_tokens(["a", "b", "ab"]).unwrap();
/// let bpe = Bpe::new(vocab, MergeOrder::List(vec![(0, 1)]), BpeOptions::default()).unwrap();
/// assert_eq!(bpe.encode(b"abab"), [2, 2]);
/// ```
pub struct Bpe {
    vocab: Vocab,
    order: MergeOrder,
    options: BpeOptions,
    pairs: PairTable,
    /// The id of each single byte; `TokenId::MAX` where there is none.
    byte_ids: Box<[TokenId; 256]>,
    /// The ids of `<0xNN>`, when there is byte fallback and all 256 exist.
    fallback_ids: Option<Box<[TokenId; 256]>>,
    unk_id: Option<TokenId>,
    atoms: Atoms,
    /// For byte-level models that need no affixes and know all bytes.
    cuts: Option<Cuts>,
    max_token_len: usize,
}

impl fmt::Debug for Bpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bpe")
            .field("vocab_size", &self.vocab.len())
            .field("pairs", &self.pairs.len())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Bpe {
    /// Makes a model of a vocabulary, an order of merging and options.
    ///
    /// # Errors
    /// [`Error::Format`] for a merge whose parts or result are not tokens, or
    /// an unknown token that is no token; [`Error::Option`] for a dropout
    /// outside 0 to 1.
    pub fn new(vocab: Vocab, order: MergeOrder, options: BpeOptions) -> Result<Self> {
        if let Some(p) = options.dropout
            && !(0.0..=1.0).contains(&p)
        {
            return Err(Error::Option {
                option: "dropout",
                value: p.to_string(),
                reason: "a probability is from 0 to 1".into(),
            });
        }
        let pairs = match &order {
            MergeOrder::Ranks => pairs_by_rank(&vocab),
            MergeOrder::List(merges) => {
                pairs_by_list(&vocab, merges, options.continuing_subword_prefix.as_deref().unwrap_or(""))?
            }
        };
        let unk_id = match &options.unk_token {
            None => None,
            Some(token) => Some(vocab.id(token.as_bytes()).ok_or_else(|| {
                Error::format("$.model.unk_token", format!("{token:?} is not in the vocabulary"))
            })?),
        };
        let byte_ids = std::array::from_fn(|byte| vocab.id(&[byte as u8]).unwrap_or(TokenId::MAX));
        let fallback: [TokenId; 256] = std::array::from_fn(|byte| {
            vocab.id(format!("<0x{byte:02X}>").as_bytes()).unwrap_or(TokenId::MAX)
        });
        let has_fallback = options.byte_fallback && !fallback.contains(&TokenId::MAX);
        let atoms = match options.unit {
            Unit::Bytes => Atoms::new(&vocab, &pairs, &byte_ids),
            Unit::Chars => Atoms::default(),
        };
        let plain_bytes = options.unit == Unit::Bytes
            && !byte_ids.contains(&TokenId::MAX)
            && options.continuing_subword_prefix.is_none()
            && options.end_of_word_suffix.is_none();
        Ok(Self {
            cuts: plain_bytes.then(|| Cuts::new(&vocab)),
            max_token_len: vocab.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0),
            byte_ids: Box::new(byte_ids),
            fallback_ids: has_fallback.then(|| Box::new(fallback)),
            vocab,
            order,
            options,
            pairs,
            unk_id,
            atoms,
        })
    }

    /// The tokens.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The order of merging.
    pub fn order(&self) -> &MergeOrder {
        &self.order
    }

    /// The options.
    pub fn options(&self) -> &BpeOptions {
        &self.options
    }

    /// Every pair that may merge.
    pub fn pairs(&self) -> &PairTable {
        &self.pairs
    }

    /// The id of the unknown token.
    pub fn unk_id(&self) -> Option<TokenId> {
        self.unk_id
    }

    /// The byte that a fallback token `<0xNN>` stands for.
    pub fn fallback_byte(&self, id: TokenId) -> Option<u8> {
        let ids = self.fallback_ids.as_ref()?;
        let bytes = self.vocab.bytes(id)?;
        if bytes.len() != 6 {
            return None;
        }
        ids.iter().position(|&other| other == id).map(|byte| byte as u8)
    }

    /// Whether every piece decodes to itself: nothing can be unknown or left out.
    pub fn is_lossless(&self) -> bool {
        match self.options.unit {
            Unit::Bytes => !self.byte_ids.contains(&TokenId::MAX),
            Unit::Chars => self.fallback_ids.is_some(),
        }
    }

    /// Encodes one piece without a cache: the definition of every fast path.
    pub fn encode(&self, piece: &[u8]) -> Vec<TokenId> {
        let mut symbols = Symbols::default();
        self.encode_symbols(piece, &mut symbols, &mut None);
        symbols.ids
    }

    /// Fills `symbols` with the tokens of a piece and the bytes each covers.
    fn encode_symbols(&self, piece: &[u8], symbols: &mut Symbols, dropout: &mut Option<worker::Dropout>) {
        symbols.clear();
        if self.emits_whole_tokens()
            && let Some(id) = self.whole_token(piece)
        {
            symbols.push(id, piece.len() as u32);
            return;
        }
        self.encode_run(piece, symbols, dropout);
    }

    /// As [`Bpe::encode_symbols`], but by merging alone.
    fn encode_run(&self, piece: &[u8], symbols: &mut Symbols, dropout: &mut Option<worker::Dropout>) {
        symbols.clear();
        match self.options.unit {
            Unit::Bytes if self.has_affixes() || self.byte_ids.contains(&TokenId::MAX) => {
                self.push_units(piece, piece.chunks(1), symbols);
            }
            Unit::Bytes if dropout.is_none() => self.atoms.push_symbols(piece, &self.byte_ids, symbols),
            Unit::Bytes => {
                piece.iter().for_each(|&byte| symbols.push(self.byte_ids[usize::from(byte)], 1));
            }
            Unit::Chars => self.push_units(piece, chars(piece), symbols),
        }
        match dropout {
            None => symbols.merge(&self.pairs),
            Some(dropout) => symbols.merge_with_dropout(&self.pairs, &mut || dropout.skips()),
        }
    }

    fn emits_whole_tokens(&self) -> bool {
        self.order == MergeOrder::Ranks || self.options.ignore_merges
    }

    fn whole_token(&self, piece: &[u8]) -> Option<TokenId> {
        if piece.len() > self.max_token_len { None } else { self.vocab.id(piece) }
    }

    fn has_affixes(&self) -> bool {
        let adds = |affix: &Option<String>| affix.as_deref().is_some_and(|text| !text.is_empty());
        adds(&self.options.continuing_subword_prefix) || adds(&self.options.end_of_word_suffix)
    }

    /// Pushes one symbol a unit, with prefix and suffix, or what stands for a
    /// unit that is not in the vocabulary.
    fn push_units<'a>(&self, piece: &[u8], units: impl Iterator<Item = &'a [u8]>, symbols: &mut Symbols) {
        let prefix = self.options.continuing_subword_prefix.as_deref().unwrap_or("").as_bytes();
        let suffix = self.options.end_of_word_suffix.as_deref().unwrap_or("").as_bytes();
        let mut key = Vec::new();
        let mut unknown: Option<u32> = None;
        let mut at = 0;
        for unit in units {
            key.clear();
            if at > 0 {
                key.extend_from_slice(prefix);
            }
            key.extend_from_slice(unit);
            at += unit.len();
            if at == piece.len() {
                key.extend_from_slice(suffix);
            }
            let len = unit.len() as u32;
            if let Some(id) = self.vocab.id(&key) {
                if let (Some(unk), Some(len)) = (self.unk_id, unknown.take()) {
                    symbols.push(unk, len);
                }
                symbols.push(id, len);
            } else if let Some(ids) = &self.fallback_ids {
                unit.iter().for_each(|&byte| symbols.push(ids[usize::from(byte)], 1));
            } else if let Some(unk) = self.unk_id {
                unknown = match unknown {
                    Some(before) if self.options.fuse_unk => Some(before + len),
                    Some(before) => {
                        symbols.push(unk, before);
                        Some(len)
                    }
                    None => Some(len),
                };
            }
        }
        if let (Some(unk), Some(len)) = (self.unk_id, unknown) {
            symbols.push(unk, len);
        }
    }
}

/// The characters of a piece as byte slices; a byte that is no character is
/// its own.
fn chars(piece: &[u8]) -> impl Iterator<Item = &[u8]> {
    piece.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        valid
            .char_indices()
            .map(move |(at, c)| &valid.as_bytes()[at..at + c.len_utf8()])
            .chain(chunk.invalid().chunks(1))
    })
}

/// All ways to cut a token into two tokens, ranked by the token's id.
///
/// Every token that begins another is its longest such beginning, or begins
/// that; so one search a token finds them all, as a chain, and likewise for
/// endings. A cut is a beginning and an ending whose lengths make up the whole.
fn pairs_by_rank(vocab: &Vocab) -> PairTable {
    let search = |ids: std::ops::Range<usize>| -> Vec<(TokenId, TokenId)> {
        let find = |id: usize| {
            let bytes = vocab.bytes(id as TokenId).unwrap_or_default();
            let cuts = || 1..bytes.len();
            let head = cuts().rev().find_map(|cut| vocab.id(&bytes[..cut]));
            let tail = cuts().find_map(|cut| vocab.id(&bytes[cut..]));
            (head.unwrap_or(TokenId::MAX), tail.unwrap_or(TokenId::MAX))
        };
        ids.map(find).collect()
    };
    let found = parallel::in_chunks(vocab.id_limit(), PARALLEL_TOKENS, search);
    let (heads, tails): (Vec<_>, Vec<_>) = found.into_iter().flatten().unzip();
    let mut pairs = PairTable::with_capacity(vocab.len() * 9 / 4);
    let mut endings = Vec::new();
    for (id, bytes) in vocab.iter() {
        endings.clear();
        endings.extend(chain(&tails, id));
        let len = |id: TokenId| vocab.bytes(id).map_or(0, <[u8]>::len);
        // Beginnings become shorter, the endings that fit them longer.
        for left in chain(&heads, id) {
            while endings.last().is_some_and(|&right| len(left) + len(right) < bytes.len()) {
                endings.pop();
            }
            if let Some(&right) = endings.last()
                && len(left) + len(right) == bytes.len()
            {
                pairs.insert(left, right, Merged { rank: id, id });
            }
        }
    }
    pairs
}

/// What `next` leads to from an id, one after the other.
fn chain(next: &[TokenId], from: TokenId) -> impl Iterator<Item = TokenId> {
    let step = |id: &TokenId| Some(next[*id as usize]).filter(|&id| id != TokenId::MAX);
    std::iter::successors(step(&from), step)
}

fn pairs_by_list(vocab: &Vocab, merges: &[(TokenId, TokenId)], prefix: &str) -> Result<PairTable> {
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
