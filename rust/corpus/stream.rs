//! Cuts one stream of text into blocks: lines, JSON lines, or one long document.
//!
//! A block ends after its last line feed. Without one (or in a whole-file document), it ends where
//! the pre-tokenizer provably splits the same. Without either, the block doubles until there is
//! one, so that the search for a cut takes linear time.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use super::block::{Block, BlockStart, Division, line_feeds};
use super::{InvalidUtf8, Meter};
use crate::error::{Error, Result};
use crate::pre_tokenizer::PreTokenizer;

/// Finds where a text may be cut, however it continues.
pub(super) type Cut = dyn Fn(&str) -> Option<usize> + Send;

/// The stream that is being read.
pub(super) struct Stream {
    pub reader: Box<dyn Read + Send>,
    pub division: Division,
    /// The start of the next block.
    pub origin: BlockStart,
    pub invalid_utf8: InvalidUtf8,
    pub byte_order_marks: u64,
    /// The maximum number of bytes held while a line or document has no end and no cut.
    pub max_line_bytes: usize,
    /// Bytes read but not yet returned.
    pub carry: Vec<u8>,
}

impl Stream {
    /// A stream that starts at byte `offset` of a file.
    pub fn new(
        reader: Box<dyn Read + Send>,
        division: Division,
        name: Arc<str>,
        offset: u64,
        skipped: Option<(PathBuf, u64)>,
        invalid_utf8: InvalidUtf8,
    ) -> Self {
        let origin = BlockStart { name, offset, lines: 0, skipped };
        let (byte_order_marks, max_line_bytes, carry) = (0, usize::MAX, Vec::new());
        Self { reader, division, origin, invalid_utf8, byte_order_marks, max_line_bytes, carry }
    }

    /// Fills `block`; returns `false` at the end.
    pub fn fill(
        &mut self,
        block: &mut Block,
        block_bytes: usize,
        cut: Option<&Cut>,
        meter: &Meter,
        io: impl Fn(std::io::Error) -> Error,
    ) -> Result<bool> {
        block.clear(self.division.clone(), self.origin.clone(), self.invalid_utf8);
        block.byte_order_marks = std::mem::take(&mut self.byte_order_marks);
        block.max_line_bytes = self.max_line_bytes;
        let block_bytes = block_bytes.min(self.max_line_bytes);
        let data = &mut block.data;
        data.append(&mut self.carry);
        let mut target = block_bytes.max(1);
        let mut searched = 0;
        loop {
            while data.len() < target {
                meter.check()?;
                let step = (target - data.len()).min(block_bytes.max(1 << 16));
                data.reserve(step);
                let read = match (&mut self.reader).take(step as u64).read_to_end(data) {
                    Ok(read) => read,
                    Err(error) => return Err(io(error)),
                };
                if read < step {
                    return Ok(self.advance(block));
                }
            }
            let line_end = match self.division {
                Division::Whole => None,
                _ => memchr::memrchr(b'\n', &data[searched..]).map(|at| searched + at + 1),
            };
            searched = data.len();
            let part = || match self.division {
                Division::Jsonl(_) => None,
                _ => cut.and_then(|cut| cut_in(data, cut)),
            };
            if let Some(end) = line_end.or_else(part) {
                self.carry.extend_from_slice(&data[end..]);
                data.truncate(end);
                block.continues = line_end.is_none();
                return Ok(self.advance(block));
            }
            if data.len() > self.max_line_bytes {
                let what = if self.division == Division::Whole { "document" } else { "line" };
                return Err(self.origin.too_long(what, 0, 0, self.max_line_bytes));
            }
            target = target.saturating_mul(2).min(self.max_line_bytes.saturating_add(1));
        }
    }

    /// Moves on to the end of the block; returns whether the block has any bytes.
    fn advance(&mut self, block: &Block) -> bool {
        self.origin.offset += block.data.len() as u64;
        self.origin.lines += line_feeds(&block.data);
        !block.data.is_empty()
    }
}

