//! The pipeline that arguments request: a normalizer and a pre-tokenizer.

use pyo3::prelude::*;

use super::{normalizer, pre_tokenizer};
use crate::error::Result;
use crate::pipeline::Pipeline;
use crate::tokenizer::Tokenizer;

/// The requested pipeline; `None` if both arguments are missing. If only one is given, the other
/// comes from the base or else from `default`.
pub(super) fn asked(
    normalizer: Option<&Bound<'_, PyAny>>,
    pre_tokenizer: Option<&Bound<'_, PyAny>>,
    base: Option<&Tokenizer>,
    default: impl Fn() -> Result<Pipeline>,
) -> PyResult<Option<Pipeline>> {
    if normalizer.is_none() && pre_tokenizer.is_none() {
        return Ok(base.map(|base| base.pipeline().clone()));
    }
    let mut pipeline = base.map_or_else(default, |base| Ok(base.pipeline().clone()))?;
    if let Some(object) = normalizer {
        pipeline.normalizer = normalizer::extract(object)?;
    }
    if let Some(object) = pre_tokenizer {
        pipeline.pre_tokenizer = pre_tokenizer::extract(object)?;
    }
    Ok(Some(pipeline))
}

/// The pipeline of counts: as requested, else GPT-2's splitter alone.
pub(super) fn of_counts(
    normalizer: Option<&Bound<'_, PyAny>>,
    pre_tokenizer: Option<&Bound<'_, PyAny>>,
) -> PyResult<Pipeline> {
    let default = || Ok(Pipeline::new(crate::pre_tokenizer::PreTokenizer::from_name("gpt2")?));
    asked(normalizer, pre_tokenizer, None, default)?.map_or_else(|| Ok(default()?), Ok)
}
