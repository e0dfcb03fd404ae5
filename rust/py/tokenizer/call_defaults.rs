//! `Tokenizer.call_defaults`: the truncation and padding of a file as arguments of calls.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::super::error::entry;
use super::PyTokenizer;
use crate::tokenizer::encoding::Side;
use crate::tokenizer::{PaddingLength, TruncationStrategy};

#[pymethods]
impl PyTokenizer {
    /// The truncation and padding in a tokenizer.json, as arguments. No call applies them
    /// automatically.
    ///
    /// `"encode"` is for `encode` and `encode_batch`, `"windows"` for `windows_batch`, `"pad"` for
    /// `pad` and `to_torch`; each is empty if the file does not set it. Saved files contain the
    /// same settings. They do not affect the fingerprint.
    #[getter]
    fn call_defaults<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| {
            let defaults = self.tokenizer.call_defaults();
            let (encode, windows, pad) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
            if let Some(cut) = &defaults.truncation {
                encode.set_item("max_tokens", cut.max_length)?;
                windows.set_item("size", cut.max_length)?;
                windows.set_item("stride", cut.stride)?;
                for arguments in [&encode, &windows] {
                    arguments.set_item("truncation", name_of(cut.strategy))?;
                    arguments.set_item("truncation_side", side(cut.direction))?;
                }
            }
            if let Some(fill) = &defaults.padding {
                let length = match fill.strategy {
                    PaddingLength::BatchLongest => None,
                    PaddingLength::Fixed(length) => Some(length),
                };
                pad.set_item("length", length)?;
                pad.set_item("pad_id", fill.pad_id)?;
                pad.set_item("side", side(fill.direction))?;
                pad.set_item("multiple_of", fill.pad_to_multiple_of.filter(|&multiple| multiple > 0))?;
            }
            [("encode", encode), ("windows", windows), ("pad", pad)].into_py_dict(py)
        })
    }
}

fn name_of(strategy: TruncationStrategy) -> &'static str {
    match strategy {
        TruncationStrategy::LongestFirst => "longest_first",
        TruncationStrategy::OnlyFirst => "only_first",
        TruncationStrategy::OnlySecond => "only_second",
    }
}

fn side(direction: Side) -> &'static str {
    match direction {
        Side::Left => "left",
        Side::Right => "right",
    }
}
