//! Reads the rows of CSV and TSV.
//!
//! Rows are found under the lock of the source: a quoted field may contain line ends, so a block
//! cannot be cut without parsing from the start.
//!
//! The file is streamed, so its first [`HEAD_BYTES`] decide how fields are written. Fields of CSV
//! may be quoted. Fields of TSV are unquoted, and quotes are text, unless all fields are quoted
//! ([`are_quoted`]). The delimiter is that of Excel's first line `sep=;`, or that of the format, or
//! another one with which the header contains the column.

use std::io::{Chain, Cursor, Read};
use std::path::PathBuf;

use super::block::{Block, BlockStart, Division, Place};
use super::quotes::{Dialect, Flaw, Rows, Start};
use super::tab_quotes::are_quoted;
use super::{InvalidUtf8, too_long};
use crate::error::{Error, Result};

/// How many bytes of a file decide how its fields are written.
const HEAD_BYTES: usize = 8 << 20;
/// The delimiters that are tried, whatever the suffix.
const DELIMITERS: &[u8] = b",;\t|";

/// The start of a file, which was examined, and the rest.
type Input = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// The table that is being read.
pub(super) struct DelimitedTable {
    reader: csv::Reader<Rows<Input>>,
    max_row_bytes: usize,
    path: PathBuf,
    /// Whether fields may be quoted.
    quoted: bool,
    column: usize,
    record: csv::ByteRecord,
    byte_order_marks: u64,
    ended: bool,
}

impl DelimitedTable {
    /// Reads the header.
    pub fn open(
        path: PathBuf,
        mut input: Box<dyn Read + Send>,
        delimiter: u8,
        column: &str,
        max_row_bytes: usize,
        byte_order_marks: u64,
        io: impl Fn(std::io::Error) -> Error,
    ) -> Result<Self> {
        let mut head = Vec::new();
        let ended = match (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head) {
            Ok(n) => n < HEAD_BYTES,
            Err(error) => return Err(io(error)),
        };
        let dialect = dialect_of(&head, ended, delimiter, column);
        let quoted = dialect.quoted;
        let (first, behind_header) = header_of(&head, dialect);
        let input = Rows::new(Cursor::new(head).chain(input), dialect, max_row_bytes as u64);
        let mut reader = parser(dialect).from_reader(input);
        let mut headers = csv::ByteRecord::new();
        for _ in 0..=usize::from(dialect.sets_delimiter) {
            let Err(error) = reader.read_byte_record(&mut headers) else { continue };
            let flaw = reader.get_ref().flaw();
            // A missing column is a clearer error than a fault in a row below the header.
            if flaw.is_none_or(|flaw| flaw.start().offset < behind_header) || has(&first, column) {
                return Err(row_error(&path, error, flaw, quoted, max_row_bytes, io));
            }
            headers = first;
            break;
        }
        let Some(at) = headers.iter().position(|name| name == column.as_bytes()) else {
            let columns: Vec<_> =
                headers.iter().map(|name| format!("{:?}", String::from_utf8_lossy(name))).collect();
            let place = headers.position();
            return Err(Error::Record {
                source_name: path.display().to_string(),
                line: place.map_or(1, csv::Position::line),
                offset: place.map_or(0, csv::Position::byte),
                reason: if columns.is_empty() {
                    format!("no header row, so no column {column:?}")
                } else {
                    format!("no column {column:?}; the columns are {}", columns.join(", "))
                },
            });
        };
        let record = csv::ByteRecord::new();
        Ok(Self { reader, max_row_bytes, path, quoted, column: at, record, byte_order_marks, ended: false })
    }

    /// Fills `block` with rows; returns `false` if none are left.
    pub fn fill(
        &mut self,
        block: &mut Block,
        invalid_utf8: InvalidUtf8,
        block_bytes: usize,
        io: impl Fn(std::io::Error) -> Error,
    ) -> Result<bool> {
        let name = self.path.display().to_string().into();
        block.clear(Division::Records, BlockStart { name, ..BlockStart::default() }, invalid_utf8);
        block.byte_order_marks = std::mem::take(&mut self.byte_order_marks);
        while !self.ended && block.data.len() < block_bytes && block.ends.len() < block_bytes / 16 + 1 {
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    break;
                }
                Err(error) => {
                    let flaw = self.reader.get_ref().flaw();
                    return Err(row_error(&self.path, error, flaw, self.quoted, self.max_row_bytes, io));
                }
            }
            // The column exists: `Rows` has checked that all rows are as long as the header.
            block.push(self.record.get(self.column).unwrap_or_default())?;
            let place = self.record.position();
            block.places.push(Place {
                offset: place.map_or(0, csv::Position::byte),
                line: place.map_or(0, csv::Position::line),
            });
        }
        Ok(!block.ends.is_empty())
    }
}

