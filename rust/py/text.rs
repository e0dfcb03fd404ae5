//! Texts from Python: `str`, `bytes`, `bytearray`, `memoryview`.
//!
//! A `str` or `bytes` is borrowed, not copied: both are immutable, so their bytes remain readable
//! while the interpreter is released.

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString, PyTuple};

use super::numbers::given;
use super::spans::Source;
use crate::error::{Error, shown};
use crate::memory;
use crate::tokenizer::Input;

/// How to treat a text that is not valid Unicode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errors {
    /// Surrogate pairs of a `str` are joined, and a lone surrogate becomes U+FFFD; invalid bytes
    /// are kept.
    Replace,
    /// Both are errors that name the position.
    Strict,
}

impl<'py> FromPyObject<'_, 'py> for Errors {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match &*object.extract::<Cow<'_, str>>()? {
            "replace" => Ok(Self::Replace),
            "strict" => Ok(Self::Strict),
            other => {
                let other = shown(other);
                Err(PyValueError::new_err(format!("errors={other:?}: it is 'replace' or 'strict'")))
            }
        }
    }
}

/// A text, as an owned reference.
pub(super) enum Text {
    /// A `str` without surrogates.
    Str(Py<PyString>),
    /// `bytes`, or a copy of a mutable object.
    Bytes(Py<PyBytes>),
    /// A `str` with surrogates, and its replacement.
    Replaced(Py<PyString>, Replaced),
}

/// UTF-8 of a `str` with surrogates.
pub(super) struct Replaced {
    bytes: Box<[u8]>,
    /// The positions of characters that were joined from two surrogates, and so are two characters
    /// of the `str`.
    joined: Box<[u64]>,
}

impl Text {
    /// Takes a text.
    pub fn new(object: &Bound<'_, PyAny>, errors: Errors) -> PyResult<Self> {
        Self::one(object, errors, "")
    }

    /// Takes the text of a call; `several` says what to call for several texts.
    pub fn one(object: &Bound<'_, PyAny>, errors: Errors, several: &str) -> PyResult<Self> {
        match Self::take(object, errors)? {
            Some(text) => Ok(text),
            None => {
                let is_several = object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>();
                Err(PyTypeError::new_err(format!(
                    "a text is str, bytes, bytearray or memoryview, not {}{}{}",
                    object.get_type().name()?,
                    if is_several && !several.is_empty() { "; " } else { "" },
                    if is_several { several } else { "" }
                )))
            }
        }
    }

    /// Takes a piece of text, in which lone surrogates are errors and any bytes are valid.
    pub fn piece(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>() {
            Ok(text) if text.to_str().is_err() => {
                Ok(Self::Replaced(text.clone().unbind(), join_surrogates(text)?))
            }
            _ => Self::new(object, Errors::Replace),
        }
    }

