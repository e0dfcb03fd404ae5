//! Rows of CSV and TSV.
//!
//! Rows are found under the source's lock: a quoted field may hold line ends,
//! so a block cannot be cut without parsing from the start.
//!
//! Fields of CSV may be quoted. Those of TSV are as they stand, quotes included, unless the first
//! [`HEAD_BYTES`] are quoted throughout ([`are_quoted`]): the file is streamed, so its start decides.

use std::io::{Cursor, Read};
use std::path::PathBuf;

use super::block::{Block, BlockStart, Division, Place};
use super::quotes::{Flaw, Rows, Start};
use super::tab_quotes::are_quoted;
use super::{InvalidUtf8, too_long};
use crate::error::{Error, Result};

/// How much of a TSV file decides whether its fields are quoted.
const HEAD_BYTES: usize = 8 << 20;

/// One table being read.
pub(super) struct DelimitedTable {
    reader: csv::Reader<Rows<Box<dyn Read + Send>>>,
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
        let mut quoted = true;
        if delimiter == b'\t' {
            let mut head = Vec::new();
            let ended = match (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head) {
                Ok(n) => n < HEAD_BYTES,
                Err(error) => return Err(io(error)),
            };
            quoted = are_quoted(&head, ended);
            input = Box::new(Cursor::new(head).chain(input));
        }
        let input = Rows::new(input, delimiter, quoted, max_row_bytes as u64);
        let mut reader =
            csv::ReaderBuilder::new().delimiter(delimiter).quoting(quoted).flexible(true).from_reader(input);
        let headers = match reader.byte_headers().cloned() {
            Ok(headers) => headers,
            Err(error) => {
                return Err(row_error(&path, error, reader.get_ref().flaw(), quoted, max_row_bytes, io));
            }
        };
        let Some(at) = headers.iter().position(|name| name == column.as_bytes()) else {
            let columns: Vec<_> =
                headers.iter().map(|name| format!("{:?}", String::from_utf8_lossy(name))).collect();
            return Err(Error::Record {
                source_name: path.display().to_string(),
                line: 1,
                offset: 0,
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

    /// Fills `block` with rows; `false` when there are none left.
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
            // All rows are as long as the header, or they are an error.
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
