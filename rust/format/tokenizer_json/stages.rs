//! Reading the stages of tokenizer.json around the model: normalizer,
//! pre-tokenizer, decoder.
//!
//! What this crate runs exactly as Hugging Face does is read; everything else
//! is refused by its name and path.

use super::node::Node;
use super::sentencepiece_steps;
use crate::bpe::Unit;
use crate::decoder::{Decoder, METASPACE};
use crate::error::Result;
use crate::normalizer::{Bert, Charsmap, Matches, Normalizer, Precompiled};
use crate::pattern::dialect;

#[rustfmt::skip]
const NORMALIZERS: &[&str] = &[
    "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend", "Replace", "Sequence",
    "Strip", "StripAccents",
];
#[rustfmt::skip]
const DECODERS: &[&str] = &[
    "ByteLevel", "Metaspace", "BPEDecoder", "WordPiece", "Replace", "ByteFallback", "Fuse", "Strip", "Sequence",
];

/// Reads a normalizer.
pub(super) fn normalizer(node: &Node<'_>) -> Result<Normalizer> {
    match node.kind()? {
        "Prepend" => Ok(Normalizer::Prepend { prepend: node.require("prepend")?.str()?.to_owned() }),
        "Replace" => {
            let (pattern, content) = (node.require("pattern")?, node.require("content")?.str()?.to_owned());
            let Some(regex) = pattern.get("Regex")? else {
                return Ok(Normalizer::Replace { pattern: pattern.literal()?.to_owned(), content });
            };
            let compiled = dialect::check(regex.str()?).and_then(|()| Matches::new(regex.str()?));
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
        "Strip" => Ok(Normalizer::Strip {
            left: node.require("strip_left")?.bool()?,
            right: node.require("strip_right")?.bool()?,
        }),
        "Nmt" => Ok(Normalizer::Nmt),
        "Sequence" => {
            let steps = node.require("normalizers")?.elements()?;
            let sequence = Normalizer::sequence(steps.iter().map(normalizer))?;
            Ok(match &sequence {
                Normalizer::Sequence { normalizers } => sentencepiece_steps::joined(normalizers),
                _ => None,
            }
            .unwrap_or(sequence))
        }
        other => Err(node.unsupported(other, NORMALIZERS)),
    }
}

/// A step of a decoder.
enum Step {
    ByteLevel,
    Metaspace { strip_first: bool },
    Suffix(String),
    WordPiece { prefix: String, cleanup: bool },
    Replace,
    ByteFallback,
    Fuse,
    Strip(usize),
}

/// Reads a decoder; `None` is what stands in a file without one.
pub(super) fn decoder(node: Option<&Node<'_>>, unit: Unit) -> Result<Decoder> {
    let Some(node) = node else {
        // Byte-level tokens without a decoder: tokenizers shows their spelling,
        // which is no text; the bytes are.
        return Ok(if unit == Unit::Bytes { Decoder::Bytes } else { Decoder::Spaced });
    };
    let mut steps = Vec::new();
    decoder_steps(node, &mut steps)?;
    let decoder = match (unit, &mut steps[..]) {
        (Unit::Bytes, [Step::ByteLevel]) => Decoder::Bytes,
        (Unit::Chars, [] | [Step::Fuse]) => Decoder::Bytes,
        (Unit::Chars, [Step::Metaspace { strip_first }] | [Step::Metaspace { strip_first }, Step::Fuse]) => {
            Decoder::Metaspace { strip_first: *strip_first }
        }
        (Unit::Chars, [Step::Suffix(suffix)]) => Decoder::Suffix { suffix: std::mem::take(suffix) },
        (Unit::Chars, [Step::WordPiece { prefix, cleanup }]) => {
            Decoder::WordPiece { prefix: std::mem::take(prefix), cleanup: *cleanup }
        }
        (Unit::Chars, [Step::Replace] | [Step::Replace, Step::Fuse]) => {
            Decoder::Metaspace { strip_first: false }
        }
        (
            Unit::Chars,
            [Step::Replace, Step::ByteFallback] | [Step::Replace, Step::ByteFallback, Step::Fuse],
        ) => Decoder::ByteFallback { strip: 0 },
        (Unit::Chars, [Step::Replace, Step::ByteFallback, Step::Fuse, Step::Strip(strip)]) => {
            Decoder::ByteFallback { strip: *strip }
        }
        (Unit::Chars, [Step::Replace, Step::Fuse, Step::Strip(strip)]) => Decoder::Stripped { strip: *strip },
        (Unit::Chars, steps) if steps.iter().any(|step| matches!(step, Step::ByteLevel)) => {
            return Err(node.error("a ByteLevel decoder without a ByteLevel pre-tokenizer is not supported"));
        }
        (Unit::Bytes, _) => {
            return Err(node.error("beside a ByteLevel pre-tokenizer only a ByteLevel decoder is supported"));
        }
        (Unit::Chars, _) => {
            return Err(node.error(
                "these steps in this order are not supported; \
                 supported: Replace \"▁\" by \" \", ByteFallback, Fuse, Strip, each but the first optional",
            ));
        }
    };
    Ok(decoder)
}

fn decoder_steps(node: &Node<'_>, steps: &mut Vec<Step>) -> Result<()> {
    steps.push(match node.kind()? {
        "ByteLevel" => Step::ByteLevel,
        "Metaspace" => Step::Metaspace { strip_first: prepend_scheme(node)? != "never" },
        "WordPiece" => Step::WordPiece {
            prefix: node.require("prefix")?.str()?.to_owned(),
            cleanup: node.require("cleanup")?.bool()?,
        },
        "BPEDecoder" => Step::Suffix(node.require("suffix")?.str()?.to_owned()),
        "Replace" => {
            let (pattern, content) = (node.require("pattern")?, node.require("content")?);
            if pattern.literal()? != METASPACE.to_string() || content.str()? != " " {
                return Err(node.error("only \"▁\" replaced by \" \" is supported"));
            }
            Step::Replace
        }
        "ByteFallback" => Step::ByteFallback,
        "Fuse" => Step::Fuse,
        "Strip" => {
            let (start, stop) = (node.require("start")?.u32()?, node.require("stop")?);
            if node.require("content")?.str()? != " " || stop.u32()? != 0 {
                return Err(node.error("only spaces stripped at the start are supported"));
            }
            Step::Strip(start as usize)
        }
        "Sequence" => {
            return node
                .require("decoders")?
                .elements()?
                .iter()
                .try_for_each(|step| decoder_steps(step, steps));
        }
        other => return Err(node.unsupported(other, DECODERS)),
    });
    Ok(())
}

/// The `prepend_scheme` of a Metaspace, or what old files say instead.
pub(super) fn prepend_scheme(node: &Node<'_>) -> Result<&'static str> {
    let replacement = node.require("replacement")?;
    if replacement.str()? != METASPACE.to_string() {
        return Err(replacement.expected("\"▁\"; other marks are not supported"));
    }
    let scheme = match node.get("prepend_scheme")? {
        None => "always",
        Some(scheme) => match scheme.str()? {
            "always" => "always",
            "first" => "first",
            "never" => "never",
            _ => return Err(scheme.expected("\"always\", \"first\" or \"never\"")),
        },
    };
    // tokenizers refuses these files too.
    if !node.flag("add_prefix_space", true)? && scheme != "never" {
        return Err(node.error(format!(
            "add_prefix_space is false but prepend_scheme is {scheme:?}; it must be \"never\""
        )));
    }
    Ok(scheme)
}
