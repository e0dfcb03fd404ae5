//! `Input`: a text to encode, with its known properties.

/// A text, or bytes that may be one. What comes from a `str`, also one of
/// Python's, is not checked for UTF-8 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// UTF-8.
    Text(&'a str),
    /// Any bytes.
    Bytes(&'a [u8]),
}

impl<'a> Input<'a> {
    /// The bytes.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The number of bytes.
    pub fn len(self) -> usize {
        self.bytes().len()
    }

    /// Whether there is no byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The text; `None` if the bytes are not UTF-8.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => crate::text::from_utf8(bytes).ok(),
        }
    }
}

impl<'a> From<&'a str> for Input<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Input<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Input<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Input<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Input<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Bytes(bytes)
    }
}

// The texts of a slice, as `encode_batch` takes them.

impl<'a> From<&'a Input<'_>> for Input<'a> {
    fn from(input: &'a Input<'_>) -> Self {
        *input
    }
}

impl<'a> From<&'a &str> for Input<'a> {
    fn from(text: &'a &str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a &String> for Input<'a> {
    fn from(text: &'a &String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a &[u8]> for Input<'a> {
    fn from(bytes: &'a &[u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a &[u8; N]> for Input<'a> {
    fn from(bytes: &'a &[u8; N]) -> Self {
        Self::Bytes(*bytes)
    }
}
