//! Recognises files that are not text by their first bytes, and says what to do with them instead.
//!
//! A file whose format the caller names is read in that format whatever it looks like, except that
//! a binary file is never a table.

use std::path::Path;

use crate::error::Error;

/// How many bytes are examined.
pub(super) const START_BYTES: usize = 1 << 10;

/// The advice for a file that contains a single JSON array.
pub(super) const ARRAY_REMEDY: &str =
    "write the elements of the array as lines: jq -c '.[]' FILE > NEW.jsonl, and read that as jsonl:FIELD";

/// The error for a table file that is binary.
pub(super) fn table(path: &Path, start: &[u8]) -> Option<Error> {
    let reason = match start {
        [b'P', b'A', b'R', b'1', ..] => {
            "a Parquet file, not text; name its column of text as the format, as in `parquet:text`"
        }
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => {
            "an Arrow file, not text; in Python pass its column: texts=pyarrow.feather.read_table(FILE)[COLUMN]; \
             or write it as Parquet or JSONL first"
        }
        _ => return None,
    };
    Some(Error::format(path.display().to_string(), reason))
}

/// The error for a file that would be read as lines by default but is something else.
pub(super) fn lines(path: &Path, start: &[u8]) -> Option<Error> {
    let reason = if is_array(path, start) {
        format!("this is one JSON array, where lines of text are expected; {ARRAY_REMEDY}")
    } else if let Some(kind) = tokenizer(start) {
        format!("this is a tokenizer ({kind}), where a text is expected; name a text")
    } else if start.starts_with(b"#sentitok-counts ") {
        "this is a file of counts, where a text is expected; read it by `WordCounts::load`".to_owned()
    } else if let Some(field) = json_lines(start) {
        format!(
            "these are JSON Lines, where lines of text are expected; name the field that holds the text: \
             jsonl:FIELD, as in the format `jsonl:{field}`"
        )
    } else {
        return None;
    };
    let anyway = "to read the file as it is, name the format `lines`";
    Some(Error::format(path.display().to_string(), format!("{reason}; {anyway}")))
}

/// The first field of the first line, if that line is a JSON object. For a line longer than
/// `start`, its first field decides.
fn json_lines(start: &[u8]) -> Option<String> {
    let line = start.split(|&byte| byte == b'\n').next()?.trim_ascii();
    let is_cut = start.len() >= START_BYTES && !start.contains(&b'\n');
    let inside = line.strip_prefix(b"{")?.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', inside)?;
    let is_field = inside.get(end + 1..)?.trim_ascii_start().starts_with(b":");
    if !is_field || !(is_cut || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()) {
        return None;
    }
    Some(String::from_utf8_lossy(inside.get(..end)?).into_owned())
}

/// Whether a file is a single JSON array: recognised by its name and a bracket, or by a bracket and
/// an object.
fn is_array(path: &Path, start: &[u8]) -> bool {
    let Some(inside) = start.trim_ascii_start().strip_prefix(b"[") else { return false };
    let is_json = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"));
    let object = inside.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    is_json || object.trim_ascii_start().starts_with(b"\"")
}

/// The kind of a file that is certainly a tokenizer. Stricter than `crate::formats`, because text
/// may begin like some of those files.
fn tokenizer(start: &[u8]) -> Option<&'static str> {
    let has = |word: &str| memchr::memmem::find(start, word.as_bytes()).is_some();
    let is_object = start.trim_ascii_start().starts_with(b"{");
    match start {
        _ if start.starts_with(b"#sentitok-tokenizer ") => Some("sentitok's own"),
        _ if is_object && (has("\"added_tokens\"") || has("\"pre_tokenizer\"")) => Some("tokenizer.json"),
        // A message that begins with a string, and after it the tag of its score, of its kind, or
        // of the next message.
        [0x0a, whole, 0x0a, text, rest @ ..]
            if whole > text && matches!(rest.get(usize::from(*text)), Some(0x15 | 0x18)) =>
        {
            Some("SentencePiece's .model")
        }
        _ if begins_with_ranks(start) => Some(".tiktoken"),
        _ if start.starts_with(b"[PAD]\n") || start.starts_with(b"[UNK]\n") => Some("vocab.txt"),
        _ => None,
    }
}

/// Whether the first two lines are tokens in base64 with the ranks 0 and 1.
fn begins_with_ranks(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n');
    let mut has = |rank: &[u8]| {
        let token = lines.next().and_then(|line| line.trim_ascii_end().strip_suffix(rank));
        token.is_some_and(|token| {
            let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
            !token.is_empty() && token.len().is_multiple_of(4) && token.iter().all(is_base64)
        })
    };
    has(b" 0") && has(b" 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_files_are_distinguished_from_texts() {
        let cases: &[(&str, &[u8], Option<&str>)] = &[
            ("a.txt", b"A film.\n", None),
            ("a.txt", b"", None),
            ("a.txt", b"\n \n\nA text that begins with empty lines, and goes on.\n", None),
            ("a.txt", b"word 0\nfilm 1\n", Some("(.tiktoken)")),
            ("a.txt", b"film 2024\n", None),
            ("a.txt", b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", Some("SentencePiece's .model")),
            ("a.txt", b"[PAD] is a token of BERT, as is [UNK].\n", None),
            ("a.txt", b"[PAD]\n[UNK]\n", Some("(vocab.txt)")),
            ("a.txt", b"[1] A footnote.\n", None),
            ("a.txt", b" [\n  {\"text\": \"A film.\"}", Some("one JSON array")),
            ("a.JSON", b"[\"A film.\", \"A man.\"]", Some("jq -c")),
            ("-", b"{\"text\": \"A film.\"}\n", Some("jsonl:text")),
            ("a.txt", b"{\"body\" : 1, \"text\": \"A film.\"}\n{", Some("jsonl:body")),
            ("a.txt", b"{\"text\": \"A film.\",\n", None),
            ("a.txt", b"{\"A film\" is a title.}\n", None),
            ("a.txt", b"{\"version\": \"1.0\", \"added_tokens\": []}", Some("(tokenizer.json)")),
            ("a.txt", b"#sentitok-counts 1 {}\n", Some("`WordCounts::load`")),
            ("a.txt", b"#sentitok-tokenizer 1 {}\n", Some("sentitok's own")),
        ];
        for (path, start, expected) in cases {
            let found = lines(Path::new(path), start).map(|error| error.to_string());
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(part)) => {
                    assert!(found.contains(part) && found.contains("`lines`"), "{found}");
                }
                _ => panic!("{}: {found:?}", String::from_utf8_lossy(start)),
            }
        }
    }
}
