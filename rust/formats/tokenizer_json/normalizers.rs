//! Reads the normalizer of tokenizer.json, with parts that other stages share. Only steps that this
//! crate runs exactly as Hugging Face does are read; any other step is refused by name and path.

use super::node::Node;
use super::sentencepiece_steps;
use crate::error::Result;
use crate::normalizer::{Bert, Charsmap, Matches, Normalizer, Precompiled};
use crate::pre_tokenizer::Prepend;
use crate::text::pattern::dialect;

#[rustfmt::skip]
const NORMALIZERS: &[&str] = &[
    "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend", "Replace",
    "Sequence", "Strip", "StripAccents",
];

/// Reads a normalizer, and whether it ends in a ByteLevel step, which spells bytes as characters.
pub(super) fn read(node: Option<&Node<'_>>) -> Result<(Option<Normalizer>, bool)> {
    let Some(node) = node else { return Ok((None, false)) };
    let steps = match node.kind()? {
        "ByteLevel" => return Ok((None, true)),
        "Sequence" => node.require("normalizers")?.elements()?,
        _ => Vec::new(),
    };
    match steps.split_last() {
        Some((last, before)) if last.kind()? == "ByteLevel" => {
            let steps = if before.is_empty() { None } else { Some(sequence(before)?) };
            Ok((steps, true))
        }
        _ => Ok((Some(normalizer(node)?), false)),
    }
}

fn sequence(steps: &[Node<'_>]) -> Result<Normalizer> {
    let sequence = Normalizer::sequence(steps.iter().map(normalizer))?;
    let joined = match &sequence {
        Normalizer::Sequence { normalizers } => sentencepiece_steps::joined(normalizers),
        _ => None,
    };
    Ok(joined.unwrap_or(sequence))
}

fn normalizer(node: &Node<'_>) -> Result<Normalizer> {
    match node.kind()? {
        "Prepend" => Ok(Normalizer::Prepend { prepend: node.require("prepend")?.str()?.to_owned() }),
        "Replace" => {
            let (pattern, content) = (node.require("pattern")?, node.require("content")?.str()?.to_owned());
            let regex = match pattern.get("String")? {
                // An empty pattern.
                Some(literal) if literal.str()?.is_empty() => literal,
                Some(literal) => {
                    return Ok(Normalizer::Replace { pattern: literal.str()?.to_owned(), content });
                }
                None => pattern.require("Regex")?,
            };
            let compiled = dialect::from_oniguruma(regex.str()?).and_then(|source| Matches::new(&source));
            let pattern = compiled.map_err(|error| regex.error(error.to_string()))?;
            Ok(Normalizer::ReplaceMatches { pattern, content })
        }
        "Precompiled" => {
            let rules = node.require("precompiled_charsmap")?;
            let charsmap =
                Charsmap::from_base64(rules.str()?).map_err(|error| rules.error(error.to_string()))?;
            Ok(Normalizer::Precompiled(Precompiled { charsmap }))
        }
        "BertNormalizer" => Ok(Normalizer::Bert(Bert {
            clean_text: node.require("clean_text")?.bool()?,
            handle_chinese_chars: node.require("handle_chinese_chars")?.bool()?,
            strip_accents: node.get("strip_accents")?.map(|node| node.bool()).transpose()?,
            lowercase: node.require("lowercase")?.bool()?,
        })),
        "NFC" => Ok(Normalizer::Nfc),
        "NFD" => Ok(Normalizer::Nfd),
        "NFKC" => Ok(Normalizer::Nfkc),
        "NFKD" => Ok(Normalizer::Nfkd),
        "Lowercase" => Ok(Normalizer::Lowercase),
        "StripAccents" => Ok(Normalizer::StripAccents),
        // Older files call it `StripNormalizer`.
        "Strip" | "StripNormalizer" => Ok(Normalizer::Strip {
            left: node.require("strip_left")?.bool()?,
            right: node.require("strip_right")?.bool()?,
        }),
        "Nmt" => Ok(Normalizer::Nmt),
        "Sequence" => sequence(&node.require("normalizers")?.elements()?),
        "ByteLevel" => Err(node.error("ByteLevel in a normalizer is supported as its last step alone")),
        other => Err(node.unsupported(other, NORMALIZERS)),
    }
}

/// The mark of a Metaspace, and its `prepend_scheme` or the equivalent field of old files.
pub(super) fn metaspace(node: &Node<'_>) -> Result<(char, Prepend)> {
    let mark = node.require("replacement")?.char()?;
    let scheme = match node.get("prepend_scheme")? {
        None => Prepend::Always,
        Some(scheme) => match scheme.str()? {
            "always" => Prepend::Always,
            "first" => Prepend::First,
            "never" => Prepend::Never,
            _ => return Err(scheme.expected("\"always\", \"first\" or \"never\"")),
        },
    };
    // tokenizers refuses these files, too.
    if !node.flag("add_prefix_space", true)? && scheme != Prepend::Never {
        return Err(node.error(format!(
            "add_prefix_space is false but prepend_scheme is {:?}; it must be \"never\"",
            super::pre_tokenizers::scheme(scheme)
        )));
    }
    Ok((mark, scheme))
}
