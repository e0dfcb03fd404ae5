//! Encodes bytes that are not UTF-8 everywhere.
//!
//! Each longest run of bytes that are not UTF-8 is a piece, as in counting. Only SentencePiece's normalizer
//! replaces each such byte by U+FFFD, to which no rule applies, and the text around it is one text.

use std::ops::Range;

use super::sink::{Place, Sink};
use super::text_encoder::{Origin, TextEncoder, Visit, check_len};
use crate::cache::piece_table::{Key, MAX_KEY, PieceTable, hash, key};
use crate::error::{Error, Result};
use crate::normalizer::{Normalizer, Rewritten, SentencePiece};
use crate::text::Piece;
use crate::text::utf8_runs::{Run, for_each_few_runs, for_each_run};
use crate::tokenizer::added_tokens::{AddedToken, Section};
use crate::tokenizer::special_policy::SpecialPolicy;

impl<S: Sink> TextEncoder<'_, '_, S> {
    /// Encodes a text that is not UTF-8.
    pub(super) fn malformed(&mut self, text: &[u8]) -> Visit {
        match &self.tokenizer.pipeline.normalizer {
            Some(Normalizer::SentencePiece(normalizer)) => self.replaced(normalizer, text),
            _ => self.runs(text),
        }
    }

    /// Encodes a text of which the normalizer replaces such bytes.
    fn replaced(&mut self, normalizer: &SentencePiece, text: &[u8]) -> Visit {
        for (range, token) in sections(text, self.policy)? {
            if let Some(token) = token {
                self.sink.token(token, [range.start as u64, range.end as u64], &text[range])?;
            } else {
                let part = &text[range.clone()];
                let aligned = || normalizer.normalize_bytes(part).map(Some);
                let plain = || normalizer.normalize_bytes_to_text(part).map(Some);
                let normalized = Rewritten::new(self.keeps_alignment(), aligned, plain)?;
                // Such a normalizer always writes a text, so that of the section is not read.
                self.normalized("", &normalized, range.start)?;
            }
            self.check()?;
        }
        Ok(())
    }

    /// Encodes a text of which runs of such bytes are pieces.
    fn runs(&mut self, text: &[u8]) -> Visit {
        let mut repeats = Repeats::new(text, S::NEEDS_PIECES || self.tokenizer.model.dropout().is_some());
        let visit = for_each_few_runs(text, |runs| {
            repeats.prefetch(runs);
            for &(base, run) in runs {
                let key = repeats.key(base, run.len());
                if let Some(key) = key
                    && repeats.repeat(key, base, self.sink)?
                {
                    self.check()?;
                    continue;
                }
                self.worker.set_learning(key.is_none() || run.len() > Repeats::CHEAP_BYTES);
                let place = self.sink.place();
                match run {
                    Run::Text(text) => self.sections(text, base)?,
                    Run::Invalid(run) => {
                        check_len(run.len())?;
                        let origin = Origin { start: 0, normalized: None, rewritten: None, base };
                        self.pieces(run, &[Piece { start: 0, end: run.len() as u32 }], &origin)?;
                    }
                }
                if let Some(key) = key {
                    repeats.keep(key, base, place, self.sink);
                }
                self.check()?;
            }
            Ok(())
        });
        self.worker.set_learning(true);
        visit
    }
}

/// The text cut at the added tokens that match before normalization.
fn sections<'a>(
    text: &[u8],
    policy: &SpecialPolicy<'a>,
) -> Result<Vec<(Range<usize>, Option<&'a AddedToken>)>> {
    let mut found = Vec::new();
    let mut done = 0;
    for_each_run(text, |base, run| {
        let Run::Text(run) = run else { return Ok(()) };
        policy.cut_raw::<Error>(run, |Section { range, token }| {
            if let Some(token) = token {
                let (start, end) = (base + range.start, base + range.end);
                if done < start {
                    found.push((done..start, None));
                }
                found.push((start..end, Some(token)));
                done = end;
            }
            Ok(())
        })
    })?;
    if done < text.len() {
        found.push((done..text.len(), None));
    }
    Ok(found)
}

/// The sets of the table, at most: 2 MiB.
const MOST_SETS: usize = 1 << 15;
/// A shorter text has too few runs to make a table for.
const LEAST_BYTES: usize = 1 << 10;

/// The results of the short runs of one text, valid and invalid, so that a repeated run copies its ids from
/// the sink: they depend on the bytes alone, except at the start of the text. It lives as long
/// as one text is encoded, so nothing depends on the texts before. Tokens that are drawn by chance are not
/// repeated.
struct Repeats<'a> {
    text: &'a [u8],
    /// Where in the sink it is: the first id, their number, the first source text, and where the run began
    /// in the text.
    table: Option<PieceTable>,
}

impl<'a> Repeats<'a> {
    /// Encoding a run of so few bytes takes less time than a lookup in a model's memo, which is in slow
    /// memory; results cached here need not be cached there.
    const CHEAP_BYTES: usize = 4;

    /// Those of a text of which nothing is encoded yet.
    fn new(text: &'a [u8], never: bool) -> Self {
        let is_long = text.len() >= LEAST_BYTES && u32::try_from(text.len()).is_ok();
        Self { text, table: (is_long && !never).then(|| PieceTable::new(MOST_SETS)) }
    }

    /// The key of a run that may come again, or may have.
    fn key(&self, start: usize, len: usize) -> Option<Key> {
        let may_repeat = start > 0 && len <= MAX_KEY && self.table.is_some();
        may_repeat.then(|| key(self.text, start, len))
    }

    /// Prefetches the entries of the runs that come next, all at once.
    fn prefetch(&self, runs: &[(usize, Run<'_>)]) {
        if let Some(table) = &self.table {
            for &(start, run) in runs {
                if let Some(key) = self.key(start, run.len()) {
                    table.prefetch_both(hash(key));
                }
            }
        }
    }

    /// Appends what became of this run before; `false` if it did not come, or that is forgotten.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    #[inline]
    fn repeat(&self, key: Key, start: usize, sink: &mut impl Sink) -> Result<bool> {
        let Some(&[id, n_ids, source_text, before]) =
            self.table.as_ref().and_then(|table| table.get(key, hash(key)))
        else {
            return Ok(false);
        };
        let place = Place { id: id as usize, source_text: source_text as usize };
        sink.repeat(place, n_ids as usize, start as u64 - u64::from(before))?;
        Ok(true)
    }

    /// Records that a run became the part of the sink from `place` on.
    fn keep(&mut self, key: Key, start: usize, place: Place, sink: &impl Sink) {
        let n_ids = sink.place().id - place.id;
        let [id, n_ids, source_text, start] = [place.id, n_ids, place.source_text, start].map(u32::try_from);
        if let (Some(table), Ok(id), Ok(n_ids), Ok(source_text), Ok(start)) =
            (&mut self.table, id, n_ids, source_text, start)
        {
            table.insert(key, [id, n_ids, source_text, start]);
        }
    }
}
