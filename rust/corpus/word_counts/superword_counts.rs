//! `SuperwordCounts`: counted stretches of pieces, from which superwords are trained instead of text.
//!
//! A stretch has all that training needs of a text, because no superword crosses its ends. Stretches are
//! read from their files each time, and are never held all at once.

use std::fs::File;
use std::io::BufReader;

use super::count::count_by;
use super::file::CountsReader;
use super::mixture::{self, MixedSource, Part, Weight};
use super::{CountOptions, Header, Keys, WordCounts};
use crate::corpus::{Document, DocumentSink, InvalidUtf8, IterSource, Source};
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, SuperwordPieces};
use crate::progress::Progress;

/// Counts of the stretches of a pre-tokenizer such as `gpt2-superwords`.
pub struct SuperwordCounts {
    parts: Vec<(Part, Weight)>,
    header: Header,
    sources: Vec<MixedSource>,
    pieces: SuperwordPieces,
}

impl SuperwordCounts {
    /// Takes counts with their weights, and reads the headers of files.
    ///
    /// # Errors
    /// [`Error::Option`] for counts of something else; else as [`mixture::mix`].
    pub fn new(parts: Vec<(Part, Weight)>) -> Result<Self> {
        let (header, sources) = mixture::headers(&parts)?;
        let PreTokenizer::Superwords { pieces } = header.pipeline.pre_tokenizer else {
            let name = header.pipeline.pre_tokenizer.name();
            let file = sources.first().and_then(|source| source.path.as_ref());
            let of = file.map_or_else(String::new, |path| format!("{}: ", path.display()));
            let superwords = match SuperwordPieces::of(&header.pipeline.pre_tokenizer) {
                Some(_) => format!("{name}-superwords"),
                None => "gpt2-superwords".to_owned(),
            };
            return Err(Error::Option {
                option: "counts",
                value: format!("{of}pieces of {name}"),
                reason: format!(
                    "counts of pieces do not say which pieces follow each other; count the text with the \
                     pre-tokenizer {superwords}, or train without superwords on these counts and add them \
                     from text with extend"
                ),
            });
        };
        if pieces.crosses_lines() {
            return Err(Error::Option {
                option: "counts",
                value: header.pipeline.pre_tokenizer.name().to_owned(),
                reason: "these stretches do not say where their white space is cut; train from the text, or \
                         count without across-lines"
                    .to_owned(),
            });
        }
        if header.line_ends {
            return Err(Error::Option {
                option: "counts",
                value: "line ends".to_owned(),
                reason: "these counts mark where lines end, which superwords do not read; count without"
                    .to_owned(),
            });
        }
        Ok(Self { parts, header, sources, pieces })
    }

    /// A description of each source.
    pub fn sources(&self) -> &[MixedSource] {
        &self.sources
    }

    /// The pipeline of the pieces that the stretches are made of.
    pub fn pipeline(&self) -> Pipeline {
        Pipeline {
            normalizer: self.header.pipeline.normalizer.clone(),
            pre_tokenizer: self.pieces.pre_tokenizer(),
        }
    }

    /// A source of documents that are each a stretch behind its count (`counted`).
    pub fn source(&self) -> impl Source + '_ {
        let mut parts = self.parts.iter().zip(&self.sources);
        let mut open: Option<(Open<'_>, u64)> = None;
        let mut document = Vec::new();
        IterSource::new("<counts>", InvalidUtf8::Bytes, move |sink: &mut DocumentSink<'_>| {
            loop {
                let Some((reader, factor)) = &mut open else {
                    let Some(((part, _), source)) = parts.next() else { return Ok(false) };
                    open = Some((Open::new(part)?, source.factor));
                    continue;
                };
                let Some((stretch, count)) = reader.next()? else {
                    open = None;
                    continue;
                };
                let count = count.checked_mul(*factor).ok_or_else(|| Error::CountOverflow {
                    what: format!("the stretch {:?} times its weight", String::from_utf8_lossy(stretch)),
                })?;
                document.clear();
                document.extend_from_slice(&count.to_le_bytes());
                document.extend_from_slice(stretch);
                if !sink.push(&document)? {
                    return Ok(true);
                }
            }
        })
    }

    /// Counts the pieces of all stretches, as if the text were counted.
    ///
    /// # Errors
    /// As [`count`](super::count).
    pub fn count_pieces(&self, options: &CountOptions, progress: &mut Progress) -> Result<WordCounts> {
        let inner = self.pieces.pre_tokenizer();
        let pieces = self.pieces;
        let keys = || -> Keys<'_> {
            let (inner, mut ends) = (&inner, Vec::new());
            Box::new(move |document, f| {
                let (stretch, n) = counted(document)?;
                let bytes = stretch.as_bytes();
                ends.clear();
                if let Document::Text(text) = stretch {
                    inner.for_each_piece(text, |piece| {
                        ends.push(piece);
                        Ok(())
                    })?;
                }
                // A stretch is pieces that join, or one that does not.
                if ends.iter().all(|piece| pieces.joins(&bytes[piece.clone()])) && !ends.is_empty() {
                    return ends.iter().try_for_each(|piece| f(&bytes[piece.clone()], n));
                }
                f(bytes, n)
            })
        };
        let options = CountOptions { line_ends: false, sample: None, ..options.clone() };
        let mut words = count_by(&mut self.source(), &self.pipeline(), &options, Some(&keys), progress)?;
        // The text was read when the stretches were counted.
        let (pieces, cut) = (words.header.totals.pieces, words.header.totals.pieces_cut);
        words.header.totals = self.header.totals;
        (words.header.totals.pieces, words.header.totals.pieces_cut) = (pieces, cut);
        words.header.samples.clone_from(&self.header.samples);
        Ok(words)
    }
}

/// The stretch of a document of [`SuperwordCounts::source`], and its count.
///
/// # Errors
/// [`Error::Internal`] for other documents.
pub(crate) fn counted<'a>(document: Document<'a>) -> Result<(Document<'a>, u64)> {
    let Some((count, stretch)) = document.as_bytes().split_first_chunk() else {
        return Err(Error::Internal("a stretch without a count".to_owned()));
    };
    let document = std::str::from_utf8(stretch).map_or(Document::Bytes(stretch), Document::Text);
    Ok((document, u64::from_le_bytes(*count)))
}

/// Counts that are being read.
enum Open<'a> {
    File(Box<CountsReader<BufReader<File>>>),
    Counts(&'a WordCounts, usize),
}

impl<'a> Open<'a> {
    fn new(part: &'a Part) -> Result<Self> {
        Ok(match part {
            Part::File(path) => Self::File(Box::new(CountsReader::open(path)?)),
            Part::Counts(words, _) => Self::Counts(words, 0),
        })
    }

    fn next(&mut self) -> Result<Option<(&[u8], u64)>> {
        match self {
            Self::File(reader) => {
                let is_one = reader.advance()?;
                Ok(is_one.then(|| (reader.piece(), reader.count())))
            }
            Self::Counts(words, at) => {
                let n = *at;
                *at += 1;
                Ok((n < words.len()).then(|| (words.piece(n), words.counts[n])))
            }
        }
    }
}
