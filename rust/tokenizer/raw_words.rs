//! The ids and spans of words that are split before they are cleaned up.
//!
//! Where pipeline and model are one walk, no normalized text is written for spans:
//! most raw words have the characters of what they become at the same places, and
//! their ids tell how far each reaches. Only the others are cleaned up, one by one,
//! with the way back. `Keeps::SpansByModel`, by the stages, is the definition.

use super::encode::MOST_RESERVED;
use super::origin::Origin;
use super::output::Output;
use super::spans::Traces;
use super::walk::Walk;
use crate::memory::MakeRoom;
use crate::models::Worker;
use crate::models::wordpiece::RawWords;
use crate::normalizer::Aligned;
use crate::pre_tokenizer::PreTokenizer;
use crate::pre_tokenizer::chunks::{CHUNK, Piece};
use crate::tokenizer::special_policy::Finder;

/// Raw words of a section that begins at `base`; their ids are known, or those from the
/// `new`th on.
struct Chunk<'a> {
    section: &'a str,
    base: usize,
    pieces: &'a [Piece],
    new: usize,
}

impl Output<'_> {
    /// Appends the ids of a section of text, or the spans of known ones.
    pub(super) fn encode_raw_words(
        &mut self,
        finder: &Finder<'_>,
        section: &str,
        base: usize,
        raw_words: &RawWords,
        worker: &mut Worker<'_>,
    ) -> Walk {
        let (mut at, mut chunk) = (0, [Piece::default(); CHUNK]);
        let mut aligned = Aligned::default();
        loop {
            let n = raw_words.fill(section, &mut at, &mut chunk);
            let pieces = &chunk[..n];
            let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
            let new = self.ids.len();
            if self.known.is_none() {
                self.reserve(((last.end - first.start) as usize).min(MOST_RESERVED))?;
                self.count_or_keep(worker, |worker, ids| {
                    worker.encode_raw_words(raw_words, section, pieces, ids)
                })?;
            }
            if self.spans.is_some() {
                let chunk = Chunk { section, base, pieces, new };
                self.trace_raw_words(finder, chunk, raw_words, &mut aligned, worker)?;
            }
            self.room_left()?;
        }
    }

    /// Appends the spans of raw words.
    fn trace_raw_words(
        &mut self,
        finder: &Finder<'_>,
        Chunk { section, base, pieces, new }: Chunk<'_>,
        raw_words: &RawWords,
        aligned: &mut Aligned,
        worker: &mut Worker<'_>,
    ) -> Walk {
        let Self { ids, spans: Some(spans), surfaces, known, piece: of_piece, .. } = self else {
            return Ok(());
        };
        let (extents, unk_id) = (finder.extents(), finder.model().unk_id());
        let all = known.unwrap_or(&ids[new..]);
        let to_come = &mut &*all;
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
        spans.make_room(to_come.len().min((last.end - first.start) as usize))?;
        let are_plain = is_plain(&section.as_bytes()[first.start as usize..last.end as usize]);
        let mut pieces = pieces;
        loop {
            if are_plain && let Some(extents) = extents {
                let (n, n_ids) = extents.walk_texts(pieces, to_come, base, spans);
                (pieces, *to_come) = (&pieces[n..], &to_come[n_ids..]);
            }
            let Some((&piece, rest)) = pieces.split_first() else { break };
            pieces = rest;
            if raw_words.is_ideograph(&section.as_bytes()[piece.range()]) {
                let Some((&id, rest)) = to_come.split_first() else { break };
                if let Some(surfaces) = surfaces.as_mut().filter(|_| unk_id == Some(id)) {
                    surfaces.push(spans.len(), &section.as_bytes()[piece.range()])?;
                }
                spans.push([(base + piece.start as usize) as u64, (base + piece.end as usize) as u64]);
                *to_come = rest;
                continue;
            }
            let raw_word = &section[piece.range()];
            if are_plain || raw_words.keeps_places(raw_word) {
                let before = spans.len();
                let mut is_known = true;
                let told = extents.and_then(|extents| {
                    extents.walk(section.as_bytes(), piece, to_come, |id, start, end| {
                        is_known &= unk_id != Some(id);
                        spans.push([(base + start) as u64, (base + end) as u64]);
                    })
                });
                // A surface is what the unknown word became.
                if let Some(n) = told.filter(|_| is_known || surfaces.is_none()) {
                    *to_come = &to_come[n..];
                    continue;
                }
                spans.truncate(before);
            }
            let changes = raw_words.rewrite(raw_word, aligned);
            let text = if changes { aligned.text()? } else { raw_word };
            let normalized = changes.then(|| aligned.way_back());
            let base = base + piece.start as usize;
            let mut origin = Origin { start: 0, normalized, rewritten: None, base };
            let surfaces = surfaces.as_mut();
            let (origin, text_bytes) = (&mut origin, text.as_bytes());
            let mut traces = Traces { spans, surfaces, unk_id, origin, text: text_bytes, missing: None };
            PreTokenizer::Bert.walk(text, |word| -> Walk {
                let word = Piece { start: word.start as u32, end: word.end as u32 };
                Ok(traces.push_piece(word, to_come, extents, of_piece, worker)?)
            })?;
            traces.missing.map_or(Ok(()), Err)?;
        }
        let n = all.len() - to_come.len();
        if let Some(known) = known {
            *known = &known[n..];
        }
        Ok(())
    }
}

/// Whether all of a text is ASCII that stays where it is.
fn is_plain(text: &[u8]) -> bool {
    // Without a branch, so that many bytes are looked at once.
    text.iter().fold(true, |is_plain, &byte| {
        is_plain & (matches!(byte, b' '..=b'~') | (byte == b'\t') | (byte == b'\n') | (byte == b'\r'))
    })
}
