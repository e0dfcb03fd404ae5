//! `Rows`: passes the bytes of a table to the parser and checks the shape of rows.
//!
//! For the parser, a quote that never closes begins a field that extends to the end of the file.
//! This reader follows the same bytes by the same rules, without changing them, and finds the
//! position of such a quote. It also enforces the maximum length of a row, and that every row has
//! as many fields as the header.

use std::collections::VecDeque;
use std::io::{Error, Read, Result};

use super::block::line_feeds;

/// A fault of the rows, with its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The file ends inside a quoted field.
    Unclosed(Start),
    /// Text follows the closing quote of a quoted field that spans several lines. The opening quote
    /// is probably stray, and the closing quote opens another field.
    Stray(Start),
    /// A row exceeds the limit.
    TooLong(Start),
    /// A row has more or fewer fields than the header.
    Uneven {
        row: Start,
        /// The first quote in the row that opens a field of several lines.
        several: Option<Start>,
        fields: u64,
        expected: u64,
    },
}

impl Flaw {
    /// The start of the row or of the quote.
    pub fn start(self) -> Start {
        match self {
            Self::Unclosed(start) | Self::Stray(start) | Self::TooLong(start) => start,
            Self::Uneven { row, .. } => row,
        }
    }
}

/// A position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    pub offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    RowStart,
    FieldStart,
    Field,
    Quoted,
    /// After a quote in a quoted field: it ends the field, or is the first of two that mean one.
    AfterQuote,
}

/// How a table writes its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub delimiter: u8,
    /// Whether fields may be quoted; otherwise quotes are text.
    pub quoted: bool,
    /// Whether the first line is Excel's `sep=;`, which sets the delimiter and is not a row.
    pub sets_delimiter: bool,
}

impl Dialect {
    pub fn new(delimiter: u8, quoted: bool) -> Self {
        Self { delimiter, quoted, sets_delimiter: false }
    }
}

/// A reader that checks the shape of rows.
pub(super) struct Rows<R> {
    input: R,
    delimiter: u8,
    /// Whether fields may be quoted; otherwise quotes are text.
    quoted: bool,
    /// Whether the next row sets the delimiter, and has no fields.
    sets_delimiter: bool,
    limit: u64,
    state: State,
    /// The number of fields of the current row so far, and of the header.
    fields: u64,
    expected: Option<u64>,
    /// The first quote in the row that opens a field of several lines.
    several: Option<Start>,
    /// The current position.
    at: Start,
    row: Start,
    quote: Start,
    flaw: Option<Flaw>,
    /// The starts of rows that the parser has not returned yet.
    starts: VecDeque<Start>,
    /// Whether the parser gets a line feed before the first row.
    begins_below: bool,
}

impl<R: Read> Rows<R> {
    /// The rows from the start of a table, which is at byte `offset` of the file.
    pub fn new(input: R, dialect: Dialect, limit: u64, offset: u64) -> Self {
        let Dialect { delimiter, quoted, sets_delimiter } = dialect;
        let at = Start { line: 1, column: 1, offset };
        Self {
            input,
            delimiter,
            quoted,
            sets_delimiter,
            limit,
            state: State::RowStart,
            fields: 0,
            expected: None,
            several: None,
            at,
            row: at,
            quote: at,
            flaw: None,
            starts: VecDeque::new(),
            begins_below: false,
        }
    }

    /// The rows from one below the header, which has `fields` fields. Lines are counted from this
    /// row.
    pub fn below(input: R, dialect: Dialect, limit: u64, offset: u64, fields: u64) -> Self {
        let dialect = Dialect { sets_delimiter: false, ..dialect };
        // The parser skips a byte order mark at its start, which in a row is text.
        Self { expected: Some(fields), begins_below: true, ..Self::new(input, dialect, limit, offset) }
    }

    /// The start of the next row, to be called once for each row of the parser.
    pub fn next_start(&mut self) -> Option<Start> {
        self.starts.pop_front()
    }

    /// The fault of the rows that made reading fail, if any.
    pub fn flaw(&self) -> Option<Flaw> {
        self.flaw
    }

