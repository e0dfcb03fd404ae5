//! `Model`: the one place where the algorithms meet.
//!
//! The set is closed: a further algorithm is a variant here, and the compiler
//! lists the arms that miss. Each encodes one piece and knows no text; what
//! only one of them can do is asked for by [`Model::bpe`] and its like.

pub mod bpe;
pub mod unigram;
pub mod wordpiece;

use crate::cache::pretoken_cache::PretokenCache;
use crate::error::{Error, Result};
use crate::models::bpe::{Bpe, Dropout, Unit};
use crate::models::unigram::{Partial, Unigram};
use crate::models::wordpiece::{Cleaner, WordPiece};
use crate::text::Piece;
use crate::token_lengths::TokenLengths;
use crate::vocab::{TokenId, Vocab};

/// Characters of an unknown piece that an error shows.
const SHOWN: usize = 100;

/// A model: turns a piece into ids.
#[derive(Debug)]
pub enum Model {
    /// Byte-pair encoding.
    Bpe(Bpe),
    /// Longest match first.
    WordPiece(WordPiece),
    /// The most probable pieces.
    Unigram(Unigram),
}

impl From<Bpe> for Model {
    fn from(model: Bpe) -> Self {
        Self::Bpe(model)
    }
}

impl From<WordPiece> for Model {
    fn from(model: WordPiece) -> Self {
        Self::WordPiece(model)
    }
}

impl From<Unigram> for Model {
    fn from(model: Unigram) -> Self {
        Self::Unigram(model)
    }
}

