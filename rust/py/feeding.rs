//! `feed`: runs a job on documents that the calling thread provides.
//!
//! An iterator belongs to the thread that called: that thread reads it into batches, which the
//! counting threads take. So a cursor that is bound to its thread works, Ctrl-C interrupts the
//! iterator itself, and its exceptions propagate unchanged.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::arrow::Column;
use super::progress::{Listener, run};
use crate::corpus::{InvalidUtf8, IterSource, Meter, Shard, Source};
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};

/// How many batches may wait. In addition one is being filled, and each thread may hold one.
const BATCHES_AHEAD: usize = 4;
/// How long to wait before trying again to send a batch.
const FULL_WAIT: Duration = Duration::from_millis(1);

/// The progress of the job, which the calling thread reports.
#[derive(Default)]
struct State {
    stage: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
}

impl State {
    const STAGES: [Stage; 6] =
        [Stage::Count, Stage::Spill, Stage::Merge, Stage::Seed, Stage::Prune, Stage::Encode];

    /// Stores the progress of the job; returns `false` if it should stop.
    fn set(&self, stage: Stage, done: u64, total: u64) -> bool {
        let number = Self::STAGES.iter().position(|&known| known == stage).unwrap_or(0);
        self.stage.store(number as u64, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        !self.stopped.load(Ordering::Relaxed)
    }

    fn report(&self, py: Python<'_>, listener: &mut Listener<'_>) -> bool {
        let stage = Self::STAGES[self.stage.load(Ordering::Relaxed) as usize % Self::STAGES.len()];
        listener.report(py, stage, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Runs a job on a separate thread, and feeds it from the calling thread.
///
/// If the system cannot start a thread, the calling thread reads everything into memory and then
/// runs the job.
pub(super) fn feed<T: Send, Job: FnOnce(&mut dyn Source, &mut Progress<'_>) -> Result<T> + Send>(
    py: Python<'_>,
    mut next: impl FnMut(&mut Column) -> PyResult<bool>,
    invalid_utf8: InvalidUtf8,
    shard: Option<Shard>,
    callback: Option<&Py<PyAny>>,
    job: Job,
) -> PyResult<T> {
    let state = State::default();
    let (sender, receiver) = sync_channel::<Column>(BATCHES_AHEAD);
    let (ended, mut end) = channel::<()>();
    let run_job = |receiver: Receiver<Column>, job: Job, progress: &mut Progress<'_>| {
        let meter = Arc::new(Meter::default());
        let next = taker(receiver, &state, meter.clone());
        let mut source =
            IterSource::new("<iterable>", invalid_utf8, next).with_shard(shard).with_meter(meter);
        job(&mut source, progress)
    };
    // Taken by the thread that runs the job: its own, or the calling thread if there is none.
    let waiting_job = Mutex::new(Some(job));
    let take = || {
        let job = waiting_job.lock().unwrap_or_else(PoisonError::into_inner).take();
        job.ok_or_else(|| Error::Internal("a job was taken twice".to_owned()))
    };
    std::thread::scope(|scope| {
        let (state, run_job, take) = (&state, &run_job, &take);
        let worker = parallel::spawn(scope, move || {
            // Dropped at the end, also by a panic, which ends the wait of the calling thread.
            let _ended = ended;
            let mut report = |stage, done, total| state.set(stage, done, total);
            run_job(receiver, take()?, &mut Progress::new(&mut report))
        });
        let Some(worker) = worker else {
            // Reads everything before the job begins, because one thread cannot do both at once.
            let (sender, receiver) = channel();
            let mut more = true;
            while more {
                py.check_signals()?;
                let mut batch = Column::default();
                more = next(&mut batch)?;
                // Cannot fail, because the receiver is in this function.
                let _ = sender.send(batch);
            }
            drop(sender);
            return run(py, callback, |progress| run_job(receiver, take()?, progress));
        };

        let mut feeder = Feeder { py, state, listener: Listener::new(callback), last_report: Instant::now() };
        let fed = feeder.feed(&mut next, &sender);
        if fed.is_err() {
            state.stopped.store(true, Ordering::Relaxed);
        }
        // Not earlier, because a job that was not stopped takes this for the end of the documents.
        drop(sender);
        let mut waiting = true;
        while waiting {
            // Waits in a loop instead of joining, to check for signals.
            let wait = Progress::INTERVAL / 2;
            let end = &mut end;
            waiting = py.detach(move || end.recv_timeout(wait)) == Err(RecvTimeoutError::Timeout);
            feeder.report();
        }
        let result = py.detach(|| worker.join());
        fed?;
        let result = result.unwrap_or_else(|_| Err(Error::Internal("a counting thread panicked".to_owned())));
        feeder.listener.finish(result)
    })
}

/// The calling thread's side of [`feed`].
struct Feeder<'a, 'py> {
    py: Python<'py>,
    state: &'a State,
    listener: Listener<'a>,
    last_report: Instant,
}

impl Feeder<'_, '_> {
    /// Reports progress to Python at intervals; returns `false` if the job should stop.
    fn report(&mut self) -> bool {
        if self.last_report.elapsed() >= Progress::INTERVAL {
            self.last_report = Instant::now();
            if !self.state.report(self.py, &mut self.listener) {
                self.state.stopped.store(true, Ordering::Relaxed);
            }
        }
        !self.state.stopped.load(Ordering::Relaxed)
    }

    /// Sends batches until there are none left, or the job takes no more.
    fn feed(
        &mut self,
        next: &mut impl FnMut(&mut Column) -> PyResult<bool>,
        sender: &SyncSender<Column>,
    ) -> PyResult<()> {
        let mut more = true;
        while more && self.report() {
            let mut batch = Column::default();
            more = next(&mut batch)?;
            let mut unsent = Some(batch);
            while let Some(batch) = unsent.take() {
                match sender.try_send(batch) {
                    Ok(()) => {}
                    Err(TrySendError::Full(batch)) if self.report() => {
                        self.py.detach(|| std::thread::sleep(FULL_WAIT));
                        unsent = Some(batch);
                    }
                    // The job has failed; its error is its result.
                    Err(_) => return Ok(()),
                }
            }
        }
        Ok(())
    }
}

/// A source that returns the documents of received batches.
fn taker(
    receiver: Receiver<Column>,
    state: &State,
    meter: Arc<Meter>,
) -> impl FnMut(&mut crate::corpus::DocumentSink<'_>) -> Result<bool> + Send {
    let mut batch = Column::default();
    let mut row = 0;
    move |sink| loop {
        if state.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        // The job may have failed while this waits for documents.
        meter.check()?;
        while row < batch.n_rows() {
            let has_room = sink.push(batch.row(row))?;
            row += 1;
            if !has_room {
                return Ok(true);
            }
        }
        match receiver.recv_timeout(Progress::INTERVAL / 2) {
            Ok(next) => (batch, row) = (next, 0),
            Err(RecvTimeoutError::Timeout) => {}
            // All documents were sent, unless sending was stopped.
            Err(RecvTimeoutError::Disconnected) if !state.stopped.load(Ordering::Relaxed) => {
                return Ok(false);
            }
            Err(RecvTimeoutError::Disconnected) => {}
        }
    }
}