    /// Takes a text; `None` if the object is not one.
    fn take(object: &Bound<'_, PyAny>, errors: Errors) -> PyResult<Option<Self>> {
        let py = object.py();
        if let Ok(text) = object.cast::<PyString>() {
            return match text.to_str() {
                Ok(_) => Ok(Some(Self::Str(text.clone().unbind()))),
                Err(_) => {
                    let replaced = replace_surrogates(text, errors)?;
                    Ok(Some(Self::Replaced(text.clone().unbind(), replaced)))
                }
            };
        }
        let bytes = if let Ok(bytes) = object.cast::<PyBytes>() {
            bytes.clone()
        } else if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
            py.get_type::<PyBytes>().call1((object,))?.cast_into::<PyBytes>()?
        } else {
            return Ok(None);
        };
        if errors == Errors::Strict
            && let Err(error) = simdutf8::compat::from_utf8(bytes.as_bytes())
        {
            return Err(Error::Encode(format!(
                "invalid UTF-8 at byte {}; pass errors=\"replace\" to encode the bytes as they are",
                error.valid_up_to()
            ))
            .into());
        }
        Ok(Some(Self::Bytes(bytes.unbind())))
    }

    /// The bytes. UTF-8, unless the text was given as other bytes.
    pub fn bytes<'a>(&'a self, py: Python<'a>) -> PyResult<&'a [u8]> {
        match self {
            Self::Str(text) => Ok(text.bind(py).to_str()?.as_bytes()),
            Self::Bytes(bytes) => Ok(bytes.as_bytes(py)),
            Self::Replaced(_, replaced) => Ok(&replaced.bytes),
        }
    }

    /// The text as `str`.
    pub fn str<'a>(&'a self, py: Python<'a>) -> PyResult<&'a str> {
        match self {
            Self::Str(text) => text.bind(py).to_str(),
            Self::Bytes(_) | Self::Replaced(..) => simdutf8::compat::from_utf8(self.bytes(py)?)
                .map_err(|error| Error::Encode(error.to_string()).into()),
        }
    }

    /// The bytes, marked as UTF-8 if that is known.
    pub fn input<'a>(&'a self, py: Python<'a>) -> PyResult<Input<'a>> {
        match self {
            Self::Str(text) => Ok(Input::Text(text.bind(py).to_str()?)),
            Self::Bytes(_) | Self::Replaced(..) => Ok(Input::Bytes(self.bytes(py)?)),
        }
    }

    /// The text to which spans refer.
    pub fn source<'a>(&'a self, py: Python<'a>) -> PyResult<Source<'a>> {
        Ok(Source { text: self.input(py)?, joined: self.joined() })
    }

    /// The positions of characters that are two characters of the `str`, ascending.
    fn joined(&self) -> &[u64] {
        match self {
            Self::Replaced(_, replaced) => &replaced.joined,
            Self::Str(_) | Self::Bytes(_) => &[],
        }
    }

    /// A Python object for the same text.
    pub fn to_object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Str(text) => text.clone_ref(py).into_any(),
            Self::Bytes(bytes) => bytes.clone_ref(py).into_any(),
            Self::Replaced(text, _) => text.clone_ref(py).into_any(),
        })
    }
}

/// The UTF-8 of a `str` with surrogates: pairs are joined, lone ones become U+FFFD.
fn replace_surrogates(text: &Bound<'_, PyString>, errors: Errors) -> PyResult<Replaced> {
    let mut bytes = Vec::new();
    memory::extend(&mut bytes, surrogates_passed(text)?.as_bytes())?;
    if errors == Errors::Strict
        && let Err(error) = std::str::from_utf8(&bytes)
    {
        let index = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).chars().count();
        return Err(Error::Encode(format!(
            "surrogate at index {index}; pass errors=\"replace\" to join pairs and encode U+FFFD for a lone one"
        ))
        .into());
    }
    let joined = join_pairs(&mut bytes, Lone::Replace);
    Ok(Replaced { bytes: bytes.into_boxed_slice(), joined: joined.into_boxed_slice() })
}

/// The UTF-8 of a `str` with surrogates: pairs are joined, lone ones are errors.
fn join_surrogates(text: &Bound<'_, PyString>) -> PyResult<Replaced> {
    let mut bytes = Vec::new();
    memory::extend(&mut bytes, surrogates_passed(text)?.as_bytes())?;
    let joined = join_pairs(&mut bytes, Lone::Keep);
    match std::str::from_utf8(&bytes) {
        Ok(_) => Ok(Replaced { bytes: bytes.into_boxed_slice(), joined: joined.into_boxed_slice() }),
        Err(error) => {
            let (end, before) = (error.valid_up_to(), String::from_utf8_lossy(&bytes[..error.valid_up_to()]));
            let index = before.chars().count() + joined.iter().filter(|&&at| at < end as u64).count();
            Err(Error::Encode(format!(
                "surrogate at index {index} without its other half: it is not a character; leave it out, \
                 or put U+FFFD for it"
            ))
            .into())
        }
    }
}

/// Takes a string that is not a document, such as a token, by the rules for pieces.
pub(super) fn name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(text) = object.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("a token is a str, not {}", given(object)?)));
    };
    match text.to_str() {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Ok(String::from_utf8_lossy(&join_surrogates(text)?.bytes).into_owned()),
    }
}

/// Takes a list of such strings.
pub(super) fn names(object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    items(object)?.iter().map(name).collect()
}

/// Takes the tokens of a list, and refuses a single token.
pub(super) fn items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match object.extract() {
        Ok(items) => Ok(items),
        Err(_) => Err(PyTypeError::new_err(format!(
            "tokens come in a list, as in [\"<pad>\"]; this is {}",
            given(object)?
        ))),
    }
}

