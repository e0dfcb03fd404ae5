//! `Tokenizer`: the class. Each method takes its arguments apart, calls the
//! core without the interpreter, and wraps what comes back.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::added_token::{PyAddedToken, PySpecial};
use super::arrays;
use super::batch::{PyEncodingBatch, Sources};
use super::encoding::PyEncoding;
use super::error::entry;
use super::ids;
use super::pre_tokenizer::PyPreTokenizer;
use super::progress::{off, run};
use super::specials::OwnedSpecials;
use super::stream::PyStreamDecoder;
use super::text::{Errors, Text, Texts};
use super::train::PyTrainReport;
use crate::decoder::stream::StreamDecoder;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::tokenizer::{EncodeOptions, Tokenizer};
use crate::vocab::TokenId;

/// Turns text into ids and ids into text. Immutable: safe in threads, after
/// fork, and in sets.
#[pyclass(frozen, module = "sentitok", name = "Tokenizer", weakref)]
pub(super) struct PyTokenizer {
    pub tokenizer: Arc<Tokenizer>,
    report: Option<Py<PyTrainReport>>,
    fingerprint: OnceLock<String>,
}

impl From<Tokenizer> for PyTokenizer {
    fn from(tokenizer: Tokenizer) -> Self {
        Self::new(Arc::new(tokenizer), None)
    }
}