    fn follow(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            if self.state == State::Quoted {
                let end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
                self.pass(&rest[..end]);
                rest = &rest[end..];
                if let Some((_, behind)) = rest.split_first() {
                    self.pass(b"\"");
                    self.state = State::AfterQuote;
                    if self.at.line > self.quote.line {
                        self.several.get_or_insert(self.quote);
                    }
                    rest = behind;
                }
                continue;
            }
            let ends_row = byte == b'\n' || byte == b'\r';
            if self.state == State::RowStart && !ends_row {
                (self.row, self.state) = (self.at, State::FieldStart);
                (self.fields, self.several) = (1, None);
                self.starts.push_back(self.at);
            }
            self.state = match (self.state, byte) {
                (State::FieldStart, b'"') if self.quoted => {
                    self.quote = self.at;
                    State::Quoted
                }
                (State::AfterQuote, b'"') => State::Quoted,
                (State::RowStart, _) => State::RowStart,
                _ if ends_row => {
                    self.check_row();
                    self.check_fields();
                    State::RowStart
                }
                (_, byte) if byte == self.delimiter => {
                    self.fields += 1;
                    State::FieldStart
                }
                (State::AfterQuote, _) if self.at.line > self.quote.line => {
                    self.flaw.get_or_insert(Flaw::Stray(self.quote));
                    State::Field
                }
                _ => State::Field,
            };
            self.pass(&rest[..1]);
            rest = behind;
        }
        if self.state != State::RowStart {
            self.check_row();
        }
    }

    /// Updates the position and the fields for these bytes.
    fn pass(&mut self, bytes: &[u8]) {
        self.at.offset += bytes.len() as u64;
        let mut on_line = bytes;
        if let Some(end) = memchr::memrchr(b'\n', bytes) {
            self.at.line += line_feeds(bytes);
            self.at.column = 1;
            on_line = &bytes[end + 1..];
        }
        self.at.column += on_line.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64;
    }

    fn check_fields(&mut self) {
        let (row, several, fields) = (self.row, self.several, self.fields);
        if std::mem::take(&mut self.sets_delimiter) {
            return;
        }
        match self.expected {
            None => self.expected = Some(fields),
            Some(expected) if expected == fields => {}
            Some(expected) => {
                self.flaw.get_or_insert(Flaw::Uneven { row, several, fields, expected });
            }
        }
    }

    fn check_row(&mut self) {
        if self.at.offset - self.row.offset > self.limit {
            self.flaw.get_or_insert(Flaw::TooLong(self.row));
        }
    }
}

