//! The segment, the text and the word of each id of a batch.

use hashbrown::HashMap;
use numpy::PyArray1;
use pyo3::prelude::*;

use super::{Maker, PyEncodingBatch};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::py::arrays;
use crate::py::error::entry;
use crate::tokenizer::encoding::SourceTexts;
use crate::tokenizer::{EncodeOptions, Input};

/// Type ids, and whether the template put each id in.
type Marks = (Py<PyArray1<i64>>, Py<PyArray1<bool>>);

#[pymethods]
impl PyEncodingBatch {
    /// The row of the call that each row is of, a read-only array of int64: of windows
    /// several are of one.
    #[getter]
    fn source_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        entry(|| {
            let rows = match &self.source_rows {
                Some(rows) => rows.clone(),
                None => (0..self.n_rows(py) as i64).collect(),
            };
            arrays::read_only(py, rows)
        })
    }

    /// The number of the segment of each id, a read-only array of int64.
    #[getter]
    pub fn type_ids(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        entry(|| Ok(self.marks(py)?.0))
    }

    /// Whether the template put the id in, a read-only array of bool.
    #[getter]
    pub fn special_tokens_mask(&self, py: Python<'_>) -> PyResult<Py<PyArray1<bool>>> {
        entry(|| Ok(self.marks(py)?.1))
    }

    /// The text of its row that each id is of, 0 or 1, and -1 for the template's tokens: a
    /// read-only array of int64.
    #[getter]
    pub fn sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        entry(|| self.compute_sequence_ids(py))
    }

    /// The number of the word of each id in its text, and -1 for the template's tokens: a
    /// read-only array of int64. Words are those of the call with `is_split_into_words=True`, else
    /// what the pre-tokenizer cuts, which needs `offsets=True`.
    #[getter]
    pub fn word_ids(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        entry(|| self.compute_words(py))
    }
}

impl PyEncodingBatch {
    /// Type ids and special mask.
    pub(super) fn marks(&self, py: Python<'_>) -> PyResult<Marks> {
        let (tokenizer, call) = match &self.maker {
            Maker::Known(known) => {
                return Ok((known.type_ids.clone_ref(py), known.special_mask.clone_ref(py)));
            }
            Maker::Tokenizer(tokenizer, call, _) => (tokenizer, call),
        };
        let (type_ids, special_mask) = self.with_rows(py, |rows| -> Result<_> {
            let (mut type_ids, mut special_mask) =
                (memory::reserved(rows.ids.len())?, memory::reserved(rows.ids.len())?);
            for (row, ids) in rows.iter().enumerate() {
                let parts = self.parts(row, ids.len());
                let (lens, is_pair) = ([0, 1].map(|text| parts.lens(text)), parts.second.is_some());
                let (types, specials) = tokenizer.marks(lens, is_pair, &call.options(None))?;
                memory::extend(&mut type_ids, &types)?;
                memory::extend(&mut special_mask, &specials)?;
            }
            Ok((type_ids, special_mask))
        })??;
        Ok((
            arrays::whole_numbers::<u32>(py, type_ids)?.unbind(),
            arrays::read_only(py, special_mask)?.unbind(),
        ))
    }

