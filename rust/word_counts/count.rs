//! Counting: worker threads that read, split and count; exact in any order.
//!
//! The calling thread only waits, reports and passes on a request to stop.
//! Each worker counts into a table of its own; sorted, the tables are runs
//! of one merge. A table that would outgrow its share of `max_memory` is
//! written out as a sorted run and emptied.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::file::{CountsWriter, Header};
use super::options::CountOptions;
use super::run::{self, SortedRun, SpillWriter, Spilled};
use super::table::Table;
use super::{Totals, WordCounts};
use crate::corpus::{BLOCK_BYTES, Block, Document, Meter, Source, Tally};
use crate::error::{Error, Result};
use crate::parallel;
use crate::piece_table::MAX_KEY;
use crate::pipeline::{Pieces, Pipeline};
use crate::progress::{Progress, Stage};

/// Stands behind the last piece of a line in counts that mark where lines end;
/// trainers in SentencePiece's manner take it for that, whose sentences end
/// with the same character.
pub const LINE_END: char = '\0';

/// How often the calling thread looks up; half of what [`Progress`] waits.
const WAIT: Duration = Duration::from_millis(25);

/// The pieces of all documents of `source`, counted.
///
/// # Errors
/// What reading and splitting meet, the earliest in the corpus first;
/// [`Error::Cancelled`] when `progress` asks to stop; [`Error::Option`] for a
/// `max_piece_bytes` that cannot hold a character.
pub fn count(
    source: &mut dyn Source,
    pipeline: &Pipeline,
    options: &CountOptions,
    progress: &mut Progress,
) -> Result<WordCounts> {
    let mut words = WordCounts::empty(pipeline.clone());
    let mut counted = Counted::of(source, pipeline, options, progress)?;
    words.totals = counted.totals;
    counted.merge(options, progress, |piece, count| {
        words.push(piece, count);
        Ok(())
    })?;
    Ok(words)
}

/// As [`count`], but the result goes to a count file and is never held.
///
/// # Errors
/// As [`count`], and [`Error::Io`] of the output.
pub fn count_to_file(
    source: &mut dyn Source,
    pipeline: &Pipeline,
    options: &CountOptions,
    output: &std::path::Path,
    progress: &mut Progress,
) -> Result<Header> {
    let mut counted = Counted::of(source, pipeline, options, progress)?;
    let header = Header { pipeline: pipeline.clone(), totals: counted.totals };
    let mut writer = CountsWriter::create(output, &header)?;
    counted.merge(options, progress, |piece, count| writer.push(piece, count))?;
    writer.finish()?;
    Ok(header)
}

/// The counts of all workers, not yet merged.
struct Counted {
    tables: Vec<Table>,
    spilled: Vec<Spilled>,
    totals: Totals,
}

impl Counted {
    fn of(
        source: &mut dyn Source,
        pipeline: &Pipeline,
        options: &CountOptions,
        progress: &mut Progress,
    ) -> Result<Self> {
        if options.max_piece_bytes < char::MAX.len_utf8() {
            return Err(Error::Option {
                option: "max_piece_bytes",
                value: options.max_piece_bytes.to_string(),
                reason: format!("a character takes up to {} bytes", char::MAX.len_utf8()),
            });
        }
        // Parts of a line would end like lines.
        if !options.line_ends {
            source.cut_for(pipeline);
        }
        let meter = source.meter();
        let threads = parallel::n_threads(options.threads);
        let state = Mutex::new(State { source, blocks: 0, ended: false, failed: None });
        let (workers, stopped) = std::thread::scope(|scope| {
            let (sender, receiver) = channel::<()>();
            let workers: Vec<_> = (0..threads)
                .map_while(|_| {
                    let (state, meter, sender) = (&state, &*meter, sender.clone());
                    parallel::spawn(scope, move || {
                        let mut worker = Worker::new(pipeline, options, threads, meter);
                        worker.work(state, &mut || Ok(()));
                        drop(sender);
                        worker
                    })
                })
                .collect();
            drop(sender);
            if workers.is_empty() {
                // The system gives no thread: the calling one counts.
                let mut worker = Worker::new(pipeline, options, 1, &meter);
                let mut tick = || progress.tick(Stage::Count, meter.done(), meter.total());
                worker.work(&state, &mut tick);
                return (vec![Ok(worker)], None);
            }
            let mut stopped = None;
            // Every worker holds a sender until it ends, so nothing is sent:
            // the channel is disconnected when the last one is done.
            while receiver.recv_timeout(WAIT) != Err(RecvTimeoutError::Disconnected) {
                if stopped.is_none()
                    && let Err(error) = progress.tick(Stage::Count, meter.done(), meter.total())
                {
                    stopped = Some(error);
                    meter.stop();
                }
            }
            (workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>(), stopped)
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = state.failed {
            return Err(error);
        }
        let mut counted = Self { tables: Vec::new(), spilled: Vec::new(), totals: Totals::default() };
        for worker in workers {
            let worker = worker.map_err(|_| Error::Internal("a counting thread panicked".to_owned()))?;
            let mut totals = Totals::of_tally(&worker.tally);
            (totals.pieces, totals.pieces_cut) = (worker.pieces, worker.pieces_cut);
            counted.totals = counted.totals.add(&totals)?;
            counted.spilled.extend(worker.spilled.into_iter().flatten());
            counted.tables.push(worker.table);
        }
        progress.report(Stage::Count, meter.done(), meter.total())?;
        Ok(counted)
    }

    fn merge(
        &mut self,
        options: &CountOptions,
        progress: &mut Progress,
        sink: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let mut runs: Vec<SortedRun> = self.spilled.drain(..).map(SortedRun::Spilled).collect();
        runs.extend(self.tables.iter().map(|table| SortedRun::Table(table.sorted())));
        run::merge(runs, &options.temp_dir(), progress, sink)
    }
}

/// What the workers share.
struct State<'a> {
    source: &'a mut dyn Source,
    /// How many blocks were given.
    blocks: u64,
    ended: bool,
    /// The error of the earliest block. All blocks before it were given
    /// before it was, so which one is earliest does not depend on timing.
    failed: Option<(u64, Error)>,
}

impl State<'_> {
    /// Fills `block` and returns its number; `None` when there is no more work.
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

/// One thread's part of the work.
struct Worker<'a> {
    pipeline: &'a Pipeline,
    options: &'a CountOptions,
    meter: &'a Meter,
    max_piece_bytes: usize,
    /// Bytes the table may take.
    budget: usize,
    table: Table,
    /// The last piece of a line so far.
    last: Vec<u8>,
    /// Level n holds runs made of about `FAN_IN ^ n` tables each, so that few
    /// files are open and each piece is rewritten a logarithm of times.
    spilled: Vec<Vec<Spilled>>,
    tally: Tally,
    pieces: u64,
    pieces_cut: u64,
}

