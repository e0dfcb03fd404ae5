//! Other ways to cut a text than the best: n-best and sampling, for Unigram.
//!
//! The whole text is one lattice. That is what its pieces one after the other
//! would give, for where the splitter cuts no token continues.
//! Source: Kudo 2018, "Subword Regularization".

use std::borrow::Cow;

use super::Tokenizer;
use crate::error::{Error, Result};
use crate::models::Model;
use crate::models::unigram::{Path, Unigram};
use crate::pre_tokenizer::PreTokenizer;
use crate::vocab::TokenId;

impl Tokenizer {
    /// The `n` best ways to cut a text, best first, without the template; the
    /// order of equal ones is that of [`Unigram::n_best`].
    ///
    /// # Errors
    /// [`Error::Encode`] unless the model is Unigram; else as [`Unigram::n_best`].
    pub fn n_best(&self, text: &str, n: usize) -> Result<Vec<Path>> {
        let (model, text) = self.lattice_text(text)?;
        if text.is_empty() { Ok(Vec::new()) } else { model.n_best(text.as_bytes(), n) }
    }

    /// A way to cut a text drawn with probability proportional to the power
    /// `alpha` of its probability: 0 draws all alike, large values the best.
    ///
    /// # Errors
    /// [`Error::Encode`] unless the model is Unigram; [`Error::Option`] for an
    /// `alpha` that is not a number from 0; [`Error::Memory`] where there is none.
    pub fn sample(&self, text: &str, alpha: f64, seed: u64) -> Result<Vec<TokenId>> {
        check_alpha(alpha)?;
        let (model, text) = self.lattice_text(text)?;
        if text.is_empty() { Ok(Vec::new()) } else { model.sample(text.as_bytes(), alpha, seed) }
    }

    /// The entropy, in nats, of what [`Tokenizer::sample`] draws from.
    ///
    /// # Errors
    /// As [`Tokenizer::sample`].
    pub fn entropy(&self, text: &str, alpha: f64) -> Result<f64> {
        check_alpha(alpha)?;
        let (model, text) = self.lattice_text(text)?;
        if text.is_empty() { Ok(0.0) } else { model.lattice(text.as_bytes()).entropy(alpha) }
    }

    fn lattice_text<'t>(&self, original: &'t str) -> Result<(&Unigram, Cow<'t, str>)> {
        let Model::Unigram(model) = self.policies.model_without_specials() else {
            return Err(Error::Encode(format!(
                "only Unigram has other ways to cut a text, and this is {}; BPE has dropout",
                self.model.name()
            )));
        };
        let pre_tokenizer = &self.pipeline.pre_tokenizer;
        let one_text = matches!(
            pre_tokenizer,
            PreTokenizer::Bytes | PreTokenizer::Metaspace { .. } | PreTokenizer::MetaspaceWords
        );
        if !one_text {
            return Err(Error::Encode(format!(
                "the pre-tokenizer {} cuts the text; n-best and sampling know Metaspace or none",
                pre_tokenizer.name()
            )));
        }
        let normalized = self.pipeline.normalize(original, self.pipeline.looks_at_origin())?;
        let text = normalized.text(original);
        let rewritten = pre_tokenizer.rewrite_text(text, normalized.origin(0) == 0)?;
        let rewritten = rewritten.or_else(|| normalized.into_changed());
        Ok((model, rewritten.map_or(Cow::Borrowed(original), Cow::Owned)))
    }
}

fn check_alpha(alpha: f64) -> Result<()> {
    if alpha.is_finite() && alpha >= 0.0 {
        return Ok(());
    }
    Err(Error::Option {
        option: "alpha",
        value: alpha.to_string(),
        reason: "it is a number from 0; 0.1 to 1 is usual".into(),
    })
}
