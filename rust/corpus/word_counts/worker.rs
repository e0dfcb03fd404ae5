//! `Worker`: the work of one counting thread, and the state that threads share.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::count::LINE_END;
use super::run::{self, SortedRun, SpillWriter, Spilled};
use super::table::CountTable;
use super::{CountOptions, Sample, Totals};
use crate::cache::piece_table::MAX_KEY;
use crate::corpus::{BLOCK_BYTES, Block, Document, Meter, Source, Tally};
use crate::error::{Error, Result};
use crate::memory;
use crate::pipeline::{Pieces, Pipeline};
use crate::progress::Progress;

/// Turns a document into keys with how often each counts, instead of its pieces. One per thread.
pub(crate) type Keys<'a> =
    Box<dyn FnMut(Document<'_>, &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> + Send + 'a>;

/// The state that workers share.
pub(super) struct State<'a> {
    source: &'a mut dyn Source,
    /// The number of blocks handed out.
    blocks: u64,
    ended: bool,
    /// The error of the earliest block. All blocks before it were handed out before, so which error
    /// is earliest does not depend on timing.
    pub(super) failed: Option<(u64, Error)>,
}

impl<'a> State<'a> {
    /// The state before any block is handed out.
    pub(super) fn new(source: &'a mut dyn Source) -> Self {
        Self { source, blocks: 0, ended: false, failed: None }
    }

    /// Fills `block` and returns its number; `None` if there is no more work.
    fn fill(&mut self, block: &mut Block) -> Option<u64> {
        if self.ended || self.failed.is_some() {
            return None;
        }
        let number = self.blocks;
        match self.source.fill(block) {
            Ok(true) => {
                self.blocks += 1;
                Some(number)
            }
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.fail(number, error);
                None
            }
        }
    }

    fn fail(&mut self, block: u64, error: Error) {
        if self.failed.as_ref().is_none_or(|(earliest, _)| block < *earliest) {
            self.failed = Some((block, error));
        }
    }
}

/// The work of one thread.
pub(super) struct Worker<'a> {
    pipeline: &'a Pipeline,
    options: &'a CountOptions,
    sample: Option<Sample>,
    meter: &'a Meter,
    max_piece_bytes: usize,
    /// The memory for the table, in bytes.
    budget: usize,
    pub(super) table: CountTable,
    /// The most recent piece of the current line.
    last: Vec<u8>,
    /// Level n holds runs of about `FAN_IN ^ n` tables each in one file, so few files are open, and
    /// each piece is rewritten a logarithmic number of times.
    levels: Vec<Level>,
    tally: Tally,
    /// The totals that are not in the tally.
    counted: Totals,
    keys: Option<Keys<'a>>,
    waiting: Waiting,
}

/// Keys whose places in the table are being loaded.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The end of each, and how often it counts.
    ends: Vec<(usize, u64)>,
}

impl Waiting {
    const MOST: usize = 64;
}

impl<'a> Worker<'a> {
    /// With a smaller table, spilling would take more time than counting.
    const MIN_BUDGET: usize = 1 << 18;

    pub(super) fn new(
        pipeline: &'a Pipeline,
        options: &'a CountOptions,
        sample: Option<Sample>,
        (max_piece_bytes, threads): (usize, usize),
        meter: &'a Meter,
        keys: Option<Keys<'a>>,
    ) -> Self {
        let budget = options.max_memory.map_or(usize::MAX, |most| {
            let share = usize::try_from(most / threads as u64).unwrap_or(usize::MAX);
            share.saturating_sub(2 * BLOCK_BYTES).max(Self::MIN_BUDGET)
        });
        Self {
            pipeline,
            options,
            sample,
            meter,
            max_piece_bytes,
            budget,
            table: CountTable::new(),
            last: Vec::new(),
            levels: Vec::new(),
            tally: Tally::default(),
            counted: Totals::default(),
            keys,
            waiting: Waiting::default(),
        }
    }

