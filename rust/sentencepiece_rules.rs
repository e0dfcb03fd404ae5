//! The shared parts of SentencePiece's trainers of BPE and Unigram: the options for pieces
//! ([`PieceOptions`]), the characters of the alphabet (`characters`), which characters may be
//! combined in a piece (`rules`), and the cutting of words where no piece may cross (`segments`).
//!
//! [`crate::trainers::bpe`] and [`crate::trainers::unigram`] then choose the pieces. Follows
//! google/sentencepiece 0.2.3.

pub(crate) mod characters;
pub(crate) mod rules;
pub(crate) mod segments;

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::normalizer::{Normalizer, SentencePiece, SentencePieceOptions};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{Behavior, Delimiter, PreTokenizer, Prepend, Split, SplitPattern};
use crate::text::SPACE_MARK;
use crate::vocab::{PieceKind, TokenId};

/// One entry of a trained vocabulary.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainedPiece {
    /// Its text, with `▁` for a space.
    pub text: String,
    /// Unigram: the log-probability. BPE: minus the number of the merge. 0 for all kinds but
    /// [`PieceKind::Normal`].
    pub score: f64,
    /// Its kind.
    pub kind: PieceKind,
}

/// Options for pieces. The defaults are SentencePiece's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PieceOptions {
    /// Tokens that get the first ids. Other pieces never contain their text. At most one is
    /// [`PieceKind::Unknown`].
    pub special_tokens: Vec<(String, PieceKind)>,
    /// Ids of special tokens that should differ from the first free ids.
    pub special_ids: Vec<(String, TokenId)>,
    /// Whether the 256 tokens `<0x00>` to `<0xFF>` follow the special tokens, for characters
    /// outside the alphabet.
    pub byte_fallback: bool,
    /// The share of all characters that the alphabet covers; rarer characters are left out. 1 keeps
    /// all.
    pub character_coverage: f64,
    /// Characters that are always in the alphabet.
    pub required_chars: Vec<char>,
    /// The maximum number of characters in a piece.
    pub max_piece_length: usize,
    /// Whether a piece only contains characters of one script; Han and kana count as one.
    pub split_by_unicode_script: bool,
    /// Whether a digit counts as punctuation, which is a separate script.
    pub split_by_number: bool,
    /// Whether `▁` only occurs at the start of a piece; otherwise also inside.
    pub split_by_whitespace: bool,
    /// Whether a digit is always a separate piece.
    pub split_digits: bool,
    /// Whether `▁` is at the end of a piece instead of its start.
    pub treat_whitespace_as_suffix: bool,
    /// Whether a run of `▁` may be a piece; the run is then part of one word.
    pub allow_whitespace_only_pieces: bool,
}

impl Default for PieceOptions {
    fn default() -> Self {
        let special = |text: &str, kind| (text.to_owned(), kind);
        Self {
            special_tokens: vec![
                special("<unk>", PieceKind::Unknown),
                special("<s>", PieceKind::Control),
                special("</s>", PieceKind::Control),
            ],
            special_ids: Vec::new(),
            byte_fallback: false,
            character_coverage: 0.9995,
            required_chars: Vec::new(),
            max_piece_length: 16,
            split_by_unicode_script: true,
            split_by_number: true,
            split_by_whitespace: true,
            split_digits: false,
            treat_whitespace_as_suffix: false,
            allow_whitespace_only_pieces: false,
        }
    }
}

impl PieceOptions {
    /// The pre-tokenizer that cuts a normalized text into words: before each `▁`, after each, or
    /// around runs of them.
    ///
    /// # Errors
    /// Never, because these patterns compile.
    pub(crate) fn pre_tokenizer(&self) -> Result<PreTokenizer> {
        if !self.split_by_whitespace && self.treat_whitespace_as_suffix {
            return Ok(PreTokenizer::Bytes);
        }
        if !self.split_by_whitespace {
            return Ok(PreTokenizer::Metaspace { prepend: Prepend::Never, split: false });
        }
        let behavior = match self.treat_whitespace_as_suffix {
            true => Behavior::MergedWithPrevious,
            false => Behavior::MergedWithNext,
        };
        let delimiter = match (self.treat_whitespace_as_suffix, self.allow_whitespace_only_pieces) {
            (false, false) => return Ok(PreTokenizer::Metaspace { prepend: Prepend::Never, split: true }),
            (true, false) => Delimiter::Character { character: SPACE_MARK },
            (_, true) => Delimiter::Pattern(SplitPattern::new("▁+", false)?),
        };
        Ok(PreTokenizer::Split(Split { delimiter, behavior, invert: false }))
    }

    /// The pipeline for these options, with SentencePiece's normalizer without rules.
    ///
    /// # Errors
    /// Never, because these options are valid.
    pub fn pipeline(&self) -> Result<Pipeline> {
        let mut normalizer = Normalizer::from_name("sentencepiece")?;
        if let Normalizer::SentencePiece(whole) = &mut normalizer {
            let treat_whitespace_as_suffix = self.treat_whitespace_as_suffix;
            let options = SentencePieceOptions { treat_whitespace_as_suffix, ..whole.options().clone() };
            **whole = SentencePiece::new(options)?;
        }
        Ok(Pipeline { normalizer: Some(normalizer), pre_tokenizer: self.pre_tokenizer()? })
    }

