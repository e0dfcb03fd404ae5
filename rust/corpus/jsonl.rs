//! Extracts one string field from a line of JSON without parsing the rest into values. If the line
//! is a string, extracts that.
//!
//! The value is extracted as bytes: the policy for invalid UTF-8 then handles invalid UTF-8 and
//! lone surrogates. If a field occurs twice, the last value counts, as in Python's `json`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::corpus::file_sniffing::ARRAY_REMEDY;

/// Appends the value of `field` in `line` to `out`. The error is a reason for a message.
pub(super) fn field_of(line: &[u8], field: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let start = out.len();
    if line.trim_ascii_start().first() == Some(&b'[') {
        return Err(format!("a JSON array, where a line holds one object or one string; {ARRAY_REMEDY}"));
    }
    let mut json = serde_json::Deserializer::from_slice(line);
    let is_string = line.trim_ascii_start().first() == Some(&b'"');
    let found = if is_string {
        Text { field: None, out }.deserialize(&mut json).map(|()| true)
    } else {
        Object { field, out, start }.deserialize(&mut json)
    };
    let found = found.and_then(|found| json.end().map(|()| found));
    match found {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("no field {field:?}; the fields are {}", fields_of(line))),
        Err(error) => {
            let reason = error.to_string();
            // The line number of serde_json counts within this single line, so it is dropped.
            let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
            let place = if error.is_eof() {
                "at its end".to_owned()
            } else {
                format!("at column {}", error.column())
            };
            Err(format!(
                "{reason}, {place}; a line holds one JSON object or string: mend the line, or leave it out"
            ))
        }
    }
}

/// The names of the fields, for a message.
fn fields_of(line: &[u8]) -> String {
    match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line) {
        Ok(map) if !map.is_empty() => map.keys().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", "),
        _ => "none".to_owned(),
    }
}

struct Object<'a> {
    field: &'a str,
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an object with the field {:?}", self.field)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(is_field) = map.next_key_seed(Key(self.field))? {
            if is_field {
                self.out.truncate(self.start);
                map.next_value_seed(Text { field: Some(self.field), out: self.out })?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a key is the wanted field.
struct Key<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// The value as bytes; `None` if the line is the value.
struct Text<'a> {
    field: Option<&'a str>,
    out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "a string in the field {field:?}"),
            None => f.write_str("a string"),
        }
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<(), E> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_or_explained() {
        type Case<'a> = (&'a [u8], Result<&'a [u8], &'a str>);
        let cases: &[Case] = &[
            (br#"{"text":"a\u00e9\n"}"#, Ok("aé\n".as_bytes())),
            (br#" {"x":[{"text":"no"}],"text":"yes","y":null} "#, Ok(b"yes")),
            (br#"{"text":"one","text":"two"}"#, Ok(b"two")),
            (br#"{"text":""}"#, Ok(b"")),
            (b"{\"x\":\"\xff\",\"text\":\"\xff\"}", Ok(b"\xff")),
            (br#"{"text":"\ud800"}"#, Ok(b"\xed\xa0\x80")),
            (br#" "a\u00e9\n" "#, Ok("aé\n".as_bytes())),
            (b"\"\xff\"", Ok(b"\xff")),
            (br#""a" "b""#, Err("trailing characters, at column 5")),
            (br#""a"#, Err("EOF while parsing a string")),
            (br#"{"a":1,"b":2}"#, Err(r#"no field "text"; the fields are "a", "b""#)),
            (br#"{}"#, Err("the fields are none")),
            (br#"{"text":5}"#, Err("invalid type: integer `5`, expected a string in the field")),
            (br#"{"text":null}"#, Err("invalid type: null")),
            (br#"{"text":[1,2]}"#, Err("invalid type: sequence")),
            (br#"{"text":{}}"#, Err("invalid type: map")),
            (br#"["text"]"#, Err("a JSON array, where a line holds one object or one string; write")),
            (b" [\n", Err("jq -c '.[]' FILE > NEW.jsonl")),
            (br#"{"text":"a"} x"#, Err("trailing characters, at column 14")),
            (br#"{"text":"a"#, Err("EOF while parsing a string, at its end; a line holds one JSON object")),
            (br#"not json"#, Err("at column")),
        ];
        for (line, expected) in cases {
            let mut out = b"kept".to_vec();
            match (field_of(line, "text", &mut out), expected) {
                (Ok(()), Ok(expected)) => assert_eq!(out, [b"kept", *expected].concat()),
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
                (got, _) => panic!("{}: {got:?}", String::from_utf8_lossy(line)),
            }
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let line = format!(r#"{{"x":{}{},"text":"a"}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let mut out = Vec::new();
        // Ignored values are skipped without recursion, so success and failure are both fine.
        let _ = field_of(line.as_bytes(), "text", &mut out);
    }
}