    /// The totals of the input and of the counts.
    pub(super) fn totals(&self) -> Totals {
        let (read, counted) = (Totals::of_tally(&self.tally), &self.counted);
        Totals {
            documents: read.documents - counted.documents_left_out,
            bytes: read.bytes - counted.bytes_left_out,
            skipped: read.skipped,
            replaced: read.replaced,
            invalid_bytes: read.invalid_bytes,
            byte_order_marks: read.byte_order_marks,
            ..*counted
        }
    }

    /// Counts blocks until there are none left; calls `tick` before each.
    pub(super) fn work(&mut self, state: &Mutex<State>, tick: &mut dyn FnMut() -> Result<()>) {
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut block = Block::default();
        loop {
            let Some(number) = lock().fill(&mut block) else { break };
            if let Err(error) = tick().and_then(|()| self.count(&mut block)) {
                lock().fail(number, error);
                return;
            }
        }
        self.table.sort();
    }

    fn count(&mut self, block: &mut Block) -> Result<()> {
        let mut tally = self.tally;
        let (pipeline, meter) = (self.pipeline, self.meter);
        let mut keys = self.keys.take();
        block.for_each_document(&mut tally, |document| {
            meter.check()?;
            if self.sample.is_some_and(|sample| !sample.takes(document)) {
                self.counted.documents_left_out += 1;
                self.counted.bytes_left_out += document.as_bytes().len() as u64;
                return Ok(());
            }
            match (&mut keys, self.options.line_ends) {
                (Some(keys), _) => keys(document, &mut |key, n| self.key(key, n)),
                (None, true) => self.line(document),
                (None, false) => document.for_each_chunk(pipeline, |pieces| self.pieces(pieces)),
            }
        })?;
        (self.tally, self.keys) = (tally, keys);
        self.add_keys()
    }

    /// Counts a key with later ones.
    fn key(&mut self, key: &[u8], n: u64) -> Result<()> {
        self.table.prefetch(key);
        let Waiting { bytes, ends } = &mut self.waiting;
        memory::extend(bytes, key)?;
        memory::push(ends, (bytes.len(), n))?;
        if ends.len() < Waiting::MOST { Ok(()) } else { self.add_keys() }
    }

    fn add_keys(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut start = 0;
        for (end, n) in waiting.ends.drain(..) {
            self.piece_times(&waiting.bytes[start..end], n)?;
            start = end;
        }
        waiting.bytes.clear();
        self.waiting = waiting;
        Ok(())
    }

    /// Counts the pieces of a line and marks its end.
    fn line(&mut self, document: Document<'_>) -> Result<()> {
        let mut last = std::mem::take(&mut self.last);
        last.clear();
        let pipeline = self.pipeline;
        let mut next = |piece: &[u8]| {
            if !last.is_empty() {
                self.piece(&last)?;
            }
            last.clear();
            last.extend_from_slice(piece);
            Ok(())
        };
        let counted = document.without_line_feed().for_each_chunk(pipeline, |pieces| match pieces {
            Pieces::Chunk(text, pieces) => pieces.iter().try_for_each(|piece| next(&text[piece.range()])),
            Pieces::One(piece) => next(piece),
        });
        if !last.is_empty() {
            last.push(LINE_END as u8);
        }
        let counted = counted.and_then(|()| if last.is_empty() { Ok(()) } else { self.piece(&last) });
        self.last = last;
        counted
    }

    /// Counts the pieces of a chunk.
    fn pieces(&mut self, pieces: Pieces<'_>) -> Result<()> {
        let (text, pieces) = match pieces {
            Pieces::One(piece) => return self.piece(piece),
            Pieces::Chunk(text, pieces) => (text, pieces),
        };
        // Checks here, too, because a document may be long.
        self.meter.check()?;
        if self.max_piece_bytes < MAX_KEY {
            return pieces.iter().try_for_each(|piece| self.piece(&text[piece.range()]));
        }
        self.table.begin(text, pieces);
        let mut done = 0;
        loop {
            let next = self.table.add_next(done, pieces.len());
            self.counted.pieces += (next - done) as u64;
            let Some(piece) = pieces.get(next) else { return Ok(()) };
            self.piece(&text[piece.range()])?;
            done = next + 1;
        }
    }

