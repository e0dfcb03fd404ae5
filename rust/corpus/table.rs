//! Reads the rows of CSV and TSV.
//!
//! Rows are found under the lock of the source: a quoted field may contain line ends, so a block
//! cannot be cut without parsing from a known start, which is that of the file or of a shard.
//!
//! The file is streamed, so its first [`HEAD_BYTES`] decide how fields are written. Fields of CSV
//! may be quoted. Fields of TSV are unquoted, and quotes are text, unless all fields are quoted
//! ([`are_quoted`]). The delimiter is that of Excel's first line `sep=;`, or that of the format, or
//! another one with which the header contains the column.

use std::io::{Chain, Cursor, Read};
use std::path::Path;

use super::block::{Block, BlockStart, Division, Place};
use super::quotes::{Dialect, Flaw, Rows};
use super::tab_quotes::are_quoted;
use super::{InvalidUtf8, too_long};
use crate::error::{Error, Result};

/// How many bytes of a file decide how its fields are written.
const HEAD_BYTES: usize = 8 << 20;
/// The delimiters that are tried, whatever the suffix.
const DELIMITERS: &[u8] = b",;\t|";

/// The start of a file, which was examined, and the rest.
type Input<R> = Chain<Cursor<Vec<u8>>, R>;
/// The parser of rows.
pub(super) type Parser<R> = csv::Reader<Rows<Input<R>>>;

/// The header of a table, and how the file writes its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub dialect: Dialect,
    /// The offset of what follows the header.
    pub end: u64,
    n_fields: u64,
    /// The index of the column.
    column: usize,
}

impl Header {
    /// Reads the header of a table that starts at byte `offset` of the file. Returns it with a
    /// parser of the rows below.
    pub fn read<R: Read>(
        path: &Path,
        mut input: R,
        delimiter: u8,
        column: &str,
        max_row_bytes: usize,
        offset: u64,
        io: impl Fn(std::io::Error) -> Error,
    ) -> Result<(Self, Parser<R>)> {
        let mut head = Vec::new();
        let ended = match (&mut input).take(HEAD_BYTES as u64).read_to_end(&mut head) {
            Ok(n) => n < HEAD_BYTES,
            Err(error) => return Err(io(error)),
        };
        let dialect = dialect_of(&head, ended, delimiter, column);
        let origin = BlockStart { name: path.display().to_string().into(), ..BlockStart::default() };
        let (first, behind_header) = header_of(&head, dialect);
        let mut end = None;
        let input = Rows::new(Cursor::new(head).chain(input), dialect, max_row_bytes as u64, offset);
        let mut reader = parser(dialect).from_reader(input);
        let mut headers = csv::ByteRecord::new();
        let mut start = None;
        for _ in 0..=usize::from(dialect.sets_delimiter) {
            let Err(error) = reader.read_byte_record(&mut headers) else {
                start = reader.get_mut().next_start();
                continue;
            };
            let flaw = reader.get_ref().flaw();
            // A fault below the header is an error of that row, which may be outside of the range.
            if flaw.is_none_or(|flaw| flaw.start().offset < offset + behind_header) {
                return Err(row_error(&origin, error, flaw, dialect.quoted, max_row_bytes, io));
            }
            (headers, end) = (first, Some(behind_header));
            break;
        }
        let Some(at) = headers.iter().position(|name| name == column.as_bytes()) else {
            let columns: Vec<_> =
                headers.iter().map(|name| format!("{:?}", String::from_utf8_lossy(name))).collect();
            return Err(Error::Record {
                source_name: path.display().to_string(),
                line: start.map_or(1, |start| start.line),
                offset: start.map_or(offset, |start| start.offset),
                reason: if columns.is_empty() {
                    format!("no header row, so no column {column:?}")
                } else {
                    format!("no column {column:?}; the columns are {}", columns.join(", "))
                },
            });
        };
        let end = offset + end.unwrap_or_else(|| reader.position().byte());
        Ok((Self { dialect, end, n_fields: headers.len() as u64, column: at }, reader))
    }
}

/// The table that is being read.
pub(super) struct DelimitedTable {
    reader: Parser<Box<dyn Read + Send>>,
    max_row_bytes: usize,
    origin: BlockStart,
    /// Whether fields may be quoted.
    quoted: bool,
    column: usize,
    record: csv::ByteRecord,
    pub byte_order_marks: u64,
    ended: bool,
}

impl DelimitedTable {
    /// Reads all rows below the header, with its parser.
    pub fn whole(
        path: &Path,
        (header, reader): (Header, Parser<Box<dyn Read + Send>>),
        max_row_bytes: usize,
    ) -> Self {
        let origin = BlockStart { name: path.display().to_string().into(), ..BlockStart::default() };
        let (quoted, column, record) = (header.dialect.quoted, header.column, csv::ByteRecord::new());
        Self { reader, max_row_bytes, origin, quoted, column, record, byte_order_marks: 0, ended: false }
    }

