//! Many texts to ids: jobs cut by bytes, shared among threads, put together in order.
//!
//! Threads take jobs by an atomic counter and share nothing else, except what parts of a long piece leave
//! to each other ([`PendingParts`]). Each thread fills its own sink. What one thread made is the batch
//! as it is: nothing is copied. Of more, each copies a part into the one array there is at the end.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::input::Input;
use super::jobs::{Cutting, Job, Slice, SplitPart};
use super::sink::{Arrays, Count, Ids, Sink};
use super::spans::Spans;
use super::text_encoder::Limits;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory;
use crate::models::Worker;
use crate::models::unigram::Partial;
use crate::normalizer::Rewritten;
use crate::parallel;
use crate::pipeline::split_points::PartPosition;
use crate::progress::{Progress, Stage};
use crate::tokenizer::encoding::{EncodingBatch, SourceTexts};
use crate::tokenizer::special_policy::SpecialPolicy;
use crate::tokenizer::template::TrimOffsets;
use crate::vocab::TokenId;

/// Below this many bytes a batch is encoded by the calling thread: starting
/// threads costs as much as encoding about 10 KiB.
const INLINE_BYTES: usize = 32 << 10;

/// How the texts of one call are encoded.
struct Settings<'a> {
    limits: Limits<'a>,
    policy: SpecialPolicy<'a>,
    options: EncodeOptions<'a>,
    cutting: Cutting,
    pending: PendingParts,
    /// The template's tokens before and after a text.
    before: Vec<TokenId>,
    after: Vec<TokenId>,
}

/// The output of one thread.
struct Thread<S> {
    sink: S,
    output: ThreadOutput,
}

impl Tokenizer {
    /// Encodes many texts; spans are kept where `options` asks for them.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], of the first text at fault.
    pub fn encode_batch<'t, T>(&self, texts: &'t [T], options: EncodeOptions<'_>) -> Result<EncodingBatch>
    where
        &'t T: Into<Input<'t>>,
    {
        self.encode_batch_reporting(texts, options, &mut Progress::silent())
    }

    /// As [`Tokenizer::encode_batch`], reporting jobs done.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`]; [`Error::Cancelled`] when `progress` asks to stop.
    pub(crate) fn encode_batch_reporting<'t, T>(
        &self,
        texts: &'t [T],
        options: EncodeOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<EncodingBatch>
    where
        &'t T: Into<Input<'t>>,
    {
        let texts = memory::collected(texts.iter().map(Into::into))?;
        if self.template.holds_text_once() {
            return self.bare_batch(&texts, options, progress);
        }
        let bare = EncodeOptions { add_special_tokens: false, max_tokens: None, ..options };
        let bare = self.bare_batch(&texts, bare, progress)?;
        self.join_texts(&bare, options)
    }

