//! Some rows of a batch as a batch: for `batch[i]` and `batch[a:b]`.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PySlice;

use super::{Known, Maker, Parts, PyEncodingBatch, Spans};
use crate::memory;
use crate::py::arrays::{self, KeptSpans};
use crate::tokenizer::encoding::{Rows, SourceTexts, TrimWidths};

/// Places of rows in a flat array; adjacent rows are one run.
type Runs = Vec<std::ops::Range<usize>>;

impl PyEncodingBatch {
    /// The rows of these numbers, which are less than there are rows.
    pub(super) fn selected(&self, py: Python<'_>, numbers: &[usize]) -> PyResult<Self> {
        let (ids, row_offsets) = self.borrowed(py)?;
        let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
        let (mut runs, mut ends, mut parts) = (Runs::new(), vec![0], memory::reserved(numbers.len())?);
        let (mut sources, mut n_ids) = (memory::reserved(numbers.len())?, 0);
        for &number in numbers {
            let ids = rows.row(number).unwrap_or_default();
            parts.push(self.parts(number, ids.len()).into_owned());
            sources.push(self.source_rows.as_ref().map_or(number as i64, |rows| rows[number]));
            n_ids += ids.len() as i64;
            memory::push(&mut ends, n_ids)?;
            match runs.last_mut() {
                Some(last) if last.end == ids.start => last.end = ids.end,
                _ => memory::push(&mut runs, ids)?,
            }
        }
        let spans = match &self.spans {
            Spans::None => Spans::None,
            Spans::ByLength => Spans::ByLength,
            Spans::Kept(spans) => {
                let array = spans.array(py).into_any();
                Spans::Kept(KeptSpans::from(taken(&array, &runs)?.cast_into::<numpy::PyArray2<u64>>()?))
            }
        };
        let words = PyOnceLock::new();
        if let Some(known) = self.words.get(py) {
            let _ = words.set(py, taken_flat(known.bind(py), &runs)?);
        }
        let maker = match &self.maker {
            Maker::Tokenizer(tokenizer, call, source_texts) => {
                Maker::Tokenizer(tokenizer.clone(), call.clone(), taken_surfaces(source_texts, &runs)?)
            }
            Maker::Known(known) => Maker::Known(Box::new(Known {
                tokens: known.tokens.clone(),
                source_texts: taken_surfaces(&known.source_texts, &runs)?,
                trim_widths: known.trim_widths.as_ref().map(|trim_widths| TrimWidths {
                    after_prefix_space: trim_widths.after_prefix_space,
                    counts: runs
                        .iter()
                        .flat_map(|run| trim_widths.counts[run.clone()].iter().copied())
                        .collect(),
                }),
                type_ids: taken_flat(known.type_ids.bind(py), &runs)?,
                special_mask: taken_flat(known.special_mask.bind(py), &runs)?,
            })),
        };
        Ok(Self {
            ids: taken_flat(self.ids.bind(py), &runs)?,
            row_offsets: arrays::read_only(py, ends)?.unbind(),
            spans,
            texts: self.texts.clone(),
            parts: Parts::Each(parts),
            source_rows: Some(sources),
            are_words: self.are_words,
            maker,
            padding: self.padding.clone(),
            words,
        })
    }
}

/// The values of runs: a view where there is one.
fn taken<'py>(array: &Bound<'py, PyAny>, runs: &Runs) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let view = |run: &std::ops::Range<usize>| {
        array.get_item(PySlice::new(py, run.start as isize, run.end as isize, 1))
    };
    match &runs[..] {
        [] => view(&(0..0)),
        [only] => view(only),
        _ => {
            let views = runs.iter().map(view).collect::<PyResult<Vec<_>>>()?;
            let joined = py.import("numpy")?.call_method1("concatenate", (views,))?;
            joined.call_method1("setflags", (false,))?;
            Ok(joined)
        }
    }
}

fn taken_flat<T: numpy::Element>(array: &Bound<'_, PyArray1<T>>, runs: &Runs) -> PyResult<Py<PyArray1<T>>> {
    Ok(taken(array.as_any(), runs)?.cast_into::<PyArray1<T>>()?.unbind())
}

fn taken_surfaces(source_texts: &SourceTexts, runs: &Runs) -> crate::error::Result<SourceTexts> {
    let (mut some, mut done) = (SourceTexts::default(), 0);
    for run in runs {
        for (place, text) in source_texts.within(run.clone()) {
            some.push(done + place - run.start, text.as_bytes())?;
        }
        done += run.len();
    }
    Ok(some)
}
