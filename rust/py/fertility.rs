//! `Fertility` and `DistinctWords`: the sums behind `sentitok.evaluate`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;

use super::arrays;
use super::call::Call;
use super::error::entry;
use super::numbers::Threads;
use super::progress::off;
use super::specials::OwnedSpecials;
use super::text::Errors;
use super::texts::Texts;
use super::tokenizer::PyTokenizer;
use crate::fertility::{DistinctWords, Fertility};
use crate::tokenizer::Tokenizer;

fn held<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn call(threads: Option<Threads>) -> Call {
    Call { threads: threads.map(Threads::get), ..Call::new(false, OwnedSpecials::None) }
}

/// How many tokens touch the words of texts, and how often each token occurs.
#[pyclass(frozen, name = "Fertility", module = "sentitok._sentitok")]
pub(super) struct PyFertility {
    tokenizer: Arc<Tokenizer>,
    sums: Mutex<Fertility>,
}

#[pymethods]
impl PyFertility {
    #[new]
    fn new(tokenizer: &Bound<'_, PyTokenizer>) -> PyResult<Self> {
        entry(|| {
            let tokenizer = tokenizer.get().tokenizer.clone();
            let sums = Mutex::new(Fertility::new(&tokenizer)?);
            Ok(Self { tokenizer, sums })
        })
    }

    /// Encodes texts without the template's tokens, and adds their words, also to `distinct`; returns
    /// how many bytes the texts have.
    #[pyo3(signature = (texts, threads = None, *, distinct = None))]
    fn add(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Threads>,
        distinct: Option<&Bound<'_, PyDistinctWords>>,
    ) -> PyResult<usize> {
        entry(|| {
            let (texts, call) = (Texts::new(texts, Errors::Replace)?, call(threads));
            let inputs = texts.inputs(py)?;
            let n_bytes = inputs.iter().map(|text| text.len()).sum();
            let distinct = distinct.map(Bound::get);
            off(py, n_bytes, |stop| {
                let mut distinct = distinct.map(|distinct| held(&distinct.words));
                held(&self.sums).add(&self.tokenizer, &inputs, call.options(stop), distinct.as_deref_mut())
            })?;
            Ok(n_bytes)
        })
    }

    /// How often each id occurs, an array of uint64.
    #[getter]
    fn frequency<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        entry(|| arrays::read_only(py, held(&self.sums).frequency.clone()))
    }

    /// Words.
    #[getter]
    fn words(&self) -> u64 {
        held(&self.sums).words
    }

    /// Tokens that touch a word, summed over the words.
    #[getter]
    fn tokens(&self) -> u64 {
        held(&self.sums).tokens
    }

    /// Words that one token alone touches.
    #[getter]
    fn single(&self) -> u64 {
        held(&self.sums).single
    }

    /// Words that two or more tokens touch.
    #[getter]
    fn continued(&self) -> u64 {
        held(&self.sums).continued
    }
}

/// The words that occur in texts, each once: those that `Fertility.add` meets.
#[pyclass(frozen, name = "DistinctWords", module = "sentitok._sentitok")]
#[derive(Default)]
pub(super) struct PyDistinctWords {
    words: Mutex<DistinctWords>,
}

#[pymethods]
impl PyDistinctWords {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// What a tokenizer makes of each of them behind a space, as in running text.
    #[pyo3(signature = (tokenizer, threads = None))]
    fn fertility(
        &self,
        py: Python<'_>,
        tokenizer: &Bound<'_, PyTokenizer>,
        threads: Option<Threads>,
    ) -> PyResult<PyFertility> {
        entry(|| {
            let (tokenizer, call) = (tokenizer.get().tokenizer.clone(), call(threads));
            let work = |stop: Option<&_>| held(&self.words).fertility(&tokenizer, call.options(stop));
            let sums = Mutex::new(off(py, usize::MAX, work)?);
            Ok(PyFertility { tokenizer, sums })
        })
    }

    fn __len__(&self) -> PyResult<usize> {
        entry(|| Ok(held(&self.words).count()?))
    }
}
