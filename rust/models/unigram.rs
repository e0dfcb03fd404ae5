//! `Unigram`: the most probable pieces of a text, exactly as the references
//! find them.
//!
//! Every piece has a score, the logarithm of its probability; the best way to
//! cut a text is the one of the greatest sum. What that sum is depends on how
//! it is rounded, so there are two exact modes: SentencePiece's and Hugging
//! Face's. Not a tokenizer: it knows no spaces, only pieces of `▁`-text.
//!
//! Sources: Kudo 2018, "Subword Regularization"; google/sentencepiece 0.2.3;
//! huggingface/tokenizers 0.23.3.

mod lattice;
mod memo;
mod n_best;
mod output;
mod partial;
mod pieces;
mod reach;
mod sample;
mod unknown;
mod viterbi;
mod worker;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::random::Random;
pub use lattice::Lattice;
pub use n_best::Path;
pub(crate) use partial::Partial;
pub(crate) use worker::Scratch;
pub use worker::Worker;

use self::pieces::Pieces;
use self::viterbi::{Scores, Viterbi, kind_in_search};
use crate::error::{Error, Result};
use crate::text::SPACE_MARK_BYTES;
use crate::token_lengths::CharSet;
pub use crate::vocab::PieceKind;
use crate::vocab::{TokenId, Vocab};

/// The longest piece in bytes; SentencePiece has the same limit.
pub const MAX_PIECE_BYTES: usize = 7999;

/// How scores are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// In 32 bits, as SentencePiece does.
    #[default]
    F32,
    /// In 64 bits, as Hugging Face does.
    F64,
}

/// Options of a model in addition to the search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnigramOptions {
    /// The replacement of characters in no piece; without it they are left out.
    pub unk_id: Option<TokenId>,
    /// Whether an unknown character becomes the tokens `<0xNN>` of its bytes.
    pub byte_fallback: bool,
    /// Whether a run of unknown characters is one unknown token; always so in
    /// both references.
    pub fuse_unk: bool,
    /// Whose sums.
    pub precision: Precision,
    /// The kind of each piece, by id; empty if all are [`PieceKind::Normal`], as in
    /// Hugging Face's files.
    pub kinds: Vec<PieceKind>,
}

impl Default for UnigramOptions {
    fn default() -> Self {
        Self {
            unk_id: None,
            byte_fallback: false,
            fuse_unk: true,
            precision: Precision::default(),
            kinds: Vec::new(),
        }
    }
}

impl UnigramOptions {
    /// Whether a piece is found in text.
    fn is_in_text(&self, id: TokenId) -> bool {
        // SentencePiece keeps the unknown piece out of text; Hugging Face has no kinds.
        let is_unknown = self.precision == Precision::F32 && self.unk_id == Some(id);
        self.kinds.get(id as usize).copied().unwrap_or_default().is_in_text() && !is_unknown
    }
}

/// A unigram language model of pieces.
///
/// ```
/// use sentitok::{Vocab, models::unigram::{Unigram, UnigramOptions}};
/// let vocab = Vocab::from_tokens(["<unk>", "▁", "a", "b", "ab"]).unwrap();
/// let mut options = UnigramOptions::default();
/// options.unk_id = Some(0);
/// let model = Unigram::new(vocab, vec![0.0, -3.0, -2.0, -2.0, -3.5], options).unwrap();
/// assert_eq!(model.encode("▁abba".as_bytes()), [1, 4, 3, 2]);
/// ```
pub struct Unigram {
    vocab: Vocab,
    scores: Vec<f64>,
    options: UnigramOptions,
    pieces: Pieces,
    in_search: Scores,
    /// The ids of `<0xNN>`, `TokenId::MAX` where there is none.
    fallback_ids: Option<Box<[TokenId; 256]>>,
    /// Whether there is one of each.
    spells_all: bool,
    /// Bytes with which a token may begin in a run of unknown characters.
    begins_run: [bool; 256],
    max_piece_len: usize,
    /// Bytes that a `▁` follows inside some piece.
    before_inner_mark: [bool; 256],
    /// Tokens that no run of unknown characters equals: special
    /// tokens, ids ascending.
    excluded: Vec<TokenId>,
    /// The characters that pieces hold; `None` where a piece is not UTF-8.
    chars: Option<CharSet>,
}

impl fmt::Debug for Unigram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unigram")
            .field("vocab_size", &self.vocab.len())
            .field("unk_id", &self.options.unk_id)
            .field("byte_fallback", &self.options.byte_fallback)
            .field("precision", &self.options.precision)
            .finish_non_exhaustive()
    }
}

