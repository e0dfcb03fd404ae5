//! `Tokenizer`: folders of models, chats, and tokenizers of transformers.
//!
//! These methods only call `python/sentitok/pretrained` and `python/sentitok/chat/`, where the
//! logic is. The tokenizer stores the settings of the folder (`Settings`) as an opaque object.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::super::error::entry;
use super::super::padding::Padding;
use super::PyTokenizer;
use crate::formats::roles;
use crate::py::foreign_kwargs;
use crate::tokenizer::Tokenizer;

pub(super) const ROOM: &str = "sentitok.pretrained";

impl PyTokenizer {
    /// A tokenizer derived from this one, with the same settings.
    pub(super) fn like(&self, py: Python<'_>, tokenizer: Tokenizer) -> PyResult<Self> {
        let tokenizer = Self::from(tokenizer);
        match &self.settings {
            None => Ok(tokenizer),
            Some(settings) => tokenizer.apply_settings(settings.bind(py)),
        }
    }

    /// This tokenizer with the given settings.
    pub(super) fn apply_settings(self, settings: &Bound<'_, PyAny>) -> PyResult<Self> {
        let padding = Padding::by_settings(&self.tokenizer, settings)?;
        Ok(Self { settings: Some(settings.clone().unbind()), padding, ..self })
    }
}

#[pymethods]
impl PyTokenizer {
    /// Reads the folder of a model: a path, or `"org/name"` in the cache of huggingface_hub.
    ///
    /// The network is not used unless `download=True`, which needs huggingface_hub.
    #[staticmethod]
    #[pyo3(signature = (name, *, subfolder = "", revision = None, cache_dir = None, download = false, **others))]
    #[pyo3(text_signature = "(name, *, subfolder='', revision=None, cache_dir=None, download=False)")]
    fn from_pretrained<'py>(
        py: Python<'py>,
        name: &Bound<'py, PyAny>,
        subfolder: &str,
        revision: Option<&str>,
        cache_dir: Option<&Bound<'py, PyAny>>,
        download: bool,
        others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            foreign_kwargs::refuse(
                "Tokenizer.from_pretrained",
                foreign_kwargs::FROM_PRETRAINED,
                None,
                others,
            )?;
            let options = PyDict::new(py);
            options.set_item("subfolder", subfolder)?;
            options.set_item("revision", revision)?;
            options.set_item("cache_dir", cache_dir)?;
            options.set_item("download", download)?;
            py.import(ROOM)?.call_method("load", (name,), Some(&options))
        })
    }

    /// Writes a folder as transformers reads it: tokenizer.json, its settings and its chat
    /// templates. Returns the paths of the files written.
    fn save_pretrained<'py>(
        this: &Bound<'py, Self>,
        folder: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| this.py().import(ROOM)?.call_method1("save", (this, folder)))
    }

    /// This tokenizer as a `transformers.PreTrainedTokenizerFast`.
    fn to_transformers<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| this.py().import(ROOM)?.call_method1("to_transformers", (this,)))
    }

    /// The settings of the folder, in addition to tokenizer.json.
    #[getter]
    fn settings<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let py = this.py();
            match &this.get().settings {
                Some(settings) => Ok(settings.bind(py).clone()),
                None => {
                    let roles = roles(&this.get().tokenizer).into_py_dict(py)?;
                    py.import(ROOM)?.call_method1("Settings", (roles,))
                }
            }
        })
    }

    /// This tokenizer with different settings; the tables are shared.
    fn with_settings(&self, py: Python<'_>, settings: &Bound<'_, PyAny>) -> PyResult<Self> {
        entry(|| {
            let class = py.import(ROOM)?.getattr("Settings")?;
            if !settings.is_instance(&class)? {
                let found = settings.get_type().fully_qualified_name()?;
                return Err(PyTypeError::new_err(format!(
                    "expected sentitok.Settings, not {found}; change those there are, as in \
                     tokenizer.settings.replace(chat_template=...)"
                )));
            }
            let report = self.report.as_ref().map(|report| report.clone_ref(py));
            Self::new(self.tokenizer.clone(), report).apply_settings(settings)
        })
    }

    /// The ids of a chat, formatted by the chat template. The text of a message is never encoded as
    /// special tokens, unless `specials="all"`. With `mask="assistant"` a pair: the encoding, and
    /// which of its ids the assistant wrote. A list of chats gives a list. Needs jinja2.
    #[pyo3(signature = (messages, *, tools = None, documents = None, chat_template = None, add_generation_prompt = false, continue_final_message = false, specials = "none", tokenize = true, mask = None, **variables))]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn apply_chat_template<'py>(
        this: &Bound<'py, Self>,
        messages: &Bound<'py, PyAny>,
        tools: Option<&Bound<'py, PyAny>>,
        documents: Option<&Bound<'py, PyAny>>,
        chat_template: Option<&str>,
        add_generation_prompt: bool,
        continue_final_message: bool,
        specials: &str,
        tokenize: bool,
        mask: Option<&Bound<'py, PyAny>>,
        variables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let options = PyDict::new(this.py());
            options.set_item("tools", tools)?;
            options.set_item("documents", documents)?;
            options.set_item("chat_template", chat_template)?;
            options.set_item("add_generation_prompt", add_generation_prompt)?;
            options.set_item("continue_final_message", continue_final_message)?;
            options.set_item("specials", specials)?;
            options.set_item("tokenize", tokenize)?;
            options.set_item("mask", mask)?;
            options.set_item("variables", variables)?;
            this.py().import("sentitok.chat")?.call_method("apply", (this, messages), Some(&options))
        })
    }
}
