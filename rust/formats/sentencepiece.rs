//! SentencePiece's `.model`: pieces with scores and kinds, and how text was normalized and cut in
//! training.
//!
//! A file is refused if SentencePiece 0.2.3 refuses it, or if this crate does not support it.
//! Fields that change no id (the settings of training) are kept and written again, so that reading
//! and writing a file gives the same bytes. Encoding is in [`crate::models::unigram`] and
//! [`crate::models::bpe`].

mod parts;

use std::collections::HashSet;

use super::protobuf::{Borrowed, Message, Reader, Value, write_bytes};
use crate::error::{Error, Result};
use crate::models::unigram::{MAX_PIECE_BYTES, PieceKind};
use crate::normalizer::SentencePieceOptions;
use crate::vocab::TokenId;

/// The format's name in messages.
const NAME: &str = "SentencePiece model";
/// The maximum number of pieces. The largest known file has 262,144.
const MAX_PIECES: usize = 1 << 22;

/// The numbers of the fields of a model.
mod field {
    pub(super) const PIECES: u32 = 1;
    pub(super) const TRAINER: u32 = 2;
    pub(super) const NORMALIZER: u32 = 3;
    pub(super) const DENORMALIZER: u32 = 5;
}

/// The numbers of the fields of a piece.
mod piece_field {
    pub(super) const PIECE: u32 = 1;
    pub(super) const SCORE: u32 = 2;
    pub(super) const TYPE: u32 = 3;
}

/// The numbers of those fields of the trainer's settings that affect text.
mod trainer_field {
    pub(super) const MODEL_TYPE: u32 = 3;
    pub(super) const VOCAB_SIZE: u32 = 4;
    pub(super) const WHITESPACE_AS_SUFFIX: u32 = 24;
    pub(super) const BYTE_FALLBACK: u32 = 35;
    pub(super) const UNK_ID: u32 = 40;
    pub(super) const UNK_PIECE: u32 = 45;
    pub(super) const UNK_SURFACE: u32 = 44;
    /// The unknown piece and the pieces of begin, end and padding: field numbers and default texts.
    pub(super) const SPECIAL_PIECES: [(u32, &str); 4] =
        [(45, "<unk>"), (46, "<s>"), (47, "</s>"), (48, "<pad>")];
}

/// The numbers of the fields of a normalizer.
mod normalizer_field {
    pub(super) const NAME: u32 = 1;
    pub(super) const CHARSMAP: u32 = 2;
    pub(super) const DUMMY_PREFIX: u32 = 3;
    pub(super) const REMOVE_EXTRA: u32 = 4;
    pub(super) const ESCAPE: u32 = 5;
}

/// A piece of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct SpPiece {
    /// The text, with spaces as `▁`.
    pub piece: String,
    /// Its score.
    pub score: f32,
    /// The kind.
    pub kind: PieceKind,
}

/// How a model cuts text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelType {
    /// By the best sum of scores.
    Unigram,
    /// By merging the pair of the best score.
    Bpe,
}

impl ModelType {
    /// The common name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unigram => "unigram",
            Self::Bpe => "bpe",
        }
    }
}

/// A file, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct SpModel {
    pieces: Vec<SpPiece>,
    model_type: ModelType,
    trainer: Message,
    normalizer: Message,
    /// The remaining fields, unchanged.
    rest: Vec<u8>,
}

fn error(reason: impl Into<String>) -> Error {
    Error::format(NAME, reason)
}

/// Reads a file.
///
/// # Errors
/// [`Error::Format`] with the byte or the piece at fault.
pub fn read(bytes: &[u8]) -> Result<SpModel> {
    let mut model = SpModel {
        pieces: Vec::new(),
        model_type: ModelType::Unigram,
        trainer: Message::default(),
        normalizer: Message::default(),
        rest: Vec::new(),
    };
    // A nested message that occurs twice is the concatenation of both.
    let (mut trainer, mut normalizer, mut denormalizer) = (Vec::new(), Vec::new(), Vec::new());
    let mut reader = Reader::new(bytes, NAME);
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (field::PIECES, Borrowed::Bytes(bytes)) => {
                if model.pieces.len() == MAX_PIECES {
                    return Err(error(format!("more than {MAX_PIECES} pieces")));
                }
                let at = model.pieces.len();
                model.pieces.push(read_piece(bytes, at)?);
            }
            (field::TRAINER, Borrowed::Bytes(bytes)) => trainer.extend_from_slice(bytes),
            (field::NORMALIZER, Borrowed::Bytes(bytes)) => normalizer.extend_from_slice(bytes),
            (other, value) => {
                if let (field::DENORMALIZER, Borrowed::Bytes(bytes)) = (other, value) {
                    denormalizer.extend_from_slice(bytes);
                }
                super::protobuf::write(other, &value.to_value(), &mut model.rest);
            }
        }
    }
    model.trainer = Message::read(&trainer, "SentencePiece model, trainer_spec")?;
    model.normalizer = Message::read(&normalizer, "SentencePiece model, normalizer_spec")?;
    let denormalizer = Message::read(&denormalizer, "SentencePiece model, denormalizer_spec")?;
    if denormalizer.bytes(normalizer_field::CHARSMAP).is_some_and(|rules| !rules.is_empty()) {
        return Err(error("it has rules to denormalize text (denormalizer_spec), which are not supported"));
    }
    model.model_type = match model.trainer.varint(trainer_field::MODEL_TYPE).unwrap_or(1) {
        1 => ModelType::Unigram,
        2 => ModelType::Bpe,
        3 => return Err(error("a model of words is not supported; Unigram and BPE are")),
        4 => return Err(error("a model of characters is not supported; Unigram and BPE are")),
        other => return Err(error(format!("model_type is {other}; known are 1 (Unigram) and 2 (BPE)"))),
    };
    model.check()?;
    Ok(model)
}

