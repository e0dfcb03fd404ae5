//! Reading the stages of tokenizer.json around the model: normalizer,
//! pre-tokenizer, decoder.
//!
//! What this crate runs exactly as Hugging Face does is read; everything else
//! is refused by its name and path.

use super::node::Node;
use crate::bpe::Unit;
use crate::decoder::{Decoder, METASPACE};
use crate::error::Result;
use crate::normalizer::Normalizer;

const NORMALIZERS: &[&str] = &["Prepend", "Replace", "Sequence"];
const DECODERS: &[&str] =
    &["ByteLevel", "Metaspace", "BPEDecoder", "Replace", "ByteFallback", "Fuse", "Strip", "Sequence"];

/// Reads a normalizer.
pub(super) fn normalizer(node: &Node<'_>) -> Result<Normalizer> {
    match node.kind()? {
        "Prepend" => Ok(Normalizer::Prepend { prepend: node.require("prepend")?.str()?.to_owned() }),
        "Replace" => Ok(Normalizer::Replace {
            pattern: node.require("pattern")?.literal()?.to_owned(),
            content: node.require("content")?.str()?.to_owned(),
        }),
        "Sequence" => {
            let steps = node.require("normalizers")?.elements()?;
            Ok(Normalizer::Sequence { normalizers: steps.iter().map(normalizer).collect::<Result<_>>()? })
        }
        other => Err(node.unsupported(other, NORMALIZERS)),
    }
}

/// A step of a decoder.
enum Step {
    ByteLevel,
    Metaspace { strip_first: bool },
    Suffix(String),
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
        (Unit::Chars, [Step::Suffix(suffix)]) => Decoder::Suffix(std::mem::take(suffix)),
        (Unit::Chars, [Step::Replace] | [Step::Replace, Step::Fuse]) => {
            Decoder::Metaspace { strip_first: false }
        }
        (
            Unit::Chars,
            [Step::Replace, Step::ByteFallback] | [Step::Replace, Step::ByteFallback, Step::Fuse],
        ) => Decoder::ByteFallback { strip: 0 },
        (
            Unit::Chars,
            [Step::Replace, Step::ByteFallback, Step::Fuse, Step::Strip(strip)]
            | [Step::Replace, Step::Fuse, Step::Strip(strip)],
        ) => Decoder::ByteFallback { strip: *strip },
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
