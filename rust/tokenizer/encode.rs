//! One text to ids: added tokens, normalizer, pieces, model, template.

use std::ops::Range;

use super::finder::Finder;
use super::output::Output;
use super::rewritten::{Origin, Rewritten};
use super::walk::{Walk, finished};
use super::{EncodeOptions, Tokenizer};
use crate::added_tokens::Section;
use crate::bpe::Dropout;
use crate::encoding::{Encoding, EncodingBatch, Surfaces};
use crate::error::{Error, Result};
use crate::model::{Model, Worker};
use crate::stretches::{Stretch, for_each_stretch};
use crate::template::Part;

/// The parts of a text between two looks at whether the caller wants to stop,
/// where all stages are one walk.
const PART_BYTES: usize = 256 << 10;

impl Tokenizer {
    /// Encodes a text, given as bytes; each longest run of bytes that are no
    /// UTF-8 is a piece of its own, as in counting. With SentencePiece's
    /// normalizer each such byte becomes U+FFFD, as SentencePiece has it.
    ///
    /// # Errors
    /// [`Error::Encode`] for a special token found under
    /// [`crate::added_tokens::Specials::Raise`]; [`Error::Pattern`] when a
    /// user's pattern hits its step limit.
    pub fn encode(&self, text: &[u8], options: EncodeOptions<'_>) -> Result<Encoding> {
        let around = self.template.single.len() - 1;
        let output = self.encode_text(text, &options, options.add_special_tokens, around, true)?;
        let (spans, surfaces) = (output.spans.unwrap_or_default(), output.surfaces.unwrap_or_default());
        let mut encoding = Encoding::default();
        for part in &self.template.single {
            match *part {
                Part::Special { id, type_id } if options.add_special_tokens => {
                    encoding.push_special(id, type_id);
                }
                Part::First { type_id } => encoding.push_text(&output.ids, &spans, &surfaces, type_id),
                _ => {}
            }
        }
        Ok(encoding)
    }