    /// The text that each id is of.
    pub(super) fn compute_sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let sequences = self.with_rows(py, |rows| -> Result<_> {
            let mut sequences = memory::filled(rows.ids.len(), -1)?;
            for row in 0..rows.len() {
                let ids = rows.row(row).unwrap_or_default();
                // Of a text that is in a row more than once, the last occurrence, as in tokenizers.
                for (sequence, part) in self.parts(row, ids.len()).iter().enumerate() {
                    sequences[ids.clone()][part.ids.clone()].fill(sequence as i64);
                }
            }
            Ok(sequences)
        })??;
        arrays::read_only(py, sequences)
    }

    /// The word of each id; kept once it was asked for.
    pub(super) fn compute_words(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        if let Some(words) = self.words.get(py) {
            return Ok(words.clone_ref(py));
        }
        let Maker::Tokenizer(tokenizer, call, _) = &self.maker else {
            let reason = "word_ids were not asked for before this was pickled; encode once more, or read \
                          word_ids before pickling";
            return Err(Error::Encode(reason.to_owned()).into());
        };
        let Some(texts) = &self.texts else {
            let reason = "this batch has no texts to find words in; call encode_batch(..., offsets=True)";
            return Err(Error::Encode(reason.to_owned()).into());
        };
        let mut inputs: HashMap<usize, Input<'_>> = HashMap::new();
        let (ids, row_offsets) = self.borrowed(py)?;
        let rows =
            crate::tokenizer::encoding::Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
        for (row, ids) in rows.iter().enumerate() {
            for part in self.parts(row, ids.len()).iter().filter(|part| !part.ids.is_empty()) {
                let at = part.texts.start;
                inputs.make_room(1)?;
                inputs.insert(at, texts.source(py, at)?.text);
            }
        }
        let words = py.detach(|| -> Result<_> {
            let mut words = memory::filled(rows.ids.len(), -1)?;
            // Windows of a text are adjacent.
            let mut known: [Option<(usize, Vec<u32>)>; 2] = [None, None];
            for row in 0..rows.len() {
                let ids = rows.row(row).unwrap_or_default();
                for (text, part) in self.parts(row, ids.len()).all().filter(|(_, part)| !part.ids.is_empty())
                {
                    let (known, at) = (&mut known[text], part.texts.start);
                    if known.as_ref().is_none_or(|(of, _)| *of != at) {
                        let options = call.options(None);
                        let options = EncodeOptions {
                            add_special_tokens: false,
                            max_tokens: None,
                            seed: options.seed_of(at),
                            ..options
                        };
                        let text = inputs.get(&at).copied().unwrap_or(Input::Text(""));
                        *known = Some((at, tokenizer.words(text, &options)?));
                    }
                    let all = known.as_ref().map_or(&[][..], |(_, words)| &words[..]);
                    let of_part = all.get(part.before..part.before + part.ids.len());
                    let of_part =
                        of_part.ok_or_else(|| Error::Internal("a text became fewer ids".to_owned()))?;
                    for (word, &number) in words[ids.clone()][part.ids.clone()].iter_mut().zip(of_part) {
                        *word = i64::from(number);
                    }
                }
            }
            Ok(words)
        })?;
        // Threads that ask at once make the same.
        let _ = self.words.set(py, arrays::read_only(py, words)?.unbind());
        match self.words.get(py) {
            Some(words) => Ok(words.clone_ref(py)),
            None => Err(Error::Internal("a batch lost its words".to_owned()).into()),
        }
    }

    /// The source texts of the only row, for ids that do not determine them.
    pub fn surfaces_of_row(&self, py: Python<'_>) -> PyResult<SourceTexts> {
        let parts = self.parts(0, self.ids.bind(py).len()?);
        // Texts that a template leaves out have no ids.
        let begins = parts.all().all(|(_, part)| part.before == 0 && part.texts.len() <= 1);
        let (Maker::Tokenizer(tokenizer, call, _), Some(texts), true) = (&self.maker, &self.texts, begins)
        else {
            let reason = "surfaces are known of rows that begin with their text, of a batch made with \
                          offsets=True; call encode(text).surfaces";
            return Err(Error::Encode(reason.to_owned()).into());
        };
        let mut inputs = [Input::Text(""); 2];
        for (input, part) in inputs.iter_mut().zip(parts.iter()).filter(|(_, part)| !part.texts.is_empty()) {
            *input = texts.source(py, part.texts.start)?.text;
        }
        self.with_borrowed_rows(py, |rows| {
            let (lens, is_pair) = ([0, 1].map(|text| parts.lens(text)), parts.second.is_some());
            Ok(tokenizer.traces(rows.ids, lens, is_pair, inputs, &call.options(None))?.1)
        })?
    }
}