impl<R: Read> Read for Rows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if let ([first, ..], true) = (&mut *buffer, self.begins_below) {
            *first = b'\n';
            self.begins_below = false;
            return Ok(1);
        }
        let n = self.input.read(buffer)?;
        self.follow(&buffer[..n]);
        if n == 0 && !buffer.is_empty() {
            match self.state {
                State::Quoted => {
                    self.flaw.get_or_insert(Flaw::Unclosed(self.quote));
                }
                State::RowStart => {}
                _ => self.check_fields(),
            }
        }
        match self.flaw {
            Some(_) => Err(Error::other("a row has no end")),
            None => Ok(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fault found when the bytes arrive in parts of this size.
    fn flaw(text: &[u8], limit: u64, step: usize) -> Option<Flaw> {
        let mut rows = Rows::new(text, Dialect::new(b',', true), limit, 0);
        let mut buffer = vec![0; step];
        while let Ok(1..) = rows.read(&mut buffer) {}
        rows.flaw()
    }

    /// The line and column of a fault.
    fn place(flaw: Option<Flaw>) -> Option<(u64, u64)> {
        match flaw? {
            Flaw::Unclosed(start) | Flaw::Stray(start) | Flaw::TooLong(start) => {
                Some((start.line, start.column))
            }
            Flaw::Uneven { row, several, .. } => {
                several.or(Some(row)).map(|start| (start.line, start.column))
            }
        }
    }

    #[test]
    fn rows_have_as_many_fields_as_the_header() {
        for (text, quoted, expected) in [
            ("a,b\n1,2\n\n3,4", true, None),
            ("a,b\n1,2\n3", true, Some((3, 1))),
            ("a,b\n1,2\n3,4,5\n", true, Some((3, 1))),
            ("a,b\né,\"x\n2,y\"\n", true, None),
            ("a,b\n1,é \"x\n2,\"y\n\"\n", true, None),
            ("a,b,c\n1,é,\"x\n2,y,z\",1\n", true, Some((2, 5))),
            ("a,b\n\"x\n1,2\"\n", true, Some((2, 1))),
            ("a,b\n\"x\n1,2\"\n", false, Some((2, 1))),
            ("a,b\n\"x,1\nfine,2\ny\",3", false, None),
        ] {
            for step in 1..=text.len() {
                let mut rows = Rows::new(text.as_bytes(), Dialect::new(b',', quoted), 100, 0);
                let mut buffer = vec![0; step];
                while let Ok(1..) = rows.read(&mut buffer) {}
                assert_eq!(place(rows.flaw()), expected, "{text:?} {step}");
            }
        }
    }

    #[test]
    fn unclosed_quotes_are_found_where_they_open() {
        let unclosed = |line, column, offset| Some(Flaw::Unclosed(Start { line, column, offset }));
        for (text, expected) in [
            ("text\na\n", None),
            ("text\n\"a\"\n", None),
            ("text\n\"a", unclosed(2, 1, 5)),
            ("text\n\"a\n\nb\"\n\"c\n\n", unclosed(5, 1, 12)),
            ("a,b\n1,\"2\n3,4\n", unclosed(2, 3, 6)),
            ("\"", unclosed(1, 1, 0)),
            ("\r\n\n\"", unclosed(3, 1, 3)),
            // Two quotes mean one; three mean one and the end of the field.
            ("a\n\"x\"\"\n", unclosed(2, 1, 2)),
            ("a\n\"x\"\"\"\n", None),
            // A quote inside a field is a character like any other.
            ("a\nx\"y\n", None),
            ("a\n \"y\n", None),
            ("a\n\"x\"y\"z\n", None),
            ("a\n\"x\ny\"\n", None),
            ("a\n\"x\ny\"z\"\n", Some(Flaw::Stray(Start { line: 2, column: 1, offset: 2 }))),
            ("a,b\n\"x\",\"", unclosed(2, 5, 8)),
            ("a\n\"x\"", None),
        ] {
            for step in 1..=text.len() {
                assert_eq!(flaw(text.as_bytes(), 100, step), expected, "{text:?} {step}");
            }
        }
    }

    #[test]
    fn quotes_agree_with_the_parser() {
        // For all texts of up to 7 characters: the last field extends to the end of the file
        // exactly if adding a quote changes how the text is parsed.
        let letters = b"a\",\n\r";
        let records = |text: &[u8]| {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
            let records: Vec<Vec<Vec<u8>>> = reader
                .byte_records()
                .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
                .collect();
            records
        };
        for len in 0..=6u32 {
            for number in 0..letters.len().pow(len) {
                let mut rest = number;
                let text: Vec<u8> = (0..len)
                    .map(|_| {
                        let letter = letters[rest % letters.len()];
                        rest /= letters.len();
                        letter
                    })
                    .collect();
                // Inside a quoted field a line end is text, so what follows is not a new record.
                let inside = records(&[&text[..], b"\nb\nb\n"].concat());
                let is_open = !inside.iter().any(|record| *record == [b"b".to_vec()]);
                let found = flaw(&text, 100, 3);
                if matches!(found, Some(Flaw::Stray(_) | Flaw::Uneven { .. })) {
                    continue;
                }
                assert_eq!(found.is_some(), is_open, "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn long_rows_are_found_where_they_begin() {
        let long = |line, offset| Some(Flaw::TooLong(Start { line, column: 1, offset }));
        for (text, limit, expected) in [
            ("abc\nabc\n", 3, None),
            ("abc\nabcd\n", 3, long(2, 4)),
            ("abc\nabcd", 3, long(2, 4)),
            ("a\n\"\n\n\n\n\"\n", 6, None),
            ("a\n\"\n\n\n\n\"\n", 5, long(2, 2)),
            ("a\n\"bbbbbbbbbbbbb", 5, long(2, 2)),
        ] {
            for step in 1..=text.len() {
                assert_eq!(flaw(text.as_bytes(), limit, step), expected, "{text:?} {limit} {step}");
            }
        }
    }
}
