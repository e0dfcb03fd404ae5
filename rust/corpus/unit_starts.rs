//! `UnitStarts`: finds where lines and rows of a file begin, to cut it there.
//!
//! The start at or after a byte is the end of the first line end that ends at or after that byte.
//! So the parts of a file between such starts hold each unit once, wherever the file is cut.
//!
//! Line ends of a quoted field are text, so quotes are followed from a known start. Outside of
//! quoted fields, a quote opens one exactly if a delimiter or a line end is before it; all else can
//! be skipped by searching for quotes.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use super::quotes::Dialect;
use super::{BLOCK_BYTES, REMOTE_BLOCK_BYTES};
use crate::error::{Error, Result};

/// The end of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) enum UnitEnd {
    /// A line feed.
    Line,
    /// A line feed or carriage return outside of quotes.
    Row(Dialect),
}

impl UnitEnd {
    /// How many bytes are read at a time to find the end of a unit: many to follow quotes.
    pub fn search_bytes(self) -> usize {
        match self {
            Self::Row(dialect) if dialect.quoted => REMOTE_BLOCK_BYTES,
            _ => 1 << 16,
        }
    }
}

/// The starts of units of a file, in ascending order.
pub(super) struct UnitStarts<'a, R> {
    path: &'a Path,
    input: R,
    end: UnitEnd,
    /// The last start that was found.
    last: u64,
    buffer: Vec<u8>,
}

impl<'a, R: Read + Seek> UnitStarts<'a, R> {
    /// The starts of a file whose first unit begins at `first`.
    pub fn new(path: &'a Path, input: R, end: UnitEnd, first: u64) -> Self {
        Self { path, input, end, last: first, buffer: Vec::new() }
    }

    /// The start of the first unit that begins at or after `at`; `u64::MAX` if there is none.
    ///
    /// `at` must not descend from call to call. `on_read` gets the offset reached, and may stop the
    /// search by an error.
    pub fn at_or_after(&mut self, at: u64, mut on_read: impl FnMut(u64) -> Result<()>) -> Result<u64> {
        // Nothing ends between the byte that the last search began with and the start it found.
        if at > self.last {
            self.last = self.search(at - 1, &mut on_read)?;
        }
        Ok(self.last)
    }

    /// The end of the first line end that begins at or after `from`.
    fn search(&mut self, from: u64, on_read: &mut impl FnMut(u64) -> Result<()>) -> Result<u64> {
        let delimiter = match self.end {
            UnitEnd::Row(dialect) if dialect.quoted => Some(dialect.delimiter),
            _ => None,
        };
        let mut offset = if delimiter.is_some() { self.last } else { from };
        let path = self.path;
        let io = |error| Error::io(path, error);
        self.input.seek(SeekFrom::Start(offset)).map_err(io)?;
        let mut quotes = delimiter.map(Quotes::new);
        self.buffer.resize(self.end.search_bytes().min(BLOCK_BYTES), 0);
        loop {
            on_read(offset)?;
            let n = match self.input.read(&mut self.buffer) {
                Ok(0) => return Ok(u64::MAX),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(io(error)),
            };
            let bytes = &self.buffer[..n];
            let skipped = usize::try_from(from.saturating_sub(offset)).unwrap_or(n).min(n);
            let found = match (&mut quotes, self.end) {
                (Some(quotes), _) => {
                    quotes.skip(&bytes[..skipped]);
                    quotes.find_row_end(&bytes[skipped..])
                }
                (None, UnitEnd::Line) => memchr::memchr(b'\n', &bytes[skipped..]),
                (None, UnitEnd::Row(_)) => memchr::memchr2(b'\n', b'\r', &bytes[skipped..]),
            };
            let Some(at) = found.map(|found| skipped + found) else {
                offset += n as u64;
                continue;
            };
            let end = offset + at as u64 + 1;
            // CR LF is one line end.
            let is_pair = bytes[at] == b'\r' && self.next_is_line_feed(at + 1, n).map_err(io)?;
            return Ok(end + u64::from(is_pair));
        }
    }

    /// Whether the byte at `at` is a line feed; behind the `n` bytes of the buffer it is read.
    fn next_is_line_feed(&mut self, at: usize, n: usize) -> std::io::Result<bool> {
        if at < n {
            return Ok(self.buffer[at] == b'\n');
        }
        let mut next = Vec::new();
        (&mut self.input).take(1).read_to_end(&mut next)?;
        Ok(next == b"\n")
    }
}

/// Follows the quotes of a table from the start of a row.
struct Quotes {
    delimiter: u8,
    state: State,
    /// The byte before the next one.
    previous: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unquoted,
    Quoted,
    /// After a quote in a quoted field: it ends the field, or is the first of two that mean one.
    AfterQuote,
}

