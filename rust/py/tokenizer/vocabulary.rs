//! `Tokenizer`: checking and pruning of the vocabulary.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::super::arrays;
use super::super::error::entry;
use super::super::ids::{self, Unknown};
use super::PyTokenizer;

#[pymethods]
impl PyTokenizer {
    /// Tokens that no text is encoded as, as lists of ids.
    ///
    /// `unreachable`: the model produces them from no piece. `split`: the normalizer changes their
    /// text, or the splitter cuts it. `partial`: they are not whole characters; byte-level models
    /// need some of these. `gaps`: ids without a token. Added tokens and the unknown token are left
    /// out.
    fn doctor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| {
            let found = py.detach(|| self.tokenizer.doctor())?;
            let lists = PyDict::new(py);
            lists.set_item("unreachable", found.unreachable)?;
            lists.set_item("split", found.split)?;
            lists.set_item("partial", found.partial)?;
            lists.set_item("gaps", found.gaps)?;
            Ok(lists)
        })
    }

    /// A tokenizer with only the tokens `keep` and those it needs, and the new id of each old one:
    /// an int64 array, -1 for removed tokens.
    ///
    /// A text whose ids contain no removed token keeps its tokens.
    fn prune<'py>(
        &self,
        py: Python<'py>,
        keep: &Bound<'py, PyAny>,
    ) -> PyResult<(Self, Bound<'py, PyArray1<i64>>)> {
        entry(|| {
            let keep = ids::of_tokenizer(keep, &self.tokenizer, Unknown::Raise)?;
            let (tokenizer, map) = py.detach(|| self.tokenizer.prune(&keep))?;
            let map = map.into_iter().map(|id| id.map_or(-1, i64::from)).collect();
            Ok((self.like(py, tokenizer)?, arrays::read_only(py, map)?))
        })
    }
}
