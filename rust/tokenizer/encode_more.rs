//! [`Tokenizer::encode_more`]: the ids of a text from those of its beginning.
//!
//! The ids before the last safe place of the beginning ([`SafePlaces`]) stay, whatever follows; the rest
//! is encoded again. How many ids that is, shows the end of the beginning, which is encoded as it was. A text
//! that has no safe place is encoded whole, as is one that grew by more than 256 KiB, which threads share.

use super::input::Input;
use super::jobs::{LONG_BYTES, SplitPart};
use super::safe_places::SafePlaces;
use super::sink::{Ids, Sink};
use super::special_policy::SpecialPolicy;
use super::text_encoder::{Limits, TextEncoder, Visit};
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalizer::Rewritten;
use crate::pipeline::split_points::{PartPosition, SplitPoints};
use crate::tokenizer::added_tokens::Section;
use crate::vocab::TokenId;

/// A safe place of a text, and the state that encoding continues with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResumePoint {
    /// Where it is, in bytes.
    pub(super) at: usize,
    /// The number of ids before it, without the template.
    pub(super) n_ids: usize,
    /// Whether it is inside a section between added tokens.
    pub(super) is_inside: bool,
    /// Of a Unigram model whose pieces are sections: the sum of the scores in the section before it.
    pub(super) sum: f64,
}

impl ResumePoint {
    /// Where it is, in bytes.
    #[cfg(feature = "python")]
    pub(crate) fn at(&self) -> usize {
        self.at
    }
}

/// First steps back from the end of a text, in bytes, in search of a safe place.
const LOOK_BACK: usize = 1 << 10;

impl Tokenizer {
    /// Encodes a text that begins with an earlier one, whose ids are known: returns the ids of
    /// [`Tokenizer::encode`], template included. Only the text behind the last safe place of the earlier text
    /// is encoded; where there is none, the whole text.
    ///
    /// `before` is the earlier text with its ids by the same `options`. Spans are not kept.
    ///
    /// # Errors
    /// [`Error::Encode`] for a text that does not begin with the earlier one, with the offset at which they
    /// differ, or for ids that are not those of the earlier text; else as [`Tokenizer::encode`].
    ///
    /// ```
    /// # use sentitok::{EncodeOptions, Tokenizer};
    /// # let json = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "ab": 3}, "merges": ["a b"]},
    /// #   "pre_tokenizer": {"type": "Split", "pattern": {"String": " "},
    /// #     "behavior": "Isolated", "invert": false}}"#;
    /// # let tokenizer = Tokenizer::from_bytes(json.as_bytes())?;
    /// let options = EncodeOptions::default();
    /// let before = tokenizer.encode("ab a", options)?.ids;
    /// let ids = tokenizer.encode_more("ab a", &before, "ab ab", options)?;
    /// assert_eq!(ids, tokenizer.encode("ab ab", options)?.ids);
    /// # Ok::<(), sentitok::Error>(())
    /// ```
    pub fn encode_more(
        &self,
        before: &str,
        ids: &[TokenId],
        text: &str,
        options: EncodeOptions<'_>,
    ) -> Result<Vec<TokenId>> {
        check_beginning(before.as_bytes(), text.as_bytes())?;
        if let Some(point) = self.resume_point(before, ids, &options)?
            && let Some((ids, _)) = self.encode_tail(point, ids, &text[point.at..], &options)?
        {
            return Ok(ids);
        }
        self.encode_ids(Input::Text(text), &options)
    }

    /// The last place of a text from which a longer text can be encoded; `None` where that is the start.
    pub(crate) fn resume_point(
        &self,
        text: &str,
        ids: &[TokenId],
        options: &EncodeOptions<'_>,
    ) -> Result<Option<ResumePoint>> {
        // The ids that were cut off are unknown.
        if !self.template.holds_text_once() || options.max_tokens.is_some_and(|most| ids.len() >= most) {
            return Ok(None);
        }
        let policy = self.policy(options.specials)?;
        let places = policy.safe_places(&self.pipeline)?;
        let mut start = text.len();
        let mut back = LOOK_BACK;
        let mut point = ResumePoint::default();
        while point.at == 0 && start > 0 && !places.are_none() {
            start = text.len().saturating_sub(back);
            back *= 8;
            if let Some((at, is_inside)) = self.last_place(&policy, places, text, start)? {
                point = ResumePoint { at, is_inside, ..ResumePoint::default() };
            }
        }
        if point.at == 0 {
            return Ok(None);
        }
        let mut part = Vec::new();
        if point.is_inside && self.sums_over_parts(&policy, places) {
            // The sum depends on all of the section.
            let mut from = ResumePoint::default();
            self.encode_part(&policy, places, &text[..point.at], true, options, &mut from, &mut part)?;
            return Ok(Some(from));
        }
        let mut rest = point;
        self.encode_part(&policy, places, &text[point.at..], false, options, &mut rest, &mut part)?;
        let n_around = self.n_around(options, false);
        let Some(n_ids) = ids.len().checked_sub(part.len() + n_around) else { return Err(other_ids()) };
        let n_front = self.n_in_front(options);
        if ids[n_front + n_ids..ids.len() - (n_around - n_front)] != part {
            return Err(other_ids());
        }
        Ok(Some(ResumePoint { n_ids, ..point }))
    }