impl Quotes {
    fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Unquoted, previous: b'\n' }
    }

    /// Follows bytes to their end.
    fn skip(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.state {
                State::Unquoted => match memchr::memchr(b'"', &bytes[at..]) {
                    Some(found) => self.unquoted_quote(bytes, at + found),
                    None => bytes.len(),
                },
                _ => self.quoted(bytes, at),
            };
        }
        self.previous = bytes.last().copied().unwrap_or(self.previous);
    }

    /// Follows bytes to the first line end outside of quotes, and returns its position; follows all
    /// of them if there is none.
    fn find_row_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.state {
                State::Unquoted => match memchr::memchr3(b'"', b'\n', b'\r', &bytes[at..]) {
                    Some(found) if bytes[at + found] != b'"' => return Some(at + found),
                    Some(found) => self.unquoted_quote(bytes, at + found),
                    None => bytes.len(),
                },
                _ => self.quoted(bytes, at),
            };
        }
        self.previous = bytes.last().copied().unwrap_or(self.previous);
        None
    }

    /// Takes the quote at `at`, which is outside of quoted fields; returns the position after it.
    fn unquoted_quote(&mut self, bytes: &[u8], at: usize) -> usize {
        let previous = if at == 0 { self.previous } else { bytes[at - 1] };
        if previous == self.delimiter || matches!(previous, b'\n' | b'\r') {
            self.state = State::Quoted;
        }
        at + 1
    }

    /// Follows a quoted field from `at`; returns the position reached.
    fn quoted(&mut self, bytes: &[u8], at: usize) -> usize {
        if self.state == State::AfterQuote {
            let is_pair = bytes[at] == b'"';
            self.state = if is_pair { State::Quoted } else { State::Unquoted };
            return at + usize::from(is_pair);
        }
        match memchr::memchr(b'"', &bytes[at..]) {
            Some(found) => {
                self.state = State::AfterQuote;
                at + found + 1
            }
            None => bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A file that gives few bytes at a time.
    struct Slow<'a>(Cursor<&'a [u8]>, usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let step = self.1.min(buffer.len());
            self.0.read(&mut buffer[..step])
        }
    }

    impl Seek for Slow<'_> {
        fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }

    fn rows(text: &[u8], quoted: bool) -> Vec<csv::ByteRecord> {
        let mut parser = csv::ReaderBuilder::new();
        parser.has_headers(false).flexible(true).quoting(quoted);
        let rows = parser.from_reader(text).into_byte_records();
        rows.map(|row| row.unwrap()).collect()
    }

    #[test]
    fn parts_between_starts_have_the_rows_of_the_text() {
        // All texts of up to six of these letters, cut at each byte.
        let letters = b"a\",\n\r";
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
                for quoted in [true, false] {
                    let end = UnitEnd::Row(Dialect::new(b',', quoted));
                    let whole = rows(&text, quoted);
                    let step = 1 + number % 3;
                    let mut in_turn = UnitStarts::new(Path::new("x"), Slow(Cursor::new(&text), step), end, 0);
                    for at in 0..=text.len() {
                        let file = Slow(Cursor::new(&text), step);
                        let mut starts = UnitStarts::new(Path::new("x"), file, end, 0);
                        let start = starts.at_or_after(at as u64, |_| Ok(())).unwrap();
                        assert_eq!(in_turn.at_or_after(at as u64, |_| Ok(())).unwrap(), start);
                        assert!(start >= at as u64);
                        let cut = usize::try_from(start).unwrap_or(usize::MAX).min(text.len());
                        let mut parts = rows(&text[..cut], quoted);
                        parts.extend(rows(&text[cut..], quoted));
                        assert_eq!(parts, whole, "{:?} at {at}", String::from_utf8_lossy(&text));
                    }
                }
            }
        }
    }

    #[test]
    fn lines_begin_after_line_feeds_alone() {
        let text = b"\ra\r\n\n\rb";
        let starts = [0, 4, 4, 4, 4, 5, u64::MAX, u64::MAX];
        let mut found = UnitStarts::new(Path::new("x"), Cursor::new(text), UnitEnd::Line, 0);
        for (at, expected) in starts.into_iter().enumerate() {
            assert_eq!(found.at_or_after(at as u64, |_| Ok(())).unwrap(), expected, "{at}");
        }
    }

    #[test]
    fn a_search_can_be_stopped() {
        let mut starts = UnitStarts::new(Path::new("x"), Cursor::new(b"a\nb\n"), UnitEnd::Line, 0);
        let stopped = starts.at_or_after(1, |_| Err(Error::Cancelled));
        assert!(matches!(stopped, Err(Error::Cancelled)));
    }
}