    fn piece(&mut self, piece: &[u8]) -> Result<()> {
        self.piece_times(piece, 1)
    }

    fn piece_times(&mut self, piece: &[u8], n: u64) -> Result<()> {
        if piece.len() > self.max_piece_bytes {
            return self.long_piece(piece, n);
        }
        // No count of a table exceeds the number of pieces.
        self.counted.add_pieces(n)?;
        if self.table.add(piece, n) { Ok(()) } else { self.make_room(piece, n) }
    }

    #[cold]
    fn make_room(&mut self, piece: &[u8], n: u64) -> Result<()> {
        if self.table.len() > 0 && self.table.bytes_if_grown(piece) > self.budget {
            self.spill()?;
        }
        // Even an empty table may be too small for one huge piece.
        while !self.table.add(piece, n) {
            self.table.grow(piece)?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.table.sort();
        let dir = self.options.temp_dir();
        let first = level(&mut self.levels, 0, &dir)?;
        let mut sorted = self.table.sorted();
        while sorted.advance() {
            first.file.push(sorted.piece(), sorted.count())?;
        }
        self.table.clear();
        first.runs.push(first.file.finish_run()?);
        let (mut n, meter) = (0, self.meter);
        while self.levels[n].runs.len() == run::FAN_IN {
            // The file of this level is deleted when its runs have been merged.
            let full = std::mem::replace(&mut self.levels[n], Level::new(&dir)?);
            n += 1;
            let next = level(&mut self.levels, n, &dir)?;
            let runs = full.runs.into_iter().map(SortedRun::Spilled).collect();
            run::merge(runs, &dir, &mut Progress::silent(), |piece, count| {
                meter.check()?;
                next.file.push(piece, count)
            })?;
            next.runs.push(next.file.finish_run()?);
        }
        Ok(())
    }

    /// All spilled runs, of which each level has fewer than [`run::FAN_IN`].
    pub(super) fn spilled(&mut self) -> impl Iterator<Item = Spilled> {
        std::mem::take(&mut self.levels).into_iter().flat_map(|level| level.runs)
    }

    /// Counts a long piece in parts of the maximum length.
    #[cold]
    fn long_piece(&mut self, piece: &[u8], n: u64) -> Result<()> {
        self.counted.pieces_cut = self.counted.pieces_cut.saturating_add(n);
        let most = self.max_piece_bytes;
        let mut rest = piece;
        while rest.len() > most {
            // Continuation bytes have the form 10xxxxxx. Text has at most three in a row; invalid
            // bytes may be cut anywhere.
            let is_start = |at: usize| rest.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
            let end = (most - 3..=most).rev().find(|&at| at > 0 && is_start(at)).unwrap_or(most);
            let (part, after) = rest.split_at(end);
            self.piece_times(part, n)?;
            rest = after;
        }
        self.piece_times(rest, n)
    }
}

/// Spilled runs of about the same size, in one file.
struct Level {
    file: SpillWriter,
    runs: Vec<Spilled>,
}

impl Level {
    fn new(dir: &Path) -> Result<Self> {
        Ok(Self { file: SpillWriter::new(dir)?, runs: Vec::new() })
    }
}

/// Level `n`, added if it is missing.
fn level<'a>(levels: &'a mut Vec<Level>, n: usize, dir: &Path) -> Result<&'a mut Level> {
    if levels.len() == n {
        levels.push(Level::new(dir)?);
    }
    levels.get_mut(n).ok_or_else(|| Error::Internal(format!("level {n} of the spilled runs is missing")))
}
