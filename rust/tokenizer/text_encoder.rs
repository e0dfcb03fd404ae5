//! `TextEncoder`: turns a text into tokens; every call uses it.
//!
//! ```text
//! text -> sections (added tokens) -> normalizer -> stretches -> pieces -> model -> sink
//! ```
//!
//! - A *section* is the text between two added tokens.
//! - A *stretch* is a part of a section that the pre-tokenizer rewrites separately; mostly the whole section.
//! - A *piece* is a part of a stretch that the model encodes separately.
//!
//! Two shortcuts replace the stages between section and sink where they give the same ids: `raw_words` for
//! BERT and `space_as_mark` for SentencePiece's BPE. `malformed` handles bytes that are not UTF-8. The
//! [`Sink`] keeps or counts the tokens.

use std::sync::atomic::{AtomicBool, Ordering};

use super::raw_words::raw_words_of;
use super::sink::Sink;
use super::{EncodeOptions, Input, Tokenizer};
use crate::error::{Error, Result};
use crate::models::Worker;
use crate::models::bpe::Dropout;
use crate::normalizer::{Alignment, Rewritten};
use crate::pre_tokenizer::PreTokenizer;
use crate::text::Piece;
use crate::text::pattern::StepBudget;
use crate::tokenizer::added_tokens::Section;
use crate::tokenizer::encoding::Span;
use crate::tokenizer::special_policy::SpecialPolicy;

/// Spans are reserved for at most so many ids of a chunk; a text without pieces may become more, which are
/// reserved once their number is known.
pub(super) const MOST_RESERVED: usize = 1 << 16;

/// Why encoding ended before the text did. A request to stop is never taken for a full sink: they are
/// different variants.
#[derive(Debug)]
pub(super) enum Stop {
    /// There are as many ids as were asked for.
    Full,
    /// It failed.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// How the encoding of a text, or of a part of one, ended.
pub(super) type Visit = Result<(), Stop>;

/// Where a stretch of rewritten text comes from in the original.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// Where the stretch's source begins in the source of `normalized`, or in the original.
    pub(super) start: usize,
    pub(super) normalized: Option<Alignment<'a>>,
    pub(super) rewritten: Option<Alignment<'a>>,
    /// Where the source of `normalized` begins in the original.
    pub(super) base: usize,
}

impl Origin<'_> {
    /// The span in the original text of a range of the rewritten one.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let mut span = [start as u64, end as u64];
        self.lead_back(std::slice::from_mut(&mut span));
        span
    }

    /// Replaces ranges of the rewritten text, mostly in order, by their spans in the original one.
    pub(super) fn lead_back(&self, spans: &mut [Span]) {
        self.lead_back_after(false, spans);
    }

    /// The first alignment that [`Origin::lead_back`] goes through, if the text begins where it does.
    pub(super) fn first_alignment(&self) -> Option<Alignment<'_>> {
        self.rewritten.or(self.normalized.filter(|_| self.start == 0))
    }

    /// As [`Origin::lead_back`]; `is_begun` where spans are led back through the first alignment already.
    pub(super) fn lead_back_after(&self, mut is_begun: bool, spans: &mut [Span]) {
        for (alignment, start) in [(self.rewritten, self.start), (self.normalized, self.base)] {
            if let Some(alignment) = alignment
                && !std::mem::take(&mut is_begun)
            {
                alignment.to_originals(spans);
            }
            if start > 0 {
                spans.iter_mut().flatten().for_each(|at| *at += start as u64);
            }
        }
    }
}

/// How much may be put out.
#[derive(Clone, Copy, Default)]
pub(super) struct Limits<'a> {
    /// The most ids; `None` is all.
    pub(super) room: Option<usize>,
    /// Set by another thread, it ends the encoding.
    pub(super) stop: Option<&'a AtomicBool>,
}

