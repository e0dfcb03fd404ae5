//! The file format of sentitok: a whole tokenizer in deterministic bytes.
//!
//! A header line, then tokenizer.json without line breaks. The header contains what tokenizer.json
//! cannot express: rank order, the exact pre-tokenizer (hand-written splitters, options of
//! patterns) and the exact decoder. Equal tokenizers have equal bytes, so the SHA-256 of these
//! bytes, without defaults for calls, is the fingerprint.

use serde::{Deserialize, Serialize};

use super::tokenizer_json::{self, Header, ModelExtras};
use crate::error::{Error, Result};
use crate::models::bpe::Unit;
use crate::pipeline::Pipeline;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};

/// The first bytes of the file.
pub(super) const MAGIC: &str = "#sentitok-tokenizer ";
const VERSION: &str = "1";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenUnit {
    Bytes,
    Chars,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHeader {
    model: ModelExtras,
    unit: WrittenUnit,
    pipeline: Pipeline,
    decoder: Decoder,
}

/// The bytes of a tokenizer with these defaults for calls.
pub(super) fn write(tokenizer: &Tokenizer, defaults: &CallDefaults) -> Result<Vec<u8>> {
    let model = tokenizer.model();
    let header = WrittenHeader {
        model: ModelExtras::of(model),
        unit: match model.unit() {
            Unit::Bytes => WrittenUnit::Bytes,
            Unit::Chars => WrittenUnit::Chars,
        },
        pipeline: tokenizer.pipeline().clone(),
        decoder: tokenizer.decoder().clone(),
    };
    let header = serde_json::to_string(&header).map_err(|error| Error::Internal(error.to_string()))?;
    let mut bytes = format!("{MAGIC}{VERSION} {header}\n").into_bytes();
    tokenizer_json::write_compact(tokenizer, defaults, &mut bytes)?;
    Ok(bytes)
}

/// Reads what [`write`] wrote.
pub(super) fn read(bytes: &[u8]) -> Result<Parts> {
    let error = |reason: String| Error::format("sentitok tokenizer, line 1", reason);
    let text = super::utf8(bytes)?;
    let (line, rest) = text
        .split_once('\n')
        .ok_or_else(|| error("the file ends after the header; it was cut off".into()))?;
    let header = line.strip_prefix(MAGIC).ok_or_else(|| error(format!("expected {MAGIC:?} at the start")))?;
    let (version, header) = header.split_once(' ').unwrap_or((header, ""));
    if version != VERSION {
        return Err(Error::Version {
            what: "sentitok tokenizer".into(),
            found: version.into(),
            supported: VERSION.into(),
        });
    }
    let header: WrittenHeader = serde_json::from_str(header).map_err(|found| error(found.to_string()))?;
    tokenizer_json::read_with(
        rest,
        Some(Header {
            model: header.model,
            unit: match header.unit {
                WrittenUnit::Bytes => Unit::Bytes,
                WrittenUnit::Chars => Unit::Chars,
            },
            pipeline: header.pipeline,
            decoder: header.decoder,
        }),
    )
}