    /// Reads the rows of `input`, the first of which starts at byte `offset` of the file.
    pub fn part(
        path: &Path,
        header: Header,
        input: Box<dyn Read + Send>,
        max_row_bytes: usize,
        offset: u64,
    ) -> Self {
        let Header { dialect, n_fields, .. } = header;
        let input = Cursor::new(Vec::new()).chain(input);
        let rows = Rows::below(input, dialect, max_row_bytes as u64, offset, n_fields);
        let mut table = Self::whole(path, (header, parser(dialect).from_reader(rows)), max_row_bytes);
        table.origin.skipped = Some((path.to_path_buf(), offset));
        table
    }

    /// Fills `block` with rows; returns `false` if none are left.
    pub fn fill(
        &mut self,
        block: &mut Block,
        invalid_utf8: InvalidUtf8,
        block_bytes: usize,
        io: impl Fn(std::io::Error) -> Error,
    ) -> Result<bool> {
        block.clear(Division::Records, self.origin.clone(), invalid_utf8);
        block.byte_order_marks = std::mem::take(&mut self.byte_order_marks);
        while !self.ended && block.data.len() < block_bytes && block.ends.len() < block_bytes / 16 + 1 {
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                // The parser reports an error of its input only once, which may have been when the
                // header was read.
                Ok(false) => match self.reader.get_ref().flaw() {
                    Some(flaw) => {
                        return Err(flaw_error(&self.origin, flaw, self.quoted, self.max_row_bytes));
                    }
                    None => {
                        self.ended = true;
                        break;
                    }
                },
                Err(error) => {
                    let flaw = self.reader.get_ref().flaw();
                    return Err(row_error(&self.origin, error, flaw, self.quoted, self.max_row_bytes, io));
                }
            }
            // The column exists: `Rows` has checked that all rows are as long as the header.
            block.push(self.record.get(self.column).unwrap_or_default())?;
            let start = self.reader.get_mut().next_start();
            block.places.push(start.map_or(Place { offset: 0, line: 0 }, |start| Place {
                offset: start.offset,
                line: start.line,
            }));
        }
        // A block without rows still counts the mark.
        Ok(!block.ends.is_empty() || block.byte_order_marks > 0)
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

/// The error for an error of the parser, whose input may have found a fault of the rows.
fn row_error(
    origin: &BlockStart,
    error: csv::Error,
    flaw: Option<Flaw>,
    quoted: bool,
    max_row_bytes: usize,
    io: impl Fn(std::io::Error) -> Error,
) -> Error {
    if let Some(flaw) = flaw {
        return flaw_error(origin, flaw, quoted, max_row_bytes);
    }
    match error.into_kind() {
        csv::ErrorKind::Io(error) => io(error),
        // The parser takes rows of any length in bytes of any kind, so it has no other errors.
        kind => Error::format(origin.name.to_string(), format!("{kind:?}")),
    }
}

/// The error for a fault of the rows.
fn flaw_error(origin: &BlockStart, flaw: Flaw, quoted: bool, max_row_bytes: usize) -> Error {
    let (start, reason) = match flaw {
        Flaw::Unclosed(quote) => (
            quote,
            format!(
                "column {}: the quote that opens here is never closed; close it, or write a quote that is \
                 text twice in a quoted field",
                quote.column
            ),
        ),
        Flaw::Stray(quote) => (
            quote,
            format!(
                "column {}: the quote that opens here closes some lines below with text behind it; close it \
                 on its line, or write a quote that is text twice in a quoted field",
                quote.column
            ),
        ),
        Flaw::Uneven { several: Some(quote), fields, expected, .. } => (
            quote,
            format!(
                "column {}: the quote that opens here closes some lines below, which makes a row of \
                 {fields} fields under a header of {expected}; close it on its line, or write a quote that \
                 is text twice in a quoted field",
                quote.column
            ),
        ),
        Flaw::Uneven { row, fields, expected, .. } => {
            let remedy = match quoted {
                true => "quote fields that hold the separator",
                false => {
                    "fields of this TSV file are not quoted throughout, so none may hold a tab or a line end; \
                     write it as CSV, and read csv:COLUMN"
                }
            };
            (row, format!("a row of {fields} fields under a header of {expected}; {remedy}"))
        }
        Flaw::TooLong(row) => (row, too_long("row", max_row_bytes)),
    };
    Error::Record {
        source_name: origin.name.to_string(),
        line: origin.line(start.line - 1),
        offset: start.offset,
        reason,
    }
}
