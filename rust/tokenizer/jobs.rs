//! Jobs: what one thread does at a time, a run of short texts or a part of a long one.
//!
//! A long text is cut at added tokens and where its pipeline proves that nothing
//! changes: between pieces ([`Pipeline::safe_cut`](crate::pipeline::Pipeline)), or at
//! split points where its steps rewrite it ([`SplitPoints`]).

use std::ops::Range;

use super::input::Input;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::pipeline::split_points::{PartPosition, SplitPoints};
use crate::pre_tokenizer::LOOK_BACK;
use crate::text::SPACE_MARK;
use crate::tokenizer::added_tokens::Section;
use crate::tokenizer::encoding::Span;
use crate::tokenizer::special_policy::SpecialPolicy;
use crate::vocab::TokenId;

/// Short texts are handed out in runs of about this many bytes.
const JOB_BYTES: usize = 64 << 10;
/// Texts longer than this are cut.
pub(super) const LONG_BYTES: usize = 256 << 10;
/// How many times as long a text may become by the marks written for its blanks, after the normalizer.
const MARK_BYTES: usize = SPACE_MARK.len_utf8();

/// A piece of work, and what of the batch it becomes.
pub(super) enum Job<'a> {
    /// Whole texts: as many rows.
    Texts(Range<usize>),
    /// A part of one text: a part of a row.
    Part { slice: Slice<'a>, first: bool, last: bool },
}

/// A part of a text that is cut.
pub(super) enum Slice<'a> {
    /// From a place on, free of added tokens.
    Text(usize, &'a str),
    /// The same, cut at split points.
    SplitPart(SplitPart<'a>),
    /// An added token.
    Token { id: TokenId, span: Span },
}

/// A slice that is cut at split points.
pub(super) struct SplitPart<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    pub(super) position: PartPosition,
    /// How many times as long the normalizer may make it.
    pub(super) times: usize,
}

/// How long texts are cut.
pub(super) enum Cutting {
    /// Not at all.
    Never,
    /// Between pieces.
    Pieces,
    /// At split points.
    SplitPoints(Box<SplitPoints>),
}

impl Cutting {
    pub(super) fn split_points(&self) -> Option<&SplitPoints> {
        match self {
            Self::SplitPoints(split_points) => Some(split_points),
            Self::Never | Self::Pieces => None,
        }
    }
}

impl Tokenizer {
    /// How texts of one call are cut, of which the longest has `longest` bytes.
    pub(super) fn cutting(
        &self,
        longest: usize,
        policy: &SpecialPolicy<'_>,
        options: &EncodeOptions<'_>,
    ) -> Cutting {
        if longest <= LONG_BYTES || options.max_tokens.is_some() || self.model.dropout().is_some() {
            return Cutting::Never;
        }
        if self.pipeline.can_be_cut() {
            return Cutting::Pieces;
        }
        // Tokens looked for after normalization may lie across any cut.
        if policy.cuts_normalized() {
            return Cutting::Never;
        }
        let Some(mut split_points) = SplitPoints::of(&self.pipeline) else { return Cutting::Never };
        if split_points.joined && policy.model().refuses_unknown() {
            return Cutting::Never;
        }
        if split_points.joined {
            // A partial result is ids alone.
            if options.spans && policy.model().sums_over_parts() {
                return Cutting::Never;
            }
            split_points.across(|letter| policy.model().may_cut_behind(letter));
        }
        Cutting::SplitPoints(Box::new(split_points))
    }

    /// The jobs of some texts, in order.
    ///
    /// # Errors
    /// [`Error::Encode`] for a special token that is refused.
    pub(super) fn jobs<'a>(
        &self,
        texts: &[Input<'a>],
        cutting: &Cutting,
        policy: &SpecialPolicy<'_>,
    ) -> Result<Vec<Job<'a>>> {
        let mut jobs = Vec::new();
        let mut first = 0;
        let mut bytes = 0;
        for (number, text) in texts.iter().enumerate() {
            let is_long = text.len() > LONG_BYTES && !matches!(cutting, Cutting::Never);
            let long = if is_long { text.text() } else { None };
            if long.is_some() || bytes >= JOB_BYTES {
                if first < number {
                    jobs.push(Job::Texts(first..number));
                }
                first = number;
                bytes = 0;
            }
            match long {
                Some(long) => {
                    self.cut(long, cutting, policy, &mut jobs)?;
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
    fn cut<'a>(
        &self,
        text: &'a str,
        cutting: &Cutting,
        policy: &SpecialPolicy<'_>,
        jobs: &mut Vec<Job<'a>>,
    ) -> Result<()> {
        let from = jobs.len();
        let mut push = |slice: Slice<'a>| {
            jobs.push(Job::Part { slice, first: jobs.len() == from, last: false });
        };
        policy.cut_raw(text, |Section { range, token }| {
            if let Some(token) = token {
                push(Slice::Token { id: token.id, span: [range.start as u64, range.end as u64] });
                return Ok(());
            }
            if let Some(split_points) = cutting.split_points() {
                cut_at_split_points(&text[range.clone()], range.start, split_points, &mut push);
                return Ok(());
            }
            let mut start = range.start;
            // Tokens looked for after normalization may lie across any cut.
            while !policy.cuts_normalized() && range.end - start > LONG_BYTES {
                let rest = &text[start..range.end];
                let Some(cut) = self.pipeline.safe_cut(rest, LONG_BYTES) else { break };
                push(Slice::Text(start, &rest[..cut]));
                start += cut;
            }
            push(Slice::Text(start, &text[start..range.end]));
            Ok::<(), Error>(())
        })?;
        if let Some(Job::Part { last, .. }) = jobs.last_mut() {
            *last = true;
        }
        Ok(())
    }
}

/// Cuts a section, which begins at `base`, at split points, if there are any.
fn cut_at_split_points<'a>(
    section: &'a str,
    base: usize,
    split_points: &SplitPoints,
    mut push: impl FnMut(Slice<'a>),
) {
    // The results of all parts, marks for blanks included, are then no longer than a whole text may be.
    let times = (u32::MAX as usize - MARK_BYTES) / (MARK_BYTES * section.len());
    let mut start = 0;
    while times > 0
        && let Some(cut) = next_split_point(&section[start..], split_points)
    {
        let position = if start == 0 { PartPosition::First } else { PartPosition::Inner };
        let text = &section[start..start + cut];
        push(Slice::SplitPart(SplitPart { start: base + start, text, position, times }));
        start += cut;
    }
    let text = &section[start..];
    match start {
        0 => push(Slice::Text(base, text)),
        _ => push(Slice::SplitPart(SplitPart {
            start: base + start,
            text,
            position: PartPosition::Last,
            times,
        })),
    }
}

/// The split point at which a text that is long is cut.
fn next_split_point(text: &str, split_points: &SplitPoints) -> Option<usize> {
    let mut near = LONG_BYTES;
    while near < text.len() {
        if let Some(split_point) = split_points.last(text, near) {
            return Some(split_point);
        }
        near += LOOK_BACK;
    }
    None
}
