//! `Tokenizer`: segmentations of a text other than the best, for Unigram.

use numpy::PyArray1;
use pyo3::prelude::*;

use super::super::arrays;
use super::super::error::entry;
use super::super::numbers::{Alpha, NBest, Seed};
use super::PyTokenizer;
use crate::vocab::TokenId;

/// Ids and the sum of their scores.
type Scored<'py> = (Bound<'py, PyArray1<TokenId>>, f64);

#[pymethods]
impl PyTokenizer {
    /// The `n` best segmentations of a text, best first: ids and the sum of their scores. For
    /// Unigram. Special tokens are neither found nor added.
    fn n_best<'py>(&self, py: Python<'py>, text: &str, n: NBest) -> PyResult<Vec<Scored<'py>>> {
        entry(|| {
            let paths = py.detach(|| self.tokenizer.n_best(text, n.get()))?;
            paths.into_iter().map(|path| Ok((arrays::read_only(py, path.ids)?, path.score))).collect()
        })
    }

    /// A random segmentation of a text, drawn with probability proportional to the power `alpha` of
    /// its probability (subword regularization). For Unigram. The same `seed` draws the same segmentation.
    #[pyo3(signature = (text, alpha = Alpha(0.1), seed = Seed(0)))]
    #[pyo3(text_signature = "($self, text, alpha=0.1, seed=0)")]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        alpha: Alpha,
        seed: Seed,
    ) -> PyResult<Bound<'py, PyArray1<TokenId>>> {
        entry(|| arrays::read_only(py, py.detach(|| self.tokenizer.sample(text, alpha.get(), seed.get()))?))
    }

    /// The entropy, in nats, of the distribution that `sample` draws from.
    #[pyo3(signature = (text, alpha = Alpha(0.1)))]
    #[pyo3(text_signature = "($self, text, alpha=0.1)")]
    fn entropy(&self, py: Python<'_>, text: &str, alpha: Alpha) -> PyResult<f64> {
        entry(|| Ok(py.detach(|| self.tokenizer.entropy(text, alpha.get()))?))
    }
}
