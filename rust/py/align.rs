//! `align_offsets`: aligns two tokenizations by the spans of their tokens.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::arrays::whole_numbers;
use super::error::entry;
use crate::error::Error;
use crate::tokenizer::align::{Aligned, TokenSpan, align};

/// The spans of an encoding; `None` for tokens of a template.
fn spans(offsets: &PyReadonlyArray2<'_, i64>, mask: &PyReadonlyArray1<'_, bool>) -> PyResult<Vec<TokenSpan>> {
    let rows = offsets.as_array();
    let span = |(row, &is_special): (numpy::ndarray::ArrayView1<'_, i64>, &bool)| {
        let (start, end) = (usize::try_from(row[0]), usize::try_from(row[1]));
        match (start, end) {
            (Ok(start), Ok(end)) => Ok((!is_special || start < end).then_some((start, end))),
            _ => Err(Error::Internal(format!("a span of {} to {}", row[0], row[1])).into()),
        }
    };
    rows.rows().into_iter().zip(mask.as_array()).map(span).collect()
}

/// The text, the ids of the first and the ids of the second encoding in each span that both have, as
/// starts and ends, one after another.
#[pyfunction]
pub(super) fn align_offsets<'py>(
    py: Python<'py>,
    first: (PyReadonlyArray2<'py, i64>, PyReadonlyArray1<'py, bool>),
    second: (PyReadonlyArray2<'py, i64>, PyReadonlyArray1<'py, bool>),
) -> PyResult<[Bound<'py, PyArray1<i64>>; 3]> {
    entry(|| {
        let (first, second) = (spans(&first.0, &first.1)?, spans(&second.0, &second.1)?);
        let aligned = py.detach(|| align(&first, &second));
        let array = |part: fn(&Aligned) -> (usize, usize)| {
            let numbers = aligned.iter().map(part).flat_map(|(start, end)| [start as i64, end as i64]);
            whole_numbers(py, numbers.collect::<Vec<_>>())
        };
        Ok([array(|one| one.text)?, array(|one| one.a)?, array(|one| one.b)?])
    })
}
