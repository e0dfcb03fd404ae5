//! `WordCounts`: pieces with their counts, and the pipeline that split the text.
//!
//! Trainers see a corpus only through its counts. The counts of parts of a corpus add up to the
//! counts of the whole, so counting may be distributed over threads, processes and machines.
//! (A minimum count would break this, because a part cannot apply it; it is applied to the whole.) Memory is
//! proportional to the distinct pieces; if that is too much, [`count_to_file`] and [`merge_files`]
//! work with sorted runs on disk.

mod count;
mod file;
mod mixture;
mod ranges;
mod run;
mod sample;
#[cfg(feature = "train")]
mod superword_counts;
mod table;
mod totals;
mod worker;

use std::path::{Path, PathBuf};

#[cfg(feature = "train")]
use sha2::{Digest, Sha256};

pub use count::{LINE_END, count, count_to_file};
pub use file::{CountsReader, CountsWriter, Header, merge_files, read_header};
pub use mixture::{MixedSource, Part, Weight, mix};
pub use sample::{Sample, SampleOptions, SampleSize};
#[cfg(feature = "train")]
pub use superword_counts::SuperwordCounts;
pub(crate) use table::CountTable;
pub use totals::Totals;
#[cfg(feature = "train")]
pub(crate) use {count::count_keys, superword_counts::counted, worker::Keys};

use crate::corpus::{InvalidUtf8, IterSource};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::pipeline::Pipeline;
#[cfg(feature = "train")]
use crate::pipeline::hex;
use crate::pre_tokenizer::PreTokenizer;
use crate::progress::Progress;
use run::SortedRun;

/// Options for counting. Only `max_piece_bytes`, `line_ends` and `sample` affect the result.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CountOptions {
    /// The number of threads; `None` means [`default_threads`](crate::parallel::default_threads).
    pub threads: Option<usize>,
    /// The memory for all tables together, in bytes. Beyond it, tables spill to `temp_dir`.
    pub max_memory: Option<u64>,
    /// Longer pieces are cut at character boundaries and counted in
    /// [`Totals::pieces_cut`]. `None` means [`CountOptions::MAX_PIECE_BYTES`], but no limit for the
    /// stretches of superwords, which are many pieces each.
    pub max_piece_bytes: Option<usize>,
    /// Treats each document as a line, as SentencePiece does: drops its line feed, and appends
    /// [`LINE_END`] to its last piece.
    pub line_ends: bool,
    /// Counts only a random sample of the documents.
    pub sample: Option<SampleOptions>,
    /// The directory for spilled runs; `None` means the temporary directory of the system.
    pub temp_dir: Option<PathBuf>,
}

impl CountOptions {
    /// Longer than any piece of natural text, and short enough for any trainer.
    pub const MAX_PIECE_BYTES: usize = 1 << 16;

    /// The limit of the pieces of a pre-tokenizer.
    ///
    /// # Errors
    /// [`Error::Option`] for one that is too small for a character.
    pub(crate) fn max_piece_bytes(&self, pre_tokenizer: &PreTokenizer) -> Result<usize> {
        match self.max_piece_bytes {
            Some(most) if most < char::MAX.len_utf8() => Err(Error::Option {
                option: "max_piece_bytes",
                value: most.to_string(),
                reason: format!("a character takes up to {} bytes", char::MAX.len_utf8()),
            }),
            Some(most) => Ok(most),
            None if matches!(pre_tokenizer, PreTokenizer::Superwords { .. }) => Ok(usize::MAX),
            None => Ok(Self::MAX_PIECE_BYTES),
        }
    }

    pub(crate) fn temp_dir(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// Pieces with their counts, sorted by bytes; immutable.
///
/// ```
/// use sentitok::{Pipeline, PreTokenizer, WordCounts};
///
/// let pipeline = Pipeline::new(PreTokenizer::Bytes);
/// let counts = WordCounts::from_pairs(pipeline, [("low", 5), ("new", 6), ("low", 1)])?;
/// assert_eq!(counts.get(b"low"), Some(6));
/// assert_eq!(counts.add(&counts)?.get(b"new"), Some(12));
/// # Ok::<(), sentitok::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WordCounts {
    header: Header,
    bytes: Vec<u8>,
    /// The end of each piece in `bytes`.
    ends: Vec<usize>,
    counts: Vec<u64>,
}

impl WordCounts {
    /// Counts without pieces.
    pub fn empty(pipeline: Pipeline) -> Self {
        Self::of_header(Header::new(pipeline))
    }

    fn of_header(header: Header) -> Self {
        Self { header, bytes: Vec::new(), ends: Vec::new(), counts: Vec::new() }
    }