/// Encodes one text into a sink.
pub(super) struct TextEncoder<'w, 'm, S> {
    pub(super) tokenizer: &'w Tokenizer,
    pub(super) policy: &'w SpecialPolicy<'w>,
    pub(super) worker: &'w mut Worker<'m>,
    pub(super) sink: &'w mut S,
    /// The number of ids in the sink at which encoding ends.
    limit: usize,
    stop: Option<&'w AtomicBool>,
    /// The steps that patterns may still take on the whole text, however it is cut.
    budget: &'w StepBudget,
}

impl Tokenizer {
    /// Puts the tokens of a text, without its template, into a sink.
    pub(super) fn encode_text<S: Sink>(
        &self,
        text: Input<'_>,
        room: Option<usize>,
        options: &EncodeOptions<'_>,
        sink: &mut S,
    ) -> Result<()> {
        let policy = self.policy(options.specials)?;
        let limits = Limits { room, stop: options.stop };
        policy.lend(|worker| {
            worker.set_dropout(self.dropout(options.seed));
            self.encode_with(text.len(), &policy, limits, worker, sink, |encoder| encoder.text(text))
        })
    }

    /// Encodes `n_bytes` of text by `visit`; ids beyond the limit are cut off.
    pub(super) fn encode_with<'m, S: Sink>(
        &self,
        n_bytes: usize,
        policy: &SpecialPolicy<'_>,
        Limits { room, stop }: Limits<'_>,
        worker: &mut Worker<'m>,
        sink: &mut S,
        visit: impl FnOnce(&mut TextEncoder<'_, 'm, S>) -> Visit,
    ) -> Result<()> {
        let limit = room.map_or(usize::MAX, |room| room.saturating_add(sink.place().id));
        let budget = StepBudget::of(n_bytes);
        let mut encoder =
            TextEncoder { tokenizer: self, policy, worker, sink: &mut *sink, limit, stop, budget: &budget };
        match visit(&mut encoder) {
            Ok(()) | Err(Stop::Full) => {
                sink.truncate(limit);
                Ok(())
            }
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// The dropout of a text, if the model has one.
    pub(super) fn dropout(&self, seed: u64) -> Option<Dropout> {
        self.model.dropout().map(|p| Dropout::new(p, seed))
    }
}

impl<S: Sink> TextEncoder<'_, '_, S> {
    /// Encodes a text, or over bytes that may be one.
    pub(super) fn text(&mut self, text: Input<'_>) -> Visit {
        match text.text() {
            Some(text) => self.sections(text, 0),
            None => self.malformed(text.bytes()),
        }
    }

    /// Cuts a text that begins at `base` at its added tokens, except those marked `normalized`.
    pub(super) fn sections(&mut self, text: &str, base: usize) -> Visit {
        let policy = self.policy;
        policy.cut_raw(text, |Section { range, token }| {
            let start = base + range.start;
            match token {
                Some(token) => {
                    let span = [start as u64, (base + range.end) as u64];
                    self.sink.token(token, span, text[range].as_bytes())?;
                }
                None => self.section(&text[range], start)?,
            }
            self.check()
        })
    }

    /// Encodes a part of the text without added tokens, which begins at `base`.
    pub(super) fn section(&mut self, section: &str, base: usize) -> Visit {
        check_len(section.len())?;
        if !S::NEEDS_PIECES
            && !self.policy.cuts_normalized()
            && let Some(raw_words) = raw_words_of(&self.tokenizer.pipeline, self.policy.model())
        {
            return self.raw_words(section, base, raw_words);
        }
        if let Some(visit) = self.space_as_mark(section, base, true) {
            return visit;
        }
        let normalized = self.tokenizer.pipeline.normalize(section, self.keeps_alignment())?;
        self.normalized(section, &normalized, base)
    }

    /// Whether a normalizer must keep the way to the original text.
    pub(super) fn keeps_alignment(&self) -> bool {
        S::SPANS || self.tokenizer.pipeline.looks_at_origin()
    }

    /// Encodes a section that the normalizer has rewritten. Cuts it at added tokens marked `normalized`.
    pub(super) fn normalized(&mut self, section: &str, normalized: &Rewritten, base: usize) -> Visit {
        let text = normalized.text(section);
        let origin = Origin { start: 0, normalized: normalized.alignment(), rewritten: None, base };
        let policy = self.policy;
        if !policy.cuts_normalized() {
            return self.stretches(text, origin);
        }
        policy.cut_normalized(text, |Section { range, token }| {
            match token {
                Some(token) => {
                    let span = origin.span(range.start, range.end);
                    self.sink.token(token, span, text[range].as_bytes())?;
                }
                None => {
                    let origin = Origin { start: range.start, ..origin };
                    self.stretches(&text[range], origin)?;
                }
            }
            self.check()
        })
    }

    /// Cuts a text into the stretches that its pre-tokenizer rewrites.
    fn stretches(&mut self, text: &str, origin: Origin<'_>) -> Visit {
        let (pre_tokenizer, budget) = (&self.tokenizer.pipeline.pre_tokenizer, self.budget);
        // The library tokenizers asks where a section's first character comes from.
        let begins = |place| origin.base == 0 && origin.span(place, place + 1)[0] == 0;
        pre_tokenizer.for_each_stretch(text, begins, budget, |step, stretch, at_start| {
            let origin = Origin { start: origin.start + stretch.start, ..origin };
            self.stretch(step, &text[stretch], at_start, origin)
        })
    }

    /// Encodes a stretch, which `step` rewrites and cuts into pieces.
    #[inline]
    fn stretch(&mut self, step: &PreTokenizer, text: &str, at_start: bool, origin: Origin<'_>) -> Visit {
        let rewritten = Rewritten::new(
            S::SPANS,
            || step.rewrite_aligned(text, at_start),
            || step.rewrite_text(text, at_start),
        )?;
        let text = rewritten.text(text);
        check_len(text.len())?;
        let origin = Origin { rewritten: rewritten.alignment(), ..origin };
        let budget = self.budget;
        if let PreTokenizer::Superwords { pieces: stretches } = step
            && !S::SPANS
            && !S::NEEDS_PIECES
            && self.worker.joins_words()
        {
            return stretches.pre_tokenizer().for_each_chunk(text, budget, |pieces| {
                self.reserve(pieces)?;
                self.sink.append(self.worker, |worker, ids| {
                    worker.encode_words(text.as_bytes(), pieces, |piece| stretches.joins(piece), ids)
                })?;
                self.check()
            });
        }
        step.for_each_chunk(text, budget, |pieces| {
            self.pieces(text.as_bytes(), pieces, &origin)?;
            self.check()
        })
    }

    /// Puts the tokens of pieces into the sink.
    pub(super) fn pieces(&mut self, text: &[u8], pieces: &[Piece], origin: &Origin<'_>) -> Visit {
        self.reserve(pieces)?;
        let model = self.policy.model();
        if model.refuses_unknown() {
            for piece in pieces {
                model.check_known(&text[piece.range()])?;
            }
        }
        Ok(self.sink.pieces(self.policy, text, pieces, origin, self.worker)?)
    }

    /// Makes room for the ids of pieces that follow each other.
    pub(super) fn reserve(&mut self, pieces: &[Piece]) -> Result<()> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
        self.sink.reserve((last.end - first.start) as usize)
    }

    /// Ends the encoding at its limit, or when the caller wants to stop.
    #[inline]
    pub(super) fn check(&self) -> Visit {
        if self.sink.is_full(self.limit) {
            return Err(Stop::Full);
        }
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Cancelled.into()),
            _ => Ok(()),
        }
    }
}

/// Models count bytes in 32 bits.
pub(super) fn check_len(bytes: usize) -> Result<()> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Encode(format!(
            "a text of {bytes} bytes; the limit is {} (4 GiB); split it into documents, or pass lines",
            u32::MAX
        ))),
    }
}
