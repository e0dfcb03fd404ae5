//! `Tokenizer`: decoding, and lookup of tokens.

use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::super::batch::PyEncodingBatch;
use super::super::error::entry;
use super::super::ids::{self, Unknown};
use super::super::progress::off;
use super::super::stream::PyStreamDecoder;
use super::super::text::{byte_string, name, string};
use super::PyTokenizer;
use crate::memory;
use crate::models::bpe::Bpe;
use crate::py::gil_slices::{GilSlices, list};
use crate::tokenizer::decoder::stream::StreamDecoder;
use crate::tokenizer::encoding::Rows;
use crate::vocab::TokenId;

/// The number of ids that are decoded before their texts are created, unless one text is longer.
const GROUP_IDS: i64 = 1 << 14;
/// The bytes of text that take about as long as creating an object.
const BYTES_OF_TURN: usize = 1 << 6;

/// The text of bytes; bytes that are not a character become U+FFFD. Python checks them while it
/// reads them, so they are not checked first.
pub fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match PyString::from_bytes(py, bytes) {
        Err(error) if error.is_instance_of::<PyUnicodeDecodeError>(py) => {
            PyString::from_bytes(py, String::from_utf8_lossy(bytes).as_bytes())
        }
        other => other,
    }
}

impl PyTokenizer {
    /// The bytes that one list of ids decodes to.
    fn bytes_of_ids(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        skip_special: bool,
        errors: Unknown,
    ) -> PyResult<Vec<u8>> {
        let ids = ids::of_tokenizer(ids, &self.tokenizer, errors)?;
        off(py, ids.len() * 4, |_| self.tokenizer.decode_bytes(&ids, skip_special))
    }

    /// The rows without the ids that have no token.
    fn known(&self, rows: Rows<'_, i64>) -> PyResult<(Vec<TokenId>, Vec<i64>)> {
        let (mut ids, mut row_offsets) = (Vec::new(), vec![0]);
        for row in rows.iter() {
            for &id in row.iter().filter(|&&id| self.tokenizer.id_to_bytes(id).is_some()) {
                memory::push(&mut ids, id)?;
            }
            memory::push(&mut row_offsets, ids.len() as i64)?;
        }
        Ok((ids, row_offsets))
    }

    /// The texts of rows, created in groups: the bytes of a group stay in the cache of the
    /// processor, and the next group reuses their memory.
    fn texts<'py>(
        &self,
        py: Python<'py>,
        ids: &[TokenId],
        row_offsets: &[i64],
        skip_special: bool,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        let n_rows = row_offsets.len().saturating_sub(1);
        let (mut texts, mut first) = (memory::reserved(n_rows)?, 0);
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let mut slices = GilSlices::default();
        while first < n_rows {
            let limit = row_offsets[first] + GROUP_IDS;
            let last = row_offsets[first + 1..].partition_point(|&end| end <= limit).max(1) + first;
            bytes.clear();
            ends.clear();
            let rows = Rows { ids, row_offsets: &row_offsets[first..=last] };
            py.detach(|| self.tokenizer.decode_rows(rows, skip_special, &mut bytes, &mut ends))?;
            let mut start = 0;
            for &end in &ends {
                texts.push(text(py, &bytes[start..end])?);
                slices.after(py, 1 + (end - start) / BYTES_OF_TURN)?;
                start = end;
            }
            first = last;
        }
        Ok(texts)
    }
}