impl Model {
    /// The algorithm's name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bpe(_) => "BPE",
            Self::WordPiece(model) if model.options().whole_words => "WordLevel",
            Self::WordPiece(_) => "WordPiece",
            Self::Unigram(_) => "Unigram",
        }
    }

    /// The tokens.
    pub fn vocab(&self) -> &Vocab {
        match self {
            Self::Bpe(model) => model.vocab(),
            Self::WordPiece(model) => model.vocab(),
            Self::Unigram(model) => model.vocab(),
        }
    }

    /// The unit of tokens, which decides how files spell them.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Bpe(model) => model.options().unit,
            Self::WordPiece(_) | Self::Unigram(_) => Unit::Chars,
        }
    }

    /// The id of the unknown token.
    pub fn unk_id(&self) -> Option<TokenId> {
        match self {
            Self::Bpe(model) => model.unk_id(),
            Self::WordPiece(model) => model.unk_id(),
            Self::Unigram(model) => model.unk_id(),
        }
    }

    /// Whether a piece that is not made up of tokens is an error, as in Hugging Face's library: the
    /// unknown token is not in the vocabulary, or a Unigram model names none.
    pub(crate) fn refuses_unknown(&self) -> bool {
        match self {
            Self::Bpe(model) => model.options().unk_token.is_some() && model.unk_id().is_none(),
            Self::WordPiece(model) => model.unk_id().is_none(),
            Self::Unigram(model) => {
                model.unk_id().is_none() && model.options().precision == unigram::Precision::F64
            }
        }
    }

    /// Refuses a piece that is not made up of tokens; to be asked if [`Model::refuses_unknown`].
    ///
    /// # Errors
    /// [`Error::Encode`] with the unknown text.
    pub(crate) fn check_known(&self, piece: &[u8]) -> Result<()> {
        let (unknown, remedy) = match self {
            Self::Bpe(model) => (model.first_unknown(piece), "add it, or the unknown token"),
            Self::WordPiece(model) => {
                (Some(piece).filter(|piece| !model.knows(piece)), "add it, or the unknown token")
            }
            Self::Unigram(model) => {
                (model.first_unknown(piece)?, "add it, or name an unknown token (unk_id)")
            }
        };
        let Some(unknown) = unknown else { return Ok(()) };
        let token = match self.unk_token() {
            Some(token) => format!("; nor is the unknown token {token:?}"),
            None => ", and the model has no unknown token".to_owned(),
        };
        let text = String::from_utf8_lossy(unknown);
        let shown: String = text.chars().take(SHOWN).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        Err(Error::Encode(format!("{shown:?}{more} is not in the vocabulary{token}; {remedy}")))
    }

    /// The text of the unknown token.
    pub fn unk_token(&self) -> Option<&str> {
        match self {
            Self::Bpe(model) => model.options().unk_token.as_deref(),
            Self::WordPiece(model) => Some(&model.options().unk_token),
            Self::Unigram(model) => {
                let token = model.vocab().bytes(model.unk_id()?)?;
                std::str::from_utf8(token).ok()
            }
        }
    }

    /// The byte of a fallback token `<0xNN>`.
    pub fn fallback_byte(&self, id: TokenId) -> Option<u8> {
        match self {
            Self::Bpe(model) => model.fallback_byte(id),
            Self::WordPiece(_) => None,
            Self::Unigram(model) => model.fallback_byte(id),
        }
    }

    /// Whether every piece is the bytes of its tokens, one after the other.
    pub fn is_lossless(&self) -> bool {
        match self {
            Self::Bpe(model) => model.is_lossless(),
            Self::WordPiece(_) | Self::Unigram(_) => false,
        }
    }

    /// The probability of passing over a merge, for models that pass over any.
    pub fn dropout(&self) -> Option<f32> {
        match self {
            Self::Bpe(model) => model.options().dropout.filter(|&p| p > 0.0),
            Self::WordPiece(_) | Self::Unigram(_) => None,
        }
    }

    /// Whether a piece may be cut before a `▁` behind this letter: each part
    /// becomes what it is in the piece, or its partial result does ([`Model::sums_over_parts`]).
    pub(crate) fn may_cut_behind(&self, letter: u8) -> bool {
        match self {
            Self::Bpe(model) => model.cuts_words(),
            Self::WordPiece(_) => false,
            Self::Unigram(model) => model.may_cut_behind(letter),
        }
    }

    /// Whether the ids of a part of a piece depend on the text before it: see [`Worker::encode_part`]. Where
    /// Unigram does not know the `▁`, it has no parts.
    pub(crate) fn sums_over_parts(&self) -> bool {
        matches!(self, Self::Unigram(model) if model.knows_mark())
    }

    /// How far ids reach; `None` where ids do not determine it.
    pub(crate) fn token_lengths(&self) -> Option<TokenLengths> {
        match self {
            Self::Bpe(model) => model.token_lengths(),
            Self::WordPiece(model) => Some(model.token_lengths()),
            Self::Unigram(model) => model.token_lengths(),
        }
    }

    /// This model, which makes none of `specials` (ids ascending) of text; `None` if that is so already.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is none for a second model.
    pub(crate) fn without_specials(&self, specials: &[TokenId]) -> Result<Option<Self>> {
        self.vocab().check_room()?;
        Ok(match self {
            Self::Bpe(model) => model.without_specials(specials).map(Self::Bpe),
            Self::WordPiece(model) => model.without_specials(specials)?.map(Self::WordPiece),
            Self::Unigram(model) => model.without_specials(specials)?.map(Self::Unigram),
        })
    }

    /// The BPE model, for what only that can be asked.
    pub fn bpe(&self) -> Option<&Bpe> {
        match self {
            Self::Bpe(model) => Some(model),
            Self::WordPiece(_) | Self::Unigram(_) => None,
        }
    }

    /// The BPE model, or why `format` cannot hold this one.
    ///
    /// # Errors
    /// [`Error::NotRepresentable`] for another algorithm.
    pub fn bpe_for(&self, format: &'static str) -> Result<&Bpe> {
        self.bpe().ok_or_else(|| Error::NotRepresentable {
            format,
            reason: format!("it holds BPE models only, and this is {}", self.name()),
        })
    }

    /// Encodes one piece without a cache: the reference implementation of every fast path.
    pub fn encode(&self, piece: &[u8]) -> Vec<TokenId> {
        match self {
            Self::Bpe(model) => model.encode(piece),
            Self::WordPiece(model) => model.encode(piece),
            Self::Unigram(model) => model.encode(piece),
        }
    }

    /// A worker for this model.
    pub fn worker(&self) -> Worker<'_> {
        match self {
            Self::Bpe(model) => Worker::Bpe(model.worker()),
            Self::WordPiece(model) => Worker::WordPiece(model.worker()),
            Self::Unigram(model) => Worker::Unigram(model.worker()),
        }
    }

    /// A worker that continues what another one of this model left behind.
    pub(crate) fn worker_with(&self, scratch: Scratch) -> Worker<'_> {
        match (self, scratch) {
            (Self::Bpe(model), Scratch::Bpe(scratch)) => Worker::Bpe(model.worker_with(scratch)),
            (Self::WordPiece(model), Scratch::WordPiece(scratch)) => {
                Worker::WordPiece(model.worker_with(scratch))
            }
            (Self::Unigram(model), Scratch::Unigram(scratch)) => Worker::Unigram(model.worker_with(scratch)),
            (model, _) => model.worker(),
        }
    }
}

