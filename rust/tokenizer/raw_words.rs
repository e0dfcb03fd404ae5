//! Raw words: BERT's pipeline and model in one pass, on words that are split before they are cleaned up.
//!
//! No normalized text is written for spans: most raw words have the characters of what they become at the
//! same places, and their ids determine how far each reaches. Only the remaining words are cleaned up, one by
//! one, with the alignment.

use super::sink::Sink;
use super::spans::{Spans, Traces};
use super::text_encoder::{MOST_RESERVED, Origin, TextEncoder, Visit};
use crate::error::Result;
use crate::memory::MakeRoom;
use crate::models::wordpiece::{Cleaner, is_ideograph};
use crate::models::{Model, Worker};
use crate::normalizer::bert::RawWords;
use crate::normalizer::{Aligned, Normalizer};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::PreTokenizer;
use crate::text::{CHUNK, Piece};
use crate::tokenizer::special_policy::SpecialPolicy;

/// The raw words of a pipeline, where one pass can do what it and the model do.
pub(super) fn raw_words_of(pipeline: &Pipeline, model: &Model) -> Option<RawWords> {
    match (model, &pipeline.normalizer, &pipeline.pre_tokenizer) {
        (Model::WordPiece(model), Some(Normalizer::Bert(bert)), PreTokenizer::Bert)
            if model.unk_id().is_some() =>
        {
            Some(RawWords::of(*bert))
        }
        _ => None,
    }
}

/// A section that is split into raw words.
pub(super) struct RawSection<'a> {
    raw_words: RawWords,
    pub(super) text: &'a str,
    /// Where it begins in the text.
    base: usize,
    /// A buffer for words that are rewritten.
    aligned: Aligned,
}

impl Cleaner for RawSection<'_> {
    fn lowers(&self) -> bool {
        self.raw_words.lowers()
    }

    fn clean_word(&self, raw_word: &str, word: &mut String) -> bool {
        self.raw_words.clean_word(raw_word, word)
    }

    fn for_each_word(&self, raw_word: &str, mut f: impl FnMut(&[u8])) -> Result<()> {
        let cleaned = self.raw_words.clean(raw_word)?;
        let text = cleaned.as_deref().unwrap_or(raw_word);
        PreTokenizer::Bert.for_each_piece(text, |piece| {
            f(text[piece].as_bytes());
            Ok(())
        })
    }
}

impl<S: Sink> TextEncoder<'_, '_, S> {
    /// Encodes a section by its raw words.
    pub(super) fn raw_words(&mut self, section: &str, base: usize, raw_words: RawWords) -> Visit {
        let (mut at, mut chunk) = (0, [Piece::default(); CHUNK]);
        let mut section = RawSection { raw_words, text: section, base, aligned: Aligned::default() };
        loop {
            let n = raw_words.fill(section.text, &mut at, &mut chunk);
            let pieces = &chunk[..n];
            let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
            self.sink.reserve(((last.end - first.start) as usize).min(MOST_RESERVED))?;
            self.sink.raw_words(self.policy, &mut section, pieces, self.worker)?;
            self.check()?;
        }
    }
}

impl Spans<'_> {
    /// Appends the spans of raw words, whose ids are known, or are those from the `new`th on.
    pub(super) fn trace_raw_words(
        &mut self,
        policy: &SpecialPolicy<'_>,
        section: &mut RawSection<'_>,
        pieces: &[Piece],
        new: usize,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        let Self { ids, spans, source_texts, known, of_piece } = self;
        let RawSection { raw_words, text, base, ref mut aligned } = *section;
        let (token_lengths, unk_id) = (policy.token_lengths(), policy.model().unk_id());
        let all = known.unwrap_or(&ids[new..]);
        let to_come = &mut &*all;
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(()) };
        spans.make_room(to_come.len().min((last.end - first.start) as usize))?;
        let are_plain = is_plain(&text.as_bytes()[first.start as usize..last.end as usize]);
        let mut pieces = pieces;
        loop {
            if are_plain && let Some(token_lengths) = token_lengths {
                let (n, n_ids) = token_lengths.push_spans(pieces, to_come, base, spans);
                (pieces, *to_come) = (&pieces[n..], &to_come[n_ids..]);
            }
            let Some((&piece, rest)) = pieces.split_first() else { break };
            pieces = rest;
            let raw_word = &text[piece.range()];
            if is_ideograph(raw_word.as_bytes()) {
                let Some((&id, rest)) = to_come.split_first() else { break };
                if let Some(source_texts) = source_texts.as_mut().filter(|_| unk_id == Some(id)) {
                    source_texts.push(spans.len(), raw_word.as_bytes())?;
                }
                spans.push([(base + piece.start as usize) as u64, (base + piece.end as usize) as u64]);
                *to_come = rest;
                continue;
            }
            if are_plain || raw_words.keeps_places(raw_word) {
                let before = spans.len();
                let mut is_known = true;
                let found = token_lengths.and_then(|token_lengths| {
                    token_lengths.visit_tokens(text.as_bytes(), piece, to_come, |id, start, end| {
                        is_known &= unk_id != Some(id);
                        spans.push([(base + start) as u64, (base + end) as u64]);
                    })
                });
                // A source text is what the unknown word became.
                if let Some(n) = found.filter(|_| is_known || source_texts.is_none()) {
                    *to_come = &to_come[n..];
                    continue;
                }
                spans.truncate(before);
            }
            let changes = raw_words.clean_aligned(raw_word, aligned);
            let text = if changes { aligned.text()? } else { raw_word };
            let normalized = changes.then(|| aligned.alignment());
            let base = base + piece.start as usize;
            let origin = &Origin { start: 0, normalized, rewritten: None, base };
            let (source_texts, text_bytes) = (source_texts.as_mut(), text.as_bytes());
            let mut traces = Traces::new(spans, source_texts, policy, origin, text_bytes);
            PreTokenizer::Bert.for_each_piece(text, |word| {
                let word = Piece { start: word.start as u32, end: word.end as u32 };
                traces.push_piece(word, to_come, token_lengths, of_piece, worker)
            })?;
            traces.finish()?;
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