impl<'a> Worker<'a> {
    /// A table smaller than this would spill more often than it counts.
    const MIN_BUDGET: usize = 1 << 18;

    /// How many spilled runs of a level become one of the next.
    const FAN_IN: usize = 16;

    fn new(pipeline: &'a Pipeline, options: &'a CountOptions, threads: usize, meter: &'a Meter) -> Self {
        let budget = options.max_memory.map_or(usize::MAX, |most| {
            let share = usize::try_from(most / threads as u64).unwrap_or(usize::MAX);
            share.saturating_sub(2 * BLOCK_BYTES).max(Self::MIN_BUDGET)
        });
        Self {
            pipeline,
            options,
            meter,
            max_piece_bytes: options.max_piece_bytes,
            budget,
            table: Table::new(),
            last: Vec::new(),
            spilled: Vec::new(),
            tally: Tally::default(),
            pieces: 0,
            pieces_cut: 0,
        }
    }

    /// Counts blocks until there are no more, with a `tick` before each.
    fn work(&mut self, state: &Mutex<State>, tick: &mut dyn FnMut() -> Result<()>) {
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
        block.for_each_document(&mut tally, |document| {
            meter.check()?;
            match self.options.line_ends {
                true => self.line(document),
                false => document.for_each_chunk(pipeline, |pieces| self.pieces(pieces)),
            }
        })?;
        self.tally = tally;
        Ok(())
    }

    /// Counts the pieces of a line, and marks where it ends.
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
        // Within a long document too.
        self.meter.check()?;
        if self.max_piece_bytes < MAX_KEY {
            return pieces.iter().try_for_each(|piece| self.piece(&text[piece.range()]));
        }
        self.table.begin(text, pieces);
        let mut done = 0;
        loop {
            let next = self.table.add_next(done, pieces.len());
            self.pieces += (next - done) as u64;
            let Some(piece) = pieces.get(next) else { return Ok(()) };
            self.piece(&text[piece.range()])?;
            done = next + 1;
        }
    }

    fn piece(&mut self, piece: &[u8]) -> Result<()> {
        if piece.len() > self.max_piece_bytes {
            return self.long_piece(piece);
        }
        self.pieces += 1;
        if self.table.add(piece) { Ok(()) } else { self.make_room(piece) }
    }

    #[cold]
    fn make_room(&mut self, piece: &[u8]) -> Result<()> {
        if self.table.len() > 0 && self.table.bytes_if_grown(piece) > self.budget {
            self.spill()?;
        }
        // A table just emptied may still be too small for one huge piece.
        while !self.table.add(piece) {
            self.table.grow(piece)?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.table.sort();
        let mut writer = SpillWriter::new(&self.options.temp_dir())?;
        let mut sorted = self.table.sorted();
        while sorted.advance() {
            writer.push(sorted.piece(), sorted.count())?;
        }
        self.table.clear();
        let mut run = writer.finish()?;
        let mut level = 0;
        loop {
            if level == self.spilled.len() {
                self.spilled.push(Vec::new());
            }
            self.spilled[level].push(run);
            if self.spilled[level].len() < Self::FAN_IN {
                return Ok(());
            }
            let runs = self.spilled[level].drain(..).map(SortedRun::Spilled).collect();
            let (dir, meter) = (self.options.temp_dir(), self.meter);
            let mut writer = SpillWriter::new(&dir)?;
            run::merge(runs, &dir, &mut Progress::silent(), |piece, count| {
                meter.check()?;
                writer.push(piece, count)
            })?;
            run = writer.finish()?;
            level += 1;
        }
    }

    /// Counts a piece in parts, each as long as allowed.
    #[cold]
    fn long_piece(&mut self, piece: &[u8]) -> Result<()> {
        self.pieces_cut += 1;
        let most = self.max_piece_bytes;
        let mut rest = piece;
        while rest.len() > most {
            // Continuation bytes look like 10xxxxxx; text has at most three in
            // a row, and bytes that are not text may be cut anywhere.
            let is_start = |at: usize| rest.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
            let end = (most - 3..=most).rev().find(|&at| at > 0 && is_start(at)).unwrap_or(most);
            let (part, after) = rest.split_at(end);
            self.piece(part)?;
            rest = after;
        }
        self.piece(rest)
    }
}
