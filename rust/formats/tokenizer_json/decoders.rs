//! Reads and writes the decoders of tokenizer.json.
//!
//! Steps are read one by one. Sequences that published files contain become fast variants of
//! [`Decoder`]; any other sequence becomes a [`Decoder::Chain`].

use serde_json::{Value, json};

use super::leading_marks;
use super::node::Node;
use super::normalizers::metaspace;
use super::pre_tokenizers::{byte_level_json, scheme};
use super::write::not_representable;
use crate::error::Result;
use crate::models::bpe::Unit;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::text::{SPACE_MARK, SPACE_MARK_STR};
use crate::tokenizer::Tokenizer;
use crate::tokenizer::decoder::{Chain, Decoder, Step};

#[rustfmt::skip]
const DECODERS: &[&str] = &[
    "BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace", "Sequence", "Strip", "WordPiece",
];

/// Reads a decoder; `None` if the file has no decoder.
pub(super) fn read(node: Option<&Node<'_>>, unit: Unit) -> Result<Decoder> {
    let Some(node) = node else {
        // Without a decoder tokenizers shows the spelling of byte-level tokens, which is not the
        // text. This crate decodes the bytes.
        return Ok(if unit == Unit::Bytes { Decoder::Bytes } else { Decoder::Spaced });
    };
    let mut steps = Vec::new();
    flatten(node, &mut steps)?;
    match known(unit, &steps) {
        Some(decoder) => Ok(decoder),
        None => Chain::new(steps).map(Decoder::Chain),
    }
}

/// The variant that does the same as these steps, if there is one.
fn known(unit: Unit, steps: &[Step]) -> Option<Decoder> {
    let is_replace = |step: &Step| matches!(step, Step::Replace { pattern, content } if pattern == SPACE_MARK_STR && content == " ");
    let leading = |step: &Step| match step {
        Step::Strip { content: ' ', start, stop: 0 } => Some(*start),
        _ => None,
    };
    if unit == Unit::Bytes {
        return (*steps == [Step::ByteLevel]).then_some(Decoder::Bytes);
    }
    Some(match steps {
        [] | [Step::Fuse] => Decoder::Bytes,
        [Step::Metaspace { mark: SPACE_MARK, strip_first }]
        | [Step::Metaspace { mark: SPACE_MARK, strip_first }, Step::Fuse] => {
            Decoder::Metaspace { strip_first: *strip_first }
        }
        [Step::Suffix { suffix }] => Decoder::Suffix { suffix: suffix.clone() },
        [Step::WordPiece { prefix, cleanup }] => {
            Decoder::WordPiece { prefix: prefix.clone(), cleanup: *cleanup }
        }
        [replace, rest @ ..] if is_replace(replace) => match rest {
            [] | [Step::Fuse] => Decoder::Metaspace { strip_first: false },
            [Step::ByteFallback] | [Step::ByteFallback, Step::Fuse] => Decoder::ByteFallback { strip: 0 },
            [Step::ByteFallback, Step::Fuse, strip] => Decoder::ByteFallback { strip: leading(strip)? },
            [Step::Fuse, strip] => Decoder::Stripped { strip: leading(strip)? },
            _ => return None,
        },
        _ => return None,
    })
}

fn flatten(node: &Node<'_>, steps: &mut Vec<Step>) -> Result<()> {
    let text = |key| node.require(key)?.str().map(str::to_owned);
    steps.push(match node.kind()? {
        "ByteLevel" => Step::ByteLevel,
        "ByteFallback" => Step::ByteFallback,
        "Fuse" => Step::Fuse,
        "Metaspace" => {
            let (mark, prepend) = metaspace(node)?;
            Step::Metaspace { mark, strip_first: prepend != Prepend::Never }
        }
        "WordPiece" => Step::WordPiece { prefix: text("prefix")?, cleanup: node.require("cleanup")?.bool()? },
        "BPEDecoder" => Step::Suffix { suffix: text("suffix")? },
        "Replace" => {
            let pattern = node.require("pattern")?.literal()?.to_owned();
            Step::Replace { pattern, content: text("content")? }
        }
        "Strip" => Step::Strip {
            content: node.require("content")?.char()?,
            start: node.require("start")?.u32()? as usize,
            stop: node.require("stop")?.u32()? as usize,
        },
        "CTC" => Step::Ctc {
            pad_token: text("pad_token")?,
            word_delimiter_token: text("word_delimiter_token")?,
            cleanup: node.require("cleanup")?.bool()?,
        },
        "Sequence" => {
            let decoders = node.require("decoders")?.elements()?;
            return decoders.iter().try_for_each(|step| flatten(step, steps));
        }
        other => return Err(node.unsupported(other, DECODERS)),
    });
    Ok(())
}

