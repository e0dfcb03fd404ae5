//! `SplitPoints`: where a text may be cut although the normalizer or the pre-tokenizer rewrites it.
//!
//! A text may be cut at a blank between words of ASCII letters and digits, if every step of the
//! normalizer acts on each side independently ([`crate::normalizer::split_points`]) and a piece
//! begins with what the blank becomes. If a text is not split at all, the model decides whether it
//! may be cut there ([`SplitPoints::across`]). The result always equals that for the whole text; a
//! text without such a blank is not cut.

use super::Pipeline;
use crate::error::Result;
use crate::normalizer::split_points::{PartSteps, Surroundings};
use crate::normalizer::{Aligned, Normalizer};
use crate::pre_tokenizer::{LOOK_BACK, PreTokenizer};
use crate::text::SPACE_MARK;

/// The position of a part in a text that is cut at split points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartPosition {
    /// At the start of the text.
    First,
    /// In the middle.
    Inner,
    /// At the end of the text.
    Last,
}

/// Where a text may be cut, and how its parts are normalized.
#[derive(Debug)]
pub(crate) struct SplitPoints {
    window: Surroundings,
    letters: [bool; 256],
    /// The steps for each [`PartPosition`].
    steps: [Option<Normalizer>; 3],
    /// Whether a piece continues across split points, where it contains `▁`.
    pub(crate) joined: bool,
}

impl SplitPoints {
    /// The split points of a pipeline, if it has any.
    pub(crate) fn of(pipeline: &Pipeline) -> Option<Self> {
        let (mut window, mut parts) = (Surroundings::new(), PartSteps::default());
        if let Some(normalizer) = &pipeline.normalizer {
            normalizer.at_split_points(&mut window, &mut parts)?;
        }
        let joined = split_across(&pipeline.pre_tokenizer, &mut window)?;
        let steps = [parts.first, parts.inner, parts.last]
            .map(|normalizers| (!normalizers.is_empty()).then_some(Normalizer::Sequence { normalizers }));
        Some(Self { letters: window.letters(), window, steps, joined })
    }

    /// Keeps only split points after letters that may precede a `▁` inside a piece.
    pub(crate) fn across(&mut self, may_cut_behind: impl Fn(u8) -> bool) {
        self.window.retain(may_cut_behind);
        self.letters = self.window.letters();
    }

    /// The last split point at or before `near`, within 64 KiB: the offset of a blank.
    pub(crate) fn last(&self, text: &str, near: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let near = near.min(bytes.len());
        let least = near.saturating_sub(LOOK_BACK);
        let mut blanks = memchr::memrchr_iter(b' ', &bytes[least..near]).map(|at| least + at);
        blanks.find(|&at| self.is_split_point(bytes, at))
    }

    /// Whether a text may be cut at an offset.
    pub(crate) fn is_split_point(&self, text: &[u8], at: usize) -> bool {
        let reach = self.window.reach;
        let are_letters = |bytes: &[u8]| bytes.iter().all(|&byte| self.letters[usize::from(byte)]);
        let (Some(before), Some(after)) = (at.checked_sub(reach), text.get(at + 1..at + 1 + reach)) else {
            return false;
        };
        text[at] == b' ' && are_letters(&text[before..at]) && are_letters(after)
    }

    /// How many bytes before a split point decide that it is one, and so many behind its blank.
    pub(crate) fn reach(&self) -> usize {
        self.window.reach
    }

    /// The image of the blank of a split point.
    pub(crate) fn blank(&self) -> char {
        self.window.blank
    }

    fn steps(&self, position: PartPosition) -> Option<&Normalizer> {
        self.steps[position as usize].as_ref()
    }

    /// Normalizes a part, which may become `times` as long; `None` if nothing changes.
    ///
    /// # Errors
    /// As [`Normalizer::normalize`].
    pub(crate) fn normalize(
        &self,
        position: PartPosition,
        text: &str,
        times: usize,
    ) -> Result<Option<Aligned>> {
        self.steps(position).map_or(Ok(None), |steps| steps.normalize_part(text, times))
    }

    /// [`SplitPoints::normalize`] without the alignment.
    ///
    /// # Errors
    /// As [`SplitPoints::normalize`].
    pub(crate) fn normalize_text(
        &self,
        position: PartPosition,
        text: &str,
        times: usize,
    ) -> Result<Option<String>> {
        self.steps(position).map_or(Ok(None), |steps| steps.normalize_part_text(text, times))
    }
}

/// Whether a piece continues across split points; `None` if the pre-tokenizer does not allow the
/// cut.
///
/// Nothing is inserted before a part, because it begins with a blank or its mark.
fn split_across(pre_tokenizer: &PreTokenizer, window: &mut Surroundings) -> Option<bool> {
    match pre_tokenizer {
        PreTokenizer::Metaspace { split, .. } => Some(!split),
        PreTokenizer::MetaspaceWords => Some(false),
        PreTokenizer::Bytes => (window.blank == SPACE_MARK).then_some(true),
        PreTokenizer::Gpt2 { add_prefix_space: true } if window.blank != ' ' => None,
        PreTokenizer::Regex(_) | PreTokenizer::Split(_) | PreTokenizer::FixedLength { .. } => None,
        PreTokenizer::Sequence { .. } | PreTokenizer::ByteSpelled { .. } | PreTokenizer::Within { .. } => {
            None
        }
        PreTokenizer::Marked(_) | PreTokenizer::PrefixSpace | PreTokenizer::ByteLevel { .. } => None,
        splits => {
            let blank = window.blank;
            window.retain(|letter| splits.cuts_between(char::from(letter), blank));
            Some(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre_tokenizer::Prepend;

    #[test]
    fn split_points_are_blanks_between_letters() {
        let nfc = Pipeline { normalizer: Some(Normalizer::Nfc), pre_tokenizer: PreTokenizer::MetaspaceWords };
        let plain = Pipeline::new(PreTokenizer::Metaspace { prepend: Prepend::Always, split: false });
        for (pipeline, text, expected) in [
            (&plain, "a b", Some(1)),
            (&plain, "a  b", None),
            (&plain, " b", None),
            (&plain, "a ", None),
            (&plain, "a b é f. g", Some(1)),
            (&nfc, "a b", None),
            (&nfc, "ab cd", Some(2)),
            (&nfc, "ab ce\u{301}", Some(2)),
            (&nfc, "ab c\u{301}e", None),
        ] {
            assert_eq!(SplitPoints::of(pipeline).unwrap().last(text, text.len()), expected, "{text}");
        }
        assert!(SplitPoints::of(&plain).unwrap().joined && !SplitPoints::of(&nfc).unwrap().joined);
        for pre_tokenizer in [PreTokenizer::Bytes, PreTokenizer::sequence(vec![]).unwrap()] {
            assert!(SplitPoints::of(&Pipeline::new(pre_tokenizer.clone())).is_none(), "{pre_tokenizer:?}");
        }
    }
}
