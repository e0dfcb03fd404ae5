//! Numbers that a call takes: what is negative or too large is an error that names the argument.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::shown;

/// A number as it was given.
pub(super) struct Number(Result<usize, String>);

impl Number {
    /// A number that is no caller's.
    pub fn of(number: usize) -> Self {
        Self(Ok(number))
    }
}

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(index) = object.call_method0("__index__") else {
            return Err(PyTypeError::new_err(format!(
                "a number is expected, not {}",
                shown(&object.repr()?.to_string())
            )));
        };
        Ok(Self(index.extract().map_err(|_| index.to_string())))
    }
}

/// A number of an argument: 0 or more.
pub(super) fn count(argument: &str, number: Number) -> PyResult<usize> {
    number.0.map_err(|found| {
        let found = shown(&found);
        PyValueError::new_err(format!("{argument}={found}: it is 0 or more, and less than 2**63"))
    })
}

/// As [`count`], of an argument that may be left out.
pub(super) fn number(argument: &str, number: Option<Number>) -> PyResult<Option<usize>> {
    number.map(|number| count(argument, number)).transpose()
}

/// A number of threads: at least one.
#[derive(Clone, Copy)]
pub(super) struct Threads(usize);

impl Threads {
    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Number(found) = Number::extract(object)?;
        match found {
            Ok(0) | Err(_) => {
                let found = object.str()?.to_string();
                let found = shown(&found);
                Err(PyValueError::new_err(format!("threads={found}: it is 1 or more, or None for all")))
            }
            Ok(n) => Ok(Self(n)),
        }
    }
}
