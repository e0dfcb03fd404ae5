//! `Encoding`: which token a character is in, which characters a token is of, and words.
//!
//! As Hugging Face's `Encoding` has them, but arrays with -1 where it has lists with `None`.

use std::ops::Range;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use super::{PyEncoding, Spelling};
use crate::error::{Error, Result};
use crate::memory;
use crate::py::arrays;
use crate::py::error::entry;
use crate::py::numbers::{Char, Sequence, Word, place, spelled};
use crate::tokenizer::EncodeOptions;
use crate::tokenizer::encoding::OffsetUnit;

#[pymethods]
impl PyEncoding {
    /// The text that each id is of, 0 or 1, and -1 for the template's tokens: a read-only
    /// array of int64.
    #[getter]
    fn sequence_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        entry(|| {
            if let Spelling::Row(batch) = &self.spelling {
                return batch.get().sequence_ids(py);
            }
            let special_mask = self.special_tokens_mask(py)?;
            let special_mask = special_mask.bind(py).try_readonly()?;
            let second = self.second.clone().unwrap_or_default();
            let sequence = |(at, special): (usize, &bool)| match special {
                true => -1,
                false => i64::from(second.contains(&at)),
            };
            let sequences = memory::collected(special_mask.as_slice()?.iter().enumerate().map(sequence))?;
            arrays::read_only(py, sequences)
        })
    }

    /// The number of the word of each id in its text, and -1 for the template's tokens: a
    /// read-only array of int64. Words are the pieces of the pre-tokenizer, or those of
    /// `is_split_into_words=True`.
    #[getter]
    fn word_ids(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        entry(|| {
            if let Spelling::Row(batch) = &self.spelling {
                return batch.get().word_ids(py);
            }
            if let Some(words) = self.words.get(py) {
                return Ok(words.clone_ref(py));
            }
            let (Spelling::Tokenizer(tokenizer), Some(call)) = (&self.spelling, &self.call) else {
                return Err(Error::Encode(
                    "the words of a pickled encoding, or of segments, are not known; encode the text"
                        .to_owned(),
                )
                .into());
            };
            let sides = self.sides(py)?;
            let sources = self.sources(py)?;
            let words = py.detach(|| -> Result<_> {
                let mut words = memory::filled(self.n_ids, -1)?;
                for (ids, source) in sides.into_iter().zip(sources) {
                    let options = call.options(None);
                    let options = EncodeOptions { add_special_tokens: false, max_tokens: None, ..options };
                    let of_text =
                        if ids.is_empty() { Vec::new() } else { tokenizer.words(source.text, &options)? };
                    for (word, &number) in words[ids].iter_mut().zip(&of_text) {
                        *word = i64::from(number);
                    }
                }
                Ok(words)
            })?;
            let words = arrays::read_only(py, words)?.unbind();
            Ok(self.words.get_or_init(py, || words).clone_ref(py))
        })
    }

    /// The token that a character of a text is in; `None` where there is none.
    #[pyo3(signature = (char, sequence = Sequence(0)))]
    #[pyo3(text_signature = "($self, char, sequence=0)")]
    fn char_to_token(&self, py: Python<'_>, char: Char, sequence: Sequence) -> PyResult<Option<usize>> {
        entry(|| {
            let ids = self.side(py, sequence.get())?;
            let offsets = self.offsets(py, OffsetUnit::Chars, None)?;
            let offsets = offsets.try_readonly()?;
            let (spans, _) = offsets.as_slice()?.as_chunks::<2>();
            let char = i64::try_from(char.get()).unwrap_or(i64::MAX);
            let found = spans[ids.clone()].iter().position(|&[start, end]| start <= char && char < end);
            Ok(found.map(|at| ids.start + at))
        })
    }

    /// Start and end, in characters, of a token in its text; `None` for a token of the template.
    fn token_to_chars(&self, py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<Option<(i64, i64)>> {
        entry(|| {
            let token = self.place(token)?;
            if !self.sides(py)?.iter().any(|ids| ids.contains(&token)) {
                return Ok(None);
            }
            let offsets = self.offsets(py, OffsetUnit::Chars, None)?;
            let offsets = offsets.try_readonly()?;
            let (spans, _) = offsets.as_slice()?.as_chunks::<2>();
            Ok(spans.get(token).map(|span| (span[0], span[1])))
        })
    }

    /// First token of a word of a text, and one behind its last; `None` where there is none.
    #[pyo3(signature = (word, sequence = Sequence(0)))]
    #[pyo3(text_signature = "($self, word, sequence=0)")]
    fn word_to_tokens(
        &self,
        py: Python<'_>,
        word: Word,
        sequence: Sequence,
    ) -> PyResult<Option<(usize, usize)>> {
        entry(|| {
            let ids = self.side(py, sequence.get())?;
            let words = self.word_ids(py)?;
            let words = words.bind(py).try_readonly()?;
            let words = &words.as_slice()?[ids.clone()];
            let is_it = |number: &i64| usize::try_from(*number) == Ok(word.get());
            let first = words.iter().position(is_it);
            Ok(first.map(|first| {
                let n = words[first..].iter().take_while(|number| is_it(number)).count();
                (ids.start + first, ids.start + first + n)
            }))
        })
    }
}

impl PyEncoding {
    /// Which ids are the first text's, and which the second's.
    fn sides(&self, py: Python<'_>) -> PyResult<[Range<usize>; 2]> {
        let sequences = self.sequence_ids(py)?;
        let sequences = sequences.try_readonly()?;
        let sequences = sequences.as_slice()?;
        Ok([0, 1].map(|sequence| {
            let first = sequences.iter().position(|&found| found == sequence).unwrap_or(0);
            let last = sequences.iter().rposition(|&found| found == sequence).map_or(first, |last| last + 1);
            first..last
        }))
    }

    fn side(&self, py: Python<'_>, sequence: usize) -> PyResult<Range<usize>> {
        self.sides(py)?.into_iter().nth(sequence).ok_or_else(|| {
            Error::Encode(format!("sequence={sequence}: it is 0 for the first text and 1 for the second"))
                .into()
        })
    }

    /// The place of a token; a negative one counts from the end.
    fn place(&self, token: &Bound<'_, PyAny>) -> PyResult<usize> {
        place("token", token, self.n_ids)?.ok_or_else(|| {
            let token = spelled(token);
            PyIndexError::new_err(format!("token {token} of {}", self.n_ids))
        })
    }
}