/// The buffers and caches of a [`Worker`] at rest, good for one model alone.
pub(crate) enum Scratch {
    /// That of [`Model::Bpe`].
    Bpe(Box<bpe::Scratch>),
    /// That of [`Model::WordPiece`].
    WordPiece(Box<wordpiece::Scratch>),
    /// That of [`Model::Unigram`].
    Unigram(Box<unigram::Scratch>),
}

/// The state with which one thread encodes pieces; made by [`Model::worker`].
pub enum Worker<'m> {
    /// That of [`Model::Bpe`].
    Bpe(bpe::Worker<'m>),
    /// That of [`Model::WordPiece`].
    WordPiece(wordpiece::Worker<'m>),
    /// That of [`Model::Unigram`].
    Unigram(unigram::Worker<'m>),
}

impl Worker<'_> {
    /// The memory that another worker of the same model can use: caches, up to 17 MiB
    /// (Unigram: 12 MiB), and about 1 MiB of buffers.
    pub(crate) fn into_scratch(self) -> Scratch {
        match self {
            Self::Bpe(worker) => Scratch::Bpe(worker.into_scratch()),
            Self::WordPiece(worker) => Scratch::WordPiece(worker.into_scratch()),
            Self::Unigram(worker) => Scratch::Unigram(worker.into_scratch()),
        }
    }

    /// Sets the dropout of the pieces that follow, where the model has one.
    pub fn set_dropout(&mut self, dropout: Option<Dropout>) {
        match self {
            Self::Bpe(worker) => worker.set_dropout(dropout),
            Self::WordPiece(_) | Self::Unigram(_) => {}
        }
    }

    /// Whether the model looks the pieces that follow up in its memo. Callers that keep the ids of each
    /// distinct piece themselves turn that off.
    pub(crate) fn set_learning(&mut self, learns: bool) {
        match self {
            Self::Unigram(worker) => worker.set_learning(learns),
            Self::Bpe(_) | Self::WordPiece(_) => {}
        }
    }

    /// Appends the ids of the piece `text[start..end]`.
    #[inline]
    pub fn encode(&mut self, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        match self {
            Self::Bpe(worker) => worker.encode(text, start, end, ids),
            Self::WordPiece(worker) => worker.encode(text, start, end, ids),
            Self::Unigram(worker) => worker.encode(text, start, end, ids),
        }
    }

    /// Appends the ids of pieces of a text, in order.
    #[inline]
    pub(crate) fn encode_chunk(&mut self, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        match self {
            Self::Bpe(worker) => worker.encode_chunk(text, pieces, ids),
            Self::WordPiece(worker) => worker.encode_chunk(text, pieces, ids),
            Self::Unigram(worker) => worker.encode_chunk(text, pieces, ids),
        }
    }

    /// Whether [`Worker::encode_words`] can be asked: see `bpe::Worker`.
    #[inline]
    pub(crate) fn joins_words(&self) -> bool {
        matches!(self, Self::Bpe(worker) if worker.joins_words())
    }

    /// Appends the ids of the next pieces of a text, of which `joins` says whether superwords may join them: see `bpe::Worker`.
    ///
    /// # Errors
    /// [`Error::Internal`] where [`Worker::joins_words`] says that they cannot be.
    #[inline]
    pub(crate) fn encode_words(
        &mut self,
        text: &[u8],
        pieces: &[Piece],
        joins: impl Fn(&[u8]) -> bool,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        match self {
            Self::Bpe(worker) => worker.encode_words(text, pieces, joins, ids),
            Self::WordPiece(_) | Self::Unigram(_) => {
                Err(Error::Internal("a model that joins no words".into()))
            }
        }
    }

    /// Whether [`Worker::encode_with_space_as_mark`] can be asked: see `bpe::Worker`.
    #[inline]
    pub(crate) fn reads_spaces(&self, split: bool, worth: impl FnOnce() -> bool) -> bool {
        match self {
            Self::Bpe(worker) => !worker.refuses_unknown() && worker.reads_spaces(split, worth),
            Self::WordPiece(_) | Self::Unigram(_) => false,
        }
    }

    /// Appends the ids of pieces of a text whose spaces are read as `▁`.
    ///
    /// # Errors
    /// [`Error::Internal`] where [`Worker::reads_spaces`] says that they cannot be.
    #[inline]
    pub(crate) fn encode_with_space_as_mark(
        &mut self,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        match self {
            Self::Bpe(worker) => worker.encode_with_space_as_mark(text, pieces, ids),
            Self::WordPiece(_) | Self::Unigram(_) => {
                Err(Error::Internal("a model that reads no spaces as marks".into()))
            }
        }
    }

    /// Encodes where ids are only counted: the caches do not put out the ids that they know;
    /// returns how many these are, in addition to the appended ones.
    #[inline]
    pub(crate) fn counting<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, usize) {
        if let Some(cache) = self.cache() {
            cache.begin_counting();
        }
        let done = work(self);
        (done, self.cache().map_or(0, PretokenCache::end_counting))
    }

    fn cache(&mut self) -> Option<&mut PretokenCache> {
        match self {
            Self::Bpe(worker) => Some(worker.cache()),
            Self::WordPiece(worker) => Some(worker.cache()),
            Self::Unigram(_) => None,
        }
    }

    /// Whether there was memory for all that was encoded since the last look;
    /// ids are missing where there was not.
    ///
    /// # Errors
    /// [`Error::Memory`] if not.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        match self {
            Self::Bpe(worker) => worker.check(),
            Self::WordPiece(worker) => worker.check(),
            Self::Unigram(worker) => worker.check(),
        }
    }

    /// Appends the ids of raw words of a text, which only WordPiece takes.
    ///
    /// # Errors
    /// As `cleaner`; [`Error::Internal`] for another model.
    pub(crate) fn encode_raw_words(
        &mut self,
        cleaner: &impl Cleaner,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        match self {
            Self::WordPiece(worker) => worker.encode_raw_words(cleaner, text, pieces, ids),
            Self::Bpe(_) | Self::Unigram(_) => {
                Err(Error::Internal("raw words of a model that is not WordPiece".into()))
            }
        }
    }

    /// Encodes a part of a piece as far as possible without the text before it.
    ///
    /// # Errors
    /// [`Error::Internal`] where [`Model::sums_over_parts`] says that there is no such thing.
    pub(crate) fn encode_part(&mut self, part: Vec<u8>) -> Result<Partial> {
        match self {
            Self::Unigram(worker) => worker.encode_part(part),
            Self::Bpe(_) | Self::WordPiece(_) => Err(no_partial_results()),
        }
    }

    /// Appends the ids of a partial result, given the sum before it; returns the sum of both.
    ///
    /// # Errors
    /// As [`Worker::encode_part`].
    pub(crate) fn finish(&mut self, partial: Partial, sum: f64, ids: &mut Vec<TokenId>) -> Result<f64> {
        match self {
            Self::Unigram(worker) => Ok(worker.finish(partial, sum, ids)),
            Self::Bpe(_) | Self::WordPiece(_) => Err(no_partial_results()),
        }
    }

    /// Appends the ids of a piece and the bytes that each covers.
    pub fn encode_with_lens(&mut self, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        match self {
            Self::Bpe(worker) => worker.encode_with_lens(piece, ids, lens),
            Self::WordPiece(worker) => worker.encode_with_lens(piece, ids, lens),
            Self::Unigram(worker) => worker.encode_with_lens(piece, ids, lens),
        }
    }
}

fn no_partial_results() -> Error {
    Error::Internal("a model whose parts are encoded alone makes no partial results".into())
}
