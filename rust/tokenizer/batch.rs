//! Many texts to ids: work cut by bytes, shared among threads, put together in
//! order.
//!
//! A job is a run of short texts or a part of a long one, cut where
//! the pre-tokenizer proves that nothing changes. Threads take jobs by an
//! atomic counter and share nothing else.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::finder::Finder;
use super::input::Input;
use super::made::{self, Made};
use super::output::Output;
use super::walk::finished;
use super::{EncodeOptions, Tokenizer};
use crate::added_tokens::Section;
use crate::encoding::{EncodingBatch, Span};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Model, Scratch, Worker};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::resting::{Owner, Resting};
use crate::vocab::TokenId;

/// Below this many bytes a batch is encoded by the calling thread: starting
/// threads costs as much as encoding about 10 KiB.
const INLINE_BYTES: usize = 32 << 10;
/// Short texts are handed out in runs of about this many bytes.
const UNIT_BYTES: usize = 64 << 10;
/// Texts longer than this are cut.
pub(super) const LONG_BYTES: usize = 256 << 10;

/// A model and what its workers left behind: their caches live on between calls.
///
/// The models of one tokenizer share the places where that rests.
pub(super) struct Workers {
    model: Arc<Model>,
    owner: Owner,
    resting: Arc<Resting<Scratch>>,
}

impl Workers {
    /// As many may rest as can run, for each of `n_models` in turn: each holds up
    /// to 18 MiB (Unigram: 13 MiB).
    pub(super) fn new(model: Arc<Model>, n_models: usize) -> Self {
        let resting = Arc::new(Resting::new(n_models * parallel::default_threads()));
        Self { model, owner: resting.new_owner(), resting }
    }

    /// Those of another model, which rest in the same places.
    pub(super) fn beside(&self, model: Arc<Model>) -> Self {
        Self { model, owner: self.resting.new_owner(), resting: self.resting.clone() }
    }

    pub(super) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    #[cfg(test)]
    pub(super) fn share_places_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.resting, &other.resting) && self.owner != other.owner
    }

    #[cfg(test)]
    pub(super) fn n_places(&self) -> usize {
        self.resting.len()
    }

    pub(super) fn lend<T>(&self, work: impl FnOnce(&mut Worker<'_>) -> T) -> T {
        let mut worker = match self.resting.take(self.owner) {
            Some(scratch) => self.model.worker_with(scratch),
            None => self.model.worker(),
        };
        let result = work(&mut worker);
        self.resting.put(self.owner, worker.into_scratch());
        result
    }
}

/// A piece of work, and what of the batch it becomes.
enum Job<'a> {
    /// Whole texts: as many rows.
    Texts(Range<usize>),
    /// A part of one text: a part of a row.
    Part { stretch: Stretch<'a>, first: bool, last: bool },
}

/// A part of a text that is cut.
enum Stretch<'a> {
    /// From a place on, free of added tokens.
    Text(usize, &'a str),
    /// An added token.
    Token { id: TokenId, span: Span },
}

/// How the texts of one call are encoded.
struct Settings<'a> {
    room: Option<usize>,
    finder: Finder<'a>,
    options: EncodeOptions<'a>,
    /// Whether ids are only counted.
    counts: bool,
    /// What the template puts around a text.
    before: Vec<TokenId>,
    after: Vec<TokenId>,
}

