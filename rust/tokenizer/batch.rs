//! Many texts to ids: work cut by bytes, shared among threads, put together in
//! order.
//!
//! A unit of work is a run of short texts or a part of a long one, cut where
//! the pre-tokenizer proves that nothing changes. Threads take units by an
//! atomic counter and share nothing else.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::finder::Finder;
use super::output::Output;
use super::walk::finished;
use super::{EncodeOptions, Tokenizer};
use crate::added_tokens::Section;
use crate::encoding::{EncodingBatch, Rows, Span};
use crate::error::{Error, Result};
use crate::model::{Model, Scratch, Worker};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::resting::{Kind, Resting};
use crate::vocab::TokenId;

/// Below this many bytes a batch is encoded by the calling thread: starting
/// threads costs as much as encoding about 10 KiB.
const INLINE_BYTES: usize = 32 << 10;
/// Short texts are handed out in runs of about this many bytes.
const UNIT_BYTES: usize = 64 << 10;
/// Texts longer than this are cut.
const LONG_BYTES: usize = 256 << 10;

/// A model and what its workers left behind: their caches live on between calls.
///
/// The models of one tokenizer share the places where that rests.
pub(super) struct Workers {
    model: Arc<Model>,
    kind: Kind,
    resting: Arc<Resting<Scratch>>,
}

impl Workers {
    /// As many may rest as can run, for each of `n_models` in turn: each holds up
    /// to 3 MiB (Unigram: 13 MiB).
    pub(super) fn new(model: Arc<Model>, n_models: usize) -> Self {
        let resting = Arc::new(Resting::new(n_models * parallel::default_threads()));
        Self { model, kind: resting.new_kind(), resting }
    }

    /// Those of another model, which rest in the same places.
    pub(super) fn beside(&self, model: Arc<Model>) -> Self {
        Self { model, kind: self.resting.new_kind(), resting: self.resting.clone() }
    }

    pub(super) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    #[cfg(test)]
    pub(super) fn share_places_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.resting, &other.resting) && self.kind != other.kind
    }

    #[cfg(test)]
    pub(super) fn n_places(&self) -> usize {
        self.resting.len()
    }

    pub(super) fn lend<T>(&self, work: impl FnOnce(&mut Worker<'_>) -> T) -> T {
        let mut worker = match self.resting.take(self.kind) {
            Some(scratch) => self.model.worker_with(scratch),
            None => self.model.worker(),
        };
        let result = work(&mut worker);
        self.resting.put(self.kind, worker.into_scratch());
        result
    }
}

/// A piece of work and where its ids belong.
enum Unit {
    /// Whole texts.
    Texts(Range<usize>),
    /// A part of one text: `start..end` of its bytes, free of added tokens.
    Part { text: usize, range: Range<usize> },
    /// An added token of a text that is cut in parts.
    Token { text: usize, id: TokenId, span: Span },
}

/// How the texts of one call are encoded.
struct Rules<'a> {
    room: Option<usize>,
    finder: Finder<'a>,
    options: EncodeOptions<'a>,
}

/// What a unit became; `ends` are the ends of its texts.
#[derive(Default)]
struct Done {
    ids: Vec<TokenId>,
    spans: Vec<Span>,
    ends: Vec<usize>,
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

    /// As [`Tokenizer::encode_batch`], reporting units of work done.
    ///
    /// # Errors
    /// As there; [`Error::Cancelled`] when `progress` asks to stop.
    pub fn encode_batch_reporting<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        options: EncodeOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<EncodingBatch> {
        let (before, after) =
            if options.add_special_tokens { self.template.around_single() } else { Default::default() };
        let room = self.room(&options, before.len() + after.len())?;
        let finder = self.finder(options.specials)?;
        let n_bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        let n_threads = if n_bytes < INLINE_BYTES { 1 } else { parallel::n_threads(options.threads) };
        let cut_long = room.is_none()
            && self.model.dropout().is_none()
            && self.pipeline.normalizer.is_none()
            && !self.pipeline.pre_tokenizer.rewrites();
        let units = self.units(texts, cut_long, &finder)?;
        let results = self.run_units(texts, &units, n_threads, &Rules { room, finder, options }, progress)?;

        let mut batch = EncodingBatch::new(options.spans);
        let n_ids: usize = results.iter().map(|done| done.ids.len()).sum();
        batch.ids.reserve_exact(n_ids + texts.len() * (before.len() + after.len()));
        let mut open = None;
        let close = |batch: &mut EncodingBatch, open: &mut Option<usize>| {
            if open.take().is_some() {
                push(batch, &after, &[]);
                batch.end_row();
            }
        };
        for (unit, done) in units.iter().zip(results) {
            match unit {
                Unit::Texts(_) => {
                    close(&mut batch, &mut open);
                    let mut start = 0;
                    for end in done.ends {
                        push(&mut batch, &before, &[]);
                        push(
                            &mut batch,
                            &done.ids[start..end],
                            done.spans.get(start..end).unwrap_or_default(),
                        );
                        push(&mut batch, &after, &[]);
                        batch.end_row();
                        start = end;
                    }
                }
                Unit::Part { text, .. } | Unit::Token { text, .. } => {
                    if open != Some(*text) {
                        close(&mut batch, &mut open);
                        push(&mut batch, &before, &[]);
                        open = Some(*text);
                    }
                    match unit {
                        Unit::Token { id, span, .. } => push(&mut batch, &[*id], &[*span]),
                        _ => push(&mut batch, &done.ids, &done.spans),
                    }
                }
            }
        }
        close(&mut batch, &mut open);
        Ok(batch)
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
        let batch = self.encode_batch(texts, EncodeOptions { spans: false, ..options })?;
        Ok(batch.row_offsets.windows(2).map(|row| (row[1] - row[0]) as u64).collect())
    }

