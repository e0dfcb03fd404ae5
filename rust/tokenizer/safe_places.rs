//! `SafePlaces`: where a text may be cut, whatever follows it, so that both sides are encoded separately.
//!
//! A place is safe if each stage proves that nothing reaches across it:
//!
//! - **Added tokens.** The place is clean ([`Bounds`]): no token ends, begins or lies across.
//! - **Normalizer and pre-tokenizer.** The normalizer keeps the characters around the place, and the
//!   pre-tokenizer cuts between them in every context ([`PreTokenizer::cuts_between`]); or BERT's rules
//!   are the normalizer's and the place is before a blank or punctuation; or it is a split point of the
//!   pipeline ([`SplitPoints`]).
//! - **Model.** A piece ends there. Where a piece continues across a split point, the model says whether
//!   its ids do too ([`Model::may_cut_behind`]); a Unigram model takes the sum before the place along.
//!
//! The end of an added token is safe with any normalizer, pre-tokenizer and model, because each section
//! between added tokens is encoded separately. A model with dropout has no safe place: its random
//! numbers run through the whole text.
//!
//! [`Model::may_cut_behind`]: crate::models::Model::may_cut_behind

use crate::models::Model;
use crate::normalizer::Normalizer;
use crate::pipeline::Pipeline;
use crate::pipeline::split_points::SplitPoints;
use crate::pre_tokenizer::PreTokenizer;
use crate::text::unicode::{flag, flags};
use crate::tokenizer::added_tokens::Bounds;

/// Bytes behind a place that its rules may look at: three characters.
const LOOK_AHEAD: usize = 12;

/// The safe places of a tokenizer, for one choice of special tokens.
pub(super) struct SafePlaces {
    /// Of the tokens that are looked for in the text as it is given.
    given: Option<Bounds>,
    /// Of the tokens that are looked for in normalized text, where there is a normalizer.
    normalized: Option<Bounds>,
    rule: Rule,
    is_whole: bool,
}

/// Where a section of a text may be cut.
enum Rule {
    /// Nowhere.
    Never,
    /// Where the pre-tokenizer cuts, between characters that the normalizer keeps.
    Pieces,
    /// Before a blank, and before punctuation where BERT's normalizer is Hugging Face's.
    Bert { before_punctuation: bool },
    /// At split points.
    SplitPoints(Box<SplitPoints>),
}

impl SafePlaces {
    /// The safe places of a pipeline and a model, between added tokens with these bounds.
    pub(super) fn new(
        pipeline: &Pipeline,
        model: &Model,
        given: Option<Bounds>,
        normalized: Option<Bounds>,
    ) -> Self {
        let mut rule = Rule::of(pipeline, model);
        if let (Rule::SplitPoints(split_points), Some(bounds)) = (&mut rule, &normalized) {
            let blank = split_points.blank();
            split_points.across(|letter| bounds.allow_blank(letter, blank, Some(letter)));
        }
        Self { given, normalized, rule, is_whole: model.dropout().is_some() }
    }

    /// Whether a text must be encoded as a whole.
    pub(super) fn are_none(&self) -> bool {
        self.is_whole || matches!(self.rule, Rule::Never) && self.given.is_none()
    }

    /// The split points, if a section is cut there.
    pub(super) fn split_points(&self) -> Option<&SplitPoints> {
        match &self.rule {
            Rule::SplitPoints(split_points) => Some(split_points),
            _ => None,
        }
    }

    /// Whether a text may be cut at a place inside it. The text before it is not looked at.
    fn is_safe(&self, pipeline: &Pipeline, text: &str, at: usize) -> bool {
        let (Some(before), Some(after)) = (text[..at].chars().next_back(), text[at..].chars().next()) else {
            return false;
        };
        let next = || text[at + after.len_utf8()..].chars().next();
        match &self.rule {
            Rule::Never => false,
            Rule::Pieces => {
                if !pipeline.pre_tokenizer.cuts_between(before, after) {
                    return false;
                }
                let Some(normalizer) = &pipeline.normalizer else { return true };
                let Some(next) = next() else { return false };
                let around = [before, after, next];
                around.iter().all(|&c| normalizer.keeps(c))
                    && self.normalized.as_ref().is_none_or(|bounds| {
                        let around = String::from_iter(around);
                        bounds.is_clean(&around, before.len_utf8())
                    })
            }
            Rule::Bert { before_punctuation } => {
                let is_blank = matches!(after, ' ' | '\t' | '\n' | '\r');
                (is_blank || *before_punctuation && is_plain_punctuation(after))
                    && self.normalized.as_ref().is_none_or(|bounds| {
                        let lower = before.to_ascii_lowercase() as u8;
                        let allows = |before| bounds.allow_blank(before, ' ', None);
                        after == ' ' && before.is_ascii_graphic() && allows(before as u8) && allows(lower)
                    })
            }
            Rule::SplitPoints(split_points) => {
                // A token may take the blank along, and then the section ends before the blank.
                let takes_blank =
                    self.given.as_ref().is_some_and(|bounds| bounds.may_take_space_before(text, at + 1));
                !takes_blank && split_points.is_split_point(text.as_bytes(), at)
            }
        }
    }

