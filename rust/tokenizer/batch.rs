//! Many texts to ids: work cut by bytes, shared among threads, put together in
//! order.
//!
//! Threads take jobs by an atomic counter and share nothing else, but for what
//! parts of a long piece leave to each other ([`Chain`]).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::input::Input;
use super::jobs::{Cutting, Job, Seamed, Stretch};
use super::output::{Keeps, Output};
use super::walk::finished;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::Worker;
use crate::normalizer::Rewritten;
use crate::parallel;
use crate::pipeline::split_points::Part;
use crate::progress::{Progress, Stage};
use crate::tokenizer::encoding::{EncodingBatch, Span};
use crate::tokenizer::pending_parts::Chain;
use crate::tokenizer::special_policy::Finder;
use crate::tokenizer::template::TrimOffsets;
use crate::vocab::TokenId;
use crate::{tokenizer::thread_output, tokenizer::thread_output::Made};

/// Below this many bytes a batch is encoded by the calling thread: starting
/// threads costs as much as encoding about 10 KiB.
const INLINE_BYTES: usize = 32 << 10;

/// How the texts of one call are encoded.
struct Settings<'a> {
    room: Option<usize>,
    finder: Finder<'a>,
    options: EncodeOptions<'a>,
    cutting: Cutting,
    chain: Chain,
    /// Whether ids are only counted.
    counts: bool,
    /// Whether offsets leave out what only surfaces tell.
    surfaces: bool,
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
        let texts = memory::collected(texts.iter().map(|text| Input::Bytes(text.as_ref())))?;
        self.batch_reporting(&texts, options, progress)
    }

    /// As [`Tokenizer::encode_batch`], of texts that may be known to be UTF-8.
    ///
    /// # Errors
    /// As there.
    pub fn batch_of(&self, texts: &[Input<'_>], options: EncodeOptions<'_>) -> Result<EncodingBatch> {
        self.batch_reporting(texts, options, &mut Progress::silent())
    }

    fn batch_reporting(
        &self,
        texts: &[Input<'_>],
        options: EncodeOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<EncodingBatch> {
        if self.template.is_framed() {
            return thread_output::batch(self.make(texts, options, false, progress)?, options.spans);
        }
        let bare = EncodeOptions { add_special_tokens: false, max_tokens: None, ..options };
        let bare = thread_output::batch(self.make(texts, bare, false, progress)?, options.spans)?;
        self.join_texts(&bare, options)
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
        let texts = memory::collected(texts.iter().map(|text| Input::Bytes(text.as_ref())))?;
        self.counts_of(&texts, options)
    }

    /// As [`Tokenizer::count_batch`], of texts that may be known to be UTF-8.
    ///
    /// # Errors
    /// As there.
    pub fn counts_of(&self, texts: &[Input<'_>], options: EncodeOptions<'_>) -> Result<Vec<u64>> {
        let options = EncodeOptions { spans: false, ..options };
        if self.template.is_framed() {
            return thread_output::counts(self.make(texts, options, true, &mut Progress::silent())?);
        }
        let around = self.n_around(&options, false);
        let max_tokens = self.room_of_text(&options)?;
        let bare = EncodeOptions { add_special_tokens: false, max_tokens, ..options };
        let mut counts = thread_output::counts(self.make(texts, bare, true, &mut Progress::silent())?)?;
        let copies = self.template.copies(false)[0];
        counts.iter_mut().for_each(|n| *n = *n * copies as u64 + around as u64);
        Ok(counts)
    }

    /// What each thread makes of the texts, the template's tokens around each, which stands in
    /// it once or is encoded without them.
    pub(super) fn make(
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
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let surfaces = options.spans && self.template.trim_offsets != TrimOffsets::No;
        let cutting = match n_threads {
            _ if surfaces => Cutting::Never,
            1 => Cutting::Never,
            _ => self.cutting(longest, &finder, &options),
        };
        let chain = Chain::default();
        let mut settings =
            Settings { room, finder, options, cutting, chain, counts, surfaces, before, after };
        let jobs = self.jobs(texts, &settings.cutting, &settings.finder)?;
        let made = self.run_jobs(texts, &jobs, n_threads, &settings, progress)?;
        if settings.cutting.seams().is_some() && made.iter().any(Made::is_beyond_limits) {
            // The whole may be within the limit that a part is not.
            settings.cutting = Cutting::Never;
            let jobs = self.jobs(texts, &settings.cutting, &settings.finder)?;
            return self.run_jobs(texts, &jobs, n_threads, &settings, progress);
        }
        Ok(made)
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
                    if number >= jobs.len() {
                        break;
                    }
                    let done = self.run_job(texts, (number, jobs), settings, worker, &mut made);
                    if let Err(error) = done.and_then(|()| tick(number)) {
                        made.fail(number, error);
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

    /// Does the job of a number, and ends its unit, or leaves that to whoever settles its draft.
    fn run_job(
        &self,
        texts: &[Input<'_>],
        (number, jobs): (usize, &[Job<'_>]),
        settings: &Settings<'_>,
        worker: &mut Worker<'_>,
        made: &mut Made,
    ) -> Result<()> {
        match &jobs[number] {
            Job::Part { stretch: Stretch::Seamed(seamed), .. } if settings.makes_drafts() => {
                return self.run_draft(seamed, (number, jobs), settings, worker, made);
            }
            Job::Part { stretch, first, last } => {
                settings.in_row(*first, *last, made, |made| match stretch {
                    Stretch::Token { id, span } => settings.put_in(&[*id], *span, made),
                    Stretch::Text(start, part) => {
                        worker.set_dropout(None);
                        settings.encode(made, |output| {
                            output.begin(part.len());
                            finished(self.encode_section(part, *start, &settings.finder, worker, output))
                        })
                    }
                    Stretch::Seamed(seamed) => {
                        worker.set_dropout(None);
                        settings.encode(made, |output| {
                            output.begin(seamed.text.len());
                            let Seamed { text, start, part, .. } = *seamed;
                            let finder = &settings.finder;
                            let begins = part == Part::First;
                            if let Some(walk) =
                                self.encode_spaced(text, start, begins, finder, worker, output)
                            {
                                return finished(walk);
                            }
                            let normalized = settings.normalized(seamed, self.keeps_way_back(output))?;
                            finished(self.encode_normalized(text, &normalized, start, finder, worker, output))
                        })
                    }
                })?
            }
            Job::Texts(range) => {
                for number in range.clone() {
                    worker.set_dropout(self.dropout(settings.options.seed_of(number)));
                    let text = texts[number];
                    settings.in_row(true, true, made, |made| {
                        settings
                            .encode(made, |output| self.encode_input(text, &settings.finder, worker, output))
                    })?;
                }
            }
        }
        made.end_unit(number)
    }

    /// Makes a draft of a part, and settles what can be settled then.
    fn run_draft(
        &self,
        seamed: &Seamed<'_>,
        (number, jobs): (usize, &[Job<'_>]),
        settings: &Settings<'_>,
        worker: &mut Worker<'_>,
        made: &mut Made,
    ) -> Result<()> {
        let normalized = settings.normalized(seamed, self.pipeline.looks_at_origin())?;
        let text = normalized.text(seamed.text);
        let at_start = seamed.start == 0 && normalized.origin(0) == 0;
        let rewritten = self.pipeline.pre_tokenizer.rewrite_text(text, at_start)?;
        let draft = worker.draft(
            rewritten
                .or_else(|| normalized.into_changed())
                .unwrap_or_else(|| seamed.text.to_owned())
                .into_bytes(),
        )?;
        let mut next = match seamed.part {
            Part::First => Some((draft, 0.0)),
            Part::Inner | Part::Last => settings.chain.draft(number, draft),
        };
        let mut number = number;
        while let Some((draft, sum)) = next {
            let Some(Job::Part { stretch: Stretch::Seamed(seamed), first, last }) = jobs.get(number) else {
                return Err(Error::Internal(format!("job {number} has a draft and is no part")));
            };
            let mut sum = sum;
            settings.in_row(*first, *last, made, |made| {
                settings.encode(made, |output| {
                    sum = worker.settle(draft, sum, &mut output.ids)?;
                    worker.check()?;
                    finished(output.room_left())
                })
            })?;
            made.end_unit(number)?;
            if seamed.part == Part::Last {
                break;
            }
            number += 1;
            next = settings.chain.sum(number, sum);
        }
        Ok(())
    }
}

impl Settings<'_> {
    /// Whether what is before a part of a text decides of its ids.
    fn makes_drafts(&self) -> bool {
        self.cutting.seams().is_some_and(|seams| seams.joined) && self.finder.model().sums_go_on()
    }

    /// What the normalizer makes of a part.
    fn normalized(&self, seamed: &Seamed<'_>, with_spans: bool) -> Result<Rewritten> {
        let Seamed { text, part, times, .. } = *seamed;
        let seams = self.cutting.seams();
        Rewritten::new(
            with_spans,
            || seams.map_or(Ok(None), |seams| seams.normalize(part, text, times)),
            || seams.map_or(Ok(None), |seams| seams.normalize_text(part, text, times)),
        )
    }

    /// Puts what stands around a text before the part that begins it, and behind that which ends it.
    fn in_row(
        &self,
        begins: bool,
        ends: bool,
        made: &mut Made,
        work: impl FnOnce(&mut Made) -> Result<()>,
    ) -> Result<()> {
        if begins {
            self.put_in(&self.before, [0, 0], made)?;
        }
        work(made)?;
        if ends {
            self.put_in(&self.after, [0, 0], made)?;
            made.end_row()?;
        }
        Ok(())
    }

    /// Appends ids that have one place in the text.
    fn put_in(&self, ids: &[TokenId], span: Span, made: &mut Made) -> Result<()> {
        made.n_ids += ids.len();
        if !self.counts {
            memory::extend(&mut made.ids, ids)?;
        }
        if self.options.spans {
            let more = made.ids.len() - made.spans.len();
            made.spans.make_room(more)?;
            made.spans.resize(made.ids.len(), span);
        }
        Ok(())
    }

    /// Appends what `encode` puts out, by these settings.
    fn encode(&self, made: &mut Made, encode: impl FnOnce(&mut Output<'_>) -> Result<()>) -> Result<()> {
        let mut output = match self.counts {
            true => Output::counting(self.room, self.options.stop),
            false if self.options.spans => Output::new(Keeps::Spans, self.room, self.options.stop),
            false => Output::new(Keeps::Ids, self.room, self.options.stop),
        };
        // The arrays go out and come back: there is one for all texts.
        std::mem::swap(&mut output.ids, &mut made.ids);
        if let Some(spans) = &mut output.spans {
            std::mem::swap(spans, &mut made.spans);
        }
        output.surfaces = self.surfaces.then(|| std::mem::take(&mut made.surfaces));
        let n_before = output.ids.len();
        output.start_at(n_before);
        let done = encode(&mut output);
        made.n_ids += output.n_ids() - n_before;
        std::mem::swap(&mut output.ids, &mut made.ids);
        if let Some(spans) = &mut output.spans {
            std::mem::swap(spans, &mut made.spans);
        }
        made.surfaces = output.surfaces.take().unwrap_or_default();
        if self.counts {
            made.ids.clear();
        }
        done
    }
}
