//! `Call`: the options of one call, owned, so that they can outlive it; of them `specials` says which special
//! tokens of a text are tokens.

use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyList, PySet, PyString, PyTuple};

use super::text::name;
use crate::error::Error;
use crate::tokenizer::EncodeOptions;
use crate::tokenizer::added_tokens::Specials;

/// The options of a call, owned.
#[derive(Clone)]
pub(super) struct Call {
    pub add_special_tokens: bool,
    pub specials: OwnedSpecials,
    pub max_tokens: Option<usize>,
    pub seed: u64,
    pub threads: Option<usize>,
    pub spans: bool,
}

impl Call {
    pub fn new(add_special_tokens: bool, specials: OwnedSpecials) -> Self {
        Self { add_special_tokens, specials, max_tokens: None, seed: 0, threads: None, spans: false }
    }

    pub fn options<'a>(&'a self, stop: Option<&'a AtomicBool>) -> EncodeOptions<'a> {
        let Self { add_special_tokens, max_tokens, seed, threads, spans, ref specials } = *self;
        let specials = specials.get();
        EncodeOptions { add_special_tokens, specials, max_tokens, seed, threads, spans, stop }
    }
}

/// [`Specials`] that owns its names.
#[derive(Clone)]
pub(super) enum OwnedSpecials {
    None,
    All,
    Raise,
    Only(Vec<String>),
}

impl OwnedSpecials {
    /// As an argument of a call from Python.
    pub fn to_object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::None => PyString::new(py, "none").into_any(),
            Self::All => PyString::new(py, "all").into_any(),
            Self::Raise => PyString::new(py, "raise").into_any(),
            Self::Only(names) => PyList::new(py, names)?.into_any(),
        })
    }

    pub fn get(&self) -> Specials<'_> {
        match self {
            Self::None => Specials::None,
            Self::All => Specials::All,
            Self::Raise => Specials::Raise,
            Self::Only(names) => Specials::Only(names),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for OwnedSpecials {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.cast::<PyString>() {
            return match name.to_str()? {
                "none" => Ok(Self::None),
                "all" => Ok(Self::All),
                "raise" => Ok(Self::Raise),
                other => Err(Error::Encode(format!(
                    "specials={other:?}: it is 'none', 'all', 'raise' or a set of special tokens, as in {{{other:?}}}"
                ))
                .into()),
            };
        }
        let is_many = object.is_instance_of::<PySet>()
            || object.is_instance_of::<PyFrozenSet>()
            || object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>();
        if !is_many {
            return Err(PyTypeError::new_err(format!(
                "specials is 'none', 'all', 'raise' or a set of special tokens, not {}",
                object.get_type().name()?
            )));
        }
        let names = object.try_iter()?.map(|token| name(&token?));
        Ok(Self::Only(names.collect::<PyResult<Vec<String>>>()?))
    }
}
