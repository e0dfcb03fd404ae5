//! What an encoding holds beside its ids, made when it is asked for.

use std::borrow::Cow;

use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rustc_hash::FxHashMap;

use super::{PyEncoding, Spelling};
use crate::encoding::{Blanks, Encoding};
use crate::error::Error;
use crate::py::progress::off;
use crate::py::turns::{Turns, list};
use crate::vocab::TokenId;

impl PyEncoding {
    /// All but the ids. Threads that ask at once each make it, and one's is kept:
    /// nobody waits for another, whom a fork may have left behind.
    pub(super) fn rest<'a>(&'a self, py: Python<'a>) -> PyResult<&'a Encoding> {
        if self.rest.get(py).is_none() {
            let _ = self.rest.set(py, self.made_rest(py)?);
        }
        self.rest.get(py).ok_or_else(|| Error::Internal("an encoding lost its rest".to_owned()).into())
    }

    pub(super) fn made_rest(&self, py: Python<'_>) -> PyResult<Encoding> {
        let (Spelling::Tokenizer(tokenizer), Some(call)) = (&self.spelling, &self.call) else {
            return Err(Error::Internal("an encoding without its call".to_owned()).into());
        };
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        let texts: Vec<&[u8]> = self.texts.iter().map(|text| text.bytes(py)).collect::<PyResult<_>>()?;
        let n_bytes = texts.iter().map(|text| text.len()).sum();
        off(py, n_bytes, |stop| match texts[..] {
            [first, second] => tokenizer.rest_of_pair(ids, [first, second], call.options(stop)),
            _ => tokenizer.rest_of(ids, texts.first().copied().unwrap_or_default(), call.options(stop)),
        })
    }

    /// Type ids and special mask.
    pub(super) fn marks(&self, py: Python<'_>) -> PyResult<(Vec<u32>, Vec<bool>)> {
        match (&self.spelling, &self.call) {
            (Spelling::Tokenizer(tokenizer), Some(call)) => {
                let second = self.second.as_ref();
                Ok(py.detach(|| tokenizer.marks(self.n_ids, second, &call.options(None))))
            }
            _ => {
                let rest = self.rest(py)?;
                Ok((rest.type_ids.clone(), rest.special_mask.clone()))
            }
        }
    }

    /// The tokens, each spelling one object however often it stands there.
    pub(super) fn spelled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tokenizer = match &self.spelling {
            Spelling::Tokens(tokens, _) => {
                let tokens = tokens.bind(py);
                return Ok(tokens.get_slice(0, tokens.len()));
            }
            Spelling::Tokenizer(tokenizer) => tokenizer,
        };
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        let (places, distinct) = py.detach(|| {
            let mut known = FxHashMap::default();
            let mut distinct: Vec<TokenId> = Vec::new();
            let mut place_of = |id: TokenId| {
                *known.entry(id).or_insert_with(|| {
                    distinct.push(id);
                    distinct.len() as u32 - 1
                })
            };
            let places: Vec<u32> = ids.iter().map(|&id| place_of(id)).collect();
            let spell = |id| tokenizer.id_to_token(id).unwrap_or_default();
            (places, distinct.into_iter().map(spell).collect::<Vec<String>>())
        });
        let mut spelled: Vec<Bound<'py, PyString>> = Vec::with_capacity(distinct.len());
        let mut turns = Turns::default();
        for token in distinct {
            spelled.push(PyString::new(py, &token));
            turns.after(py, 1)?;
        }
        list(py, places.into_iter().map(|place| spelled[place as usize].clone()))
    }

    /// What offsets leave out by the file.
    pub(super) fn blanks<'a>(&'a self, py: Python<'a>) -> PyResult<Option<Cow<'a, Blanks>>> {
        let tokenizer = match &self.spelling {
            Spelling::Tokens(_, blanks) => return Ok(blanks.as_ref().map(Cow::Borrowed)),
            Spelling::Tokenizer(tokenizer) => tokenizer,
        };
        let rest = self.rest(py)?;
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        Ok(py.detach(|| {
            let mut surfaces = rest.surfaces.iter().peekable();
            let surface = |at| surfaces.next_if(|&(place, _)| place == at).map(|(_, text)| text.into());
            tokenizer.blanks(ids, surface).map(Cow::Owned)
        }))
    }
}
