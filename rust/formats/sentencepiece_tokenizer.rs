//! Converts a SentencePiece file to a tokenizer and back.
//!
//! `sentencepiece` handles the layout of the file. A tokenizer is written only if SentencePiece
//! would give the same ids. SentencePiece adds scores in 32 bits and this crate in 64, so near ties
//! may be decided differently; that is reported, not refused.

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
/// [`Error::Format`] for a file that SentencePiece refuses, or a feature that is not supported.
pub fn read(bytes: &[u8]) -> Result<Parts> {
    parts(&read_file(bytes)?)
}

/// The parts of the tokenizer that a file describes.
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

/// The model for a BPE file.
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

/// A file, and the list of what it cannot store, in sentences.
#[non_exhaustive]
pub struct Written {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The parts that the format cannot store.
    pub left_out: Vec<String>,
}

/// Writes a tokenizer.
///
/// # Errors
/// [`Error::NotRepresentable`], which names what SentencePiece cannot represent.
pub fn write(tokenizer: &Tokenizer) -> Result<Written> {
    let mut left_out = Vec::new();
    let (pieces, model_type, byte_fallback) = match &**tokenizer.model() {
        Model::Unigram(model) => {
            if model.options().precision == Precision::F64 {
                left_out.push(
                    "SentencePiece sums scores in 32 bits, this tokenizer in 64: near ties may differ, \
                     and the file that is read has another fingerprint"
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
    // After the model, because a fault of the model cannot be mended by options and is reported
    // first.
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

/// The normalizer with which SentencePiece sees the same text as this tokenizer.
fn normalizer_of(tokenizer: &Tokenizer) -> Result<SentencePieceOptions> {
    let pipeline = tokenizer.pipeline();
    let Some(Normalizer::SentencePiece(normalizer)) = &pipeline.normalizer else {
        return refuse("its normalizer is not SentencePiece's; train with the normalizer `sentencepiece`");
    };
    match &pipeline.pre_tokenizer {
        PreTokenizer::Bytes => {}
        // Here sums restart at each `▁`. That makes no difference if no piece continues across one.
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
    // True for a tokenizer.json, whose list of pieces has no kinds.
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

/// Reports the added tokens that become normal pieces in the file. (As control pieces, no text
/// would be encoded as them.)
fn name_pieces(tokenizer: &Tokenizer, kind: impl Fn(TokenId) -> PieceKind, left_out: &mut Vec<String>) {
    for token in tokenizer.added_tokens().iter().filter(|token| kind(token.id) == PieceKind::Normal) {
        left_out.push(format!("{:?} (id {}) is a piece there, no added token", token.content, token.id));
    }
}

/// Refuses ids that cannot be indices of pieces in a file.
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

/// The kind of a piece, from the model or from its use in the tokenizer.
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
