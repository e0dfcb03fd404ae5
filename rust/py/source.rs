//! Where documents come from: files, or what Python iterates over.
//!
//! A list or tuple given as `source` holds paths, as in Hugging Face's
//! `train(files=[...])`; texts in a list are given as `texts`. Anything else
//! that can be iterated gives texts either way. Nothing depends on whether a
//! file happens to exist.
//!
//! An iterator belongs to the thread that called: it is pulled there, into
//! blocks that the counting threads take. So a cursor bound to its thread works,
//! Ctrl-C lands in the iterator itself, and what it raises goes up unchanged.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyString, PyTuple};

use super::arrow::{Chunks, Column};
use super::paths::{is_path, paths_of};
use super::progress::{Listener, run};
use super::text::{Errors, Lone, join_pairs, surrogates_passed, text_of_row};
use crate::corpus::{
    FileOptions, FileSource, Format, InvalidUtf8, IterSource, MAX_LINE_BYTES, Shard, Source,
};
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};

/// Bytes of documents that travel together.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that wait; one is being filled, and each thread may hold one.
const BATCHES_AHEAD: usize = 4;
/// How long to wait before looking again whether a batch is wanted.
const FULL_WAIT: Duration = Duration::from_millis(1);

/// How documents are read.
pub(super) struct SourceOptions {
    pub format: Option<Format>,
    pub invalid_utf8: InvalidUtf8,
    pub shard: Option<Shard>,
    pub max_line_bytes: Option<usize>,
}

/// Documents not yet read.
pub(super) enum Documents<'py> {
    Files { paths: Vec<PathBuf>, from_list: bool },
    Items(Bound<'py, PyIterator>),
    Column(Chunks<'py>),
}

impl<'py> Documents<'py> {
    /// What `source` and `texts` name; `None` if they name nothing.
    pub fn new(
        source: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Self>> {
        match (source, texts) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(PyTypeError::new_err("source and texts are both given; pass one of them"))
            }
            (Some(source), None) => Self::of_source(source).map(Some),
            (None, Some(texts)) => Self::of_texts(texts).map(Some),
        }
    }

    fn of_source(source: &Bound<'py, PyAny>) -> PyResult<Self> {
        let is_list = source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>();
        if is_list || is_path(source)? {
            return Ok(Self::Files { paths: paths_of(source)?, from_list: is_list });
        }
        Self::of_texts(source)
    }

    fn of_texts(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        if texts.is_instance_of::<PyString>()
            || texts.is_instance_of::<PyBytes>()
            || texts.hasattr("__fspath__")?
        {
            return Err(PyTypeError::new_err(
                "texts is one text or path; pass a list of texts, or paths as source",
            ));
        }
        match Chunks::new(texts)? {
            Some(chunks) => Ok(Self::Column(chunks)),
            None => Ok(Self::Items(texts.try_iter()?)),
        }
    }

    /// How many files or iterables there are.
    pub fn n_sources(&self) -> usize {
        match self {
            Self::Files { paths, .. } => paths.len(),
            Self::Items(_) | Self::Column(_) => 1,
        }
    }

    /// Runs a job on a source of these documents.
    pub fn run<T: Send>(
        self,
        py: Python<'py>,
        options: SourceOptions,
        callback: Option<&Py<PyAny>>,
        job: impl FnOnce(&mut dyn Source, &mut Progress<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let SourceOptions { format, invalid_utf8, shard, max_line_bytes } = options;
        match self {
            Self::Files { paths, from_list } => {
                let max_line_bytes = max_line_bytes.unwrap_or(MAX_LINE_BYTES);
                let options =
                    FileOptions { format, invalid_utf8, shard, max_line_bytes, ..FileOptions::default() };
                let result =
                    run(py, callback, |progress| job(&mut FileSource::new(&paths, options)?, progress));
                if let Err(error) = &result
                    && from_list
                    && error.is_instance_of::<PyOSError>(py)
                {
                    error
                        .add_note(py, "a list as source holds paths; pass texts in memory as texts=[...]")?;
                }
                result
            }
            Self::Items(_) | Self::Column(_) if format.is_some() => Err(Error::Option {
                option: "format",
                value: "given".to_owned(),
                reason: "it says what a document of a file is; an iterable gives documents".to_owned(),
            }
            .into()),
            Self::Items(items) => {
                let mut items = Items { items, row: 0, invalid_utf8 };
                feed(py, |batch| items.fill(batch), invalid_utf8, shard, callback, job)
            }
            Self::Column(mut chunks) => {
                let mut row = 0;
                let next = |batch: &mut Column| match chunks.next() {
                    None => Ok(false),
                    Some(chunk) => {
                        batch.extend(&chunk?, row)?;
                        row += batch.n_rows() as u64;
                        Ok(true)
                    }
                };
                feed(py, next, invalid_utf8, shard, callback, job)
            }
        }
    }
}

/// Documents of an iterator.
struct Items<'py> {
    items: Bound<'py, PyIterator>,
    row: u64,
    invalid_utf8: InvalidUtf8,
}