impl Tokenizer {
    /// Encodes many texts, given as bytes.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], of the first text at fault.
    pub fn encode_batch<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        options: EncodeOptions<'_>,
    ) -> Result<EncodingBatch> {
        self.encode_batch_reporting(texts, options, &mut Progress::silent())
    }

    /// As [`Tokenizer::encode_batch`], reporting jobs done.
    ///
    /// # Errors
    /// As there; [`Error::Cancelled`] when `progress` asks to stop.
    pub fn encode_batch_reporting<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        options: EncodeOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<EncodingBatch> {
        let texts: Vec<Input<'_>> = texts.iter().map(|text| Input::Bytes(text.as_ref())).collect();
        made::batch(self.make(&texts, options, false, progress)?, options.spans)
    }

    /// As [`Tokenizer::encode_batch`], of texts that may be known to be UTF-8.
    ///
    /// # Errors
    /// As there.
    pub fn batch_of(&self, texts: &[Input<'_>], options: EncodeOptions<'_>) -> Result<EncodingBatch> {
        made::batch(self.make(texts, options, false, &mut Progress::silent())?, options.spans)
    }

    /// The number of ids of each text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], of the first text at fault.
    pub fn count_batch<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        options: EncodeOptions<'_>,
    ) -> Result<Vec<u64>> {
        let texts: Vec<Input<'_>> = texts.iter().map(|text| Input::Bytes(text.as_ref())).collect();
        self.counts_of(&texts, options)
    }

    /// As [`Tokenizer::count_batch`], of texts that may be known to be UTF-8.
    ///
    /// # Errors
    /// As there.
    pub fn counts_of(&self, texts: &[Input<'_>], options: EncodeOptions<'_>) -> Result<Vec<u64>> {
        let options = EncodeOptions { spans: false, ..options };
        made::counts(self.make(texts, options, true, &mut Progress::silent())?)
    }

    /// What each thread makes of the texts.
    fn make(
        &self,
        texts: &[Input<'_>],
        options: EncodeOptions<'_>,
        counts: bool,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Made>> {
        let (before, after) =
            if options.add_special_tokens { self.template.around_single() } else { Default::default() };
        let room = self.room(&options, before.len() + after.len())?;
        let finder = self.finder(options.specials)?;
        let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
        let n_threads = if n_bytes < INLINE_BYTES { 1 } else { parallel::n_threads(options.threads) };
        let cut_long =
            n_threads > 1 && room.is_none() && self.model.dropout().is_none() && self.pipeline.can_be_cut();
        let jobs = self.jobs(texts, cut_long, &finder)?;
        let settings = Settings { room, finder, options, counts, before, after };
        self.run_jobs(texts, &jobs, n_threads, &settings, progress)
    }

    fn jobs<'a>(&self, texts: &[Input<'a>], cut_long: bool, finder: &Finder<'_>) -> Result<Vec<Job<'a>>> {
        let mut jobs = Vec::new();
        let mut first = 0;
        let mut bytes = 0;
        for (number, text) in texts.iter().enumerate() {
            let long = if cut_long && text.len() > LONG_BYTES { text.text() } else { None };
            if long.is_some() || bytes >= UNIT_BYTES {
                if first < number {
                    jobs.push(Job::Texts(first..number));
                }
                first = number;
                bytes = 0;
            }
            match long {
                Some(long) => {
                    self.cut(long, finder, &mut jobs)?;
                    first = number + 1;
                }
                None => bytes += text.len(),
            }
        }
        if first < texts.len() {
            jobs.push(Job::Texts(first..texts.len()));
        }
        Ok(jobs)
    }

    /// Cuts a long text at added tokens and at safe places.
    fn cut<'a>(&self, text: &'a str, finder: &Finder<'_>, jobs: &mut Vec<Job<'a>>) -> Result<()> {
        let from = jobs.len();
        let mut push = |stretch: Stretch<'a>| {
            jobs.push(Job::Part { stretch, first: jobs.len() == from, last: false });
        };
        finder.raw(text, |Section { range, token }| {
            if let Some(token) = token {
                push(Stretch::Token { id: token.id, span: [range.start as u64, range.end as u64] });
                return Ok(());
            }
            let mut start = range.start;
            // Tokens looked for after normalization may lie across any cut.
            while !finder.cuts_normalized() && range.end - start > LONG_BYTES {
                let rest = &text[start..range.end];
                let Some(cut) = self.pipeline.safe_cut(rest, LONG_BYTES) else { break };
                push(Stretch::Text(start, &rest[..cut]));
                start += cut;
            }
            push(Stretch::Text(start, &text[start..range.end]));
            Ok::<(), Error>(())
        })?;
        if let Some(Job::Part { last, .. }) = jobs.last_mut() {
            *last = true;
        }
        Ok(())
    }

    fn run_jobs(
        &self,
        texts: &[Input<'_>],
        jobs: &[Job<'_>],
        n_threads: usize,
        settings: &Settings<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Made>> {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let work = |tick: &mut dyn FnMut(usize) -> Result<()>| -> Made {
            settings.finder.lend(|worker| {
                let mut made = Made::default();
                while !stopped.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { break };
                    let done = self.run_job(texts, job, settings, worker, &mut made);
                    let done = done.and_then(|()| tick(number));
                    let failed = done.is_err();
                    made.end_unit(number, done);
                    if failed {
                        // All jobs before this one are taken by now, and will be done.
                        stopped.store(true, Ordering::Relaxed);
                        break;
                    }
                }
                made
            })
        };
        let n_threads = n_threads.min(jobs.len()).max(1);
        let n_jobs = jobs.len() as u64;
        let own = || work(&mut |number| progress.tick(Stage::Encode, number as u64, n_jobs));
        parallel::shared(n_threads, own, |_| work(&mut |_| Ok(())))
            .into_iter()
            .map(|made| made.map_err(|_| Error::Internal("an encoding thread panicked".into())))
            .collect()
    }

    fn run_job(
        &self,
        texts: &[Input<'_>],
        job: &Job<'_>,
        settings: &Settings<'_>,
        worker: &mut Worker<'_>,
        made: &mut Made,
    ) -> Result<()> {
        match job {
            Job::Part { stretch, first, last } => {
                if *first {
                    settings.put_in(&settings.before, [0, 0], made)?;
                }
                match stretch {
                    Stretch::Token { id, span } => settings.put_in(&[*id], *span, made)?,
                    Stretch::Text(start, part) => {
                        worker.set_dropout(None);
                        settings.encode(made, |output| {
                            output.begin(part.len());
                            finished(self.encode_section(part, *start, &settings.finder, worker, output))
                        })?;
                    }
                }
                if *last {
                    settings.put_in(&settings.after, [0, 0], made)?;
                    made.end_row()?;
                }
            }
            Job::Texts(range) => {
                for number in range.clone() {
                    // Each text has its own seed, so that neighbours do not matter.
                    let seed = (number as u64).wrapping_mul(0xA076_1D64_78BD_642F);
                    worker.set_dropout(self.dropout(settings.options.seed.wrapping_add(seed)));
                    let text = texts[number];
                    settings.put_in(&settings.before, [0, 0], made)?;
                    settings
                        .encode(made, |output| self.encode_input(text, &settings.finder, worker, output))?;
                    settings.put_in(&settings.after, [0, 0], made)?;
                    made.end_row()?;
                }
            }
        }
        Ok(())
    }
}

impl Settings<'_> {
    /// Appends ids that have one place in the text.
    fn put_in(&self, ids: &[TokenId], span: Span, made: &mut Made) -> Result<()> {
        made.n_ids += ids.len();
        if !self.counts {
            memory::extend(&mut made.ids, ids)?;
        }
        if self.options.spans {
            let more = made.ids.len() - made.spans.len();
            memory::reserve(&mut made.spans, more)?;
            made.spans.resize(made.ids.len(), span);
        }
        Ok(())
    }

    /// Appends what `encode` puts out, by these settings.
    fn encode(&self, made: &mut Made, encode: impl FnOnce(&mut Output<'_>) -> Result<()>) -> Result<()> {
        let mut output = match self.counts {
            true => Output::counting(self.room, self.options.stop),
            false => Output::new(self.options.spans, self.room, self.options.stop),
        };
        // The arrays go out and come back: there is one for all texts.
        std::mem::swap(&mut output.ids, &mut made.ids);
        if let Some(spans) = &mut output.spans {
            std::mem::swap(spans, &mut made.spans);
        }
        let n_before = output.ids.len();
        output.start_at(n_before);
        let done = encode(&mut output);
        made.n_ids += output.n_ids() - n_before;
        std::mem::swap(&mut output.ids, &mut made.ids);
        if let Some(spans) = &mut output.spans {
            std::mem::swap(spans, &mut made.spans);
        }
        if self.counts {
            made.ids.clear();
        }
        done
    }
}
