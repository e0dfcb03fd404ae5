//! `SortedRun`: pieces with counts in ascending order, and the merging of many runs.
//!
//! Runs come from tables, spilled tables, count files and [`WordCounts`]. A merge holds one piece
//! per run and adds the counts of equal pieces, so the order of runs does not matter.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::WordCounts;
use super::file::CountsReader;
use super::table::Sorted;
use crate::atomic;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};

/// How many runs are merged at a time. Each may hold a file open, and some systems allow a process
/// only 64.
pub(super) const FAN_IN: usize = 32;

/// The size of the buffer of a run in a file.
const BUFFER_BYTES: usize = 1 << 16;

/// A sorted sequence of pieces with counts.
pub(super) enum SortedRun<'a> {
    Table(Sorted<'a>),
    /// A run in a temporary file, which gets its buffer when its merge begins.
    Spilled(Spilled),
    Spill(SpillReader),
    /// A count file, opened when its merge begins.
    Path(PathBuf),
    File(Box<CountsReader<BufReader<File>>>),
    Words {
        words: &'a WordCounts,
        next: usize,
    },
    /// A run whose counts are multiplied.
    Times {
        run: Box<SortedRun<'a>>,
        factor: u64,
        count: u64,
    },
}

impl<'a> SortedRun<'a> {
    pub fn of_words(words: &'a WordCounts) -> Self {
        Self::Words { words, next: 0 }
    }

    pub fn times(run: Self, factor: u64) -> Self {
        Self::Times { run: Box::new(run), factor, count: 0 }
    }

    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::Table(sorted) => Ok(sorted.advance()),
            Self::Spilled(spilled) => {
                let mut reader = SpillReader::new(spilled.clone());
                let more = reader.advance()?;
                *self = Self::Spill(reader);
                Ok(more)
            }
            Self::Spill(reader) => reader.advance(),
            Self::Path(path) => {
                let mut reader = CountsReader::open(path)?;
                let more = reader.advance()?;
                *self = Self::File(Box::new(reader));
                Ok(more)
            }
            Self::File(reader) => reader.advance(),
            Self::Words { words, next } => {
                *next += 1;
                Ok(*next <= words.len())
            }
            Self::Times { run, factor, count } => {
                if !run.advance()? {
                    return Ok(false);
                }
                *count = run.count().checked_mul(*factor).ok_or_else(|| overflow(run.piece()))?;
                Ok(true)
            }
        }
    }

    fn piece(&self) -> &[u8] {
        match self {
            Self::Table(sorted) => sorted.piece(),
            Self::Spill(reader) => &reader.piece,
            Self::Spilled(_) | Self::Path(_) => &[],
            Self::File(reader) => reader.piece(),
            Self::Words { words, next } => words.piece(next - 1),
            Self::Times { run, .. } => run.piece(),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Table(sorted) => sorted.count(),
            Self::Spill(reader) => reader.count,
            Self::Spilled(_) | Self::Path(_) => 0,
            Self::File(reader) => reader.count(),
            Self::Words { words, next } => words.counts[next - 1],
            Self::Times { count, .. } => *count,
        }
    }
}

/// Calls `sink` with each piece of all runs and the sum of its counts, in ascending order. Of more
/// than [`FAN_IN`] runs, some are first merged into files in `temp_dir`, one file for each pass.
pub(super) fn merge(
    mut runs: Vec<SortedRun>,
    temp_dir: &Path,
    progress: &mut Progress,
    mut sink: impl FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    while runs.len() > FAN_IN {
        // Merges no more runs than necessary, because each piece of them is written again.
        let mut excess = runs.len() - FAN_IN;
        let mut spill = SpillWriter::new(temp_dir)?;
        let mut merged = Vec::new();
        let mut rest = runs.into_iter();
        while excess > 0 && rest.len() > 1 {
            let few: Vec<_> = rest.by_ref().take(FAN_IN.min(excess + 1)).collect();
            excess -= few.len() - 1;
            merge_few(few, progress, &mut |piece, count| spill.push(piece, count))?;
            merged.push(SortedRun::Spilled(spill.finish_run()?));
        }
        runs = rest.chain(merged).collect();
    }
    merge_few(runs, progress, &mut sink)
}