    /// The normalizer of a pipeline, if SentencePiece's file can store it and the pipeline cuts
    /// words as these options require.
    pub(crate) fn normalizer_of<'a>(&self, pipeline: &'a Pipeline) -> Option<&'a SentencePieceOptions> {
        let cuts = match &pipeline.pre_tokenizer {
            PreTokenizer::Bytes => !self.split_by_whitespace,
            other => self.pre_tokenizer().is_ok_and(|asked| asked == *other),
        };
        match &pipeline.normalizer {
            Some(Normalizer::SentencePiece(normalizer)) if cuts => {
                Some(normalizer.options()).filter(|options| {
                    options.escape_whitespaces
                        && options.treat_whitespace_as_suffix == self.treat_whitespace_as_suffix
                })
            }
            _ => None,
        }
    }

    /// The pieces with ids before the trained ones: special tokens, then bytes.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = TrainedPiece> {
        let bytes = if self.byte_fallback { 0..256 } else { 0..0 };
        let specials = self.special_tokens.iter().cloned();
        let bytes = bytes.map(|byte| (format!("<0x{byte:02X}>"), PieceKind::Byte));
        specials.chain(bytes).map(|(text, kind)| TrainedPiece { text, score: 0.0, kind })
    }

    /// Moves pieces, of which those of [`PieceOptions::reserved`] come first, to their ids.
    ///
    /// # Errors
    /// [`Error::Option`] for an id after the last piece.
    pub(crate) fn arranged(&self, pieces: Vec<TrainedPiece>) -> Result<Vec<TrainedPiece>> {
        if self.special_ids.is_empty() {
            return Ok(pieces);
        }
        let n = pieces.len();
        let mut places: Vec<Option<TrainedPiece>> = vec![None; n];
        let mut rest = Vec::with_capacity(n);
        for piece in pieces {
            let asked = self.special_ids.iter().find(|asked| asked.0 == piece.text);
            match asked.filter(|_| {
                matches!(piece.kind, PieceKind::Unknown | PieceKind::Control | PieceKind::UserDefined)
            }) {
                Some((text, id)) => match places.get_mut(*id as usize) {
                    Some(place) => *place = Some(piece),
                    None => {
                        let value = format!("{text:?}: {id}");
                        let reason = format!("training ended with {n} pieces; give it a smaller id");
                        return Err(Error::Option { option: "special_ids", value, reason });
                    }
                },
                None => rest.push(piece),
            }
        }
        let mut rest = rest.into_iter();
        Ok(places.into_iter().filter_map(|place| place.or_else(|| rest.next())).collect())
    }

    /// Refuses invalid ids of special tokens.
    fn check_ids(&self, vocab_size: usize) -> Result<()> {
        let mut seen = BTreeSet::new();
        for (text, id) in &self.special_ids {
            let wrong = |reason: String| {
                Err(Error::Option { option: "special_ids", value: format!("{text:?}: {id}"), reason })
            };
            if !self.special_tokens.iter().any(|token| token.0 == *text) {
                return wrong("it is none of the special tokens; name it there, too".to_owned());
            }
            if *id as usize >= vocab_size {
                return wrong(format!("ids of {vocab_size} tokens end at {}", vocab_size.saturating_sub(1)));
            }
            if !seen.insert(id) {
                return wrong("another special token has this id".to_owned());
            }
        }
        Ok(())
    }

    /// Refuses a vocabulary too small for reserved pieces and `n_chars` characters.
    ///
    /// # Errors
    /// [`Error::VocabSize`].
    pub(crate) fn check_size(&self, vocab_size: usize, n_chars: usize) -> Result<()> {
        let minimum = self.reserved().count() + n_chars;
        if vocab_size < minimum {
            return Err(Error::VocabSize { requested: vocab_size as u64, minimum: minimum as u64 });
        }
        Ok(())
    }

    /// Refuses options out of range.
    ///
    /// # Errors
    /// [`Error::Option`].
    pub(crate) fn check(&self, vocab_size: usize) -> Result<()> {
        self.check_ids(vocab_size)?;
        let wrong = |option, value: String, reason: &str| {
            Err(Error::Option { option, value, reason: reason.to_owned() })
        };
        if !(self.character_coverage > 0.0 && self.character_coverage <= 1.0) {
            let value = self.character_coverage.to_string();
            return wrong("character_coverage", value, "a share is more than 0 and at most 1");
        }
        if !(1..=usize::from(u8::MAX)).contains(&self.max_piece_length) {
            let value = self.max_piece_length.to_string();
            return wrong("max_piece_length", value, "a piece has 1 to 255 characters; 16 is usual");
        }
        let mut texts = BTreeSet::new();
        if let Some(TrainedPiece { text, .. }) =
            self.reserved().find(|piece| piece.text.is_empty() || !texts.insert(piece.text.clone()))
        {
            let reason = if text.is_empty() {
                "a token has a text"
            } else {
                "give each token once; <unk>, <s> and </s> are added automatically, with other texts by \
                 unk_token, bos_token and eos_token"
            };
            return wrong("special_tokens", format!("{text:?}"), reason);
        }
        if self.special_tokens.iter().filter(|token| token.1 == PieceKind::Unknown).count() > 1 {
            let value = "two of kind Unknown".to_owned();
            return wrong("special_tokens", value, "one token is the unknown token");
        }
        if let Some((text, kind)) =
            self.special_tokens.iter().find(|token| matches!(token.1, PieceKind::Normal | PieceKind::Byte))
        {
            let value = format!("{text:?} of kind {kind:?}");
            return wrong("special_tokens", value, "special tokens are Unknown, Control or UserDefined");
        }
        Ok(())
    }
}