#[pymethods]
impl PyTokenizer {
    /// The text of ids; bytes that are not a character become U+FFFD. Ids without a token raise an
    /// error, or are skipped with `errors="ignore"`.
    #[pyo3(signature = (ids, *, skip_special_tokens = false, errors = Unknown::Raise))]
    #[pyo3(text_signature = "($self, ids, *, skip_special_tokens=False, errors='raise')")]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        errors: Unknown,
    ) -> PyResult<Bound<'py, PyString>> {
        entry(|| text(py, &self.bytes_of_ids(py, ids, skip_special_tokens, errors)?))
    }

    /// The bytes of ids. Ids without a token raise an error, or are skipped with `errors="ignore"`.
    #[pyo3(signature = (ids, *, skip_special_tokens = false, errors = Unknown::Raise))]
    #[pyo3(text_signature = "($self, ids, *, skip_special_tokens=False, errors='raise')")]
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        errors: Unknown,
    ) -> PyResult<Bound<'py, PyBytes>> {
        entry(|| byte_string(py, &self.bytes_of_ids(py, ids, skip_special_tokens, errors)?))
    }

    /// The texts of a batch, or of many lists of ids. Ids without a token raise an error, or are
    /// skipped with `errors="ignore"`.
    #[pyo3(signature = (batch, *, skip_special_tokens = false, errors = Unknown::Raise))]
    #[pyo3(text_signature = "($self, batch, *, skip_special_tokens=False, errors='raise')")]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
        errors: Unknown,
    ) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            if let Ok(batch) = batch.cast::<PyEncodingBatch>() {
                let texts = batch.get().with_borrowed_rows(py, |rows| {
                    if errors == Unknown::Raise {
                        return self.texts(py, rows.ids, rows.row_offsets, skip_special_tokens);
                    }
                    let (ids, row_offsets) = self.known(rows)?;
                    self.texts(py, &ids, &row_offsets, skip_special_tokens)
                })?;
                return list(py, texts?);
            }
            let mut slices = GilSlices::default();
            let (mut ids, mut row_offsets) = (Vec::new(), vec![0]);
            for row in batch.try_iter()? {
                let row = ids::of_tokenizer(&row?, &self.tokenizer, errors)?;
                slices.after(py, 1 + row.len())?;
                memory::extend(&mut ids, &row)?;
                memory::push(&mut row_offsets, ids.len() as i64)?;
            }
            list(py, self.texts(py, &ids, &row_offsets, skip_special_tokens)?)
        })
    }

    /// A decoder for ids that arrive one by one. With the ids of a `prompt` it returns what follows
    /// the prompt's text: the first word then begins with its space, and a character that the prompt
    /// began is completed.
    #[pyo3(signature = (*, skip_special_tokens = false, prompt = None))]
    fn stream_decoder(
        &self,
        skip_special_tokens: bool,
        prompt: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyStreamDecoder> {
        entry(|| {
            let mut decoder = StreamDecoder::new(self.tokenizer.clone(), skip_special_tokens);
            if let Some(prompt) = prompt {
                decoder.push_all(&ids::of_tokenizer(prompt, &self.tokenizer, Unknown::Raise)?)?;
            }
            Ok(PyStreamDecoder::new(decoder, self.tokenizer.max_id()))
        })
    }

    /// The id of a token, given as bytes or as a `str`: as tokenizer.json spells it, or else as
    /// plain text.
    fn token_to_id(&self, token: &Bound<'_, PyAny>) -> PyResult<Option<TokenId>> {
        entry(|| match token.cast::<PyBytes>() {
            Ok(bytes) => Ok(self.tokenizer.token_to_id(bytes.as_bytes())),
            Err(_) => Ok(self.tokenizer.spelled_to_id(&name(token)?)),
        })
    }

    /// A token as tokenizer.json spells it: `"Ġfilm"` for `" film"`.
    fn id_to_token(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        entry(|| Ok(ids::lookup(id)?.and_then(|id| self.tokenizer.id_to_token(id))))
    }

    /// The bytes a token represents.
    fn id_to_bytes<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        entry(|| {
            let bytes = ids::lookup(id)?.and_then(|id| self.tokenizer.id_to_bytes(id));
            bytes.map(|bytes| byte_string(py, bytes)).transpose()
        })
    }

    /// All tokens with their ids, as tokenizer.json spells them, ids ascending.
    fn vocab<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| {
            let (vocab, mut slices) = (PyDict::new(py), GilSlices::default());
            for id in 0..=self.tokenizer.max_id() {
                if let Some(token) = self.tokenizer.id_to_token(id) {
                    vocab.set_item(string(py, &token)?, id)?;
                }
                slices.after(py, 1)?;
            }
            Ok(vocab)
        })
    }

    /// The pairs of merges, in order of rank; empty unless the model is BPE.
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let bytes = |id| byte_string(py, self.tokenizer.model().vocab().bytes(id).unwrap_or_default());
            self.tokenizer.model().vocab().check_room()?;
            let merges = py.detach(|| self.tokenizer.model().bpe().map(Bpe::merge_list)).unwrap_or_default();
            let (all, mut slices) = (PyList::empty(py), GilSlices::default());
            for (left, right) in merges {
                all.append((bytes(left)?, bytes(right)?))?;
                slices.after(py, 1)?;
            }
            Ok(all)
        })
    }
}