    /// Encodes texts, each of which is in its template once or is encoded without it.
    pub(super) fn bare_batch(
        &self,
        texts: &[Input<'_>],
        options: EncodeOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<EncodingBatch> {
        if !options.spans {
            return put_together(self.run(texts, options, false, Ids::default, progress)?, false);
        }
        // The white space that offsets leave out by the file may depend on source texts.
        let source_texts = self.template.trim_offsets != TrimOffsets::No;
        let threads = self.run(texts, options, source_texts, || Spans::new(source_texts), progress)?;
        put_together(threads, true)
    }

    /// The number of ids of each text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], of the first text at fault.
    pub fn count_batch<'t, T>(&self, texts: &'t [T], options: EncodeOptions<'_>) -> Result<Vec<u64>>
    where
        &'t T: Into<Input<'t>>,
    {
        let texts = memory::collected(texts.iter().map(Into::into))?;
        let options = EncodeOptions { spans: false, ..options };
        let count = |options| {
            let mut threads = self.run(&texts, options, false, Count::default, &mut Progress::silent())?;
            let (_, row_offsets) = in_order(&mut threads)?;
            memory::collected(row_offsets.windows(2).map(|row| (row[1] - row[0]) as u64))
        };
        if self.template.holds_text_once() {
            return count(options);
        }
        let around = self.n_around(&options, false);
        let max_tokens = self.room_of_text(&options)?;
        let mut counts = count(EncodeOptions { add_special_tokens: false, max_tokens, ..options })?;
        let copies = self.template.copies(false)[0];
        counts.iter_mut().for_each(|n| *n = *n * copies as u64 + around as u64);
        Ok(counts)
    }

    /// Encodes the texts on threads, the template's tokens around each.
    fn run<S: Sink>(
        &self,
        texts: &[Input<'_>],
        options: EncodeOptions<'_>,
        whole_texts: bool,
        sink: impl Fn() -> S + Sync,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<ThreadOutput>> {
        let (before, after) =
            if options.add_special_tokens { self.template.around_single() } else { Default::default() };
        let limits = Limits { room: self.room(&options, before.len() + after.len())?, stop: options.stop };
        let policy = self.policy(options.specials)?;
        let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
        let n_threads = if n_bytes < INLINE_BYTES { 1 } else { parallel::n_threads(options.threads) };
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let cutting = match n_threads {
            _ if whole_texts => Cutting::Never,
            1 => Cutting::Never,
            _ => self.cutting(longest, &policy, &options),
        };
        let pending = PendingParts::default();
        let mut settings = Settings { limits, policy, options, cutting, pending, before, after };
        let jobs = self.jobs(texts, &settings.cutting, &settings.policy)?;
        let threads = self.run_jobs(texts, &jobs, n_threads, &settings, &sink, progress)?;
        if settings.cutting.split_points().is_some() && threads.iter().any(ThreadOutput::is_beyond_limits) {
            // The whole may be within the limit that a part is not.
            settings.cutting = Cutting::Never;
            let jobs = self.jobs(texts, &settings.cutting, &settings.policy)?;
            return self.run_jobs(texts, &jobs, n_threads, &settings, &sink, progress);
        }
        Ok(threads)
    }

    fn run_jobs<S: Sink>(
        &self,
        texts: &[Input<'_>],
        jobs: &[Job<'_>],
        n_threads: usize,
        settings: &Settings<'_>,
        sink: &(impl Fn() -> S + Sync),
        progress: &mut Progress<'_>,
    ) -> Result<Vec<ThreadOutput>> {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let work = |tick: &mut dyn FnMut(usize) -> Result<()>| -> ThreadOutput {
            settings.policy.lend(|worker| {
                let mut thread = Thread { sink: sink(), output: ThreadOutput::default() };
                while !stopped.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= jobs.len() {
                        break;
                    }
                    let done = self.run_job(texts, (number, jobs), settings, worker, &mut thread);
                    if let Err(error) = done.and_then(|()| tick(number)) {
                        thread.output.failed = Some((number, error));
                        // All jobs before this one are taken by now, and will be done.
                        stopped.store(true, Ordering::Relaxed);
                        break;
                    }
                }
                ThreadOutput { arrays: thread.sink.into_arrays(), ..thread.output }
            })
        };
        let n_threads = n_threads.min(jobs.len()).max(1);
        let n_jobs = jobs.len() as u64;
        let own = || work(&mut |number| progress.tick(Stage::Encode, number as u64, n_jobs));
        parallel::shared(n_threads, own, |_| work(&mut |_| Ok(())))
            .into_iter()
            .map(|output| output.map_err(|_| Error::Internal("an encoding thread panicked".into())))
            .collect()
    }

    /// Does the job of a number and ends it, or leaves that to the thread that finishes its partial result.
    fn run_job<S: Sink>(
        &self,
        texts: &[Input<'_>],
        (number, jobs): (usize, &[Job<'_>]),
        settings: &Settings<'_>,
        worker: &mut Worker<'_>,
        thread: &mut Thread<S>,
    ) -> Result<()> {
        let (policy, limits) = (&settings.policy, settings.limits);
        match &jobs[number] {
            Job::Part { slice: Slice::SplitPart(split_part), .. } if settings.makes_partials() => {
                return self.run_partial(split_part, (number, jobs), settings, worker, thread);
            }
            Job::Part { slice, first, last } => {
                thread.begin_row(*first, settings)?;
                worker.set_dropout(None);
                let sink = &mut thread.sink;
                match slice {
                    Slice::Token { id, span } => sink.put(&[*id], *span)?,
                    Slice::Text(start, part) => {
                        self.encode_with(part.len(), policy, limits, worker, sink, |encoder| {
                            encoder.section(part, *start)
                        })?;
                    }
                    Slice::SplitPart(split_part) => {
                        let SplitPart { text, start, position, .. } = *split_part;
                        self.encode_with(text.len(), policy, limits, worker, sink, |encoder| {
                            if let Some(visit) =
                                encoder.space_as_mark(text, start, position == PartPosition::First)
                            {
                                return visit;
                            }
                            let normalized = settings.normalized(split_part, encoder.keeps_alignment())?;
                            encoder.normalized(text, &normalized, start)
                        })?;
                    }
                }
                thread.end_row(*last, settings)?;
            }
            Job::Texts(range) => {
                for number in range.clone() {
                    worker.set_dropout(self.dropout(settings.options.seed_of(number)));
                    let text = texts[number];
                    thread.begin_row(true, settings)?;
                    let sink = &mut thread.sink;
                    self.encode_with(text.len(), policy, limits, worker, sink, |encoder| encoder.text(text))?;
                    thread.end_row(true, settings)?;
                }
            }
        }
        thread.end_job(number)
    }

    /// Makes a partial result of a part, and finishes what can be finished then.
    fn run_partial<S: Sink>(
        &self,
        split_part: &SplitPart<'_>,
        (number, jobs): (usize, &[Job<'_>]),
        settings: &Settings<'_>,
        worker: &mut Worker<'_>,
        thread: &mut Thread<S>,
    ) -> Result<()> {
        let normalized = settings.normalized(split_part, self.pipeline.looks_at_origin())?;
        let text = normalized.text(split_part.text);
        let at_start = split_part.start == 0 && normalized.origin(0) == 0;
        let rewritten = self.pipeline.pre_tokenizer.rewrite_text(text, at_start)?;
        let partial = worker.encode_part(
            rewritten
                .or_else(|| normalized.into_changed())
                .unwrap_or_else(|| split_part.text.to_owned())
                .into_bytes(),
        )?;
        let mut next = match split_part.position {
            PartPosition::First => Some((partial, 0.0)),
            PartPosition::Inner | PartPosition::Last => settings.pending.put_partial(number, partial),
        };
        let mut number = number;
        while let Some((partial, sum)) = next {
            let Some(Job::Part { slice: Slice::SplitPart(split_part), first, last }) = jobs.get(number)
            else {
                return Err(Error::Internal(format!("job {number} has a partial result and is not a part")));
            };
            let mut sum = sum;
            thread.begin_row(*first, settings)?;
            let sink = &mut thread.sink;
            self.encode_with(
                split_part.text.len(),
                &settings.policy,
                settings.limits,
                worker,
                sink,
                |encoder| {
                    encoder.sink.append(encoder.worker, |worker, ids| {
                        sum = worker.finish(partial, sum, ids)?;
                        worker.check()
                    })?;
                    encoder.check()
                },
            )?;
            thread.end_row(*last, settings)?;
            thread.end_job(number)?;
            if split_part.position == PartPosition::Last {
                break;
            }
            number += 1;
            next = settings.pending.put_sum(number, sum);
        }
        Ok(())
    }
}

impl Settings<'_> {
    /// Whether the ids of a part of a text depend on the text before it.
    fn makes_partials(&self) -> bool {
        self.cutting.split_points().is_some_and(|split_points| split_points.joined)
            && self.policy.model().sums_over_parts()
    }

    /// The normalized text of a part.
    fn normalized(&self, split_part: &SplitPart<'_>, keeps_alignment: bool) -> Result<Rewritten> {
        let SplitPart { text, position, times, .. } = *split_part;
        let split_points = self.cutting.split_points();
        Rewritten::new(
            keeps_alignment,
            || split_points.map_or(Ok(None), |split_points| split_points.normalize(position, text, times)),
            || {
                split_points
                    .map_or(Ok(None), |split_points| split_points.normalize_text(position, text, times))
            },
        )
    }
}

impl<S: Sink> Thread<S> {
    /// Puts what the template has before a text in front of the part that begins it.
    fn begin_row(&mut self, begins: bool, settings: &Settings<'_>) -> Result<()> {
        if begins { self.sink.put(&settings.before, [0, 0]) } else { Ok(()) }
    }

    /// Puts what the template has after a text behind the part that ends it, and ends the row.
    fn end_row(&mut self, ends: bool, settings: &Settings<'_>) -> Result<()> {
        if ends {
            self.sink.put(&settings.after, [0, 0])?;
            memory::push(&mut self.output.row_ends, self.sink.place().id)?;
        }
        Ok(())
    }

    /// Notes that a job is done.
    fn end_job(&mut self, number: usize) -> Result<()> {
        let extent = Extent { n_ids: self.sink.place().id, n_rows: self.output.row_ends.len() };
        memory::push(&mut self.output.jobs, (number, extent))
    }
}

/// Parts of long pieces that wait for the sums before them; parts are known by the numbers of their jobs.
///
/// Threads make partial results of parts in any order. Each is finished once the sum before it is known,
/// by the thread that finds both: so no thread waits, and every partial result is finished by the time that the last
/// thread is done.
#[derive(Default)]
struct PendingParts {
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    partials: HashMap<usize, Partial>,
    sums: HashMap<usize, f64>,
}

impl PendingParts {
    /// Takes the partial result of a part; gives it back with the sum before it, if that is known.
    fn put_partial(&self, part: usize, partial: Partial) -> Option<(Partial, f64)> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = halves.sums.remove(&part) {
            return Some((partial, sum));
        }
        halves.partials.insert(part, partial);
        None
    }

    /// Takes the sum before a part; gives it back with the partial result, if there is one.
    fn put_sum(&self, part: usize, sum: f64) -> Option<(Partial, f64)> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(partial) = halves.partials.remove(&part) {
            return Some((partial, sum));
        }
        halves.sums.insert(part, sum);
        None
    }
}

/// The outputs of a thread's jobs, one after the other.
#[derive(Default)]
struct ThreadOutput {
    arrays: Arrays,
    /// Where rows end, in ids.
    row_ends: Vec<usize>,
    /// The jobs in the order they were done, and how much there was after each.
    jobs: Vec<(usize, Extent)>,
    /// The job at which the thread failed.
    failed: Option<(usize, Error)>,
}

impl ThreadOutput {
    /// Whether a job failed because its text is beyond what a text may become or take.
    fn is_beyond_limits(&self) -> bool {
        matches!(self.failed, Some((_, Error::Encode(_) | Error::Pattern { .. })))
    }
}

/// How much a thread has made.
#[derive(Clone, Copy, Default)]
struct Extent {
    n_ids: usize,
    n_rows: usize,
}

/// The output of a job.
struct JobOutput {
    job: usize,
    thread: usize,
    ids: Range<usize>,
    rows: Range<usize>,
}

/// The outputs in the order of the jobs, and where rows start.
///
/// # Errors
/// That of the first job that failed.
fn in_order(threads: &mut [ThreadOutput]) -> Result<(Vec<JobOutput>, Vec<usize>)> {
    let failed = threads.iter_mut().filter_map(|output| output.failed.take());
    if let Some((_, error)) = failed.min_by_key(|(job, _)| *job) {
        return Err(error);
    }
    let mut outputs = memory::reserved(threads.iter().map(|output| output.jobs.len()).sum())?;
    for (thread, output) in threads.iter().enumerate() {
        let mut before = Extent::default();
        for &(job, end) in &output.jobs {
            let (ids, rows) = (before.n_ids..end.n_ids, before.n_rows..end.n_rows);
            outputs.push(JobOutput { job, thread, ids, rows });
            before = end;
        }
    }
    outputs.sort_unstable_by_key(|output| output.job);
    let mut row_offsets =
        memory::reserved(1 + threads.iter().map(|output| output.row_ends.len()).sum::<usize>())?;
    row_offsets.push(0);
    let mut start = 0;
    for JobOutput { thread, ids, rows, .. } in &outputs {
        let ends = &threads[*thread].row_ends[rows.clone()];
        row_offsets.extend(ends.iter().map(|end| start + end - ids.start));
        start += ids.len();
    }
    Ok((outputs, row_offsets))
}

/// Puts the batch together.
///
/// # Errors
/// That of the first job that failed; [`Error::Memory`] where there is not
/// enough for all ids.
fn put_together(mut threads: Vec<ThreadOutput>, with_spans: bool) -> Result<EncodingBatch> {
    let (outputs, row_offsets) = in_order(&mut threads)?;
    if let [only] = &mut threads[..] {
        let Arrays { mut ids, mut spans, source_texts } = std::mem::take(&mut only.arrays);
        ids.shrink_to_fit();
        spans.shrink_to_fit();
        let spans = with_spans.then_some(spans);
        return Ok(EncodingBatch { ids, row_offsets, spans, source_texts });
    }
    let ids = gathered(&threads, &outputs, |arrays| &arrays.ids)?;
    let spans = if with_spans { Some(gathered(&threads, &outputs, |arrays| &arrays.spans)?) } else { None };
    let (mut source_texts, mut done) = (SourceTexts::default(), 0);
    for JobOutput { thread, ids, .. } in &outputs {
        for (place, text) in threads[*thread].arrays.source_texts.within(ids.clone()) {
            source_texts.push(done + place - ids.start, text.as_bytes())?;
        }
        done += ids.len();
    }
    Ok(EncodingBatch { ids, row_offsets, spans, source_texts })
}

/// The contents of the outputs, one after the other, copied by as many threads.
fn gathered<T: Copy + Default + Send + Sync>(
    threads: &[ThreadOutput],
    outputs: &[JobOutput],
    array: impl Fn(&Arrays) -> &[T],
) -> Result<Vec<T>> {
    let n = outputs.iter().map(|output| output.ids.len()).sum();
    // Reserved first: memory that the system zeroes page by page, in the thread that uses it,
    // cannot be refused without an abort.
    drop(memory::reserved::<T>(n)?);
    let mut all = vec![T::default(); n];
    let mut parts: Vec<Vec<(&mut [T], &[T])>> = threads.iter().map(|_| Vec::new()).collect();
    let (mut rest, mut done) = (&mut all[..], 0);
    for JobOutput { thread, ids, .. } in outputs {
        let (to, after) = std::mem::take(&mut rest).split_at_mut(ids.len());
        let part = (done * parts.len() / n.max(1)).min(parts.len() - 1);
        parts[part].push((to, &array(&threads[*thread].arrays)[ids.clone()]));
        (rest, done) = (after, done + ids.len());
    }
    parallel::each(parts, |part| part.into_iter().for_each(|(to, from)| to.copy_from_slice(from)));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_parts_are_finished_by_the_second_half() {
        let pending = PendingParts::default();
        assert!(pending.put_partial(7, Partial::default()).is_none());
        assert!(pending.put_sum(8, 2.0).is_none());
        assert_eq!(pending.put_sum(7, 1.5).map(|(_, sum)| sum), Some(1.5));
        assert_eq!(pending.put_partial(8, Partial::default()).map(|(_, sum)| sum), Some(2.0));
        assert!(pending.put_sum(7, 1.0).is_none());
    }
}