impl Unigram {
    /// Makes a model of a vocabulary without gaps, scores by id and options.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty vocabulary, gaps, scores or kinds that
    /// are not as many, a score that is not a finite number, a piece that is
    /// empty or longer than [`MAX_PIECE_BYTES`], an unknown id that is none.
    pub fn new(vocab: Vocab, scores: Vec<f64>, options: UnigramOptions) -> Result<Self> {
        check(&vocab, &scores, &options)?;
        let pieces: Vec<_> =
            vocab.iter().filter(|(id, _)| options.is_in_text(*id)).map(|(id, bytes)| (bytes, id)).collect();
        let mut before_inner_mark = [false; 256];
        let mark = memchr::memmem::Finder::new("▁");
        for (piece, _) in &pieces {
            for at in mark.find_iter(piece).filter(|&at| at > 0) {
                before_inner_mark[usize::from(piece[at - 1])] = true;
            }
        }
        let max_piece_len = pieces.iter().map(|(piece, _)| piece.len()).max().unwrap_or(0);
        let texts: Option<Vec<&str>> =
            pieces.iter().map(|(piece, _)| std::str::from_utf8(piece).ok()).collect();
        let chars = texts.map(|texts| CharSet::new(texts.into_iter().flat_map(str::chars)));
        let pieces = Pieces::new(pieces)?;
        let fallback = |byte| vocab.id(format!("<0x{byte:02X}>").as_bytes()).unwrap_or(TokenId::MAX);
        let fallback: [TokenId; 256] = std::array::from_fn(fallback);
        if options.byte_fallback
            && options.precision == Precision::F32
            && let Some(byte) = fallback.iter().position(|&id| id == TokenId::MAX)
        {
            // SentencePiece refuses such a model; Hugging Face falls back to the unknown token.
            return Err(Error::format(
                "unigram model",
                format!("byte_fallback is true, but there is no piece <0x{byte:02X}>; it takes all 256"),
            ));
        }
        Ok(Self {
            spells_all: options.byte_fallback && !fallback.contains(&TokenId::MAX),
            begins_run: Self::beginnings_of_runs(&vocab, &options),
            in_search: Scores::of(&vocab, &scores, &options),
            fallback_ids: options.byte_fallback.then(|| Box::new(fallback)),
            max_piece_len,
            before_inner_mark,
            excluded: Vec::new(),
            chars,
            pieces,
            vocab,
            scores,
            options,
        })
    }

    /// The pieces.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The scores by id, as given.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The score that the search reckons with: not that of the file for a user-defined
    /// piece.
    pub fn score_in_search(&self, id: TokenId) -> Option<f64> {
        self.in_search.by_id.get(id as usize).copied()
    }

    /// The first piece of those whose score is the least that the search reckons
    /// an unknown character by.
    pub fn least_id(&self) -> Option<TokenId> {
        let scores = &self.in_search.by_id;
        let counts = |id: &usize| {
            self.options.precision == Precision::F64
                || kind_in_search(&self.options, *id) == PieceKind::Normal
        };
        let ids = (0..scores.len()).filter(counts);
        ids.min_by(|&a, &b| scores[a].total_cmp(&scores[b])).map(|id| id as TokenId)
    }

    /// The options.
    pub fn options(&self) -> &UnigramOptions {
        &self.options
    }

    /// The id of the unknown token.
    pub fn unk_id(&self) -> Option<TokenId> {
        self.options.unk_id
    }

    /// The kind of a piece.
    pub fn kind(&self, id: TokenId) -> PieceKind {
        self.options.kinds.get(id as usize).copied().unwrap_or_default()
    }

    /// The byte of a fallback token `<0xNN>`.
    pub fn fallback_byte(&self, id: TokenId) -> Option<u8> {
        let ids = self.fallback_ids.as_ref()?;
        if self.vocab.bytes(id)?.len() != 6 {
            return None;
        }
        ids.iter().position(|&other| other == id).map(|byte| byte as u8)
    }

    /// Encodes one piece in one search: the reference implementation of every fast path.
    pub fn encode(&self, piece: &[u8]) -> Vec<TokenId> {
        let mut ids = Vec::new();
        self.for_ids_of(piece, &self.searched(piece, Viterbi::default()), |id| ids.push(id));
        ids
    }

    /// The pieces of the best way with their lengths.
    fn searched(&self, piece: &[u8], mut viterbi: Viterbi) -> Vec<(TokenId, u32)> {
        match self.options.precision {
            Precision::F32 => viterbi.search::<true>(self, piece, 0.0),
            Precision::F64 => viterbi.search::<false>(self, piece, 0.0),
        };
        viterbi.path
    }

