//! `SortedRun`: pieces with counts in ascending order, and the merging of many runs.
//!
//! Runs come from tables, spilled tables, count files and [`WordCounts`]. A merge holds one piece
//! per run and adds the counts of equal pieces, so the order of runs does not matter.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::WordCounts;
use super::file::CountsReader;
use super::table::Sorted;
use crate::atomic;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};

/// How many runs are merged at a time. Each may hold a file open, and a process may often open only
/// 1024.
const FAN_IN: usize = 128;

/// A sorted sequence of pieces with counts.
pub(super) enum SortedRun<'a> {
    Table(Sorted<'a>),
    Spilled(Spilled),
    /// A count file, opened when its merge begins.
    Path(PathBuf),
    File(Box<CountsReader<BufReader<File>>>),
    Words {
        words: &'a WordCounts,
        next: usize,
    },
}

impl<'a> SortedRun<'a> {
    pub fn of_words(words: &'a WordCounts) -> Self {
        Self::Words { words, next: 0 }
    }

    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::Table(sorted) => Ok(sorted.advance()),
            Self::Spilled(spilled) => spilled.advance(),
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
        }
    }

    fn piece(&self) -> &[u8] {
        match self {
            Self::Table(sorted) => sorted.piece(),
            Self::Spilled(spilled) => &spilled.piece,
            Self::Path(_) => &[],
            Self::File(reader) => reader.piece(),
            Self::Words { words, next } => words.piece(next - 1),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Table(sorted) => sorted.count(),
            Self::Spilled(spilled) => spilled.count,
            Self::Path(_) => 0,
            Self::File(reader) => reader.count(),
            Self::Words { words, next } => words.counts[next - 1],
        }
    }
}

/// Calls `sink` with each piece of all runs and the sum of its counts, in ascending order. More
/// than [`FAN_IN`] runs are first merged into files in `temp_dir`.
pub(super) fn merge(
    mut runs: Vec<SortedRun>,
    temp_dir: &Path,
    progress: &mut Progress,
    mut sink: impl FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    while runs.len() > FAN_IN {
        let rest = runs.split_off(FAN_IN);
        let mut writer = SpillWriter::new(temp_dir)?;
        merge_few(runs, progress, &mut |piece, count| writer.push(piece, count))?;
        runs = rest;
        runs.push(SortedRun::Spilled(writer.finish()?));
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

/// Writes a run to a temporary file: length (u32), count (u64), bytes for each piece.
pub(super) struct SpillWriter {
    file: BufWriter<File>,
    dir: PathBuf,
}

impl SpillWriter {
    /// A new file in `dir`, which is deleted with the process.
    pub fn new(dir: &Path) -> Result<Self> {
        let file = atomic::scratch(dir)?;
        Ok(Self { file: BufWriter::with_capacity(1 << 16, file), dir: dir.to_path_buf() })
    }

    pub fn push(&mut self, piece: &[u8], count: u64) -> Result<()> {
        let len = u32::try_from(piece.len())
            .map_err(|_| Error::Encode(format!("a piece of {} bytes; the limit is 4 GiB", piece.len())))?;
        let mut head = [0; 12];
        head[..4].copy_from_slice(&len.to_le_bytes());
        head[4..].copy_from_slice(&count.to_le_bytes());
        let result = self.file.write_all(&head).and_then(|()| self.file.write_all(piece));
        result.map_err(|error| Error::io(&self.dir, error))
    }

    /// The run, rewound to its start.
    pub fn finish(self) -> Result<Spilled> {
        let dir = self.dir;
        let file = self.file.into_inner().map_err(|error| Error::io(&dir, error.into_error()));
        let mut file = file?;
        file.rewind().map_err(|error| Error::io(&dir, error))?;
        Ok(Spilled { file: BufReader::with_capacity(1 << 16, file), dir, piece: Vec::new(), count: 0 })
    }
}

/// A run in a temporary file.
pub(super) struct Spilled {
    file: BufReader<File>,
    dir: PathBuf,
    piece: Vec<u8>,
    count: u64,
}

impl Spilled {
    fn advance(&mut self) -> Result<bool> {
        let mut head = [0; 12];
        match self.file.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(Error::io(&self.dir, error)),
        }
        let [a, b, c, d, count @ ..] = head;
        self.count = u64::from_le_bytes(count);
        self.piece.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
        self.file.read_exact(&mut self.piece).map_err(|error| Error::io(&self.dir, error))?;
        Ok(true)
    }
}
