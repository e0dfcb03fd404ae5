//! Protocol buffers, as far as SentencePiece's one message type needs them.
//!
//! A message is the list of its fields in file order, so unknown fields are kept and written again.
//! No schema, groups or recursion: a nested message is a byte string until it is read. Lengths are
//! checked against the remaining bytes before memory is allocated.

use crate::error::{Error, Result};

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64([u8; 8]),
    /// Four bytes.
    Fixed32([u8; 4]),
    /// Bytes, a string or a nested message.
    Bytes(Vec<u8>),
}

/// A value that borrows from its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borrowed<'a> {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64([u8; 8]),
    /// Four bytes.
    Fixed32([u8; 4]),
    /// Bytes, a string or a nested message.
    Bytes(&'a [u8]),
}

impl Borrowed<'_> {
    /// Copies the value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Varint(number) => Value::Varint(number),
            Self::Fixed64(bytes) => Value::Fixed64(bytes),
            Self::Fixed32(bytes) => Value::Fixed32(bytes),
            Self::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        }
    }
}

/// Reads the fields of a message one by one.
#[derive(Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The name of the message in errors.
    what: &'a str,
}

impl<'a> Reader<'a> {
    /// A reader of a message; `what` names it in errors.
    pub fn new(bytes: &'a [u8], what: &'a str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// The number and value of the next field; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Format`] with the position, for bytes that are not a field.
    #[allow(
        clippy::should_implement_trait,
        reason = "2026-11: an iterator could not borrow and fail so plainly"
    )]
    pub fn next(&mut self) -> Result<Option<(u32, Borrowed<'a>)>> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let Some(number) = number else {
            return Err(self.error(start, format!("{} is not the number of a field", tag >> 3)));
        };
        let value = match tag & 7 {
            0 => Borrowed::Varint(self.varint()?),
            1 => Borrowed::Fixed64(self.array()?),
            2 => {
                let len = self.varint()?;
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                Borrowed::Bytes(self.take(len)?)
            }
            5 => Borrowed::Fixed32(self.array()?),
            other => {
                return Err(self.error(start, format!("field {number} has type {other}, which is not read")));
            }
        };
        Ok(Some((number, value)))
    }

    fn error(&self, at: usize, reason: String) -> Error {
        Error::format(self.what, format!("byte {at}: {reason}"))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        if len > rest.len() {
            return Err(
                self.error(self.at, format!("{len} bytes should follow, but there are {}", rest.len()))
            );
        }
        self.at += len;
        Ok(&rest[..len])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            // Bits beyond 64 are dropped, as in other implementations.
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.error(start, "a number of more than 10 bytes".into()))
    }
}

/// A message as the list of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    fields: Vec<(u32, Value)>,
}

impl Message {
    /// Reads all fields of a message.
    ///
    /// # Errors
    /// As [`Reader::next`].
    pub fn read(bytes: &[u8], what: &str) -> Result<Self> {
        let mut message = Self::default();
        let mut reader = Reader::new(bytes, what);
        while let Some((number, value)) = reader.next()? {
            message.fields.push((number, value.to_value()));
        }
        Ok(message)
    }

    /// The message's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, value) in &self.fields {
            write(*number, value, &mut out);
        }
        out
    }

    /// Whether the message has no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The last value of a field, which is the one that counts.
    pub fn get(&self, number: u32) -> Option<&Value> {
        self.fields.iter().rfind(|(other, _)| *other == number).map(|(_, value)| value)
    }

    /// The last value of a field, if it is a varint.
    pub fn varint(&self, number: u32) -> Option<u64> {
        match self.get(number) {
            Some(Value::Varint(value)) => Some(*value),
            _ => None,
        }
    }

    /// The last value of a field, if it is bytes.
    pub fn bytes(&self, number: u32) -> Option<&[u8]> {
        match self.get(number) {
            Some(Value::Bytes(value)) => Some(value),
            _ => None,
        }
    }

    /// Sets a field that occurs once; keeps fields in the order of numbers.
    pub fn set(&mut self, number: u32, value: Value) {
        self.fields.retain(|(other, _)| *other != number);
        let at = self.fields.partition_point(|(other, _)| *other < number);
        self.fields.insert(at, (number, value));
    }

    /// Sets a field to a varint.
    pub fn set_varint(&mut self, number: u32, value: u64) {
        self.set(number, Value::Varint(value));
    }

    /// Sets a field to bytes.
    pub fn set_bytes(&mut self, number: u32, value: impl Into<Vec<u8>>) {
        self.set(number, Value::Bytes(value.into()));
    }
}

/// Appends a field.
pub fn write(number: u32, value: &Value, out: &mut Vec<u8>) {
    let tag = |kind: u64| u64::from(number) << 3 | kind;
    match value {
        Value::Varint(value) => {
            write_varint(tag(0), out);
            write_varint(*value, out);
        }
        Value::Fixed64(bytes) => {
            write_varint(tag(1), out);
            out.extend_from_slice(bytes);
        }
        Value::Bytes(bytes) => write_bytes(number, bytes, out),
        Value::Fixed32(bytes) => {
            write_varint(tag(5), out);
            out.extend_from_slice(bytes);
        }
    }
}

/// Appends a field of bytes.
pub fn write_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_varint(u64::from(number) << 3 | 2, out);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields() -> impl Strategy<Value = Vec<(u32, Value)>> {
        let value = prop_oneof![
            any::<u64>().prop_map(Value::Varint),
            any::<[u8; 8]>().prop_map(Value::Fixed64),
            any::<[u8; 4]>().prop_map(Value::Fixed32),
            prop::collection::vec(any::<u8>(), 0..200).prop_map(Value::Bytes),
        ];
        prop::collection::vec((1u32..1 << 29, value), 0..20)
    }

    proptest! {
        #[test]
        fn messages_round_trip(fields in fields()) {
            let message = Message { fields };
            let bytes = message.to_bytes();
            prop_assert_eq!(&Message::read(&bytes, "test").unwrap(), &message);
            for end in 0..bytes.len() {
                // A truncated message is an error, unless the cut is between two fields.
                if let Ok(part) = Message::read(&bytes[..end], "test") {
                    prop_assert_eq!(&part.fields[..], &message.fields[..part.fields.len()]);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(message) = Message::read(&bytes, "test") {
                prop_assert!(message.fields.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn invalid_messages_are_refused() {
        for (name, bytes, expected) in [
            ("number 0", &[0x00, 0x00][..], "0 is not the number of a field"),
            ("group", &[0x0B], "has type 3"),
            (
                "long number",
                &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
                "more than 10 bytes",
            ),
            (
                "length",
                &[0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1],
                "4294967295 bytes should follow, but there are 1",
            ),
            ("cut off", &[0x0D, 1, 2], "4 bytes should follow"),
        ] {
            let error = Message::read(bytes, "test").unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn last_value_of_a_field_counts() {
        let mut message =
            Message { fields: vec![(3, Value::Varint(1)), (5, Value::Varint(2)), (3, Value::Varint(4))] };
        assert_eq!(message.varint(3), Some(4));
        message.set_varint(3, 7);
        message.set_bytes(4, *b"x");
        assert_eq!(message.to_bytes(), [0x18, 7, 0x22, 1, b'x', 0x28, 2]);
    }
}
