//! `Format`: how a file is divided into documents.

use std::path::Path;
use std::str::FromStr;

use super::compression::Compression;
use crate::error::{Error, Result};

/// How a file is divided into documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// The whole file is a document.
    Text,
    /// Each line with its line feed is a document, as in Hugging Face's `train(files)`. Only LF
    /// ends a line, so `\r\n` keeps its `\r`, and a lone `\r` is text.
    Lines,
    /// A string field of the JSON object on each line; blank lines are skipped.
    Jsonl {
        /// The name of the field.
        field: String,
    },
    /// A column of a table with a header row, separated by commas.
    Csv {
        /// The name of the column.
        column: String,
    },
    /// A column of a table with a header row, separated by tabs.
    Tsv {
        /// The name of the column.
        column: String,
    },
}

impl Format {
    /// The default field of JSONL.
    pub const DEFAULT_FIELD: &'static str = "text";

    /// The format for a file name, by its suffix; [`Format::Lines`] for any other suffix.
    ///
    /// A suffix of compression is ignored: `a.jsonl.gz` is JSONL.
    ///
    /// # Errors
    /// [`Error::Option`] for a table, because its column must be named.
    pub fn of_path(path: &Path) -> Result<Self> {
        let mut name = path.to_path_buf();
        if Compression::of_path(path).is_some() {
            name.set_extension("");
        }
        let suffix = name.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
        match suffix.as_deref() {
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl { field: Self::DEFAULT_FIELD.to_owned() }),
            Some(table @ ("csv" | "tsv" | "parquet" | "pq")) => Err(Error::Option {
                option: "format",
                value: path.display().to_string(),
                reason: name_column(if table == "pq" { "parquet" } else { table }),
            }),
            _ => Ok(Self::Lines),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    /// Reads `text`, `lines`, `jsonl`, `jsonl:field`, `csv:column`, `tsv:column`.
    fn from_str(text: &str) -> Result<Self> {
        let (name, part) = match text.split_once(':') {
            Some((name, part)) => (name, Some(part.to_owned())),
            None => (text, None),
        };
        match (name, part) {
            ("text", None) => Ok(Self::Text),
            ("lines", None) => Ok(Self::Lines),
            ("jsonl", None) => Ok(Self::Jsonl { field: Self::DEFAULT_FIELD.to_owned() }),
            ("jsonl", Some(field)) => Ok(Self::Jsonl { field }),
            ("csv", Some(column)) => Ok(Self::Csv { column }),
            ("tsv", Some(column)) => Ok(Self::Tsv { column }),
            ("csv" | "tsv" | "parquet", None) => {
                Err(Error::Option { option: "format", value: text.to_owned(), reason: name_column(name) })
            }
            ("parquet", Some(column)) if column.is_empty() => {
                Err(Error::Option { option: "format", value: text.to_owned(), reason: name_column(name) })
            }
            ("parquet", Some(_)) => Err(Error::Option {
                option: "format",
                value: text.to_owned(),
                reason: "Parquet is read in Python and by the commands alone; give the texts of the column"
                    .to_owned(),
            }),
            _ => Err(Error::Option {
                option: "format",
                value: text.to_owned(),
                reason: "it is one of text, lines, jsonl:FIELD, csv:COLUMN, tsv:COLUMN, parquet:COLUMN"
                    .to_owned(),
            }),
        }
    }
}

fn name_column(table: &str) -> String {
    format!("name the column of text, as in {table}:text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_suffixes_are_recognised() {
        let jsonl = |field: &str| Format::Jsonl { field: field.to_owned() };
        for (text, expected) in [
            ("text", Some(Format::Text)),
            ("lines", Some(Format::Lines)),
            ("jsonl", Some(jsonl("text"))),
            ("jsonl:a:b", Some(jsonl("a:b"))),
            ("csv:x", Some(Format::Csv { column: "x".into() })),
            ("tsv:x", Some(Format::Tsv { column: "x".into() })),
            ("csv", None),
            ("lines:x", None),
            ("parquet", None),
            ("parquet:x", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Format>().ok(), expected, "{text}");
        }
        for (path, expected) in [
            ("a.txt", Some(Format::Lines)),
            ("a", Some(Format::Lines)),
            ("-", Some(Format::Lines)),
            ("a.JSONL", Some(jsonl("text"))),
            ("a.jsonl.gz", Some(jsonl("text"))),
            ("a.txt.zst", Some(Format::Lines)),
            ("a.csv", None),
            ("a.tsv.xz", None),
            ("a.parquet", None),
            ("a.pq", None),
        ] {
            assert_eq!(Format::of_path(Path::new(path)).ok(), expected, "{path}");
        }
    }
}
