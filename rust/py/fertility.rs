//! `FertilityCounter`, `Fertility` and `DistinctWords`: the sums behind `sentitok.evaluate`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;

use super::arrays;
use super::call::{Call, OwnedSpecials};
use super::error::entry;
use super::numbers::Threads;
use super::progress::off;
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

/// Counts how many tokens touch the words of texts, and how often each token occurs.
#[pyclass(frozen, name = "FertilityCounter", module = "sentitok._sentitok")]
pub(super) struct PyFertilityCounter {
    tokenizer: Arc<Tokenizer>,
    distinct: Option<Py<PyDistinctWords>>,
    sums: Mutex<Fertility>,
}

#[pymethods]
impl PyFertilityCounter {
    /// If `distinct` is given, the words of the texts are added to it.
    #[new]
    #[pyo3(signature = (tokenizer, distinct = None))]
    fn new(tokenizer: &Bound<'_, PyTokenizer>, distinct: Option<Py<PyDistinctWords>>) -> PyResult<Self> {
        entry(|| {
            let tokenizer = tokenizer.get().tokenizer.clone();
            let sums = Mutex::new(Fertility::new(&tokenizer)?);
            Ok(Self { tokenizer, distinct, sums })
        })
    }

    /// Adds texts, encoded without the special tokens of the template; returns their size in bytes.
    #[pyo3(signature = (texts, threads = None))]
    fn add(&self, py: Python<'_>, texts: &Bound<'_, PyAny>, threads: Option<Threads>) -> PyResult<usize> {
        entry(|| {
            let (texts, call) = (Texts::new(texts, Errors::Replace)?, call(threads));
            let inputs = texts.inputs(py)?;
            let n_bytes = inputs.iter().map(|text| text.len()).sum();
            off(py, n_bytes, |stop| {
                let mut distinct = self.distinct.as_ref().map(|distinct| held(&distinct.get().words));
                let options = call.options(stop);
                held(&self.sums).add(&self.tokenizer, &inputs, options, distinct.as_deref_mut())
            })?;
            Ok(n_bytes)
        })
    }

    /// The sums of all texts so far.
    fn sums(&self) -> PyResult<PyFertility> {
        entry(|| Ok(PyFertility { sums: held(&self.sums).clone() }))
    }
}

/// How many tokens touch the words of texts, and how often each token occurs.
#[pyclass(frozen, name = "Fertility", module = "sentitok._sentitok")]
pub(super) struct PyFertility {
    sums: Fertility,
}

#[pymethods]
impl PyFertility {
    /// How often each id occurs, as an array of int64.
    #[getter]
    fn frequency<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        entry(|| arrays::read_only(py, self.sums.frequency.iter().map(|&count| count as i64).collect()))
    }

    /// The number of words.
    #[getter]
    fn words(&self) -> u64 {
        self.sums.words
    }

    /// The sum over all words of the tokens that touch them.
    #[getter]
    fn tokens(&self) -> u64 {
        self.sums.tokens
    }

    /// The number of words that exactly one token touches.
    #[getter]
    fn single(&self) -> u64 {
        self.sums.single
    }

    /// The number of words that two or more tokens touch.
    #[getter]
    fn continued(&self) -> u64 {
        self.sums.continued
    }
}

/// The distinct words of texts, collected by a `FertilityCounter`.
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

    /// The number of these words that exactly one token touches when a space precedes them, as in
    /// running text.
    #[pyo3(signature = (tokenizer, threads = None))]
    fn single(
        &self,
        py: Python<'_>,
        tokenizer: &Bound<'_, PyTokenizer>,
        threads: Option<Threads>,
    ) -> PyResult<u64> {
        entry(|| {
            let (tokenizer, call) = (tokenizer.get().tokenizer.clone(), call(threads));
            let work = |stop: Option<&_>| held(&self.words).single(&tokenizer, call.options(stop));
            off(py, usize::MAX, work)
        })
    }

    fn __len__(&self) -> PyResult<usize> {
        entry(|| Ok(held(&self.words).len()))
    }
}