fn merge_few(
    runs: Vec<SortedRun>,
    progress: &mut Progress,
    sink: &mut dyn FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    let mut heap = Heap::new(runs)?;
    let mut piece = Vec::new();
    let mut done = 0u64;
    while let Some(first) = heap.runs.first() {
        piece.clear();
        piece.extend_from_slice(first.piece());
        let mut sum = first.count();
        heap.advance_first()?;
        while let Some(next) = heap.runs.first().filter(|next| next.piece() == piece) {
            sum = sum.checked_add(next.count()).ok_or_else(|| overflow(&piece))?;
            heap.advance_first()?;
        }
        sink(&piece, sum)?;
        done += 1;
        if done.is_multiple_of(1 << 12) {
            progress.tick(Stage::Spill, done, 0)?;
        }
    }
    Ok(())
}

/// The error for a count that is too large.
pub(super) fn overflow(piece: &[u8]) -> Error {
    Error::CountOverflow { what: format!("{:?}", String::from_utf8_lossy(piece)) }
}

/// A binary min-heap of runs by their current pieces.
///
/// `std`'s heap is not suitable, because changing its first item requires moving it out.
struct Heap<'a> {
    runs: Vec<SortedRun<'a>>,
}

impl<'a> Heap<'a> {
    fn new(all: Vec<SortedRun<'a>>) -> Result<Self> {
        let mut runs = Vec::with_capacity(all.len());
        for mut run in all {
            if run.advance()? {
                runs.push(run);
            }
        }
        let mut heap = Self { runs };
        for at in (0..heap.runs.len() / 2).rev() {
            heap.sift_down(at);
        }
        Ok(heap)
    }

    fn advance_first(&mut self) -> Result<()> {
        if !self.runs[0].advance()? {
            self.runs.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.runs.len() && self.runs[child].piece() < self.runs[least].piece() {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.runs.swap(at, least);
            at = least;
        }
    }
}

/// Writes runs to a temporary file, one after another: length (u32), count (u64), bytes for each
/// piece. All runs of a file share its descriptor.
pub(super) struct SpillWriter {
    file: BufWriter<File>,
    shared: Arc<File>,
    dir: PathBuf,
    /// The start of the current run.
    start: u64,
    end: u64,
}

impl SpillWriter {
    /// A new file in `dir`, which is deleted with the process.
    pub fn new(dir: &Path) -> Result<Self> {
        let file = atomic::scratch(dir)?;
        let shared = Arc::new(file.try_clone().map_err(|error| Error::io(dir, error))?);
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { file, shared, dir: dir.to_path_buf(), start: 0, end: 0 })
    }

    pub fn push(&mut self, piece: &[u8], count: u64) -> Result<()> {
        let len = u32::try_from(piece.len())
            .map_err(|_| Error::Encode(format!("a piece of {} bytes; the limit is 4 GiB", piece.len())))?;
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&len.to_le_bytes());
        head[4..].copy_from_slice(&count.to_le_bytes());
        let result = self.file.write_all(&head).and_then(|()| self.file.write_all(piece));
        self.end += (HEAD + piece.len()) as u64;
        result.map_err(|error| Error::io(&self.dir, error))
    }

    /// Ends a run. Read it only after the last run of the file was written.
    pub fn finish_run(&mut self) -> Result<Spilled> {
        self.file.flush().map_err(|error| Error::io(&self.dir, error))?;
        let start = std::mem::replace(&mut self.start, self.end);
        Ok(Spilled { file: self.shared.clone(), dir: self.dir.clone(), at: start, end: self.end })
    }
}

/// The length and the count before each piece of a run.
const HEAD: usize = 12;

/// A run in a temporary file, whose other runs are read by the same thread.
#[derive(Clone)]
pub(super) struct Spilled {
    file: Arc<File>,
    dir: PathBuf,
    at: u64,
    end: u64,
}

impl Read for Spilled {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let most = out.len().min(left);
        let mut file = &*self.file;
        // The position of a file is common to all its runs.
        file.seek(SeekFrom::Start(self.at))?;
        let n = file.read(&mut out[..most])?;
        self.at += n as u64;
        Ok(n)
    }
}

/// Reads a run from a temporary file.
pub(super) struct SpillReader {
    file: BufReader<Spilled>,
    piece: Vec<u8>,
    count: u64,
}

impl SpillReader {
    fn new(run: Spilled) -> Self {
        Self { file: BufReader::with_capacity(BUFFER_BYTES, run), piece: Vec::new(), count: 0 }
    }

    fn advance(&mut self) -> Result<bool> {
        let mut head = [0; HEAD];
        match self.file.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(Error::io(&self.file.get_ref().dir, error)),
        }
        let [a, b, c, d, count @ ..] = head;
        self.count = u64::from_le_bytes(count);
        self.piece.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
        let read = self.file.read_exact(&mut self.piece);
        read.map_err(|error| Error::io(&self.file.get_ref().dir, error))?;
        Ok(true)
    }
}
