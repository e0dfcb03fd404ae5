//! A SentencePiece file as a tokenizer, and a tokenizer as such a file.
//!
//! The file's own layout is in `sentencepiece`. A tokenizer is written only if
//! SentencePiece would give its ids; what it sums in 32 bits and we in 64 is
//! said, as near ties may fall otherwise.

use std::sync::Arc;

use super::sentencepiece::{ModelType, SpModel, SpPiece, read as read_file};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::models::unigram::{PieceKind, Precision, Unigram};
use crate::normalizer::{Normalizer, SentencePieceOptions};
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::text::SPACE_MARK_BYTES;
use crate::tokenizer::template::Template;
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::TokenId;

/// The format's name in messages.
const NAME: &str = "SentencePiece .model";

/// Reads a tokenizer.
///
/// # Errors
/// [`Error::Format`] for what SentencePiece refuses, or what is not supported.
pub fn read(bytes: &[u8]) -> Result<Parts> {
    parts(&read_file(bytes)?)
}

/// The parts that a file describes.
pub(super) fn parts(file: &SpModel) -> Result<Parts> {
    let model = match file.model_type() {
        ModelType::Unigram => Model::Unigram(file.unigram()?),
        ModelType::Bpe => Model::Bpe(bpe(file)?),
    };
    Ok(Parts {
        pipeline: file.pipeline()?,
        model: Arc::new(model),
        added: file.added_tokens(),
        template: Template::default(),
        decoder: file.decoder(),
        defaults: CallDefaults::default(),
    })
}

/// The model of a BPE file.
fn bpe(file: &SpModel) -> Result<Bpe> {
    let of_kind = |kind: PieceKind| -> Vec<TokenId> {
        let pieces = file.pieces().iter().zip(0..);
        pieces.filter(|(piece, _)| piece.kind == kind).map(|(_, id)| id).collect()
    };
    let unk = file.pieces().iter().find(|piece| piece.kind == PieceKind::Unknown);
    let options = BpeOptions {
        unit: Unit::Chars,
        unk_token: unk.map(|piece| piece.piece.clone()),
        fuse_unk: true,
        byte_fallback: file.byte_fallback(),
        control: of_kind(PieceKind::Control),
        user_defined: of_kind(PieceKind::UserDefined),
        unused: of_kind(PieceKind::Unused),
        ..BpeOptions::default()
    };
    let scores = file.pieces().iter().map(|piece| piece.score).collect();
    Bpe::new(file.vocab()?, MergeOrder::Scores(scores), options)
}

/// A file, and what comes back otherwise, in sentences.
#[non_exhaustive]
pub struct Written {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What the format has no place for.
    pub left_out: Vec<String>,
}

/// Writes a tokenizer.
///
/// # Errors
/// [`Error::NotRepresentable`] naming what SentencePiece has no equal for.
pub fn write(tokenizer: &Tokenizer) -> Result<Written> {
    let mut left_out = Vec::new();
    let (pieces, model_type, byte_fallback) = match &**tokenizer.model() {
        Model::Unigram(model) => {
            if model.options().precision == Precision::F64 {
                left_out.push(
                    "SentencePiece sums scores in 32 bits, this tokenizer in 64: near ties may fall otherwise, \
                     and what is read has another fingerprint"
                        .to_owned(),
                );
            }
            (
                unigram_pieces(tokenizer, model, &mut left_out)?,
                ModelType::Unigram,
                model.options().byte_fallback,
            )
        }
        Model::WordPiece(_) => return refuse("it is WordPiece; SentencePiece knows Unigram and BPE"),
        Model::Bpe(model) => {
            let MergeOrder::Scores(scores) = model.order() else {
                return refuse("its merges have no scores; train by the method `sentencepiece`");
            };
            (
                bpe_pieces(tokenizer, model, scores, &mut left_out)?,
                ModelType::Bpe,
                model.options().byte_fallback,
            )
        }
    };
    // After the models: what no option of training mends is said first.
    let options = normalizer_of(tokenizer)?;
    if tokenizer.model().dropout().is_some() {
        left_out.push("dropout is left out; SentencePiece takes it with each call".into());
    }
    if *tokenizer.template() != Template::default() {
        left_out.push("the special tokens around a text are left out".into());
    }
    let file = SpModel::new(pieces, model_type, byte_fallback, options.rules_name(), &options)?;
    Ok(Written { bytes: file.write(), left_out })
}

fn refuse<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::NotRepresentable { format: NAME, reason: reason.into() })
}