impl Items<'_> {
    /// Fills a batch; `false` at the end. Ends early when the iterator is slow.
    fn fill(&mut self, batch: &mut Column) -> PyResult<bool> {
        let py = self.items.py();
        let started = Instant::now();
        loop {
            let Some(item) = self.items.next() else { return Ok(false) };
            let item = item?;
            match item.cast::<PyString>() {
                Ok(text) => match text.to_str() {
                    Ok(text) => batch.push(text.as_bytes()),
                    Err(_) => batch.push(&self.with_surrogates(text)?),
                },
                Err(_) => batch.push(text_of_row(self.row, &item, Errors::Replace)?.bytes(py)?),
            }
            self.row += 1;
            if batch.n_bytes() >= BATCH_BYTES
                || batch.n_rows() >= BATCH_BYTES / 16
                || started.elapsed() >= Progress::INTERVAL / 2
            {
                return Ok(true);
            }
        }
    }

    /// A text with surrogates: pairs are joined as in a text to encode, and so are
    /// lone ones replaced, or else bytes that are invalid in the one way all others are.
    fn with_surrogates(&self, text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
        let mut bytes = surrogates_passed(text)?.as_bytes().to_vec();
        let replaces = self.invalid_utf8 == InvalidUtf8::Replace;
        join_pairs(&mut bytes, if replaces { Lone::Replace } else { Lone::Keep });
        Ok(bytes)
    }
}

/// How far the job is, for the calling thread to tell.
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

    /// Takes what the job reports; `false` once it should stop.
    fn set(&self, stage: Stage, done: u64, total: u64) -> bool {
        let number = Self::STAGES.iter().position(|&known| known == stage).unwrap_or(0);
        self.stage.store(number as u64, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        !self.stopped.load(Ordering::Relaxed)
    }

    fn tell(&self, py: Python<'_>, listener: &mut Listener<'_>) -> bool {
        let stage = Self::STAGES[self.stage.load(Ordering::Relaxed) as usize % Self::STAGES.len()];
        listener.tell(py, stage, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Runs a job on a thread of its own, and feeds it from the calling thread.
///
/// Where the system gives no thread, the calling one reads everything into
/// memory, then runs the job.
fn feed<T: Send, Job: FnOnce(&mut dyn Source, &mut Progress<'_>) -> Result<T> + Send>(
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
        let mut source =
            IterSource::new("<iterable>", invalid_utf8, taker(receiver, &state)).with_shard(shard);
        job(&mut source, progress)
    };
    // Whoever runs the job takes it: its thread, or the calling one if there is none.
    let waiting_job = Mutex::new(Some(job));
    let take = || {
        let job = waiting_job.lock().unwrap_or_else(PoisonError::into_inner).take();
        job.ok_or_else(|| Error::Internal("a job was taken twice".to_owned()))
    };
    std::thread::scope(|scope| {
        let (state, run_job, take) = (&state, &run_job, &take);
        let worker = parallel::spawn(scope, move || {
            // Dropped at the end, also by a panic: the calling thread waits for it.
            let _ended = ended;
            let mut report = |stage, done, total| state.set(stage, done, total);
            run_job(receiver, take()?, &mut Progress::new(&mut report))
        });
        let Some(worker) = worker else {
            // All is read before the job begins: one thread cannot do both at once.
            let (sender, receiver) = channel();
            let mut more = true;
            while more {
                py.check_signals()?;
                let mut batch = Column::default();
                more = next(&mut batch)?;
                // Fails only without a receiver, which is here.
                let _ = sender.send(batch);
            }
            drop(sender);
            return run(py, callback, |progress| run_job(receiver, take()?, progress));
        };

        let mut feeder = Feeder { py, state, listener: Listener::new(callback), told: Instant::now() };
        let fed = feeder.feed(&mut next, &sender);
        if fed.is_err() {
            state.stopped.store(true, Ordering::Relaxed);
        }
        // Not before: a job that was not stopped takes this for the end.
        drop(sender);
        let mut waiting = true;
        while waiting {
            // A loop, not a join: signals are looked for meanwhile.
            let wait = Progress::INTERVAL / 2;
            let end = &mut end;
            waiting = py.detach(move || end.recv_timeout(wait)) == Err(RecvTimeoutError::Timeout);
            feeder.tell();
        }
        let result = py.detach(|| worker.join());
        fed?;
        let result = result.unwrap_or_else(|_| Err(Error::Internal("a counting thread panicked".to_owned())));
        feeder.listener.finish(result)
    })
}

/// The calling thread's part of [`feed`].
struct Feeder<'a, 'py> {
    py: Python<'py>,
    state: &'a State,
    listener: Listener<'a>,
    told: Instant,
}

impl Feeder<'_, '_> {
    /// Tells Python how far the job is, not too often; `false` once it should stop.
    fn tell(&mut self) -> bool {
        if self.told.elapsed() >= Progress::INTERVAL {
            self.told = Instant::now();
            if !self.state.tell(self.py, &mut self.listener) {
                self.state.stopped.store(true, Ordering::Relaxed);
            }
        }
        !self.state.stopped.load(Ordering::Relaxed)
    }

    /// Sends batches until there is no more, or nobody takes them.
    fn feed(
        &mut self,
        next: &mut impl FnMut(&mut Column) -> PyResult<bool>,
        sender: &SyncSender<Column>,
    ) -> PyResult<()> {
        let mut more = true;
        while more && self.tell() {
            let mut batch = Column::default();
            more = next(&mut batch)?;
            let mut unsent = Some(batch);
            while let Some(batch) = unsent.take() {
                match sender.try_send(batch) {
                    Ok(()) => {}
                    Err(TrySendError::Full(batch)) if self.tell() => {
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

/// Gives documents of batches to a source.
fn taker(
    receiver: Receiver<Column>,
    state: &State,
) -> impl FnMut(&mut crate::corpus::DocumentSink<'_>) -> Result<bool> + Send {
    let mut batch = Column::default();
    let mut row = 0;
    move |sink| loop {
        if state.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
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
            // All was sent, unless sending was given up.
            Err(RecvTimeoutError::Disconnected) if !state.stopped.load(Ordering::Relaxed) => {
                return Ok(false);
            }
            Err(RecvTimeoutError::Disconnected) => {}
        }
    }
}
