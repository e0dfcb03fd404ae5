//! Creates or reads many Python objects in slices, and releases the GIL between them, so that other
//! threads run and Ctrl-C is handled.

use std::time::{Duration, Instant};

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::memory;

/// How many objects are processed between two checks of the time; they take well below a
/// millisecond.
const PART: usize = 1 << 13;
/// Python only hands the interpreter to a thread that has waited 5 ms. If it were released earlier,
/// it would return before the other thread wakes.
const TURN: Duration = Duration::from_millis(6);

/// Counts objects, and releases the interpreter at intervals.
#[derive(Default)]
pub(super) struct GilSlices {
    done: usize,
    /// Set after the first slice, because reading the clock takes as long as a short call.
    since: Option<Instant>,
}

impl GilSlices {
    /// Counts objects that were created or read.
    #[inline]
    pub fn after(&mut self, py: Python<'_>, objects: usize) -> PyResult<()> {
        self.done += objects;
        if self.done < PART {
            return Ok(());
        }
        self.done = 0;
        if self.since.get_or_insert_with(Instant::now).elapsed() < TURN {
            return Ok(());
        }
        // A waiting thread gets the interpreter before it returns here.
        py.detach(|| ());
        self.since = Some(Instant::now());
        py.check_signals()
    }
}

/// A list of objects, created in slices. It is valid at any time.
pub(super) fn list<'py, T>(
    py: Python<'py>,
    items: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyList>>
where
    T: IntoPyObject<'py>,
{
    let mut items = items.into_iter();
    let all = PyList::empty(py);
    let mut slices = GilSlices::default();
    loop {
        let mut n = 0;
        for item in items.by_ref().take(PART) {
            all.append(item)?;
            n += 1;
        }
        if n == 0 {
            return Ok(all);
        }
        slices.after(py, n)?;
    }
}

/// The numbers of an array, or of an object that converts to one.
pub(super) fn numbers<T: Element + Clone>(object: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (object, dtype))?.call_method0("ravel")?;
    let array = array.cast_into::<PyArray1<T>>()?.try_readonly()?;
    Ok(memory::collected(array.as_array().iter().cloned())?)
}