/// How SentencePiece would see the text that this tokenizer sees.
fn normalizer_of(tokenizer: &Tokenizer) -> Result<SentencePieceOptions> {
    let pipeline = tokenizer.pipeline();
    let Some(Normalizer::SentencePiece(normalizer)) = &pipeline.normalizer else {
        return refuse("its normalizer is not SentencePiece's; train with the normalizer `sentencepiece`");
    };
    match &pipeline.pre_tokenizer {
        PreTokenizer::Bytes => {}
        // Sums begin again at each `▁`, which is not a difference if no piece continues over one.
        PreTokenizer::Metaspace { prepend: Prepend::Never, split: true } => {
            let inner =
                |bytes: &[u8]| memchr::memmem::rfind(bytes, &SPACE_MARK_BYTES).is_some_and(|at| at > 0);
            if let Some((id, _)) = tokenizer.model().vocab().iter().find(|(_, bytes)| inner(bytes)) {
                return refuse(format!(
                    "the token of id {id} continues over a ▁, at which this tokenizer cuts"
                ));
            }
        }
        other => {
            return refuse(format!(
                "its pre-tokenizer is {}, which a SentencePiece model has no place for; train without it",
                other.name()
            ));
        }
    }
    Ok(normalizer.options().clone())
}

fn unigram_pieces(
    tokenizer: &Tokenizer,
    model: &Unigram,
    left_out: &mut Vec<String>,
) -> Result<Vec<SpPiece>> {
    check_places(tokenizer)?;
    name_pieces(tokenizer, |id| kind(tokenizer, model, id), left_out);
    // A list of pieces without kinds, that of a tokenizer.json.
    let is_found = |id: TokenId| model.fallback_byte(id).is_some() && model.kind(id) == PieceKind::Normal;
    if model.vocab().iter().any(|(id, _)| is_found(id)) {
        left_out.push(
            "a text that spells a byte, such as <0x41>, is that byte's token here, and text there".into(),
        );
    }
    let mut pieces = Vec::with_capacity(model.vocab().len());
    for (id, bytes) in model.vocab().iter() {
        let Ok(piece) = std::str::from_utf8(bytes) else {
            return refuse(format!("the token of id {id} is not UTF-8"));
        };
        let score = model.scores().get(id as usize).copied().unwrap_or_default() as f32;
        pieces.push(SpPiece { piece: piece.to_owned(), score, kind: kind(tokenizer, model, id) });
    }
    Ok(pieces)
}

/// Names the added tokens that are pieces like others there: as control pieces no
/// text would become them any more.
fn name_pieces(tokenizer: &Tokenizer, kind: impl Fn(TokenId) -> PieceKind, left_out: &mut Vec<String>) {
    for token in tokenizer.added_tokens().iter().filter(|token| kind(token.id) == PieceKind::Normal) {
        left_out.push(format!("{:?} (id {}) is a piece there, no added token", token.content, token.id));
    }
}

/// Refuses ids that the places of pieces in a file cannot be.
fn check_places(tokenizer: &Tokenizer) -> Result<()> {
    let vocab = tokenizer.model().vocab();
    if let Some(token) = tokenizer.added_tokens().iter().find(|token| vocab.bytes(token.id).is_none()) {
        return refuse(format!("the added token {:?} is not in the model's vocabulary", token.content));
    }
    match (0..vocab.id_limit() as TokenId).find(|&id| vocab.bytes(id).is_none()) {
        Some(id) => refuse(format!("no token has the id {id}; there ids are places of pieces, without gaps")),
        None => Ok(()),
    }
}

fn bpe_pieces(
    tokenizer: &Tokenizer,
    model: &Bpe,
    scores: &[f32],
    left_out: &mut Vec<String>,
) -> Result<Vec<SpPiece>> {
    check_places(tokenizer)?;
    let options = model.options();
    let kind = |id: TokenId| {
        if model.unk_id() == Some(id) {
            PieceKind::Unknown
        } else if model.fallback_byte(id).is_some() {
            PieceKind::Byte
        } else if options.user_defined.contains(&id) {
            PieceKind::UserDefined
        } else if options.unused.contains(&id) {
            PieceKind::Unused
        } else if options.control.contains(&id) {
            PieceKind::Control
        } else {
            PieceKind::Normal
        }
    };
    name_pieces(tokenizer, kind, left_out);
    let mut pieces = Vec::with_capacity(model.vocab().len());
    for (id, bytes) in model.vocab().iter() {
        let Ok(piece) = std::str::from_utf8(bytes) else {
            return refuse(format!("the token of id {id} is not UTF-8"));
        };
        let score = scores.get(id as usize).copied().unwrap_or_default();
        pieces.push(SpPiece { piece: piece.to_owned(), score, kind: kind(id) });
    }
    Ok(pieces)
}

/// What a piece is: as the model knows, or as the tokenizer uses it.
fn kind(tokenizer: &Tokenizer, model: &Unigram, id: TokenId) -> PieceKind {
    if model.unk_id() == Some(id) {
        PieceKind::Unknown
    } else if model.fallback_byte(id).is_some() {
        PieceKind::Byte
    } else if model.kind(id) == PieceKind::Normal
        && tokenizer.added_tokens().iter().any(|token| token.id == id && token.special)
    {
        PieceKind::Control
    } else {
        model.kind(id)
    }
}