/// Whether bytes begin as a model does: with a piece whose first field is its text.
pub(super) fn is_model(bytes: &[u8]) -> bool {
    let first_field = |bytes| Reader::new(bytes, NAME).next().ok().flatten();
    let Some((field::PIECES, Borrowed::Bytes(piece))) = first_field(bytes) else { return false };
    matches!(first_field(piece), Some((piece_field::PIECE, Borrowed::Bytes(text))) if !text.is_empty())
}

fn read_piece(bytes: &[u8], at: usize) -> Result<SpPiece> {
    let mut reader = Reader::new(bytes, "SentencePiece model, a piece");
    let mut piece = SpPiece { piece: String::new(), score: 0.0, kind: PieceKind::Normal };
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (piece_field::PIECE, Borrowed::Bytes(bytes)) => {
                let text = std::str::from_utf8(bytes)
                    .map_err(|found| error(format!("piece {at} is not UTF-8: {found}")))?;
                text.clone_into(&mut piece.piece);
            }
            (piece_field::SCORE, Borrowed::Fixed32(bytes)) => piece.score = f32::from_le_bytes(bytes),
            (piece_field::TYPE, Borrowed::Varint(kind)) => {
                piece.kind = match kind {
                    1 => PieceKind::Normal,
                    2 => PieceKind::Unknown,
                    3 => PieceKind::Control,
                    4 => PieceKind::UserDefined,
                    5 => PieceKind::Unused,
                    6 => PieceKind::Byte,
                    other => return Err(error(format!("piece {at} has type {other}; known are 1 to 6"))),
                };
            }
            _ => {}
        }
    }
    Ok(piece)
}

/// The byte of a piece `<0xNN>`.
fn byte_of(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (format!("{byte:02X}") == digits).then_some(byte)
}

