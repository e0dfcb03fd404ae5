//! One text to ids: added tokens, normalizer, pieces, model, template.

use super::input::Input;
use super::jobs::LONG_BYTES;
use super::origin::Origin;
use super::output::{Keeps, Output};
use super::repeats::Repeats;
use super::walk::{Walk, finished};
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory::MakeRoom;
use crate::models::Worker;
use crate::models::bpe::Dropout;
use crate::normalizer::Rewritten;
use crate::pre_tokenizer::PreTokenizer;
use crate::pre_tokenizer::chunks::Piece;
use crate::text::pattern::Work;
use crate::text::utf8_runs::{Stretch, for_each_few};
use crate::tokenizer::added_tokens::Section;
use crate::tokenizer::encoding::{Encoding, Surfaces};
use crate::tokenizer::special_policy::Finder;
use crate::tokenizer::template::Part;

impl Tokenizer {
    /// Encodes a text: a `str`, or bytes. Of bytes, each longest run that is no
    /// UTF-8 is a piece of its own, as in counting. With SentencePiece's
    /// normalizer each such byte becomes U+FFFD, as SentencePiece has it.
    ///
    /// # Errors
    /// [`Error::Encode`] for a special token found under
    /// [`crate::tokenizer::added_tokens::Specials::Raise`]; [`Error::Pattern`] when a
    /// user's pattern hits its step limit.
    pub fn encode<'t>(&self, text: impl Into<Input<'t>>, options: EncodeOptions<'_>) -> Result<Encoding> {
        let text = text.into();
        let output = self.encode_text(text, self.room_of_text(&options)?, &options, Keeps::SpansByModel)?;
        let is_framed = self.template.is_framed();
        let mut text = (output.ids, output.spans.unwrap_or_default(), output.surfaces.unwrap_or_default());
        let mut encoding = Encoding::default();
        for part in &self.template.single {
            match *part {
                Part::Special { id, type_id } if options.add_special_tokens => {
                    encoding.push_special(id, type_id)?;
                }
                Part::First { type_id } if !is_framed => {
                    encoding.push_text(&text.0, &text.1, &text.2, type_id)?;
                }
                Part::First { type_id } => {
                    // It stands there once.
                    let (ids, spans, surfaces) = std::mem::take(&mut text);
                    encoding.take_text(ids, spans, surfaces, type_id)?;
                }
                _ => {}
            }
        }
        Ok(encoding)
    }

    /// The number of ids a text becomes. A text of more than 256 KiB is shared among
    /// threads where it can be cut.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn count<'t>(&self, text: impl Into<Input<'t>>, options: EncodeOptions<'_>) -> Result<usize> {
        let text = text.into();
        if text.len() > LONG_BYTES {
            return Ok(self.counts_of(&[text], options)?.iter().sum::<u64>() as usize);
        }
        let around = self.n_around(&options, false);
        let mut output = Output::counting(self.room_of_text(&options)?, options.stop);
        self.encode_into(text, &options, &mut output)?;
        Ok(self.template.copies(false)[0] * output.n_ids() + around)
    }

    /// Whether a text becomes at most `limit` ids; stops reading when it does not.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn fits<'t>(
        &self,
        text: impl Into<Input<'t>>,
        limit: usize,
        options: EncodeOptions<'_>,
    ) -> Result<bool> {
        let around = self.n_around(&options, false);
        let Some(room) = limit.checked_sub(around) else { return Ok(false) };
        let Some(room) = room.checked_div(self.template.copies(false)[0]) else { return Ok(true) };
        let mut output = Output::counting(Some(room.saturating_add(1)), options.stop);
        self.encode_into(text.into(), &options, &mut output)?;
        Ok(output.n_ids() <= room)
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

    /// How many ids of a single text fit into its row, whose template may hold it several times.
    pub(super) fn room_of_text(&self, options: &EncodeOptions<'_>) -> Result<Option<usize>> {
        let room = self.room(options, self.n_around(options, false))?;
        Ok(room.map(|room| room / self.template.weights(false)[0]))
    }

    /// Encodes a text without its template, up to `room` ids.
    pub(super) fn encode_text<'a>(
        &self,
        text: Input<'_>,
        room: Option<usize>,
        options: &EncodeOptions<'a>,
        keeps: Keeps,
    ) -> Result<Output<'a>> {
        let mut output = Output::new(keeps, room, options.stop);
        output.surfaces = output.spans.is_some().then(Surfaces::default);
        self.encode_into(text, options, &mut output)?;
        Ok(output)
    }

    pub(super) fn encode_into(
        &self,
        text: Input<'_>,
        options: &EncodeOptions<'_>,
        output: &mut Output,
    ) -> Result<()> {
        let finder = self.finder(options.specials)?;
        self.with_worker(&finder, options.seed, |worker| self.encode_input(text, &finder, worker, output))
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
    pub(super) fn encode_input(
        &self,
        text: Input<'_>,
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Result<()> {
        output.begin(text.len());
        let walk = match (text.text(), self.replaces_bytes()) {
            (Some(text), _) => self.encode_str(text, 0, finder, worker, output),
            (None, Some(whole)) => self.encode_malformed(whole, text.bytes(), finder, worker, output),
            (None, None) => self.encode_stretches(text.bytes(), finder, worker, output),
        };
        finished(walk)?;
        output.truncate();
        Ok(())
    }

    /// Appends the ids of bytes that are no UTF-8 everywhere.
    fn encode_stretches(
        &self,
        text: &[u8],
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        let mut repeats = Repeats::of(text, self.model.dropout().is_some() || output.words.is_some());
        let walk = for_each_few(text, |stretches| {
            repeats.announce(stretches);
            for &(base, stretch) in stretches {
                let key = repeats.key(base, stretch.len());
                if let Some(key) = key
                    && repeats.repeat(key, base, output)?
                {
                    output.room_left()?;
                    continue;
                }
                worker.set_learning(key.is_none() || stretch.len() > Repeats::CHEAP_BYTES);
                let place = output.place();
                match stretch {
                    Stretch::Text(text) => self.encode_str(text, base, finder, worker, output)?,
                    Stretch::Invalid(run) => {
                        check_len(run.len())?;
                        let mut origin = Origin { start: 0, normalized: None, rewritten: None, base };
                        let piece = Piece { start: 0, end: run.len() as u32 };
                        output.encode_chunk(finder, run, &[piece], &mut origin, worker)?;
                    }
                }
                if let Some(key) = key {
                    repeats.keep(key, base, place, output);
                }
                output.room_left()?;
            }
            Ok(())
        });
        worker.set_learning(true);
        walk
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
                    output.push_token(token, start, base + range.end, text[range].as_bytes())?;
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
        if output.keeps != Keeps::SpansByModel
            && !finder.cuts_normalized()
            && let Some(raw_words) = worker.fused_with(&self.pipeline)
        {
            return output.encode_raw_words(finder, section, base, &raw_words, worker);
        }
        if let Some(walk) = self.encode_spaced(section, base, true, finder, worker, output) {
            return walk;
        }
        let normalized = self.pipeline.normalize(section, self.keeps_way_back(output))?;
        self.encode_normalized(section, &normalized, base, finder, worker, output)
    }

    /// Whether a normalizer is to keep the way back.
    pub(super) fn keeps_way_back(&self, output: &Output) -> bool {
        output.spans.is_some() || self.pipeline.looks_at_origin()
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
        let mut origin = Origin { start: 0, normalized: normalized.way_back(), rewritten: None, base };
        if !finder.cuts_normalized() {
            return self.encode_pieces(finder, text, origin, worker, output);
        }
        finder.normalized(text, |Section { range, token }| {
            match token {
                Some(token) => {
                    let [start, end] = origin.span(range.start, range.end);
                    output.push_token(token, start as usize, end as usize, text[range].as_bytes())?;
                }
                None => {
                    let origin = Origin { start: range.start, ..origin };
                    self.encode_pieces(finder, &text[range], origin, worker, output)?;
                }
            }
            output.room_left()
        })
    }

    fn encode_pieces(
        &self,
        finder: &Finder<'_>,
        text: &str,
        origin: Origin<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        let work = output.work();
        // tokenizers looks at where a section's first character comes from.
        let begins = |place| origin.base == 0 && { origin }.span(place, place + 1)[0] == 0;
        self.pipeline.pre_tokenizer.for_each_stretch(text, begins, &work, |step, stretch, at_start| {
            let origin = Origin { start: origin.start + stretch.start, ..origin };
            encode_stretch(step, finder, &text[stretch], at_start, origin, &work, worker, output)
        })
    }
}

/// Encodes a stretch that `step` rewrites and cuts.
#[inline]
#[allow(clippy::too_many_arguments, reason = "2026-11: the body of a loop, taken out of it")]
fn encode_stretch(
    step: &PreTokenizer,
    finder: &Finder<'_>,
    text: &str,
    at_start: bool,
    origin: Origin<'_>,
    work: &Work,
    worker: &mut Worker<'_>,
    output: &mut Output,
) -> Walk {
    let rewritten = Rewritten::new(
        output.spans.is_some(),
        || step.rewrite_aligned(text, at_start),
        || step.rewrite_text(text, at_start),
    )?;
    let text = rewritten.text(text);
    check_len(text.len())?;
    let mut origin = Origin { rewritten: rewritten.way_back(), ..origin };
    step.for_each_chunk(text, work, |pieces| {
        if let (Some(first), Some(last)) = (pieces.first(), pieces.last()) {
            let n_bytes = (last.end - first.start) as usize;
            output.reserve(n_bytes.min(MOST_RESERVED))?;
            // A long piece may be pushed id by id.
            output.ids.make_room(n_bytes)?;
        }
        output.encode_chunk(finder, text.as_bytes(), pieces, &mut origin, worker)?;
        output.room_left()
    })
}

/// Spans for which room is made before a chunk is encoded; only a text without
/// pieces may become more at once, for which room is made when their number is known.
pub(super) const MOST_RESERVED: usize = 1 << 16;

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