/// How a file that starts with `head` writes its fields. `ended` says that `head` is the whole
/// file.
fn dialect_of(head: &[u8], ended: bool, delimiter: u8, column: &str) -> Dialect {
    let quoted = |delimiter, head| delimiter != b'\t' || are_quoted(head, ended);
    if let Some((delimiter, rows)) = set_delimiter(head) {
        return Dialect { delimiter, quoted: quoted(delimiter, rows), sets_delimiter: true };
    }
    let names_column = |dialect: &Dialect| has(&header_of(head, *dialect).0, column);
    let own = Dialect::new(delimiter, quoted(delimiter, head));
    if names_column(&own) {
        return own;
    }
    let others = DELIMITERS.iter().filter(|&&other| other != delimiter);
    others.map(|&other| Dialect::new(other, quoted(other, head))).find(names_column).unwrap_or(own)
}

/// The header at the start of a file, and the offset of the rows below it.
fn header_of(head: &[u8], dialect: Dialect) -> (csv::ByteRecord, u64) {
    let (mut reader, mut header) = (parser(dialect).from_reader(head), csv::ByteRecord::new());
    for _ in 0..=usize::from(dialect.sets_delimiter) {
        if reader.read_byte_record(&mut header).is_err() {
            break;
        }
    }
    (header, reader.position().byte())
}

fn has(header: &csv::ByteRecord, column: &str) -> bool {
    header.iter().any(|name| name == column.as_bytes())
}

/// The delimiter that Excel's first line (`sep=;` or `"sep=;"`) sets, and the rows below.
fn set_delimiter(head: &[u8]) -> Option<(u8, &[u8])> {
    let end = memchr::memchr2(b'\r', b'\n', head).unwrap_or(head.len());
    let (mut line, rows) = head.split_at(end);
    while let Some(shorter) = line.strip_suffix(b" ") {
        line = shorter;
    }
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (&delimiter, name) = line.split_last()?;
    let sets = name.eq_ignore_ascii_case(b"sep=") && (delimiter == b'\t' || delimiter.is_ascii_graphic());
    (sets && delimiter != b'"').then_some((delimiter, rows))
}

fn parser(dialect: Dialect) -> csv::ReaderBuilder {
    let mut parser = csv::ReaderBuilder::new();
    parser.delimiter(dialect.delimiter).quoting(dialect.quoted).flexible(true).has_headers(false);
    parser
}

fn row_error(
    path: &std::path::Path,
    error: csv::Error,
    flaw: Option<Flaw>,
    quoted: bool,
    max_row_bytes: usize,
    io: impl Fn(std::io::Error) -> Error,
) -> Error {
    let at_start = |start: Start, reason| Error::Record {
        source_name: path.display().to_string(),
        line: start.line,
        offset: start.offset,
        reason,
    };
    match flaw {
        Some(Flaw::Unclosed(quote)) => {
            return at_start(
                quote,
                format!(
                    "column {}: the quote that opens here is never closed; close it, or write a quote that is \
                     text twice in a quoted field",
                    quote.column
                ),
            );
        }
        Some(Flaw::Stray(quote)) => {
            return at_start(
                quote,
                format!(
                    "column {}: the quote that opens here closes some lines below with text behind it; close it \
                     on its line, or write a quote that is text twice in a quoted field",
                    quote.column
                ),
            );
        }
        Some(Flaw::Uneven { several: Some(quote), fields, expected, .. }) => {
            return at_start(
                quote,
                format!(
                    "column {}: the quote that opens here closes some lines below, which makes a row of \
                     {fields} fields under a header of {expected}; close it on its line, or write a quote that \
                     is text twice in a quoted field",
                    quote.column
                ),
            );
        }
        Some(Flaw::Uneven { row, fields, expected, .. }) => {
            let remedy = match quoted {
                true => "quote fields that hold the separator",
                false => {
                    "fields of this TSV file are not quoted throughout, so none may hold a tab or a line end; \
                     write it as CSV, and read csv:COLUMN"
                }
            };
            return at_start(row, format!("a row of {fields} fields under a header of {expected}; {remedy}"));
        }
        Some(Flaw::TooLong(row)) => return at_start(row, too_long("row", max_row_bytes)),
        None => {}
    }
    let place = error.position().cloned();
    let reason = match error.into_kind() {
        csv::ErrorKind::Io(error) => return io(error),
        kind => format!("{kind:?}"),
    };
    Error::Record {
        source_name: path.display().to_string(),
        line: place.as_ref().map_or(0, csv::Position::line),
        offset: place.as_ref().map_or(0, csv::Position::byte),
        reason,
    }
}