/// Takes a list of such strings, or `None`.
pub(super) fn maybe_names(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if object.is_none() { Ok(None) } else { names(object).map(Some) }
}

/// The bytes of a `str`, with each surrogate as three bytes that are not UTF-8.
pub(super) fn surrogates_passed<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(text.call_method1("encode", ("utf-8", "surrogatepass"))?.cast_into::<PyBytes>()?)
}

/// The treatment of a lone surrogate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lone {
    /// Keep its three bytes, which are not UTF-8.
    Keep,
    /// Replace it by U+FFFD.
    Replace,
}

/// Joins surrogate pairs, as in UTF-16; returns the positions of the joined characters.
pub(super) fn join_pairs(bytes: &mut Vec<u8>, lone: Lone) -> Vec<u64> {
    // Only surrogates begin with these two bytes.
    let surrogate = |bytes: &[u8]| match *bytes {
        [0xED, second @ 0xA0..=0xBF, third, ..] => {
            Some(0xD000 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F))
        }
        _ => None,
    };
    let mut joined = Vec::new();
    let (mut read, mut write) = (0, 0);
    while read < bytes.len() {
        let next = memchr::memchr(0xED, &bytes[read..]).map_or(bytes.len(), |at| read + at);
        bytes.copy_within(read..next, write);
        write += next - read;
        read = next;
        let Some(first) = surrogate(&bytes[read..]) else {
            if read < bytes.len() {
                bytes[write] = bytes[read];
                (read, write) = (read + 1, write + 1);
            }
            continue;
        };
        let c = match (first, surrogate(&bytes[read + 3..])) {
            (0xD800..0xDC00, Some(second @ 0xDC00..)) => {
                char::from_u32(0x1_0000 + ((first - 0xD800) << 10 | (second - 0xDC00)))
            }
            _ => None,
        };
        read += if c.is_some() { 6 } else { 3 };
        if c.is_some() {
            joined.push(write as u64);
        } else if lone == Lone::Keep {
            bytes.copy_within(read - 3..read, write);
            write += 3;
            continue;
        }
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        write += c.encode_utf8(&mut bytes[write..write + c.len_utf8()]).len();
    }
    bytes.truncate(write);
    joined
}

/// All items, or the first error.
pub(super) fn collect<T>(items: impl Iterator<Item = PyResult<T>>) -> PyResult<Vec<T>> {
    let mut all = Vec::new();
    for item in items {
        memory::push(&mut all, item?)?;
    }
    Ok(all)
}

/// `bytes`, or a MemoryError.
pub(super) fn byte_string<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |new| {
        new.copy_from_slice(bytes);
        Ok(())
    })
}

/// A text as a Python string, or a MemoryError.
pub(super) fn string<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, text.as_bytes())
}

/// Whether an object means a missing value, as in pandas: `None`, NaN, NA.
fn is_missing(item: &Bound<'_, PyAny>) -> bool {
    let is_nan = || item.extract::<f64>().is_ok_and(f64::is_nan);
    let is_na = || item.get_type().name().is_ok_and(|name| name.to_string().starts_with("NA"));
    item.is_none() || is_nan() || is_na()
}

/// Takes the text of a row, which errors name.
pub(super) fn text_of_row(row: u64, item: &Bound<'_, PyAny>, errors: Errors) -> PyResult<Text> {
    match Text::take(item, errors) {
        Ok(Some(text)) => Ok(text),
        Ok(None) if item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyList>() => {
            Err(PyTypeError::new_err(format!(
                "row {row} is a {}, not a text; join what it holds to one text; pairs of texts, and words that are \
                 split already with is_split_into_words=True, are for encode_batch",
                item.get_type().name()?
            )))
        }
        Ok(None) if item.is_instance_of::<PyDict>() => Err(PyTypeError::new_err(format!(
            "row {row} is a dict, not a text; give one column of it, as in dataset[\"text\"]"
        ))),
        Ok(None) => Err(PyTypeError::new_err(format!(
            "row {row} is {}, not a text; {}",
            item.get_type().name()?,
            if is_missing(item) {
                "drop or fill missing values first"
            } else {
                "make a text of it, as in str(row)"
            }
        ))),
        Err(error) => {
            let _ = error.add_note(item.py(), format!("in row {row}"));
            Err(error)
        }
    }
}
