//! `Bpe`: byte-pair encoding of one piece, exactly as the references do it.
//!
//! Three orders of merging, all lowest rank first and leftmost among equals:
//! by rank, where any two tokens whose bytes joined are a token may merge
//! (tiktoken), by merge list, where only listed pairs may (Hugging Face), and by
//! scores, where the greatest score comes first (SentencePiece). They agree when
//! every token came from a merge in order, but not in general.
//!
//! Not a tokenizer: it knows no text, only pieces.
//! Sources: Sennrich et al. 2016; openai/tiktoken; huggingface/tokenizers 0.23.

mod array_merge;
mod cache_fill;
mod last_merge;
mod merge;
mod merge_boundaries;
mod merge_queue;
mod orders;
pub mod pairs;
mod reach;
mod resegment;
mod score_runs;
mod scores;
mod short_merge;
mod space_as_mark;
mod superword_merge;
mod symbols;
mod units;
mod windowed_merge;
mod without_specials;
mod worker;

use std::fmt;

use merge::PassOver;
pub(crate) use merge::Symbols;
use merge_boundaries::MergeBoundaries;
pub use pairs::{Merged, PairTable};
use scores::Scored;
use space_as_mark::SpaceAsMark;
use superword_merge::Superwords;
#[cfg(feature = "train")]
pub(crate) use superword_merge::has_several_words;
#[cfg(feature = "train")]
pub(crate) use superword_merge::{END, WordEncoder, WordScratch};
use symbols::{CharTokens, SymbolTable, TokensByKey};
use units::chars;
pub(crate) use worker::Scratch;
pub use worker::{Dropout, Worker};

use crate::error::{Error, Result};
use crate::parallel;
use crate::text::SPACE_MARK_BYTES;
pub use crate::vocab::Unit;
use crate::vocab::{TokenId, Vocab};

/// Up to this number of tokens, tables are made by one thread: two would take longer.
const PARALLEL_TOKENS: usize = 1 << 14;

/// The longest prefix or suffix: a text may become so many times longer.
const MAX_AFFIX_BYTES: usize = 256;

/// In which order pairs merge.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeOrder {
    /// Any pair whose joined bytes are a token; the lowest id first. A piece
    /// that is a token is that token.
    Ranks,
    /// The pairs listed, in this order.
    List(Vec<(TokenId, TokenId)>),
    /// Any pair whose joined text is a token; the greatest score first, by id.
    /// Over characters, of text that is already normalized, `▁` and all.
    Scores(Vec<f32>),
}

/// Options of a model in addition to merging. The defaults are those of a byte-level
/// tokenizer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BpeOptions {
    /// Bytes or characters.
    pub unit: Unit,
    /// The replacement of symbols that are not in the vocabulary; without it they
    /// are left out, as Hugging Face leaves them out.
    pub unk_token: Option<String>,
    /// Whether a run of unknown symbols is one unknown token.
    pub fuse_unk: bool,
    /// Whether an unknown character becomes the tokens `<0xNN>` of its bytes.
    pub byte_fallback: bool,
    /// Whether a piece that is a token is that token, whatever the merges say;
    /// not under dropout.
    pub ignore_merges: bool,
    /// Probability to pass over a merge (BPE-dropout); 0 to 1.
    pub dropout: Option<f32>,
    /// The prefix of each symbol but the first of a piece.
    pub continuing_subword_prefix: Option<String>,
    /// The suffix of the last symbol of a piece.
    pub end_of_word_suffix: Option<String>,
    /// With [`MergeOrder::Scores`]: tokens that no text becomes. The unknown
    /// token and those of byte fallback are so anyway.
    pub control: Vec<TokenId>,
    /// With [`MergeOrder::Scores`]: tokens found first, longest first, that
    /// never merge.
    pub user_defined: Vec<TokenId>,
    /// With [`MergeOrder::Scores`]: tokens that merge like any token, and are
    /// taken apart again at the end; of one character, as if they did not exist.
    pub unused: Vec<TokenId>,
}