    /// Counts from elsewhere, in any order. Adds the counts of equal pieces and drops counts of 0.
    /// Since no text was read, of the totals only [`Totals::pieces`] is known.
    ///
    /// # Errors
    /// [`Error::CountOverflow`]; [`Error::Format`] for an empty piece; as [`Pipeline::check`].
    pub fn from_pairs<P: AsRef<[u8]>>(
        pipeline: Pipeline,
        pairs: impl IntoIterator<Item = (P, u64)>,
    ) -> Result<Self> {
        pipeline.check()?;
        let mut sorted: Vec<(P, u64)> = Vec::new();
        for pair in pairs.into_iter().filter(|pair| pair.1 > 0) {
            memory::push(&mut sorted, pair)?;
        }
        let mut pairs = sorted;
        pairs.sort_unstable_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        let mut words = Self::empty(pipeline);
        for same in pairs.chunk_by(|a, b| a.0.as_ref() == b.0.as_ref()) {
            let piece = same[0].0.as_ref();
            if piece.is_empty() {
                return Err(Error::format("counts", "a piece is empty; leave it out"));
            }
            let sum = same.iter().try_fold(0u64, |sum, pair| sum.checked_add(pair.1));
            let sum = sum.ok_or_else(|| run::overflow(piece))?;
            words.header.totals.add_pieces(sum)?;
            words.push(piece, sum)?;
        }
        Ok(words)
    }

    /// Counts the pieces of texts in memory, using all threads.
    ///
    /// # Errors
    /// As [`count`].
    pub fn from_texts<I>(pipeline: &Pipeline, texts: I) -> Result<Self>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
        I::IntoIter: Send,
    {
        let mut source = IterSource::from_documents(texts, InvalidUtf8::Error);
        count(&mut source, pipeline, &CountOptions::default(), &mut Progress::silent())
    }

    /// The sum of both. Associative and commutative.
    ///
    /// # Errors
    /// [`Error::PipelineMismatch`], [`Error::CountOverflow`].
    pub fn add(&self, other: &Self) -> Result<Self> {
        let mut sum = Self::of_header(self.header.add(&other.header, "", "")?);
        sum.bytes.make_room(self.bytes.len().max(other.bytes.len()))?;
        let runs = vec![SortedRun::of_words(self), SortedRun::of_words(other)];
        run::merge(runs, Path::new(""), &mut Progress::silent(), |piece, count| sum.push(piece, count))?;
        Ok(sum)
    }

    /// The counts of pieces that occur at least `min_count` times.
    ///
    /// # Errors
    /// [`Error::CountOverflow`] if the totals of dropped pieces exceed 2^64 - 1;
    /// [`Error::Memory`].
    pub fn without_rare(&self, min_count: u64) -> Result<Self> {
        let mut kept = Self::of_header(self.header.clone());
        kept.header.totals.pieces = 0;
        for (piece, count) in self.iter() {
            if count < min_count {
                kept.header.totals.drop_piece(count)?;
            } else {
                kept.header.totals.add_pieces(count)?;
                kept.push(piece, count)?;
            }
        }
        Ok(kept)
    }

    /// The count of a piece.
    pub fn get(&self, piece: &[u8]) -> Option<u64> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.piece(middle).cmp(piece) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return self.counts.get(middle).copied(),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// The pieces with their counts, in ascending order of bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        (0..self.len()).map(|at| (self.piece(at), self.counts[at]))
    }

    /// The number of distinct pieces.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The totals of the input and of the counts.
    pub fn totals(&self) -> &Totals {
        &self.header.totals
    }

    /// The samples of documents that were counted; none if every document was.
    pub fn samples(&self) -> &[Sample] {
        &self.header.samples
    }

    /// Whether the last piece of each line is marked ([`CountOptions::line_ends`]).
    pub fn line_ends(&self) -> bool {
        self.header.line_ends
    }

    /// The bytes of all pieces times their counts.
    pub fn piece_bytes(&self) -> u128 {
        self.iter().map(|(piece, count)| piece.len() as u128 * u128::from(count)).sum()
    }

    /// SHA-256 of the pipeline and of the pieces with their counts, in hexadecimal.
    #[cfg(feature = "train")]
    pub(crate) fn fingerprint(&self) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(self.header.pipeline.to_json()?);
        hash.update(&self.bytes);
        for (&end, &count) in self.ends.iter().zip(&self.counts) {
            hash.update((end as u64).to_le_bytes());
            hash.update(count.to_le_bytes());
        }
        Ok(hex(&hash.finalize()))
    }

    /// The pipeline that split the text.
    pub fn pipeline(&self) -> &Pipeline {
        &self.header.pipeline
    }

    fn piece(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// Adds a piece, which must be greater than all present ones.
    fn push(&mut self, piece: &[u8], count: u64) -> Result<()> {
        memory::extend(&mut self.bytes, piece)?;
        memory::push(&mut self.ends, self.bytes.len())?;
        memory::push(&mut self.counts, count)
    }
}
