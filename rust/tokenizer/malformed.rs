//! Bytes that are no UTF-8, where SentencePiece normalizes.
//!
//! There a text is one stretch, whatever is in it: each byte that is no part of
//! a character becomes U+FFFD, to which no rule applies, and what stands beside
//! it stays beside it. (With other normalizers such bytes are pieces of their
//! own, see `encode`.)

use std::ops::Range;

use super::Tokenizer;
use super::output::Output;
use super::walk::Walk;
use crate::error::{Error, Result};
use crate::models::Worker;
use crate::normalizer::{Normalizer, Rewritten, SentencePiece};
use crate::text::utf8_runs::{Stretch, for_each_stretch};
use crate::tokenizer::added_tokens::{AddedToken, Section};
use crate::tokenizer::special_policy::Finder;

impl Tokenizer {
    /// The normalizer that replaces such bytes, if it does.
    pub(super) fn replaces_bytes(&self) -> Option<&SentencePiece> {
        match &self.pipeline.normalizer {
            Some(Normalizer::SentencePiece(whole)) => Some(whole),
            _ => None,
        }
    }

    /// Appends the ids of such a text, up to the output's limit.
    pub(super) fn encode_malformed(
        &self,
        whole: &SentencePiece,
        text: &[u8],
        finder: &Finder<'_>,
        worker: &mut Worker<'_>,
        output: &mut Output,
    ) -> Walk {
        for (range, token) in sections(text, finder)? {
            if let Some(token) = token {
                output.push_token(token, range.start, range.end, &text[range])?;
            } else {
                let part = &text[range.clone()];
                let aligned = || whole.normalize_bytes(part).map(Some);
                let plain = || whole.normalize_bytes_to_text(part).map(Some);
                let normalized = Rewritten::new(self.keeps_way_back(output), aligned, plain)?;
                self.encode_normalized("", &normalized, range.start, finder, worker, output)?;
            }
            output.room_left()?;
        }
        Ok(())
    }
}

/// The text cut at the added tokens that match before normalization.
fn sections<'a>(text: &[u8], finder: &Finder<'a>) -> Result<Vec<(Range<usize>, Option<&'a AddedToken>)>> {
    let mut found = Vec::new();
    let mut done = 0;
    for_each_stretch(text, |base, stretch| {
        let Stretch::Text(stretch) = stretch else { return Ok(()) };
        finder.raw::<Error>(stretch, |Section { range, token }| {
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