/// A decoder as JSON.
///
/// # Errors
/// [`crate::Error::NotRepresentable`] for a decoder that tokenizers cannot represent.
pub(super) fn write(tokenizer: &Tokenizer) -> Result<Value> {
    let (unit, pre_tokenizer) = (tokenizer.model().unit(), &tokenizer.pipeline().pre_tokenizer);
    let replace = || Step::Replace { pattern: SPACE_MARK.into(), content: " ".into() };
    let strip = |start: usize| (start > 0).then_some(Step::Strip { content: ' ', start, stop: 0 });
    let (prepend, split) = match pre_tokenizer {
        PreTokenizer::Metaspace { prepend, split } => (*prepend, *split),
        _ => (Prepend::Always, true),
    };
    let steps = match (unit, tokenizer.decoder()) {
        (Unit::Bytes, Decoder::Bytes) => vec![Step::ByteLevel],
        (_, Decoder::Chain(chain)) => chain.steps().to_vec(),
        (Unit::Bytes, other) => {
            return Err(not_representable(format!("byte-level tokens with the decoder {other:?}")));
        }
        (Unit::Chars, Decoder::Bytes) => vec![Step::Fuse],
        (Unit::Chars, Decoder::Metaspace { strip_first }) => {
            vec![Step::Metaspace { mark: SPACE_MARK, strip_first: *strip_first }]
        }
        (Unit::Chars, Decoder::ByteFallback { strip: start }) => {
            [replace(), Step::ByteFallback, Step::Fuse].into_iter().chain(strip(*start)).collect()
        }
        (Unit::Chars, Decoder::Stripped { strip: start }) => {
            vec![replace(), Step::Fuse, Step::Strip { content: ' ', start: *start, stop: 0 }]
        }
        (Unit::Chars, Decoder::Suffix { suffix }) => vec![Step::Suffix { suffix: suffix.clone() }],
        (Unit::Chars, Decoder::Spaced) => return Ok(Value::Null),
        (Unit::Chars, Decoder::SentencePiece(whole)) => {
            // Without byte tokens, a piece `<0x41>` is ordinary text.
            let bytes = (!whole.bytes.is_empty()).then_some(Step::ByteFallback);
            let (start, _) = leading_marks::as_strip(whole, tokenizer.model().vocab());
            [replace()].into_iter().chain(bytes).chain([Step::Fuse]).chain(strip(start as usize)).collect()
        }
        (Unit::Chars, Decoder::WordPiece { prefix, cleanup }) => {
            vec![Step::WordPiece { prefix: prefix.clone(), cleanup: *cleanup }]
        }
    };
    let mut written: Vec<Value> = steps.iter().map(|step| step_json(step, prepend, split)).collect();
    Ok(match written.len() {
        1 => written.remove(0),
        _ => json!({"type": "Sequence", "decoders": written}),
    })
}

/// A step as JSON. A Metaspace repeats options of the pre-tokenizer, as tokenizers writes it.
fn step_json(step: &Step, prepend: Prepend, split: bool) -> Value {
    match step {
        Step::ByteLevel => byte_level_json(true, true),
        Step::ByteFallback => json!({"type": "ByteFallback"}),
        Step::Fuse => json!({"type": "Fuse"}),
        Step::Replace { pattern, content } => {
            json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
        }
        Step::Strip { content, start, stop } => {
            json!({"type": "Strip", "content": content, "start": start, "stop": stop})
        }
        Step::Metaspace { mark, strip_first } => {
            let prepend = match (strip_first, prepend) {
                (false, _) => Prepend::Never,
                (true, Prepend::Never) => Prepend::Always,
                (true, prepend) => prepend,
            };
            json!({"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme(prepend), "split": split})
        }
        Step::WordPiece { prefix, cleanup } => {
            json!({"type": "WordPiece", "prefix": prefix, "cleanup": cleanup})
        }
        Step::Suffix { suffix } => json!({"type": "BPEDecoder", "suffix": suffix}),
        Step::Ctc { pad_token, word_delimiter_token, cleanup } => json!({
            "type": "CTC", "pad_token": pad_token, "word_delimiter_token": word_delimiter_token, "cleanup": cleanup,
        }),
    }
}
