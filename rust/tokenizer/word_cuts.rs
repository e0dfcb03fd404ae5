//! `WordCuts`: where a text may be cut between a word and the white space behind it.

use super::Tokenizer;
use crate::pipeline::Pipeline;
use crate::tokenizer::added_tokens::AddedToken;

/// The most bytes of a character.
const LONGEST_CHAR: usize = 4;

/// What is known of such places.
pub(crate) struct WordCuts<'a> {
    pipeline: &'a Pipeline,
    /// For each character of ASCII, which of the first 64 may be cut off behind it.
    ascii: [u64; 128],
}

impl Tokenizer {
    /// Where texts may be cut before white space: both parts then become the ids that they have in the
    /// whole. `None` where nothing can be said.
    pub(crate) fn word_cuts(&self) -> Option<WordCuts<'_>> {
        let pipeline = &self.pipeline;
        let stays_inside = |token: &AddedToken| {
            let is_found_here = !(token.normalized && pipeline.normalizer.is_some());
            is_found_here && !token.rstrip && !token.content.contains(char::is_whitespace)
        };
        let can_be_cut = pipeline.can_be_cut()
            && self.model.dropout().is_none()
            && self.added.tokens().iter().all(stays_inside);
        can_be_cut.then(|| WordCuts::new(pipeline))
    }
}

impl<'a> WordCuts<'a> {
    fn new(pipeline: &'a Pipeline) -> Self {
        let mut ascii = [0; 128];
        for (before, places) in (0u8..).zip(&mut ascii) {
            for after in (0u8..64).filter(|&after| char::from(after).is_whitespace()) {
                let is_cut = pipeline.cuts_before_blank(char::from(before), char::from(after));
                *places |= u64::from(is_cut) << after;
            }
        }
        Self { pipeline, ascii }
    }

    /// Whether a text may be cut between these two parts of it: white space begins the second.
    #[inline(always)]
    pub(crate) fn between(&self, before: &[u8], after: &[u8]) -> bool {
        let (Some(&last), Some(&first)) = (before.last(), after.first()) else { return false };
        match self.ascii.get(usize::from(last)) {
            Some(places) if first < 64 => places >> first & 1 != 0,
            _ => self.between_characters(before, after),
        }
    }

    fn between_characters(&self, before: &[u8], after: &[u8]) -> bool {
        let before = before[before.len().saturating_sub(LONGEST_CHAR)..].utf8_chunks().last();
        let last = before.filter(|last| last.invalid().is_empty());
        let last = last.and_then(|last| last.valid().chars().next_back());
        let first = after[..after.len().min(LONGEST_CHAR)].utf8_chunks().next();
        let first = first.and_then(|first| first.valid().chars().next());
        match (last, first.filter(|first| first.is_whitespace())) {
            (Some(last), Some(first)) => self.pipeline.cuts_before_blank(last, first),
            _ => false,
        }
    }
}