/// A byte-pair-encoding model.
///
/// ```
/// use sentitok::{Vocab, models::bpe::{Bpe, BpeOptions, MergeOrder}};
/// let vocab = Vocab::from_tokens(["a", "b", "ab"]).unwrap();
/// let bpe = Bpe::new(vocab, MergeOrder::List(vec![(0, 1)]), BpeOptions::default()).unwrap();
/// assert_eq!(bpe.encode(b"abab"), [2, 2]);
/// ```
#[derive(Clone)]
pub struct Bpe {
    vocab: Vocab,
    order: MergeOrder,
    options: BpeOptions,
    pairs: PairTable,
    /// The id of each single byte; `TokenId::MAX` where there is none.
    byte_ids: Box<[TokenId; 256]>,
    /// The ids of `<0xNN>`, when there is byte fallback; `TokenId::MAX` for one
    /// that is not a token.
    fallback_ids: Option<Box<[TokenId; 256]>>,
    unk_id: Option<TokenId>,
    symbols: SymbolTable,
    /// For models that need no affixes and know all bytes, and for scores.
    boundaries: Option<MergeBoundaries>,
    /// Whether a piece may be cut before its `▁`.
    cuts_words: bool,
    /// For [`MergeOrder::Scores`].
    scored: Option<Box<Scored>>,
    max_token_len: usize,
    /// Whether symbols are bytes, all known, without affixes.
    plain_bytes: bool,
    /// Tokens that no piece equals: special tokens, ids ascending.
    excluded: Vec<TokenId>,
    /// See [`Bpe::space_as_mark`].
    space_as_mark: SpaceAsMark,
    /// How pieces of several words are encoded, if tokens hold several.
    superwords: Option<Box<Superwords>>,
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
    /// [`Error::Format`] for a merge whose parts or result are not tokens; [`Error::Option`] for a
    /// dropout outside 0 to 1.
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
        let affixes = [
            ("continuing_subword_prefix", &options.continuing_subword_prefix),
            ("end_of_word_suffix", &options.end_of_word_suffix),
        ];
        for (name, affix) in affixes {
            let len = affix.as_deref().unwrap_or_default().len();
            if len > MAX_AFFIX_BYTES {
                return Err(Error::format(
                    format!("$.model.{name}"),
                    format!("it has {len} bytes, and each symbol holds it; at most {MAX_AFFIX_BYTES}"),
                ));
            }
        }
        let unk_id = options.unk_token.as_ref().and_then(|token| vocab.id(token.as_bytes()));
        let byte_ids = std::array::from_fn(|byte| vocab.id(&[byte as u8]).unwrap_or(TokenId::MAX));
        let fallback: [TokenId; 256] = std::array::from_fn(|byte| {
            vocab.id(format!("<0x{byte:02X}>").as_bytes()).unwrap_or(TokenId::MAX)
        });
        if options.byte_fallback
            && matches!(order, MergeOrder::Scores(_))
            && let Some(byte) = fallback.iter().position(|&id| id == TokenId::MAX)
        {
            // SentencePiece refuses such a model, too.
            return Err(Error::format(
                "BPE model by scores",
                format!("byte_fallback is true, but there is no piece <0x{byte:02X}>; it takes all 256"),
            ));
        }
        let mut scored = None;
        let mut symbols = None;
        let pairs = match &order {
            MergeOrder::Ranks => orders::by_rank(&vocab),
            MergeOrder::List(merges) => {
                let prefix = options.continuing_subword_prefix.as_deref().unwrap_or("");
                orders::by_list(&vocab, merges, prefix)?
            }
            MergeOrder::Scores(scores) => {
                let bytes = fallback.into_iter().filter(|_| options.byte_fallback);
                let reserved = unk_id.into_iter().chain(bytes).chain(options.control.iter().copied());
                let tables = Scored::make(&vocab, scores, &options, &reserved.collect())?;
                symbols = tables.scored.merges_only().then_some(tables.symbols);
                scored = Some(Box::new(tables.scored));
                tables.pairs
            }
        };
        let affixes = [&options.continuing_subword_prefix, &options.end_of_word_suffix];
        let has_affixes = affixes.into_iter().flatten().any(|affix| !affix.is_empty());
        let plain_bytes = options.unit == Unit::Bytes && !has_affixes && !byte_ids.contains(&TokenId::MAX);
        let mut stands_for_byte = vec![false; vocab.id_limit()];
        for id in fallback {
            if let Some(slot) = stands_for_byte.get_mut(id as usize) {
                *slot = true;
            }
        }
        let is_byte = |id: TokenId| stands_for_byte.get(id as usize) == Some(&true);
        // Tokens hold their text, unless `<0xNN>` merge.
        let plain_chars = options.byte_fallback
            && !fallback.contains(&TokenId::MAX)
            && options.unit == Unit::Chars
            && !has_affixes
            && scored.is_none()
            && !pairs.iter().any(|(left, right, _)| is_byte(left) || is_byte(right));
        // Models by scores have their own table.
        let chars = match options.unit {
            Unit::Chars if scored.is_none() => CharTokens::new(&vocab),
            _ => CharTokens::default(),
        };
        let cut_by = if plain_bytes || plain_chars { Some(&vocab) } else { symbols.as_ref() };
        // A single `▁` must be the file's token, not a character without one.
        let marks = |tokens: &&Vocab| tokens.id(&SPACE_MARK_BYTES) == vocab.id(&SPACE_MARK_BYTES);
        let cuts_words = options.unit == Unit::Chars
            && order != MergeOrder::Ranks
            && !options.ignore_merges
            && cut_by.filter(marks).is_some_and(MergeBoundaries::at_words);
        let make_boundaries =
            || cut_by.map(|tokens| MergeBoundaries::new(tokens, options.unit == Unit::Chars));
        let emits_tokens = plain_bytes && (order == MergeOrder::Ranks || options.ignore_merges);
        let make_tokens = || emits_tokens.then(|| TokensByKey::new(&vocab));
        let (boundaries, tokens) = if vocab.len() < PARALLEL_TOKENS {
            (make_boundaries(), make_tokens())
        } else {
            parallel::both(make_boundaries, make_tokens)
        };
        let superwords = match &order {
            MergeOrder::List(merges) if plain_bytes && !options.ignore_merges => {
                Superwords::new(&vocab, merges, &pairs, &options)?
            }
            _ => None,
        };
        Ok(Self {
            superwords,
            boundaries,
            symbols: SymbolTable { chars, tokens },
            cuts_words,
            scored,
            max_token_len: vocab.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0),
            byte_ids: Box::new(byte_ids),
            fallback_ids: options.byte_fallback.then(|| Box::new(fallback)),
            vocab,
            order,
            options,
            pairs,
            unk_id,
            plain_bytes,
            excluded: Vec::new(),
            space_as_mark: SpaceAsMark::default(),
        })
    }

    /// Cuts long pieces also between ASCII characters, which pays off for pieces of several words.
    #[must_use]
    fn cutting_words(mut self) -> Self {
        if self.plain_bytes {
            self.boundaries = Some(MergeBoundaries::new(&self.vocab, true));
        }
        self
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

    /// The first character (or byte) of a piece that no token is or spells.
    pub(crate) fn first_unknown<'a>(&self, piece: &'a [u8]) -> Option<&'a [u8]> {
        if self.scored.is_some() || self.emits_whole_tokens() && self.whole_token(piece).is_some() {
            return None;
        }
        match self.options.unit {
            Unit::Bytes => self.unknown_unit(piece, piece.chunks(1)),
            Unit::Chars => self.unknown_unit(piece, chars(piece)),
        }
    }

    /// Whether a piece may be cut before each `▁` that does not follow a `▁`.
    pub(crate) fn cuts_words(&self) -> bool {
        self.cuts_words
    }

    /// The tokens `<0xNN>` of byte fallback.
    pub(crate) fn fallback_tokens(&self) -> impl Iterator<Item = TokenId> {
        self.fallback_ids.iter().flat_map(|ids| ids.iter().copied()).filter(|&id| id != TokenId::MAX)
    }

    /// The byte of a fallback token `<0xNN>`.
    pub fn fallback_byte(&self, id: TokenId) -> Option<u8> {
        let ids = self.fallback_ids.as_ref()?;
        let bytes = self.vocab.bytes(id)?;
        if bytes.len() != 6 {
            return None;
        }
        // `id` is a token's, so it is never the mark of none.
        ids.iter().position(|&other| other == id).map(|byte| byte as u8)
    }

    /// Whether every piece is the bytes of its tokens, one after the other: nothing
    /// is unknown, left out or put on, and no token is named as a byte.
    pub fn is_lossless(&self) -> bool {
        self.plain_bytes
    }

    /// Encodes one piece without a cache: the reference implementation of every fast path.
    pub fn encode(&self, piece: &[u8]) -> Vec<TokenId> {
        let mut symbols = Symbols::default();
        self.encode_symbols(piece, &mut symbols, &mut None);
        symbols.insist();
        symbols.ids
    }

    /// Fills `symbols` with the tokens of a piece and the bytes each covers.
    fn encode_symbols(&self, piece: &[u8], symbols: &mut Symbols, dropout: &mut Option<worker::Dropout>) {
        symbols.clear();
        // Dropout makes parts of whole tokens too, as in Hugging Face.
        if dropout.is_none()
            && self.emits_whole_tokens()
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
        if let Some(scored) = &self.scored {
            return self.encode_by_scores(scored, piece, symbols, dropout);
        }
        match self.options.unit {
            Unit::Bytes if !self.plain_bytes => self.push_units(piece, piece.chunks(1), symbols),
            Unit::Bytes => {
                piece.iter().for_each(|&byte| symbols.push(self.byte_ids[usize::from(byte)], 1));
            }
            Unit::Chars => self.push_units(piece, chars(piece), symbols),
        }
        match dropout {
            None => symbols.merge(&self.pairs),
            Some(dropout) => {
                symbols.merge_with_dropout(&self.pairs, PassOver::Waits(&mut || dropout.skips()));
            }
        }
    }

    pub(crate) fn has_affixes(&self) -> bool {
        let adds = |affix: &Option<String>| affix.as_deref().is_some_and(|text| !text.is_empty());
        adds(&self.options.continuing_subword_prefix) || adds(&self.options.end_of_word_suffix)
    }
}
