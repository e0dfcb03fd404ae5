//! The parts of a tokenizer that a `.model` describes: normalizer, pieces, special tokens, decoder,
//! and the model itself if it is a Unigram model.
//!
//! Text is not split before the model, because SentencePiece adds (and rounds) scores over the
//! whole text. Special tokens are found in a text only if the caller asks for it, because
//! SentencePiece never finds them.

use super::{ModelType, SpModel, SpPiece, byte_of, error, normalizer_field, trainer_field};
use crate::error::Result;
use crate::models::unigram::{PieceKind, Precision, Unigram, UnigramOptions};
use crate::normalizer::{Charsmap, Normalizer, SentencePiece, SentencePieceOptions};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::{Decoder, SentencePieceDecoder, StripMarks};
use crate::vocab::{TokenId, Vocab};

impl SpModel {
    /// The normalizer.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for invalid rules.
    pub fn normalizer(&self) -> Result<SentencePiece> {
        let flag = |number| self.normalizer.varint(number).unwrap_or(1) != 0;
        let rules = self.normalizer.bytes(normalizer_field::CHARSMAP).unwrap_or_default();
        let user_defined = self.pieces.iter().filter(|piece| piece.kind == PieceKind::UserDefined);
        SentencePiece::new(SentencePieceOptions {
            charsmap: Charsmap::new(rules.to_vec())?,
            add_dummy_prefix: flag(normalizer_field::DUMMY_PREFIX),
            remove_extra_whitespaces: flag(normalizer_field::REMOVE_EXTRA),
            escape_whitespaces: flag(normalizer_field::ESCAPE),
            treat_whitespace_as_suffix: self.trainer.varint(trainer_field::WHITESPACE_AS_SUFFIX).unwrap_or(0)
                != 0,
            user_defined: user_defined.map(|piece| piece.piece.clone()).collect(),
        })
    }

    /// The normalizer and the pre-tokenizer, which does not cut, because sums continue over a whole
    /// text.
    ///
    /// # Errors
    /// As [`SpModel::normalizer`].
    pub fn pipeline(&self) -> Result<Pipeline> {
        let normalizer = Some(Normalizer::SentencePiece(Box::new(self.normalizer()?)));
        Ok(Pipeline { normalizer, pre_tokenizer: PreTokenizer::Bytes })
    }

    /// The decoder.
    pub fn decoder(&self) -> Decoder {
        let flag = |number| self.normalizer.varint(number).unwrap_or(1) != 0;
        let strip = if flag(normalizer_field::REMOVE_EXTRA) {
            StripMarks::All
        } else if flag(normalizer_field::DUMMY_PREFIX) {
            StripMarks::One
        } else {
            StripMarks::None
        };
        let surface = self.trainer.bytes(trainer_field::UNK_SURFACE).map(String::from_utf8_lossy);
        let mut bytes = Vec::new();
        if self.byte_fallback() {
            bytes = vec![TokenId::MAX; 256];
            for (id, byte) in self.ids(PieceKind::Byte).filter_map(|(id, piece)| Some((id, byte_of(piece)?)))
            {
                bytes[usize::from(byte)] = id;
            }
        }
        Decoder::SentencePiece(Box::new(SentencePieceDecoder {
            strip,
            unk_id: self.unk_id(),
            unk_surface: surface
                .map_or_else(|| SentencePieceDecoder::UNK_SURFACE.to_owned(), |text| text.into_owned()),
            control: self.ids(PieceKind::Control).map(|(id, _)| id).collect(),
            bytes,
        }))
    }

    /// The special tokens: the control pieces and the unknown piece. They are found in a text only
    /// if the caller asks for it.
    pub fn added_tokens(&self) -> Vec<AddedToken> {
        let special = |piece: &SpPiece| matches!(piece.kind, PieceKind::Control | PieceKind::Unknown);
        let pieces = self.pieces.iter().enumerate().filter(|(_, piece)| special(piece));
        pieces.map(|(id, piece)| AddedToken::special(piece.piece.clone(), id as TokenId)).collect()
    }

    /// The pieces as a vocabulary.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for a text that occurs twice.
    pub fn vocab(&self) -> Result<Vocab> {
        Vocab::from_tokens(self.pieces.iter().map(|piece| piece.piece.as_bytes()))
    }

    /// The model of a Unigram file.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for a file of a different type, or a model that
    /// [`Unigram::new`] refuses.
    pub fn unigram(&self) -> Result<Unigram> {
        if self.model_type != ModelType::Unigram {
            return Err(error("this is a BPE model, not a Unigram model"));
        }
        let options = UnigramOptions {
            unk_id: self.unk_id(),
            byte_fallback: self.byte_fallback(),
            precision: Precision::F32,
            kinds: self.pieces.iter().map(|piece| piece.kind).collect(),
            ..UnigramOptions::default()
        };
        let scores = self.pieces.iter().map(|piece| f64::from(piece.score)).collect();
        Unigram::new(self.vocab()?, scores, options)
    }

    fn ids(&self, kind: PieceKind) -> impl Iterator<Item = (TokenId, &str)> {
        let pieces = self.pieces.iter().enumerate();
        pieces.filter(move |(_, piece)| piece.kind == kind).map(|(id, piece)| (id as TokenId, &*piece.piece))
    }
}
