//! Turns: a long run of Python objects is made or read in parts, and between them
//! other threads run and Ctrl-C is answered.

use std::time::{Duration, Instant};

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::memory;

/// Objects between two looks at the clock: well below a millisecond.
const PART: usize = 1 << 13;
/// Python hands the interpreter over only to a thread that has waited 5 ms
/// without a sign; one given sooner comes back before the other wakes.
const TURN: Duration = Duration::from_millis(6);

/// Counts objects, and lets others have their turn now and then.
#[derive(Default)]
pub(super) struct Turns {
    done: usize,
    /// Not read before the first part is done: to ask for the time takes as long as a short call.
    since: Option<Instant>,
}

impl Turns {
    /// Says that so many objects were made or read.
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
        // Whoever waits gets the interpreter before it comes back here.
        py.detach(|| ());
        self.since = Some(Instant::now());
        py.check_signals()
    }
}

/// A list of objects, whole at any time, made in parts.
pub(super) fn list<'py, T>(
    py: Python<'py>,
    items: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyList>>
where
    T: IntoPyObject<'py>,
{
    let mut items = items.into_iter();
    let all = PyList::empty(py);
    let mut turns = Turns::default();
    loop {
        let mut n = 0;
        for item in items.by_ref().take(PART) {
            all.append(item)?;
            n += 1;
        }
        if n == 0 {
            return Ok(all);
        }
        turns.after(py, n)?;
    }
}

/// The numbers of an array, or of what becomes one.
pub(super) fn numbers<T: Element + Clone>(object: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Vec<T>> {
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (object, dtype))?.call_method0("ravel")?;
    let array = array.cast_into::<PyArray1<T>>()?.try_readonly()?;
    Ok(memory::collected(array.as_array().iter().cloned())?)
}