    /// The number of ids a text becomes.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn count(&self, text: &[u8], options: EncodeOptions<'_>) -> Result<usize> {
        let around = if options.add_special_tokens { self.template.single.len() - 1 } else { 0 };
        Ok(self.encode_text(text, &options, options.add_special_tokens, around, false)?.ids.len() + around)
    }

    /// Whether a text becomes at most `limit` ids; stops reading when it does not.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn fits(&self, text: &[u8], limit: usize, options: EncodeOptions<'_>) -> Result<bool> {
        let around = if options.add_special_tokens { self.template.single.len() - 1 } else { 0 };
        let Some(room) = limit.checked_sub(around) else { return Ok(false) };
        let mut output = Output::new(false, Some(room.saturating_add(1)), options.stop);
        let finder = self.finder(options.specials)?;
        self.with_worker(&finder, options.seed, |worker| {
            self.encode_bytes(text, &finder, worker, &mut output)
        })?;
        Ok(output.ids.len() <= room)
    }

    /// Cuts a long text into windows of `size` ids, template included, each
    /// beginning `size - template - stride` ids after the one before: `stride`
    /// is the overlap, as in Hugging Face's truncation.
    ///
    /// # Errors
    /// [`Error::Encode`] when `stride` leaves no step; else as [`Tokenizer::encode`].
    pub fn windows(
        &self,
        text: &[u8],
        size: usize,
        stride: usize,
        options: EncodeOptions<'_>,
    ) -> Result<EncodingBatch> {
        let (before, after) =
            if options.add_special_tokens { self.template.around_single() } else { Default::default() };
        let taken = stride.saturating_add(before.len() + after.len());
        let step = size.checked_sub(taken).filter(|&step| step > 0);
        let Some(step) = step else {
            return Err(Error::Encode(format!(
                "windows of {size} ids with {} special tokens and an overlap of {stride} leave no step; \
                 ask for a larger size or a smaller stride",
                before.len() + after.len()
            )));
        };
        let whole = EncodeOptions { max_tokens: None, ..options };
        let output = self.encode_text(text, &whole, false, 0, true)?;
        let spans = output.spans.unwrap_or_default();
        let room = step + stride;
        let mut batch = EncodingBatch::new(true);
        let mut start = 0;
        loop {
            let end = (start + room).min(output.ids.len());
            for (ids, row_spans) in [
                (&before[..], &vec![[0, 0]; before.len()][..]),
                (&output.ids[start..end], &spans[start..end]),
                (&after[..], &vec![[0, 0]; after.len()][..]),
            ] {
                batch.ids.extend_from_slice(ids);
                if let Some(all) = &mut batch.spans {
                    all.extend_from_slice(row_spans);
                }
            }
            batch.end_row();
            if end == output.ids.len() {
                return Ok(batch);
            }
            start += step;
        }
    }

    /// How many ids of text fit beside a template of `around` ids.
    pub(super) fn room(&self, options: &EncodeOptions<'_>, around: usize) -> Result<Option<usize>> {
        match options.max_tokens {
            None => Ok(None),
            Some(max) => match max.checked_sub(around) {
                Some(room) => Ok(Some(room)),
                None => Err(Error::Encode(format!(
                    "max_tokens={max} is less than the {around} special tokens of the template; \
                     ask for more, or pass add_special_tokens=False"
                ))),
            },
        }
    }

    pub(super) fn encode_text<'a>(
        &self,
        text: &[u8],
        options: &EncodeOptions<'a>,
        with_template: bool,
        around: usize,
        with_spans: bool,
    ) -> Result<Output<'a>> {
        let room = self.room(options, if with_template { around } else { 0 })?;
        let finder = self.finder(options.specials)?;
        let mut output = Output::new(with_spans, room, options.stop);
        output.surfaces = with_spans.then(Surfaces::default);
        self.with_worker(&finder, options.seed, |worker| {
            self.encode_bytes(text, &finder, worker, &mut output)
        })?;
        Ok(output)
    }

    /// Runs `work` with a worker whose dropout, if any, starts from `seed`.
    pub(super) fn with_worker<T>(
        &self,
        finder: &Finder<'_>,
        seed: u64,
        work: impl FnOnce(&mut Worker<'_>) -> T,
    ) -> T {
        finder.lend(|worker| {
            worker.set_dropout(self.dropout(seed));
            work(worker)
        })
    }

    pub(super) fn dropout(&self, seed: u64) -> Option<Dropout> {
        self.model.dropout().map(|p| Dropout::new(p, seed))
    }

    /// Appends the ids of a text, up to the output's limit.
    pub(super) fn encode_bytes(
        &self,
        text: &[u8],
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Result<()> {
        if let Some(whole) = self.replaces_bytes_of(text) {
            finished(self.encode_malformed(whole, text, finder, worker, output))?;
            output.truncate();
            return Ok(());
        }
        let walk = for_each_stretch(text, |base, stretch| {
            match stretch {
                Stretch::Text(text) => self.encode_str(text, base, finder, worker, output)?,
                Stretch::Invalid(run) => {
                    check_len(run.len())?;
                    let origin = Origin { start: 0, normalized: None, rewritten: None, base };
                    self.encode_piece(finder.model(), run, 0..run.len(), origin, worker, output);
                }
            }
            output.room_left()
        });
        finished(walk)?;
        output.truncate();
        Ok(())
    }

    fn encode_str(
        &self,
        text: &str,
        base: usize,
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        finder.raw(text, |Section { range, token }| {
            let start = base + range.start;
            match token {
                Some(token) => {
                    output.push_token(token, start, base + range.end, text[range].as_bytes());
                }
                None => self.encode_section(&text[range], start, finder, worker, output)?,
            }
            output.room_left()
        })
    }

    /// Encodes a stretch of the original text without raw added tokens.
    pub(super) fn encode_section(
        &self,
        section: &str,
        base: usize,
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        check_len(section.len())?;
        if output.is_plain()
            && !finder.cuts_normalized()
            && let Some(walk) = self.encode_fused(section, worker, output)
        {
            return walk;
        }
        let step = self.pipeline.normalizer.as_ref();
        let normalized = Rewritten::new(
            output.spans.is_some(),
            || step.map_or(Ok(None), |step| step.normalize(section)),
            || step.map_or(Ok(None), |step| step.normalize_text(section)),
        )?;
        self.encode_normalized(section, &normalized, base, finder, worker, output)
    }

    /// Encodes a section in one walk of all stages, where there is one. Whoever
    /// may stop is asked at a space now and then: no stage sees across it.
    fn encode_fused(&self, section: &str, worker: &mut Worker<'_>, output: &mut Output) -> Option<Walk> {
        let mut rest = section;
        loop {
            let near = rest.as_bytes().get(..PART_BYTES).filter(|_| output.may_stop());
            let cut = near.and_then(|near| memchr::memrchr(b' ', near)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(cut);
            if let Err(error) = worker.encode_section(&self.pipeline, part, &mut output.ids)? {
                return Some(Err(error.into()));
            }
            if after.is_empty() {
                return Some(Ok(()));
            }
            if let Err(ended) = output.room_left() {
                return Some(Err(ended));
            }
            // The space is in no word.
            rest = &after[1..];
        }
    }

    /// Encodes a section that the normalizer has seen.
    pub(super) fn encode_normalized(
        &self,
        section: &str,
        normalized: &Rewritten,
        base: usize,
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        let text = normalized.text(section);
        let origin = Origin { start: 0, normalized: normalized.aligned(), rewritten: None, base };
        if !finder.cuts_normalized() {
            return self.encode_pieces(finder.model(), text, base == 0, origin, worker, output);
        }
        finder.normalized(text, |Section { range, token }| {
            match token {
                Some(token) => {
                    let [start, end] = origin.span(range.start, range.end);
                    output.push_token(token, start as usize, end as usize, text[range].as_bytes());
                }
                None => {
                    let origin = Origin { start: range.start, ..origin };
                    let at_start = base == 0 && range.start == 0;
                    self.encode_pieces(finder.model(), &text[range], at_start, origin, worker, output)?;
                }
            }
            output.room_left()
        })
    }

    fn encode_pieces(
        &self,
        model: &Model,
        text: &str,
        at_start: bool,
        origin: Origin<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        let step = &self.pipeline.pre_tokenizer;
        let rewritten = Rewritten::new(
            output.spans.is_some(),
            || Ok(step.rewrite(text, at_start)),
            || Ok(step.rewrite(text, at_start)),
        )?;
        let text = rewritten.text(text);
        check_len(text.len())?;
        let origin = Origin { rewritten: rewritten.aligned(), ..origin };
        if output.is_plain() && !output.may_stop() {
            // The plain case, alone so that nothing but the model is in its loop.
            return self.pipeline.pre_tokenizer.walk(text, |piece| {
                worker.encode(text.as_bytes(), piece.start, piece.end, &mut output.ids);
                Ok(())
            });
        }
        self.pipeline.pre_tokenizer.walk(text, |piece| {
            self.encode_piece(model, text.as_bytes(), piece, origin, worker, output);
            output.room_left()
        })
    }

    fn encode_piece(
        &self,
        model: &Model,
        text: &[u8],
        Range { start, end }: Range<usize>,
        origin: Origin<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) {
        let Output { ids, spans, lens, surfaces, .. } = output;
        let Some(spans) = spans else {
            worker.encode(text, start, end, ids);
            return;
        };
        let from = ids.len();
        let mut at = start;
        let mut push = |len: usize| {
            spans.push(origin.span(at, at + len));
            at += len;
        };
        if model.lens_are_token_lens() {
            worker.encode(text, start, end, ids);
            for &id in &ids[from..] {
                push(model.vocab().bytes(id).map_or(0, <[u8]>::len));
            }
        } else {
            lens.clear();
            worker.encode_with_lens(&text[start..end], ids, lens);
            lens.iter().for_each(|&len| push(len as usize));
            if let (Some(surfaces), Some(unk)) = (surfaces, model.unk_id()) {
                let mut at = start;
                for (place, (&id, &len)) in ids[from..].iter().zip(&*lens).enumerate() {
                    if id == unk {
                        surfaces.push(from + place, &text[at..at + len as usize]);
                    }
                    at += len as usize;
                }
            }
        }
    }
}

/// Models count bytes in 32 bits.
fn check_len(bytes: usize) -> Result<()> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Encode(format!(
            "a text of {bytes} bytes; the limit is {} (4 GiB); split it into documents, or pass lines",
            u32::MAX
        ))),
    }
}
