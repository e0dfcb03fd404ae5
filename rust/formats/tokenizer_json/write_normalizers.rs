//! Writes the normalizer of tokenizer.json, and lists what the file does differently.
//! (`normalizers` reads it; `pre_tokenizers` and `decoders` do both.)

use serde_json::{Value, json};

use super::write::not_representable;
use super::{leading_marks, sentencepiece_steps};
use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::bpe::MergeOrder;
use crate::models::unigram::{PieceKind, Precision};
use crate::normalizer::{Bert, Normalizer};
use crate::text::SPACE_MARK_STR;
use crate::tokenizer::Tokenizer;
use crate::tokenizer::decoder::Decoder;

/// Differences of tokenizers' results with the file, in sentences.
pub fn differences(tokenizer: &Tokenizer) -> Vec<String> {
    let mut found = Vec::new();
    if let Model::Unigram(model) = &**tokenizer.model()
        && model.options().precision == Precision::F32
    {
        found.push("tokenizers sums scores in 64 bits, SentencePiece in 32: near ties may differ".into());
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
        found.push(
            "rules of normalization apply in the user-defined pieces, too, and to marks after them".into(),
        );
    }
    if let Model::Bpe(model) = &**tokenizer.model()
        && tokenizer.model().dropout().is_some()
        && !matches!(model.order(), MergeOrder::List(_))
    {
        found.push(
            "dropout falls otherwise there: one pair a token is listed, and one passed over waits".into(),
        );
    }
    if let Model::Unigram(model) = &**tokenizer.model() {
        let has = |kinds: &[PieceKind]| model.options().kinds.iter().any(|kind| kinds.contains(kind));
        if has(&[PieceKind::Byte]) {
            found
                .push("a text that spells a byte, such as <0x41>, is found as the token of that byte".into());
        }
        if has(&[PieceKind::Control, PieceKind::Unknown])
            && tokenizer.pipeline().normalizer.as_ref().is_some_and(makes_text)
        {
            found.push(
                "special tokens are found in what normalization makes, too, such as <s> of another spelling"
                    .into(),
            );
        }
    }
    if let Decoder::SentencePiece(whole) = tokenizer.decoder() {
        found.push("control and unknown tokens are decoded to their own text".into());
        let (_, differences) = leading_marks::as_strip(whole, tokenizer.model().vocab());
        found.extend(differences.into_iter().map(str::to_owned));
    }
    found
}

/// Whether a normalizer may change a text in other ways than writing spaces as marks.
fn makes_text(normalizer: &Normalizer) -> bool {
    match normalizer {
        Normalizer::SentencePiece(whole) => !whole.options().charsmap.is_empty(),
        Normalizer::Prepend { .. } | Normalizer::Strip { .. } => false,
        Normalizer::Replace { pattern, content } => {
            (pattern.as_str(), content.as_str()) != (" ", SPACE_MARK_STR)
        }
        Normalizer::Sequence { normalizers } => normalizers.iter().any(makes_text),
        _ => true,
    }
}

/// A normalizer as JSON.
///
/// # Errors
/// [`Error::NotRepresentable`] for a normalizer that tokenizers cannot represent.
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