    /// [`Tokenizer::encode_more`] from a place of the earlier text, with the text behind it; returns also the
    /// last place of the text. `None` where the whole text must be encoded.
    pub(crate) fn encode_tail(
        &self,
        point: ResumePoint,
        ids: &[TokenId],
        tail: &str,
        options: &EncodeOptions<'_>,
    ) -> Result<Option<(Vec<TokenId>, Option<ResumePoint>)>> {
        if tail.len() > LONG_BYTES || u32::try_from(point.at + tail.len()).is_err() {
            return Ok(None);
        }
        match self.grow(point, ids, tail, options) {
            Ok(grown) => Ok(Some(grown)),
            // Encoding the whole text gives the error.
            Err(Error::Encode(_) | Error::Pattern { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn grow(
        &self,
        point: ResumePoint,
        ids: &[TokenId],
        tail: &str,
        options: &EncodeOptions<'_>,
    ) -> Result<(Vec<TokenId>, Option<ResumePoint>)> {
        let policy = self.policy(options.specials)?;
        let places = policy.safe_places(&self.pipeline)?;
        let n_front = self.n_in_front(options);
        let Some(kept) = ids.get(..n_front + point.n_ids) else { return Err(other_ids()) };
        let mut more = Vec::new();
        let mut next = point;
        if let Some((at, _)) = self.last_place(&policy, places, tail, 0)? {
            self.encode_part(&policy, places, &tail[..at], true, options, &mut next, &mut more)?;
        }
        let mut end = next;
        let rest = &tail[next.at - point.at..];
        self.encode_part(&policy, places, rest, false, options, &mut end, &mut more)?;
        let room = self.room_of_text(options)?;
        let is_cut = room.is_some_and(|room| point.n_ids + more.len() >= room);
        let n_kept = room.map_or(point.n_ids, |room| room.min(point.n_ids));
        more.truncate(room.map_or(usize::MAX, |room| room - n_kept));
        let after = match options.add_special_tokens {
            true => self.template.around_single().1,
            false => Vec::new(),
        };
        let mut all = memory::reserved(n_front + n_kept + more.len() + after.len())?;
        all.extend_from_slice(&kept[..n_front + n_kept]);
        all.extend_from_slice(&more);
        all.extend_from_slice(&after);
        Ok((all, (!is_cut).then_some(next)))
    }

    /// The last safe place of a text behind `start`, and whether it is inside a section.
    fn last_place(
        &self,
        policy: &SpecialPolicy<'_>,
        places: &SafePlaces,
        text: &str,
        start: usize,
    ) -> Result<Option<(usize, bool)>> {
        let found = places.find(&self.pipeline, text, start);
        if let Some(at) = found.safe {
            return Ok(Some((at, true)));
        }
        let Some(clean) = found.clean else { return Ok(None) };
        // The search for tokens begins at a clean place, too.
        let first = match start {
            0 => Some(0),
            _ => (start..clean).find(|&at| places.is_clean(text, at)),
        };
        let Some(first) = first else { return Ok(None) };
        let end = self.last_token_end(policy, &text[first..clean])?;
        Ok(end.map(|end| first + end).filter(|&end| places.may_resume_at(text, end)).map(|end| (end, false)))
    }

    /// Where the last added token of a text ends, behind which a section begins.
    pub(super) fn last_token_end(&self, policy: &SpecialPolicy<'_>, text: &str) -> Result<Option<usize>> {
        let mut last = None;
        let is_seen = self.pipeline.normalizer.is_none() && policy.cuts_normalized();
        policy.cut_raw(text, |Section { range, token }| match token {
            Some(_) => {
                last = Some(range.end);
                Ok::<(), Error>(())
            }
            None if is_seen => policy.cut_normalized(&text[range.clone()], |inner| {
                if inner.token.is_some() {
                    last = Some(range.start + inner.range.end);
                }
                Ok::<(), Error>(())
            }),
            None => Ok(()),
        })?;
        Ok(last)
    }

    /// How many ids the template puts in front of a text.
    fn n_in_front(&self, options: &EncodeOptions<'_>) -> usize {
        if options.add_special_tokens { self.template.around_single().0.len() } else { 0 }
    }

    /// Whether the ids of a part of a section depend on the text before it.
    fn sums_over_parts(&self, policy: &SpecialPolicy<'_>, places: &SafePlaces) -> bool {
        policy.model().sums_over_parts()
            && places.split_points().is_some_and(|split_points| split_points.joined)
    }

    /// Appends the ids of the part of a text that begins at `from`, and moves that to its end. The text
    /// continues behind a part that `is_open`, which ends at a safe place.
    #[allow(clippy::too_many_arguments, reason = "2026-11: all of it differs between calls")]
    pub(super) fn encode_part(
        &self,
        policy: &SpecialPolicy<'_>,
        places: &SafePlaces,
        part: &str,
        is_open: bool,
        options: &EncodeOptions<'_>,
        from: &mut ResumePoint,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let mut sink = Ids { ids: std::mem::take(ids) };
        let before = sink.ids.len();
        let limits = Limits { room: None, stop: options.stop };
        let sums = self.sums_over_parts(policy, places);
        let (base, mut next) = (from.at, ResumePoint { at: from.at + part.len(), is_inside: false, ..*from });
        let done = policy.lend(|worker| {
            worker.set_dropout(self.dropout(options.seed));
            self.encode_with(part.len(), policy, limits, worker, &mut sink, |encoder| {
                policy.cut_raw(part, |Section { range, token }| {
                    let start = base + range.start;
                    let continues = range.start == 0 && from.is_inside;
                    let is_cut = is_open && range.end == part.len();
                    let text = &part[range];
                    let Some(token) = token else {
                        next.is_inside = is_cut;
                        let position = match (continues, is_cut) {
                            (false, false) => None,
                            (false, true) => Some(PartPosition::First),
                            (true, true) => Some(PartPosition::Inner),
                            (true, false) => Some(PartPosition::Last),
                        };
                        let (Some(position), Some(split_points)) = (position, places.split_points()) else {
                            encoder.section(text, start)?;
                            return encoder.check();
                        };
                        // The whole section may become 16 times as long, and so may each part of it.
                        let split_part = SplitPart { start, text, position, times: usize::MAX };
                        return encoder.split_part(&split_part, split_points, sums, &mut next.sum);
                    };
                    encoder.sink.token(
                        token,
                        [start as u64, (start + text.len()) as u64],
                        text.as_bytes(),
                    )?;
                    encoder.check()
                })
            })
        });
        *ids = sink.ids;
        done?;
        next.n_ids += ids.len() - before;
        *from = next;
        Ok(())
    }
}

impl<S: Sink> TextEncoder<'_, '_, S> {
    /// Encodes a part of a section that is cut at split points. `sum` is of the parts before it.
    fn split_part(
        &mut self,
        part: &SplitPart<'_>,
        split_points: &SplitPoints,
        sums: bool,
        sum: &mut f64,
    ) -> Visit {
        let SplitPart { start, text, position, times } = *part;
        let begins = position == PartPosition::First;
        if begins {
            *sum = 0.0;
        }
        if !sums && let Some(visit) = self.space_as_mark(text, start, begins) {
            return visit;
        }
        let keeps_alignment = self.keeps_alignment();
        let normalized = Rewritten::new(
            keeps_alignment,
            || split_points.normalize(position, text, times),
            || split_points.normalize_text(position, text, times),
        )?;
        if !sums {
            return self.normalized(text, &normalized, start);
        }
        let policy = self.policy;
        policy.cut_normalized(normalized.text(text), |Section { range, token }| {
            let inner = &normalized.text(text)[range.clone()];
            if let Some(token) = token {
                self.sink.token(token, [0, 0], inner.as_bytes())?;
                return self.check();
            }
            if range.start > 0 {
                *sum = 0.0;
            }
            let at_start = start == 0 && normalized.origin(range.start) == 0;
            let pre_tokenizer = &self.tokenizer.pipeline.pre_tokenizer;
            let rewritten = pre_tokenizer.rewrite_text(inner, at_start)?;
            let partial =
                self.worker.encode_part(rewritten.unwrap_or_else(|| inner.to_owned()).into_bytes())?;
            self.sink.append(self.worker, |worker, ids| {
                *sum = worker.finish(partial, *sum, ids)?;
                worker.check()
            })?;
            self.check()
        })
    }
}

/// Refuses a text that does not begin with an earlier one.
///
/// # Errors
/// [`Error::Encode`] with the place at which they differ.
pub(crate) fn check_beginning(before: &[u8], text: &[u8]) -> Result<()> {
    if text.starts_with(before) {
        return Ok(());
    }
    let same = before.iter().zip(text).take_while(|(one, other)| one == other).count();
    let n_chars = String::from_utf8_lossy(&before[..same]).chars().count();
    Err(Error::Encode(format!(
        "the text does not begin with the text of the encoding: they differ at character {n_chars} (byte {same}); \
         pass the longer text, or encode this one with `encode`"
    )))
}

fn other_ids() -> Error {
    Error::Encode(
        "the ids are not those of the earlier text with these options; encode the whole text with `encode`"
            .into(),
    )
}
