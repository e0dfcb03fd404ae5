//! `copy.copy` and `copy.deepcopy` of immutable objects: return the object itself.
//!
//! By default Python copies by pickling, which reads all tables of a tokenizer again. Classes with
//! mutable state, and classes that are cheap to pickle, do not use this.

use pyo3::prelude::*;

use super::batch::PyEncodingBatch;
use super::encoding::PyEncoding;
use super::normalizer::PyNormalizer;
use super::report::PyTrainReport;
use super::tokenizer::PyTokenizer;
use super::word_counts::PyWordCounts;

macro_rules! is_its_own_copy {
    ($($class:ty),+) => {$(
        #[pymethods]
        impl $class {
            fn __copy__(this: Py<Self>) -> Py<Self> {
                this
            }

            fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                this
            }
        }
    )+};
}

is_its_own_copy!(PyEncoding, PyEncodingBatch, PyNormalizer, PyTokenizer, PyTrainReport, PyWordCounts);