    /// Texts of many ids each.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id without a token.
    pub fn decode_batch(&self, rows: Rows<'_>, skip_special: bool) -> Result<Vec<String>> {
        (0..rows.len())
            .filter_map(|row| rows.row(row))
            .map(|row| self.decode(&rows.ids[row], skip_special))
            .collect()
    }

    fn units<T: AsRef<[u8]>>(&self, texts: &[T], cut_long: bool, finder: &Finder<'_>) -> Result<Vec<Unit>> {
        let mut units = Vec::new();
        let mut first = 0;
        let mut bytes = 0;
        for (number, text) in texts.iter().enumerate() {
            let text = text.as_ref();
            let long =
                (cut_long && text.len() > LONG_BYTES).then(|| std::str::from_utf8(text).ok()).flatten();
            if long.is_some() || bytes >= UNIT_BYTES {
                if first < number {
                    units.push(Unit::Texts(first..number));
                }
                first = number;
                bytes = 0;
            }
            match long {
                Some(long) => {
                    self.cut(number, long, finder, &mut units)?;
                    first = number + 1;
                }
                None => bytes += text.len(),
            }
        }
        if first < texts.len() {
            units.push(Unit::Texts(first..texts.len()));
        }
        Ok(units)
    }

    /// Cuts a long text at added tokens and at safe places.
    fn cut(&self, number: usize, text: &str, finder: &Finder<'_>, units: &mut Vec<Unit>) -> Result<()> {
        finder.raw(text, |Section { range, token }| {
            if let Some(token) = token {
                let span = [range.start as u64, range.end as u64];
                units.push(Unit::Token { text: number, id: token.id, span });
                return Ok(());
            }
            let mut start = range.start;
            // Tokens looked for after normalization may lie across any cut.
            while !finder.cuts_normalized() && range.end - start > LONG_BYTES {
                let rest = &text[start..range.end];
                let Some(cut) = self.pipeline.pre_tokenizer.safe_cut(rest, LONG_BYTES) else { break };
                units.push(Unit::Part { text: number, range: start..start + cut });
                start += cut;
            }
            units.push(Unit::Part { text: number, range: start..range.end });
            Ok(())
        })
    }

    fn run_units<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        units: &[Unit],
        n_threads: usize,
        rules: &Rules<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Vec<Done>> {
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let work = |tick: &mut dyn FnMut(usize) -> Result<()>| -> Vec<(usize, Result<Done>)> {
            rules.finder.lend(|worker| {
                let mut results = Vec::new();
                while !stopped.load(Ordering::Relaxed) {
                    if rules.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                        results.push((units.len(), Err(Error::Cancelled)));
                        break;
                    }
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(unit) = units.get(number) else { break };
                    results.push((number, self.run_unit(texts, unit, rules, worker)));
                    if let Err(error) = tick(number) {
                        stopped.store(true, Ordering::Relaxed);
                        results.push((units.len(), Err(error)));
                    }
                }
                results
            })
        };
        let n_threads = n_threads.min(units.len()).max(1);
        let n_units = units.len() as u64;
        let own = || work(&mut |number| progress.tick(Stage::Encode, number as u64, n_units));
        let mut results = Vec::with_capacity(units.len());
        for part in parallel::shared(n_threads, own, |_| work(&mut |_| Ok(()))) {
            results.extend(part.map_err(|_| Error::Internal("an encoding thread panicked".into()))?);
        }
        results.sort_unstable_by_key(|(number, _)| *number);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn run_unit<T: AsRef<[u8]>>(
        &self,
        texts: &[T],
        unit: &Unit,
        rules: &Rules<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<Done> {
        let Rules { room, finder, options } = rules;
        // Between units it is looked at in any case.
        let stop = |n_bytes: usize| options.stop.filter(|_| n_bytes > 2 * LONG_BYTES);
        let mut done = Done::default();
        match unit {
            Unit::Token { .. } => {}
            Unit::Part { text, range } => {
                worker.set_dropout(None);
                let mut output = Output::new(options.spans, None, stop(range.len()));
                let part = texts[*text].as_ref().get(range.clone()).unwrap_or_default();
                let part = std::str::from_utf8(part)
                    .map_err(|_| Error::Internal("a text was cut inside a character".into()))?;
                finished(self.encode_section(part, range.start, finder, worker, &mut output))?;
                done.ids = output.ids;
                done.spans = output.spans.unwrap_or_default();
            }
            Unit::Texts(range) => {
                for number in range.clone() {
                    // Each text has its own seed, so that neighbours do not matter.
                    let seed = options.seed.wrapping_add((number as u64).wrapping_mul(0xA076_1D64_78BD_642F));
                    worker.set_dropout(self.dropout(seed));
                    let text = texts[number].as_ref();
                    let mut output = Output::new(options.spans, *room, stop(text.len()));
                    std::mem::swap(&mut output.ids, &mut done.ids);
                    output.start_at(output.ids.len());
                    self.encode_bytes(text, finder, worker, &mut output)?;
                    done.ids = output.ids;
                    done.spans.extend(output.spans.unwrap_or_default());
                    done.ends.push(done.ids.len());
                }
            }
        }
        Ok(done)
    }
}

fn push(batch: &mut EncodingBatch, ids: &[TokenId], spans: &[Span]) {
    batch.ids.extend_from_slice(ids);
    if let Some(all) = &mut batch.spans {
        all.extend_from_slice(spans);
        // What a template puts in has no place in the text.
        all.resize(batch.ids.len(), [0, 0]);
    }
}
