//! The exceptions, the conversion of [`Error`] to them, and the handling of panics at every entry.
//!
//! Messages come from the crate and name items of Rust; [`SPELLED`] maps these to the names in
//! Python. The types are created by `type(name, bases, {})`, because that is
//! the only safe way to give them two bases.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::Path;

use pyo3::exceptions::{
    PyException, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyUserWarning, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::remote;
use crate::error::{Error, shortened};

/// The exception types of the package.
pub(super) struct Exceptions {
    pub base: Py<PyType>,
    pub train: Py<PyType>,
    pub format: Py<PyType>,
    pub encode: Py<PyType>,
    pub decode: Py<PyType>,
    pub internal: Py<PyType>,
}

impl Exceptions {
    /// The types, created on first use.
    pub fn get(py: Python<'_>) -> PyResult<&Self> {
        static TYPES: PyOnceLock<Exceptions> = PyOnceLock::new();
        TYPES.get_or_try_init(py, || Self::new(py))
    }

    fn new(py: Python<'_>) -> PyResult<Self> {
        let base = new_type(py, "SentitokError", "What sentitok raises.", (py.get_type::<PyException>(),))?;
        let value = |name, doc| new_type(py, name, doc, (base.bind(py), py.get_type::<PyValueError>()));
        Ok(Self {
            train: value("TrainError", "A tokenizer cannot be trained, or a corpus counted, as asked.")?,
            format: value("FormatError", "A file, record or pattern is not what it should be.")?,
            encode: value("EncodeError", "A text cannot be encoded as asked.")?,
            decode: value("DecodeError", "Ids cannot be decoded as asked.")?,
            internal: new_type(
                py,
                "InternalError",
                "A bug of sentitok; please report it.",
                (base.bind(py), py.get_type::<PyRuntimeError>()),
            )?,
            base,
        })
    }

    /// Each type with its name.
    pub fn all(&self) -> [(&'static str, &Py<PyType>); 6] {
        [
            ("SentitokError", &self.base),
            ("TrainError", &self.train),
            ("FormatError", &self.format),
            ("EncodeError", &self.encode),
            ("DecodeError", &self.decode),
            ("InternalError", &self.internal),
        ]
    }
}

fn new_type<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    bases: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
) -> PyResult<Py<PyType>> {
    let members = PyDict::new(py);
    members.set_item("__module__", "sentitok")?;
    members.set_item("__doc__", doc)?;
    let bases = bases.into_pyobject(py).map_err(Into::into)?;
    Ok(py.get_type::<PyType>().call1((name, bases, members))?.cast_into::<PyType>()?.unbind())
}

/// Words in messages: their names in Rust, and in Python.
const SPELLED: &[(&str, &str)] = &[
    ("as in `parquet:text`", r#"as in format="parquet:text""#),
    ("read it by `WordCounts::load`", "train on it, as in train_bpe(counts=path)"),
    ("name the format `lines`", r#"pass format="lines""#),
    ("raise `max_line_bytes`", "raise max_line_bytes="),
    ("call `Tokenizer::from_tiktoken`", "call Tokenizer.from_tiktoken(path, pattern, special_tokens)"),
    ("call `Tokenizer::from_gpt2`", "call Tokenizer.from_gpt2(vocab, merges)"),
    ("call `Tokenizer::from_bert_vocab`", "call Tokenizer.from_bert_vocab(path, lowercase)"),
    ("train on it by `Tokenizer::train_bpe`", "train on it, as in train_bpe(counts=path)"),
    (
        "pass the normalizer `sentencepiece` or `sentencepiece-collapse`",
        r#"pass normalizer="sentencepiece" or "sentencepiece-collapse""#,
    ),
    ("train by the method `sentencepiece`", r#"train with method="sentencepiece""#),
    ("train with the normalizer `sentencepiece`", r#"train with normalizer="sentencepiece""#),
    (
        "a SentencePiece normalizer with `treat_whitespace_as_suffix`",
        "Normalizer.sentencepiece(treat_whitespace_as_suffix=True)",
    ),
    ("behind words with `treat_whitespace_as_suffix`", "behind words with treat_whitespace_as_suffix=True"),
    ("`max_tokens` ", "max_tokens="),
    ("turn off `add_special_tokens`", "pass add_special_tokens=False"),
    ("it belongs to the method `sentencepiece`", "it belongs to method='sentencepiece'"),
    (
        "pass the pre-tokenizer `metaspace-never-unsplit`, or `bytes` with",
        r#"pass pre_tokenizer="metaspace-never-unsplit", or "bytes" with"#,
    ),
    (
        "a SentencePiece normalizer whose `treat_whitespace_as_suffix` has",
        "Normalizer.sentencepiece(treat_whitespace_as_suffix=...) with",
    ),
    (
        "`Specials::None` to take it as text, or `Specials::All`",
        r#"specials="none" to take it as text, or "all""#,
    ),
    ("truncate by `OnlySecond`", r#"pass truncation="only_second""#),
    (
        "`OnlySecond` truncates the second text, and there is none; pass pairs, or truncate by `OnlyFirst`",
        r#"truncation="only_second", and there is no second text; pass pairs, or truncation="only_first""#,
    ),
    ("`OnlyFirst` cannot take", r#"truncation="only_first" cannot take"#),
    ("`OnlySecond` cannot take", r#"truncation="only_second" cannot take"#),
    ("truncate by `LongestFirst`", r#"pass truncation="longest_first""#),
    ("set `invalid_utf8` to replace or bytes", "pass invalid_utf8='replace' or 'bytes'"),
    ("start over with `resume` off", "start over with resume=False"),
];

/// The message of an error, with the names of Python. The commands put those of their options for them
/// (`cli/command.py`).
fn message(error: &Error) -> String {
    let message = SPELLED.iter().fold(error.to_string(), |message, (rust, python)| {
        if message.contains(rust) { message.replace(rust, python) } else { message }
    });
    match message.split_once("the format `").and_then(|(before, rest)| Some((before, rest.split_once('`')?)))
    {
        Some((before, (format, after))) => format!("{before}format=\"{format}\"{after}"),
        None => message,
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| to_exception(py, &error).unwrap_or_else(|failure| failure))
    }
}

/// The exception for an error.
fn to_exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let types = Exceptions::get(py)?;
    let class = match error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::OutOfMemory => {
            return Ok(PyMemoryError::new_err(error.to_string()));
        }
        Error::Io { path, source } => {
            return remote::exception(py, source).map_or_else(|| os_error(py, path, source), Ok);
        }
        Error::Cancelled => return Ok(PyKeyboardInterrupt::new_err(())),
        Error::Memory { .. } => return Ok(PyMemoryError::new_err(error.to_string())),
        Error::EmptyCorpus { .. }
        | Error::VocabSize { .. }
        | Error::Option { .. }
        | Error::CountOverflow { .. }
        | Error::PipelineMismatch { .. } => &types.train,
        Error::InvalidText { .. }
        | Error::Record { .. }
        | Error::Pattern { .. }
        | Error::Format { .. }
        | Error::Version { .. }
        | Error::NotRepresentable { .. } => &types.format,
        Error::Encode(_) => &types.encode,
        Error::UnknownId { .. } | Error::Decode(_) => &types.decode,
        Error::Internal(_) => &types.internal,
    };
    Ok(PyErr::from_type(class.bind(py).clone(), (message(error),)))
}

/// The subclass of OSError for a failed call, as Python itself would raise it.
fn os_error(py: Python<'_>, path: &Path, source: &io::Error) -> PyResult<PyErr> {
    let (number, text) = match (source.raw_os_error(), number_of(source.kind())) {
        (Some(number), _) => {
            let text = py.import("os")?.call_method1("strerror", (number,))?;
            (number.into_pyobject(py)?.into_any(), text)
        }
        (None, Some(name)) => {
            (py.import("errno")?.getattr(name)?, source.to_string().into_pyobject(py)?.into_any())
        }
        (None, None) => return Ok(PyOSError::new_err(format!("{}: {source}", path.display()))),
    };
    // OSError chooses its subclass by the number.
    Ok(PyErr::from_value(py.get_type::<PyOSError>().call1((number, text, path.as_os_str()))?))
}

/// Issues a warning for each sentence, shortened like the message of an error.
pub(super) fn warn(py: Python<'_>, sentences: &[String]) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for sentence in sentences {
        py.import("warnings")?.call_method1("warn", (shortened(sentence), &category, 2))?;
    }
    Ok(())
}

/// The name of the errno for a kind of error that this crate raises itself.
fn number_of(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::NotFound => Some("ENOENT"),
        io::ErrorKind::PermissionDenied => Some("EACCES"),
        io::ErrorKind::AlreadyExists => Some("EEXIST"),
        io::ErrorKind::IsADirectory => Some("EISDIR"),
        io::ErrorKind::NotADirectory => Some("ENOTDIR"),
        io::ErrorKind::ReadOnlyFilesystem => Some("EROFS"),
        io::ErrorKind::StorageFull => Some("ENOSPC"),
        _ => None,
    }
}

thread_local! {
    /// Inside [`entry`]: the location of the last panic of this thread. Outside: `None`.
    static NET: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records panics inside [`entry`] instead of printing them. The hook belongs to the copy of `std`
/// in this library, so it does not see panics of other libraries.
pub(super) fn install_panic_hook() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let noted = NET.try_with(|net| match net.try_borrow_mut().ok().as_deref_mut() {
            Some(Some(place)) => {
                *place = describe(info);
                true
            }
            _ => false,
        });
        if noted != Ok(true) {
            print(info);
        }
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = message_of(info.payload());
    match info.location() {
        Some(place) => format!("{message} ({}:{})", place.file(), place.line()),
        None => message.to_owned(),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

/// Runs a call from Python and converts a panic to `InternalError`. Every function that Python can
/// call uses this, except for simple getters.
pub(super) fn entry<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let outer = NET.with(|net| net.replace(Some(String::new())));
    // Safe to continue after a panic: classes are frozen, and a lock that a panic poisoned is an
    // error when it is taken.
    let result = catch_unwind(AssertUnwindSafe(work));
    let place = NET.with(|net| net.replace(outer));
    result.unwrap_or_else(|payload| {
        // PyO3 panics if it cannot create a small object, which only happens when memory runs out.
        if ["Python API call failed", "PyObject pointer is null"].contains(&message_of(&*payload)) {
            return Err(Error::Memory { n: 1, size: 1 }.into());
        }
        let place = place.filter(|place| !place.is_empty());
        Err(Error::Internal(place.unwrap_or_else(|| message_of(&*payload).to_owned())).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the type, the names of its bases, and the message.
    fn described(error: Error) -> (String, Vec<String>, String) {
        Python::initialize();
        Python::attach(|py| {
            let error = PyErr::from(error);
            let class = error.get_type(py);
            let bases =
                class.mro().iter().map(|base| base.cast::<PyType>().unwrap().name().unwrap().to_string());
            (class.name().unwrap().to_string(), bases.collect(), error.value(py).to_string())
        })
    }

    #[test]
    fn every_variant_has_its_type_and_text() {
        let os = |code| Error::io("/no/such", io::Error::from_raw_os_error(code));
        let text = String::from;
        for (error, name, base, message) in [
            (os(2), "FileNotFoundError", "OSError", "[Errno 2] No such file or directory: '/no/such'"),
            (os(13), "PermissionError", "OSError", "[Errno 13] Permission denied: '/no/such'"),
            (os(21), "IsADirectoryError", "OSError", "[Errno 21] Is a directory: '/no/such'"),
            (
                Error::io("d", io::Error::new(io::ErrorKind::IsADirectory, "name its files")),
                "IsADirectoryError",
                "OSError",
                "name its files: 'd'",
            ),
            (
                Error::io("x.gz", io::Error::new(io::ErrorKind::UnexpectedEof, "cut")),
                "OSError",
                "OSError",
                "x.gz: cut",
            ),
            (Error::EmptyCorpus { sources: 2 }, "TrainError", "ValueError", "the corpus is empty"),
            (Error::VocabSize { requested: 5, minimum: 256 }, "TrainError", "ValueError", "at least 256"),
            (
                Error::Option { option: "threads", value: text("0"), reason: text("at least 1") },
                "TrainError",
                "ValueError",
                "threads = 0: at least 1",
            ),
            (Error::CountOverflow { what: text("\"a\"") }, "TrainError", "ValueError", "passes 2^64 - 1"),
            (
                Error::PipelineMismatch { left: text("l"), right: text("r") },
                "TrainError",
                "ValueError",
                "l and r",
            ),
            (
                Error::InvalidText {
                    source_name: text("a.txt"),
                    offset: 7,
                    line: 3,
                    reason: text("invalid UTF-8"),
                },
                "FormatError",
                "ValueError",
                "a.txt: invalid UTF-8 at byte 7 (line 3)",
            ),
            (
                Error::Record { source_name: text("a.jsonl"), line: 3, offset: 9, reason: text("no field") },
                "FormatError",
                "ValueError",
                "a.jsonl, line 3 (byte 9): no field",
            ),
            (
                Error::Pattern { pattern: text("("), reason: text("open") },
                "FormatError",
                "ValueError",
                "pattern \"(\": open",
            ),
            (Error::format("$.model", "missing"), "FormatError", "ValueError", "$.model: missing"),
            (
                Error::Version { what: text("x"), found: text("9"), supported: text("1") },
                "FormatError",
                "ValueError",
                "x has version 9",
            ),
            (
                Error::NotRepresentable { format: "tiktoken", reason: text("a prefix") },
                "FormatError",
                "ValueError",
                "cannot be written as tiktoken: a prefix",
            ),
            (
                Error::io("d", io::ErrorKind::OutOfMemory.into()),
                "MemoryError",
                "Exception",
                "d: out of memory",
            ),
            (Error::Memory { n: 10, size: 4 }, "MemoryError", "Exception", "10 values of 4 bytes (0.0 MB)"),
            (Error::Encode(text("e")), "EncodeError", "ValueError", "e"),
            (
                Error::UnknownId { id: 9, max: 3 },
                "DecodeError",
                "ValueError",
                "id 9 is not in the vocabulary",
            ),
            (Error::Decode(text("d")), "DecodeError", "ValueError", "d"),
            (Error::Cancelled, "KeyboardInterrupt", "BaseException", ""),
            (Error::Internal(text("i")), "InternalError", "RuntimeError", "internal error: i"),
        ] {
            let (found, bases, found_message) = described(error);
            assert_eq!(found, name, "{found_message}");
            assert!(bases.iter().any(|found| found == base), "{name}: {bases:?}");
            assert!(found_message.contains(message), "{name}: {found_message}");
            let ours = ["TrainError", "FormatError", "EncodeError", "DecodeError", "InternalError"];
            assert_eq!(bases.iter().any(|base| base == "SentitokError"), ours.contains(&name), "{name}");
        }
    }

    #[test]
    fn panic_is_an_internal_error_with_its_location() {
        Python::initialize();
        install_panic_hook();
        let error = entry(|| -> PyResult<()> { panic!("by {}", "design") }).unwrap_err();
        let text = Python::attach(|py| error.value(py).to_string());
        assert!(text.contains("by design (rust/py/error.rs:"), "{text}");
        assert_eq!(entry(|| Ok(entry(|| Ok(1))? + 1)).unwrap(), 2);
    }
}