/// The last known offset where `text` may be cut, however it continues.
///
/// There is no cut if the pre-tokenizer rewrites text before the split (for example inserts a
/// space), because it would do so in each part.
pub(super) fn safe_cut(pre_tokenizer: &PreTokenizer, text: &str) -> Option<usize> {
    if pre_tokenizer.rewrites() { None } else { pre_tokenizer.safe_cut(text, text.len()) }
}

/// A cut in the last valid stretch of text in `data`.
fn cut_in(data: &[u8], cut: &Cut) -> Option<usize> {
    let (mut start, mut valid) = (0, "");
    if let Ok(text) = simdutf8::basic::from_utf8(data) {
        valid = text;
    } else {
        let mut at = 0;
        for chunk in data.utf8_chunks() {
            if !chunk.valid().is_empty() {
                (start, valid) = (at, chunk.valid());
            }
            at += chunk.valid().len() + chunk.invalid().len();
        }
    }
    let end = start + cut(valid).filter(|&end| end > 0 && end < valid.len())?;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Tally;

    /// The documents of each block, and whether the block continues.
    fn blocks(
        text: &[u8],
        division: Division,
        block_bytes: usize,
        cut: Option<&Cut>,
    ) -> Vec<(Vec<String>, bool)> {
        let reader = Box::new(std::io::Cursor::new(text.to_vec()));
        let mut stream = Stream::new(reader, division, "x".into(), 0, None, InvalidUtf8::Replace);
        let (mut block, mut tally, mut out) = (Block::default(), Tally::default(), Vec::new());
        let io = |error| Error::io("x", error);
        while stream.fill(&mut block, block_bytes, cut, &Meter::default(), io).unwrap() {
            let mut documents = Vec::new();
            block
                .for_each_document(&mut tally, |document| {
                    documents.push(String::from_utf8_lossy(document.as_bytes()).into_owned());
                    Ok(())
                })
                .unwrap();
            out.push((documents, block.continues));
        }
        out
    }

    #[test]
    fn blocks_end_only_at_line_ends_and_safe_cuts() {
        let cut: &Cut = &|text| text.rfind('|');
        type Blocks<'a> = &'a [(&'a [&'a str], bool)];
        let cases: &[(&str, &[u8], Division, Blocks)] = &[
            (
                "lines",
                b"a\nbb\nccccccccccccc\nddd",
                Division::Lines,
                &[(&["a\n", "bb\n"], false), (&["ccccccccccccc\n"], false), (&["ddd"], false)],
            ),
            (
                "a long line in parts",
                b"aaa|bbb|ccc|ddd\ne",
                Division::Lines,
                &[(&["aaa|bbb"], true), (&["|ccc"], true), (&["|ddd\n", "e"], false)],
            ),
            (
                "one document",
                b"aaa|bbb\n|cccccccccccc",
                Division::Whole,
                &[(&["aaa"], true), (&["|bbb\n"], true), (&["|cccccccccccc"], false)],
            ),
            (
                "no cut next to invalid bytes",
                b"aa|\xff\xffbbbbbbbbb",
                Division::Whole,
                &[(&["aa|\u{fffd}\u{fffd}bbbbbbbbb"], false)],
            ),
            ("nothing", b"", Division::Lines, &[]),
        ];
        for (name, text, division, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(documents, more)| (documents.iter().map(|d| d.to_string()).collect(), *more))
                .collect();
            assert_eq!(blocks(text, division.clone(), 8, Some(cut)), expected, "{name}");
        }
    }

    #[test]
    fn joined_parts_equal_the_text() {
        let text = "añb|c\nd€e||f\n\n|".repeat(20);
        for division in [Division::Lines, Division::Whole] {
            for block_bytes in 1..40 {
                for cut in [None, Some(&(|text: &str| text.rfind('|')) as &Cut)] {
                    let joined: String = blocks(text.as_bytes(), division.clone(), block_bytes, cut)
                        .into_iter()
                        .flat_map(|(documents, _)| documents)
                        .collect();
                    assert_eq!(joined, text, "{division:?} {block_bytes}");
                }
            }
        }
    }
}