impl SpModel {
    /// A model for writing, from its pieces and the way text is normalized.
    ///
    /// # Errors
    /// As [`read`].
    pub fn new(
        pieces: Vec<SpPiece>,
        model_type: ModelType,
        byte_fallback: bool,
        normalizer_name: &str,
        options: &SentencePieceOptions,
    ) -> Result<Self> {
        let mut trainer = Message::default();
        let mut set = |number, value: u64| trainer.set_varint(number, value);
        set(trainer_field::MODEL_TYPE, if model_type == ModelType::Unigram { 1 } else { 2 });
        set(trainer_field::VOCAB_SIZE, pieces.len() as u64);
        set(trainer_field::WHITESPACE_AS_SUFFIX, options.treat_whitespace_as_suffix.into());
        set(trainer_field::BYTE_FALLBACK, byte_fallback.into());
        // -1 means that there is no such special piece.
        let id = |kind, names: &[&str]| {
            let is =
                |piece: &SpPiece| piece.kind == kind && (names.is_empty() || names.contains(&&*piece.piece));
            pieces.iter().position(is).map_or(u64::MAX, |id| id as u64)
        };
        set(trainer_field::UNK_ID, id(PieceKind::Unknown, &[]));
        for (at, name) in ["<s>", "</s>", "<pad>"].iter().enumerate() {
            set(trainer_field::UNK_ID + 1 + at as u32, id(PieceKind::Control, &[name]));
        }
        if let Some(unknown) = pieces.iter().find(|piece| piece.kind == PieceKind::Unknown) {
            trainer.set_bytes(trainer_field::UNK_PIECE, unknown.piece.as_bytes());
        }
        let mut normalizer = Message::default();
        normalizer.set_bytes(normalizer_field::NAME, normalizer_name);
        normalizer.set_bytes(normalizer_field::CHARSMAP, options.charsmap.bytes());
        normalizer.set_varint(normalizer_field::DUMMY_PREFIX, options.add_dummy_prefix.into());
        normalizer.set_varint(normalizer_field::REMOVE_EXTRA, options.remove_extra_whitespaces.into());
        normalizer.set_varint(normalizer_field::ESCAPE, options.escape_whitespaces.into());
        let model = Self { pieces, model_type, trainer, normalizer, rest: Vec::new() };
        model.check()?;
        Ok(model)
    }

    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut message = Vec::new();
        for SpPiece { piece, score, kind } in &self.pieces {
            message.clear();
            write_bytes(piece_field::PIECE, piece.as_bytes(), &mut message);
            super::protobuf::write(piece_field::SCORE, &Value::Fixed32(score.to_le_bytes()), &mut message);
            let kind = match kind {
                PieceKind::Normal => None,
                PieceKind::Unknown => Some(2),
                PieceKind::Control => Some(3),
                PieceKind::UserDefined => Some(4),
                PieceKind::Unused => Some(5),
                PieceKind::Byte => Some(6),
            };
            if let Some(kind) = kind {
                super::protobuf::write(piece_field::TYPE, &Value::Varint(kind), &mut message);
            }
            write_bytes(field::PIECES, &message, &mut out);
        }
        write_bytes(field::TRAINER, &self.trainer.to_bytes(), &mut out);
        write_bytes(field::NORMALIZER, &self.normalizer.to_bytes(), &mut out);
        out.extend_from_slice(&self.rest);
        out
    }

    /// The pieces by id.
    pub fn pieces(&self) -> &[SpPiece] {
        &self.pieces
    }

    /// How the model cuts text.
    pub fn model_type(&self) -> ModelType {
        self.model_type
    }

    /// Whether unknown characters become the tokens of their bytes.
    pub fn byte_fallback(&self) -> bool {
        self.trainer.varint(trainer_field::BYTE_FALLBACK).unwrap_or(0) != 0
    }

    /// The settings of training, by field number.
    pub fn trainer_spec(&self) -> &Message {
        &self.trainer
    }

    /// The name of the rules, such as `nmt_nfkc`.
    pub fn normalizer_name(&self) -> String {
        let name = self.normalizer.bytes(normalizer_field::NAME).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    /// The texts of the unknown piece and the pieces of begin, end and padding; they need not
    /// exist.
    pub fn special_pieces(&self) -> [String; 4] {
        trainer_field::SPECIAL_PIECES.map(|(number, otherwise)| {
            let name = self.trainer.bytes(number).unwrap_or(otherwise.as_bytes());
            String::from_utf8_lossy(name).into_owned()
        })
    }

    /// The id of the unknown piece.
    pub fn unk_id(&self) -> Option<TokenId> {
        self.pieces.iter().position(|piece| piece.kind == PieceKind::Unknown).map(|id| id as TokenId)
    }

    /// Checks what SentencePiece checks, and that scores are numbers.
    fn check(&self) -> Result<()> {
        let mut seen = HashSet::with_capacity(self.pieces.len());
        let mut found = [false; 256];
        let mut unknown = None;
        for (at, SpPiece { piece, score, kind }) in self.pieces.iter().enumerate() {
            let wrong = |reason: &str| Err(error(format!("piece {at} ({piece:?}) {reason}")));
            match piece.len() {
                0 => return Err(error(format!("piece {at} is empty"))),
                len if len > MAX_PIECE_BYTES => {
                    return Err(error(format!("piece {at} has {len} bytes; at most {MAX_PIECE_BYTES}")));
                }
                _ => {}
            }
            // In SentencePiece, the trie of Unigram pieces ends a piece at a NUL; the table of BPE
            // does not.
            if piece.contains('\0') && self.model_type == ModelType::Unigram {
                return wrong("holds a NUL");
            }
            if !seen.insert(piece.as_str()) {
                return wrong("occurs twice");
            }
            if !score.is_finite() {
                return wrong(&format!("has the score {score}; a score is a finite number"));
            }
            match kind {
                PieceKind::Unknown if unknown.is_some() => return wrong("is a second unknown piece"),
                PieceKind::Unknown => unknown = Some(at),
                PieceKind::Byte if !self.byte_fallback() => {
                    return wrong("is a byte, but byte_fallback is false");
                }
                PieceKind::Byte => match byte_of(piece) {
                    Some(byte) => found[usize::from(byte)] = true,
                    None => return wrong("is a byte that is not written as <0xNN>"),
                },
                _ => {}
            }
        }
        if unknown.is_none() {
            return Err(error("no piece is the unknown one (type 2)"));
        }
        if self.byte_fallback()
            && let Some(byte) = found.iter().position(|found| !found)
        {
            return Err(error(format!("byte_fallback is true, but there is no piece <0x{byte:02X}>")));
        }
        if !self.pieces.iter().any(|piece| matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined)) {
            return Err(error("no piece can be found in a text"));
        }
        Ok(())
    }
}
