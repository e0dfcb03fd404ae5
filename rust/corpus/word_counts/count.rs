//! Counting: worker threads read, split and count. The result does not depend on their order.
//!
//! The calling thread waits, reports progress and passes on a request to stop. Each worker has a
//! separate table; at the end the sorted tables are merged. A table that would exceed its share of
//! `max_memory` is written to disk as a sorted run and emptied.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::CountOptions;
use super::file::{CountsWriter, Header};
use super::ranges;
use super::run::{self, SortedRun, Spilled};
use super::table::CountTable;
use super::worker::{Keys, State, Worker};
use super::{Sample, WordCounts};
use crate::corpus::Source;
use crate::error::{Error, Result};
use crate::parallel;
use crate::pipeline::Pipeline;
use crate::progress::{Progress, Stage};

/// Follows the last piece of a line in counts with [`CountOptions::line_ends`]. SentencePiece ends
/// sentences with the same character, and trainers in its manner interpret it.
pub const LINE_END: char = '\0';

/// Makes the keys of one thread.
type MakeKeys<'a> = dyn Fn() -> Keys<'a> + Sync + 'a;

/// How often the calling thread reports; half of the interval of [`Progress`].
const WAIT: Duration = Duration::from_millis(25);

/// Counts the pieces of all documents of `source`.
///
/// # Errors
/// Errors of reading and splitting, the earliest in the corpus first; [`Error::Cancelled`] if
/// `progress` asks to stop; [`Error::Option`] for a `max_piece_bytes` too small for a character.
pub fn count(
    source: &mut dyn Source,
    pipeline: &Pipeline,
    options: &CountOptions,
    progress: &mut Progress,
) -> Result<WordCounts> {
    count_by(source, pipeline, options, None, progress)
}

/// As [`count`], but counts the keys that `keys` makes of the documents; called once per thread.
///
/// # Errors
/// As [`count`], and those of the keys.
#[cfg(feature = "train")]
pub(crate) fn count_keys<'a>(
    source: &mut dyn Source,
    pipeline: &Pipeline,
    options: &CountOptions,
    keys: &MakeKeys<'a>,
    progress: &mut Progress,
) -> Result<WordCounts> {
    // A key must not be cut.
    let options = CountOptions { max_piece_bytes: Some(usize::MAX), line_ends: false, ..options.clone() };
    count_by(source, pipeline, &options, Some(keys), progress)
}

pub(super) fn count_by(
    source: &mut dyn Source,
    pipeline: &Pipeline,
    options: &CountOptions,
    keys: Option<&MakeKeys<'_>>,
    progress: &mut Progress,
) -> Result<WordCounts> {
    let mut counted = Counted::of(source, pipeline, options, keys, progress)?;
    let mut words = WordCounts::of_header(counted.header.clone());
    if counted.spilled.is_empty() {
        let n_threads = counted.tables.len();
        ranges::merge(&counted.tables, n_threads, &options.temp_dir(), progress, &mut words)?;
        return Ok(words);
    }
    counted.merge(options, progress, |piece, count| words.push(piece, count))?;
    Ok(words)
}

/// As [`count`], but writes the result to a count file without holding it in memory.
///
/// # Errors
/// As [`count`], and [`Error::Io`] for the output.
pub fn count_to_file(
    source: &mut dyn Source,
    pipeline: &Pipeline,
    options: &CountOptions,
    output: &std::path::Path,
    progress: &mut Progress,
) -> Result<Header> {
    let mut counted = Counted::of(source, pipeline, options, None, progress)?;
    let header = counted.header.clone();
    let mut writer = CountsWriter::create(output, &header)?;
    counted.merge(options, progress, |piece, count| writer.push(piece, count))?;
    writer.finish()?;
    Ok(header)
}

/// The counts of all workers before merging.
struct Counted {
    tables: Vec<CountTable>,
    spilled: Vec<Spilled>,
    header: Header,
}

impl Counted {
    fn of(
        source: &mut dyn Source,
        pipeline: &Pipeline,
        options: &CountOptions,
        keys: Option<&MakeKeys<'_>>,
        progress: &mut Progress,
    ) -> Result<Self> {
        pipeline.check()?;
        let max_piece_bytes = options.max_piece_bytes(&pipeline.pre_tokenizer)?;
        let sample = options.sample.map(|sample| Sample::of(&sample, source)).transpose()?.flatten();
        // With line ends, parts of a line would each seem to end a line. A sample takes a document
        // or leaves it, so it must be whole.
        if !options.line_ends && sample.is_none() {
            source.cut_for(pipeline);
        }
        let meter = source.meter();
        let threads = parallel::n_threads(options.threads);
        let state = Mutex::new(State::new(source));
        let (workers, stopped) = std::thread::scope(|scope| {
            let (sender, receiver) = channel::<()>();
            let workers: Vec<_> = (0..threads)
                .map_while(|_| {
                    let (state, meter, sender) = (&state, &*meter, sender.clone());
                    parallel::spawn(scope, move || {
                        let limits = (max_piece_bytes, threads);
                        let mut worker =
                            Worker::new(pipeline, options, sample, limits, meter, keys.map(|keys| keys()));
                        worker.work(state, &mut || Ok(()));
                        drop(sender);
                        worker
                    })
                })
                .collect();
            drop(sender);
            if workers.is_empty() {
                // The system cannot start a thread, so the calling thread counts.
                let limits = (max_piece_bytes, 1);
                let mut worker =
                    Worker::new(pipeline, options, sample, limits, &meter, keys.map(|keys| keys()));
                let mut tick = || progress.tick(Stage::Count, meter.done(), meter.total());
                worker.work(&state, &mut tick);
                return (vec![Ok(worker)], None);
            }
            let mut stopped = None;
            // Workers send nothing. The channel disconnects when the last worker drops its sender.
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
        let header = Header {
            line_ends: options.line_ends,
            samples: sample.into_iter().collect(),
            ..Header::new(pipeline.clone())
        };
        let mut counted = Self { tables: Vec::new(), spilled: Vec::new(), header };
        for worker in workers {
            let mut worker = worker.map_err(|_| Error::Internal("a counting thread panicked".to_owned()))?;
            counted.header.totals = counted.header.totals.add(&worker.totals())?;
            counted.spilled.extend(worker.spilled());
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