    /// Whether no added token ends, begins or lies across a place inside a text.
    pub(super) fn is_clean(&self, text: &str, at: usize) -> bool {
        text.is_char_boundary(at) && self.given.as_ref().is_none_or(|given| given.is_clean(text, at))
    }

    /// Whether a place where a token ends is safe.
    pub(super) fn may_resume_at(&self, text: &str, at: usize) -> bool {
        self.given.as_ref().is_none_or(|bounds| bounds.may_resume_at(text, at))
    }

    /// Looks for places from the end of a text back to `examined`: the last one that is safe, and the last
    /// clean one before which it ended its search.
    pub(super) fn find(&self, pipeline: &Pipeline, text: &str, examined: usize) -> Found {
        let reach = self.split_points().map_or(0, |split_points| 1 + split_points.reach());
        let known = text.len().saturating_sub(LOOK_AHEAD.max(reach));
        let mut found = Found { examined: known.max(examined), ..Found::default() };
        if self.is_whole {
            return found;
        }
        for at in (examined.max(1)..text.len()).rev() {
            if !self.is_clean(text, at) {
                continue;
            }
            if self.given.is_some() {
                found.clean = found.clean.or(Some(at));
            }
            if self.is_safe(pipeline, text, at) {
                found.safe = Some(at);
                break;
            }
        }
        found
    }
}

/// What [`SafePlaces::find`] found.
#[derive(Default)]
pub(super) struct Found {
    /// The last safe place.
    pub(super) safe: Option<usize>,
    /// The last place at which no added token ends, begins or lies across, if there are added tokens.
    pub(super) clean: Option<usize>,
    /// The place up to which no following text changes the result.
    pub(super) examined: usize,
}

impl Rule {
    fn of(pipeline: &Pipeline, model: &Model) -> Self {
        let Pipeline { normalizer, pre_tokenizer } = pipeline;
        match (normalizer, pre_tokenizer) {
            (Some(Normalizer::Bert(_)), PreTokenizer::Bert) => {
                return Self::Bert { before_punctuation: true };
            }
            // A final sigma depends on the letters behind the punctuation after it.
            (Some(Normalizer::GoogleBert(_)), PreTokenizer::GoogleBert) => {
                return Self::Bert { before_punctuation: false };
            }
            _ => {}
        }
        let keeps = normalizer.as_ref().is_none_or(|steps| (' '..='~').any(|c| steps.keeps(c)));
        // Within a splitter, each of its pieces is rewritten separately.
        let rewrites = pre_tokenizer.rewrites() && !matches!(pre_tokenizer, PreTokenizer::Within { .. });
        if keeps && !rewrites && pre_tokenizer.has_cut_rule() {
            return Self::Pieces;
        }
        let Some(mut split_points) = SplitPoints::of(pipeline) else { return Self::Never };
        if split_points.joined {
            if model.refuses_unknown() {
                return Self::Never;
            }
            split_points.across(|letter| model.may_cut_behind(letter));
        }
        Self::SplitPoints(Box::new(split_points))
    }
}

/// Whether a character is punctuation for BERT that no normal form changes.
fn is_plain_punctuation(c: char) -> bool {
    let is_plain = c.is_ascii()
        || matches!(c, '\u{2018}'..='\u{201F}' | '、'..='。' | '「'..='』' | '！' | '（' | '）' | '，' | '：' | '；' | '？');
    is_plain && flags(c) & flag::BERT_PUNCTUATION != 0
}