    /// The path of [`Unigram::encode`]: pieces, or [`Unigram::unknown_mark`], and
    /// their lengths.
    fn best_path(&self, piece: &[u8]) -> Result<Vec<(TokenId, u32)>> {
        let mut viterbi = Viterbi::default();
        viterbi.make_room(piece.len())?;
        Ok(self.searched(piece, viterbi))
    }

    /// The first run of characters of a piece, by its best path, that has no replacement.
    pub(crate) fn first_unknown<'a>(&self, piece: &'a [u8]) -> Result<Option<&'a [u8]>> {
        let (mut at, mut start) = (0, None);
        let mut path = self.best_path(piece)?;
        // A sentinel that ends the last run.
        path.push((0, 0));
        for (id, len) in path {
            if id == self.unknown_mark() {
                start.get_or_insert(at);
            } else if let Some(start) = start.take() {
                let mut n = 0;
                self.for_unknown(&piece[start..at], |_, _| n += 1);
                if n == 0 {
                    return Ok(Some(&piece[start..at]));
                }
            }
            at += len as usize;
        }
        Ok(None)
    }

    /// All ways to cut a piece.
    pub fn lattice<'a>(&'a self, piece: &'a [u8]) -> Lattice<'a> {
        Lattice::new(self, piece)
    }

    /// The `n` best ways to cut a piece, best first, with their scores; the
    /// first is that of [`Unigram::encode`]. Of equal scores the way whose last
    /// token is longer comes first, then that whose last but one is, and so on.
    ///
    /// # Errors
    /// [`Error::Encode`] where these are more than 2^24 ids, or more than 2^22
    /// ways to all places of the piece are to be kept, up to `n` to each;
    /// [`Error::Memory`] where there is no memory for that.
    pub fn n_best(&self, piece: &[u8], n: usize) -> Result<Vec<Path>> {
        self.lattice(piece).n_best(n)
    }

    /// A way to cut a piece drawn with probability proportional to the power
    /// `alpha` of its probability (subword regularisation): 0 draws evenly among all,
    /// a great `alpha` draws the best. The same seed draws the same.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is no memory for a few numbers a byte.
    pub fn sample(&self, piece: &[u8], alpha: f64, seed: u64) -> Result<Vec<TokenId>> {
        self.lattice(piece).sample(alpha, &mut Random::new(seed))
    }

    /// Where the unit that begins at `start` ends: before the next `▁` that
    /// begins no inner part of a piece.
    #[inline]
    fn unit_end(&self, text: &[u8], start: usize, end: usize) -> usize {
        let mut at = start + 1;
        while at < end {
            if let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
                // The first zero byte of the difference to E2 E2 E2 ... .
                let difference = u64::from_le_bytes(*word) ^ 0xE2E2_E2E2_E2E2_E2E2;
                let zero =
                    difference.wrapping_sub(0x0101_0101_0101_0101) & !difference & 0x8080_8080_8080_8080;
                if zero == 0 {
                    at += 8;
                    continue;
                }
                at += (zero.trailing_zeros() / 8) as usize;
            }
            if text.get(at..).and_then(<[u8]>::first_chunk) == Some(&SPACE_MARK_BYTES)
                && at + 3 <= end
                && !self.before_inner_mark[usize::from(text[at - 1])]
            {
                return at;
            }
            at += 1;
        }
        end
    }

    fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    fn scores_in_search(&self) -> &Scores {
        &self.in_search
    }
}

fn check(vocab: &Vocab, scores: &[f64], options: &UnigramOptions) -> Result<()> {
    let error = |reason: String| Err(Error::format("unigram model", reason));
    let n = vocab.len();
    if n == 0 {
        return error("it has no pieces".into());
    }
    if vocab.id_limit() != n {
        return error(format!(
            "its {n} pieces have ids up to {}; they must be 0 to {}",
            vocab.id_limit() - 1,
            n - 1
        ));
    }
    if scores.len() != n || !matches!(options.kinds.len(), 0) && options.kinds.len() != n {
        return error(format!("{n} pieces have {} scores and {} kinds", scores.len(), options.kinds.len()));
    }
    if let Some(id) = options.unk_id.filter(|&id| id as usize >= n) {
        return error(format!("the unknown id {id} is none of its {n} pieces"));
    }
    if let Some(at) = scores.iter().position(|score| !score.is_finite()) {
        return error(format!("the score of id {at} is {}; a score is a finite number", scores[at]));
    }
    match vocab.iter().find(|(_, piece)| piece.is_empty() || piece.len() > MAX_PIECE_BYTES) {
        Some((id, piece)) => error(format!(
            "the piece of id {id} has {} bytes; at least 1 and at most {MAX_PIECE_BYTES}",
            piece.len()
        )),
        None => Ok(()),
    }
}
