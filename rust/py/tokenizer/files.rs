//! `Tokenizer`: files, pickling and information.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyString, PyTuple};

use super::super::added_token::{PyAddedToken, new_tokens};
use super::super::error::{entry, warn};
use super::super::html;
use super::super::loaded;
use super::super::normalizer::PyNormalizer;
use super::super::numbers::{Dropout, SpecialTokens};
use super::super::pre_tokenizer::PyPreTokenizer;
use super::super::progress::reading;
use super::super::remote::{with_all_local, with_local, with_output};
use super::super::report::PyTrainReport;
use super::PyTokenizer;
use super::pretrained::ROOM;
use crate::error::Error;
use crate::formats::bert_vocab::CleanUp;
use crate::formats::{Format, sentencepiece_tokenizer, tiktoken};
use crate::models::bpe::{MergeOrder, Unit};
use crate::tokenizer::Tokenizer;
use crate::tokenizer::added_tokens::NewToken;
use crate::vocab::TokenId;

/// How many tokens of a tokenizer a notebook shows.
const LAST: usize = 32;
/// How many ids are examined to find them.
const MOST_IDS: usize = 4_096;

#[pymethods]
impl PyTokenizer {
    /// Reads a tokenizer file; its content decides the format. A folder is read as by
    /// `from_pretrained`.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
        entry(|| {
            with_local(py, path, |path| {
                if path.is_dir() {
                    return py.import(ROOM)?.call_method1("load", (path,));
                }
                let read = reading(py, &[&path.clone()], move || loaded::from_file(&path))?;
                Ok(Bound::new(py, Self::new(read, None))?.into_any())
            })
        })
    }

    /// Reads the result of `to_bytes` or `save`, or any single file of another format.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        entry(|| Ok(Self::new(py.detach(|| loaded::from_bytes(data))?, None)))
    }

    /// Reads a `.tiktoken` file, or its content as bytes. The file only contains ranks: `pattern`
    /// is a name of `PreTokenizer.names()` or a pattern, `special_tokens` maps text to id. Without
    /// `special_tokens` there are none, so also no end-of-text token.
    #[staticmethod]
    #[pyo3(signature = (path, pattern, special_tokens = None))]
    fn from_tiktoken(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        pattern: &str,
        special_tokens: Option<SpecialTokens>,
    ) -> PyResult<Self> {
        entry(|| {
            let specials = special_tokens.map(SpecialTokens::get).unwrap_or_default();
            let pre_tokenizer = tiktoken::pre_tokenizer(pattern)?;
            if let Ok(ranks) = path.cast::<PyBytes>() {
                let ranks = ranks.as_bytes();
                let parts = || tiktoken::read(ranks, pre_tokenizer, &specials).and_then(Tokenizer::new);
                return Ok(py.detach(parts)?.into());
            }
            with_local(py, path.extract()?, |path| {
                let read = reading(py, &[&path.clone()], move || {
                    Tokenizer::from_tiktoken(&path, pre_tokenizer, &specials)
                });
                Ok(read?.into())
            })
        })
    }

    /// Reads `vocab.json` and `merges.txt` of GPT-2. Refuses files whose tokens show that they
    /// belong to another model (`</w>` at the end of words, no token for some byte).
    #[staticmethod]
    fn from_gpt2(py: Python<'_>, vocab: PathBuf, merges: PathBuf) -> PyResult<Self> {
        entry(|| {
            with_all_local(py, vec![vocab, merges], |paths| {
                let given: Vec<_> = paths.iter().map(PathBuf::as_path).collect();
                let files = paths.clone();
                Ok(reading(py, &given, move || Tokenizer::from_gpt2(&files[0], &files[1]))?.into())
            })
        })
    }

    /// Reads `vocab.txt` of BERT. The file does not say whether text becomes lower case, nor which
    /// clean-up precedes the model: `normalizer` is `"hf-bert"` or `"google-bert"`.
    #[staticmethod]
    #[pyo3(signature = (path, lowercase = true, *, normalizer = "hf-bert"))]
    fn from_bert_vocab(py: Python<'_>, path: PathBuf, lowercase: bool, normalizer: &str) -> PyResult<Self> {
        entry(|| {
            let clean_up = match normalizer {
                "hf-bert" => CleanUp::HuggingFace,
                "google-bert" => CleanUp::Google,
                other => {
                    let reason = "it is 'hf-bert' or 'google-bert'".to_owned();
                    return Err(
                        Error::Option { option: "normalizer", value: other.to_owned(), reason }.into()
                    );
                }
            };
            with_local(py, path, |path| {
                let read = reading(py, &[&path.clone()], move || {
                    Tokenizer::from_bert_vocab(&path, lowercase, clean_up)
                });
                Ok(read?.into())
            })
        })
    }

    /// Reads a SentencePiece model: ids, offsets and text as in SentencePiece.
    #[staticmethod]
    fn from_sentencepiece(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        entry(|| {
            with_local(py, path, |path| {
                Ok(reading(py, &[&path.clone()], move || Tokenizer::from_sentencepiece(&path))?.into())
            })
        })
    }

    /// The tokenizer as bytes; equal tokenizers give equal bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        entry(|| Ok(PyBytes::new(py, &py.detach(|| self.tokenizer.to_bytes())?)))
    }

    /// The tokenizer as the content of a SentencePiece file. Warns like `save`.
    fn to_sentencepiece<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        entry(|| {
            let written = py.detach(|| sentencepiece_tokenizer::write(&self.tokenizer))?;
            warn(py, &written.left_out)?;
            Ok(PyBytes::new(py, &written.bytes))
        })
    }

    /// Writes the tokenizer; returns the paths of the files written.
    ///
    /// `format` is `"tokenizer.json"`, `"huggingface"` (a directory), `"tiktoken"`,
    /// `"tekken.json"`, `"gpt2"` (a directory), `"sentencepiece"`, `"vocab.txt"` or `"sentitok"`;
    /// without it the suffix of `path` decides. Warns about anything that the format cannot store.
    #[pyo3(signature = (path, format = None))]
    fn save(&self, py: Python<'_>, path: PathBuf, format: Option<&str>) -> PyResult<Vec<String>> {
        entry(|| {
            let format = format.map(Format::from_str).transpose()?;
            with_output(py, path.clone(), |local| {
                let saved = py.detach(|| self.tokenizer.save(&local, format))?;
                warn(py, &saved.left_out)?;
                let named = saved.files.iter().map(|file| match file.strip_prefix(&local) {
                    Ok(rest) if !rest.as_os_str().is_empty() => path.join(rest),
                    Ok(_) => path.clone(),
                    Err(_) => file.clone(),
                });
                Ok(named.map(|file| file.to_string_lossy().into_owned()).collect())
            })
        })
    }

    /// The number of tokens, including added ones: less than `vocab_size` if ids have gaps.
    #[getter]
    fn n_tokens(&self) -> PyResult<usize> {
        entry(|| Ok(self.tokenizer.n_tokens()))
    }

    /// The size that an embedding needs: one more than the greatest id, like `n_vocab` of tiktoken.
    #[getter]
    fn vocab_size(&self) -> PyResult<usize> {
        entry(|| Ok(self.tokenizer.vocab_size()))
    }

    /// SHA-256 of `to_bytes()`, in hexadecimal. It covers everything that decides ids and text.
    ///
    /// It survives saving in a format that stores everything: tokenizers saved as `.sentitok`, and
    /// those of `method="sentencepiece"` saved as `.model`, have the same fingerprint before and
    /// after. A Unigram tokenizer of `train_unigram(method="full")` has a different fingerprint
    /// than its `.model`, because four parts differ: scores are summed and stored in 32 bits
    /// instead of 64; text is not cut into words before the model; decoding is SentencePiece's; and
    /// so is the text for unknown tokens.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<&str> {
        entry(|| self.hash(py))
    }

    /// Whether decoding the ids of any text returns exactly that text.
    #[getter]
    fn is_lossless(&self) -> PyResult<bool> {
        entry(|| Ok(self.tokenizer.is_lossless()))
    }

    /// The pre-tokenizer, which cuts a text into pieces.
    #[getter]
    fn pre_tokenizer(&self) -> PyResult<PyPreTokenizer> {
        entry(|| Ok(self.tokenizer.pipeline().pre_tokenizer.clone().into()))
    }

    /// The normalizer, which rewrites a text before it is cut; `None` if there is none.
    #[getter]
    fn normalizer(&self) -> PyResult<Option<PyNormalizer>> {
        entry(|| Ok(self.tokenizer.pipeline().normalizer.clone().map(PyNormalizer::from)))
    }

    /// The added tokens, in ascending order of ids.
    #[getter]
    fn added_tokens(&self) -> PyResult<Vec<PyAddedToken>> {
        entry(|| Ok(self.tokenizer.added_tokens().iter().cloned().map(PyAddedToken::from).collect()))
    }

    /// The results of training, for a tokenizer that was just trained; else `None`.
    #[getter]
    fn report(&self, py: Python<'_>) -> Option<Py<PyTrainReport>> {
        self.report.as_ref().map(|report| report.clone_ref(py))
    }

    /// A description of the tokenizer: model, sizes, pipeline, fingerprint.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| {
            let Self { tokenizer, .. } = self;
            let model = tokenizer.model();
            let info = PyDict::new(py);
            info.set_item("model", model.name())?;
            info.set_item("vocab_size", tokenizer.vocab_size())?;
            info.set_item("n_tokens", tokenizer.n_tokens())?;
            if let Some(bpe) = model.bpe() {
                let (order, n_merges) = match bpe.order() {
                    MergeOrder::List(merges) => ("merge list", Some(merges.len())),
                    MergeOrder::Ranks => ("ranks", None),
                    MergeOrder::Scores(_) => ("scores", None),
                };
                info.set_item("order", order)?;
                info.set_item("merges", n_merges)?;
                info.set_item("byte_fallback", bpe.options().byte_fallback)?;
                info.set_item("dropout", bpe.options().dropout)?;
            }
            info.set_item("unit", if model.unit() == Unit::Bytes { "bytes" } else { "chars" })?;
            info.set_item("unk_token", model.unk_token())?;
            info.set_item(
                "normalizer",
                tokenizer.pipeline().normalizer.as_ref().and_then(|steps| serde_json::to_string(steps).ok()),
            )?;
            info.set_item("pre_tokenizer", tokenizer.pipeline().pre_tokenizer.name())?;
            info.set_item("pattern", tokenizer.pipeline().pre_tokenizer.pattern())?;
            let special = tokenizer.added_tokens().iter().filter(|token| token.special);
            info.set_item("added_tokens", tokenizer.added_tokens().len())?;
            info.set_item(
                "special_tokens",
                special.map(|token| (&token.content, token.id)).collect::<Vec<_>>().into_py_dict(py)?,
            )?;
            info.set_item("is_lossless", tokenizer.is_lossless())?;
            info.set_item("fingerprint", self.hash(py)?)?;
            Ok(info)
        })
    }

    /// A tokenizer like this one with more special tokens; the tables are shared.
    ///
    /// A token is its text, or an `AddedToken` with rules, which may also be one of tokenizers. An
    /// existing token keeps its id and gets the rules; new tokens get the ids after the greatest.
    fn with_specials(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = new_tokens)] tokens: Vec<(NewToken, Option<TokenId>)>,
    ) -> PyResult<Self> {
        entry(|| {
            let new = tokens.iter().map(|(token, _)| token.clone());
            let tokenizer = py.detach(|| self.tokenizer.with_specials(new))?;
            for (token, id) in &tokens {
                if let (Some(given), Some(id)) = (tokenizer.spelled_to_id(token.content()), id)
                    && given != *id
                {
                    return Err(Error::Option {
                        option: "id",
                        value: id.to_string(),
                        reason: format!(
                            "{content:?} would get id {given} here; leave the id out, as in AddedToken({content:?})",
                            content = token.content()
                        ),
                    }
                    .into());
                }
            }
            self.like(py, tokenizer)
        })
    }

    /// A tokenizer like this one that skips each merge with probability `p`.
    fn with_dropout(&self, py: Python<'_>, p: Option<Dropout>) -> PyResult<Self> {
        let p = p.map(|p| p.get() as f32);
        entry(|| self.like(py, py.detach(|| self.tokenizer.with_dropout(p))?))
    }

    fn __len__(&self) -> PyResult<usize> {
        self.vocab_size()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let other = other.get();
            let same = Arc::ptr_eq(&self.tokenizer, &other.tokenizer) || self.hash(py)? == other.hash(py)?;
            Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        entry(|| PyString::new(py, self.hash(py)?).hash())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            let name = self.tokenizer.pipeline().pre_tokenizer.name();
            let size = self.tokenizer.n_tokens();
            let model = self.tokenizer.model().name();
            Ok(format!("Tokenizer({model}, {size} tokens, {name}, {})", &self.hash(py)?[..12]))
        })
    }

    /// A description for notebooks, with special tokens and the last tokens in colour.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            let Self { tokenizer, .. } = self;
            let of = |id: TokenId| (id, tokenizer.id_to_bytes(id).unwrap_or_default().to_vec());
            let pipeline = tokenizer.pipeline();
            let mut values = vec![
                ("model", tokenizer.model().name().to_owned()),
                ("tokens", tokenizer.n_tokens().to_string()),
                ("pre-tokenizer", pipeline.pre_tokenizer.name().to_owned()),
            ];
            if let Some(steps) = &pipeline.normalizer {
                values.push(("normalizer", serde_json::to_string(steps).unwrap_or_default()));
            }
            values.push(("lossless", if tokenizer.is_lossless() { "yes" } else { "no" }.to_owned()));
            values.push(("fingerprint", self.hash(py)?.to_owned()));
            let special = tokenizer.added_tokens().iter().filter(|token| token.special);
            let special: Vec<_> = special.map(|token| of(token.id)).collect();
            // The last tokens of a trained tokenizer are its rarest. Gaps between ids may be long.
            let ids = (0..=tokenizer.max_id()).rev().take(MOST_IDS);
            let last = ids.filter(|&id| tokenizer.id_to_bytes(id).is_some()).take(LAST).map(of);
            let mut last: Vec<_> = last.collect();
            last.reverse();
            let parts = [("special tokens", special), ("last tokens", last)];
            Ok(html::facts(&values, parts.into_iter().filter(|(_, tokens)| !tokens.is_empty())))
        })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let (py, bytes) = (this.py(), this.get().to_bytes(this.py())?);
            match &this.get().settings {
                None => Ok((this.getattr("from_bytes")?, (bytes,).into_pyobject(py)?)),
                Some(settings) => {
                    let again = py.import("sentitok.pretrained")?.getattr("again")?;
                    Ok((again, (bytes, settings).into_pyobject(py)?))
                }
            }
        })
    }
}
