//! `Node`: a JSON value and its path, so that every error names the path, the expected and the
//! found value. Only for the small parts of a file; `entries` reads vocabularies.

use serde_json::Value;

use crate::error::{Error, Result};

/// A value at a path such as `$.decoder.decoders[1]`.
#[derive(Clone)]
pub(in crate::formats) struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    /// The value of a key of the whole document.
    pub(in crate::formats) fn top(key: &str, value: &'a Value) -> Self {
        Self { value, path: format!("$.{key}") }
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// An error at this path.
    pub(in crate::formats) fn error(&self, reason: impl Into<String>) -> Error {
        Error::format(self.path.as_str(), reason)
    }

    /// An error that shows the expected and the found value.
    pub(super) fn expected(&self, what: &str) -> Error {
        let mut found = self.value.to_string();
        if let Some((end, _)) = found.char_indices().nth(80) {
            found.truncate(end);
            found.push_str("...");
        }
        self.error(format!("expected {what}, found {found}"))
    }

    /// The value of a key; `None` when it is missing or null.
    pub(super) fn get(&self, key: &str) -> Result<Option<Node<'a>>> {
        let object = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        let node = object.get(key).map(|value| Node { value, path: format!("{}.{key}", self.path) });
        Ok(node.filter(|node| !node.is_null()))
    }

    /// The value of a key that must be there.
    pub(in crate::formats) fn require(&self, key: &str) -> Result<Node<'a>> {
        self.get(key)?.ok_or_else(|| self.error(format!("the field {key:?} is missing")))
    }

    /// The elements of an array.
    pub(in crate::formats) fn elements(&self) -> Result<Vec<Node<'a>>> {
        let array = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        let node = |(at, value)| Node { value, path: format!("{}[{at}]", self.path) };
        Ok(array.iter().enumerate().map(node).collect())
    }

    pub(in crate::formats) fn str(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }

    pub(super) fn bool(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// A string of one character.
    pub(super) fn char(&self) -> Result<char> {
        let mut chars = self.value.as_str().unwrap_or_default().chars();
        let only = chars.next().filter(|_| chars.next().is_none());
        only.ok_or_else(|| self.expected("one character"))
    }

    /// A whole number from 0 to 2^32 - 1.
    pub(in crate::formats) fn u32(&self) -> Result<u32> {
        let number = self.value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| self.expected("a whole number from 0 to 4294967295"))
    }

    /// A flag that may be missing.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool> {
        self.get(key)?.map_or(Ok(default), |node| node.bool())
    }

    /// The value of the field `type`.
    pub(super) fn kind(&self) -> Result<&'a str> {
        self.require("type")?.str()
    }

    /// The error for a `type` that this release does not support.
    pub(super) fn unsupported(&self, found: &str, supported: &[&str]) -> Error {
        self.error(format!("{found:?} is not supported in this release; supported: {}", supported.join(", ")))
    }

    /// A pattern that must be a literal string and not empty.
    pub(super) fn literal(&self) -> Result<&'a str> {
        match self.get("String")? {
            Some(node) if node.str()?.is_empty() => Err(node.error("an empty pattern")),
            Some(node) => node.str(),
            None => Err(self
                .expected("{\"String\": …}; patterns that are regular expressions are not supported here")),
        }
    }
}
