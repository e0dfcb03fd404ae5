//! Writing the stages of tokenizer.json around the model: normalizer and decoder.
//!
//! The other way of `stages`; pre-tokenizers are in `split`, both ways.

use serde_json::{Value, json};

use super::write::not_representable;
use super::{sentencepiece_steps, split};
use crate::bpe::{MergeOrder, Unit};
use crate::decoder::{Decoder, StripMarks};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::normalizer::{Bert, Normalizer};
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::Tokenizer;
use crate::unigram::Precision;

/// What tokenizers does otherwise with a file than this tokenizer, in sentences.
pub fn differences(tokenizer: &Tokenizer) -> Vec<String> {
    let mut found = Vec::new();
    if let Model::Unigram(model) = &**tokenizer.model()
        && model.options().precision == Precision::F32
    {
        found.push(
            "tokenizers sums scores in 64 bits, SentencePiece in 32: near ties may fall otherwise".into(),
        );
    }
    if let Some(Normalizer::SentencePiece(whole)) = &tokenizer.pipeline().normalizer
        && !whole.options().charsmap.is_empty()
    {
        found.push(
            "tokenizers applies the rules of normalization by grapheme, SentencePiece by longest match"
                .into(),
        );
    }
    if let Some(Normalizer::SentencePiece(whole)) = &tokenizer.pipeline().normalizer
        && !whole.options().charsmap.is_empty()
        && !whole.options().user_defined.is_empty()
    {
        found.push("rules of normalization apply in the user's pieces, too, and to marks after them".into());
    }
    if let Model::Bpe(model) = &**tokenizer.model()
        && tokenizer.model().dropout().is_some()
        && !matches!(model.order(), MergeOrder::List(_))
    {
        found.push(
            "dropout falls otherwise there: one pair a token is listed, and one passed over waits".into(),
        );
    }
    if let Decoder::SentencePiece(_) = tokenizer.decoder() {
        found.push("control and unknown tokens are decoded to their own text".into());
    }
    found
}

/// A normalizer as JSON.
///
/// # Errors
/// [`Error::NotRepresentable`] for what tokenizers has no equal for.
pub(super) fn normalizer(normalizer: &Normalizer) -> Result<Value> {
    Ok(match normalizer {
        Normalizer::Prepend { prepend } => json!({"type": "Prepend", "prepend": prepend}),
        Normalizer::Replace { pattern, content } => {
            json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
        }
        Normalizer::ReplaceMatches { pattern, content } => {
            json!({"type": "Replace", "pattern": {"Regex": pattern.pattern()}, "content": content})
        }
        Normalizer::Precompiled(rules) => serde_json::to_value(rules)
            .map_err(|error| Error::Internal(error.to_string()))
            .map(|mut rules| {
                if let Some(fields) = rules.as_object_mut() {
                    fields.shift_insert(0, "type".into(), "Precompiled".into());
                }
                rules
            })?,
        Normalizer::SentencePiece(whole) => {
            let normalizers = sentencepiece_steps::steps(whole.options())?;
            return self::normalizer(&Normalizer::Sequence { normalizers });
        }
        Normalizer::Bert(Bert { clean_text, handle_chinese_chars, strip_accents, lowercase }) => json!({
            "type": "BertNormalizer", "clean_text": clean_text, "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": strip_accents, "lowercase": lowercase,
        }),
        Normalizer::GoogleBert(_) => {
            return Err(not_representable(
                "the clean-up of Google's BERT, which Hugging Face does otherwise; use that of the normalizer Bert",
            ));
        }
        Normalizer::Nfc => json!({"type": "NFC"}),
        Normalizer::Nfd => json!({"type": "NFD"}),
        Normalizer::Nfkc => json!({"type": "NFKC"}),
        Normalizer::Nfkd => json!({"type": "NFKD"}),
        Normalizer::Lowercase => json!({"type": "Lowercase"}),
        Normalizer::StripAccents => json!({"type": "StripAccents"}),
        Normalizer::Strip { left, right } => {
            json!({"type": "Strip", "strip_left": left, "strip_right": right})
        }
        Normalizer::Nmt => json!({"type": "Nmt"}),
        Normalizer::Sequence { normalizers } => {
            let steps: Vec<_> = normalizers.iter().map(self::normalizer).collect::<Result<_>>()?;
            json!({"type": "Sequence", "normalizers": steps})
        }
    })
}

/// A decoder as JSON.
///
/// # Errors
/// [`Error::NotRepresentable`] for what tokenizers has no equal for.
pub(super) fn decoder(decoder: &Decoder, unit: Unit, pre_tokenizer: &PreTokenizer) -> Result<Value> {
    let replace = json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "});
    Ok(match (unit, decoder) {
        (Unit::Bytes, Decoder::Bytes) => split::byte_level_json(true, true),
        (Unit::Bytes, other) => {
            return Err(not_representable(format!("byte-level tokens with the decoder {other:?}")));
        }
        (Unit::Chars, Decoder::Bytes) => json!({"type": "Fuse"}),
        (Unit::Chars, Decoder::Metaspace { strip_first }) => {
            let (scheme, split) = match pre_tokenizer {
                PreTokenizer::Metaspace { prepend, split } => (split::scheme(*prepend), *split),
                _ => ("always", true),
            };
            let scheme = match (strip_first, scheme) {
                (false, _) => "never",
                (true, "never") => "always",
                (true, scheme) => scheme,
            };
            json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split})
        }
        (Unit::Chars, Decoder::ByteFallback { strip }) => {
            let mut steps = vec![replace, json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
            if *strip > 0 {
                steps.push(json!({"type": "Strip", "content": " ", "start": strip, "stop": 0}));
            }
            json!({"type": "Sequence", "decoders": steps})
        }
        (Unit::Chars, Decoder::Stripped { strip }) => json!({"type": "Sequence", "decoders": [
            replace, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": strip, "stop": 0},
        ]}),
        (Unit::Chars, Decoder::Suffix { suffix }) => json!({"type": "BPEDecoder", "suffix": suffix}),
        (Unit::Chars, Decoder::Spaced) => Value::Null,
        (Unit::Chars, Decoder::SentencePiece(whole)) => {
            let mut steps = vec![replace, json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
            if whole.strip != StripMarks::None {
                steps.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
            }
            json!({"type": "Sequence", "decoders": steps})
        }
        (Unit::Chars, Decoder::WordPiece { prefix, cleanup }) => {
            json!({"type": "WordPiece", "prefix": prefix, "cleanup": cleanup})
        }
    })
}
