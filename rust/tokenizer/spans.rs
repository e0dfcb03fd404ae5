//! `Spans`: a sink that keeps where in the original text each id came from.
//!
//! No token is chosen twice. The ids are known, or come from the model's caches, and how far each reaches
//! follows from the ids ([`TokenLengths`](crate::token_lengths::TokenLengths)), piece by piece. Only a piece whose
//! ids do not determine is encoded by `Worker::encode_with_lens`, the reference implementation, which the sink
//! [`Reference`] takes for all pieces.

use super::raw_words::RawSection;
use super::sink::{Arrays, Place, Sink};
use super::text_encoder::{MOST_RESERVED, Origin};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::Worker;
use crate::normalizer::{Alignment, MarkedRuns};
use crate::text::Piece;
use crate::token_lengths::TokenLengths;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::encoding::{SourceTexts, Span};
use crate::tokenizer::special_policy::SpecialPolicy;
use crate::vocab::TokenId;

/// Keeps ids with their spans; of ids that are known already, the spans alone.
#[derive(Default)]
pub(super) struct Spans<'k> {
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Vec<Span>,
    /// Kept where they are asked for.
    pub(super) source_texts: Option<SourceTexts>,
    /// The known ids whose spans are to come; none are put out.
    pub(super) known: Option<&'k [TokenId]>,
    /// Buffers.
    pub(super) of_piece: OfPiece,
}

/// The ids of a piece that is encoded for its spans, and the bytes that each covers.
type OfPiece = (Vec<TokenId>, Vec<u32>);

impl Spans<'_> {
    /// For ids with their spans, and with source texts where they are asked for.
    pub(super) fn new(keeps_source_texts: bool) -> Self {
        Self { source_texts: keeps_source_texts.then(SourceTexts::default), ..Self::default() }
    }
}

impl Sink for Spans<'_> {
    const SPANS: bool = true;

    fn place(&self) -> Place {
        Place { id: self.spans.len(), source_text: self.source_texts.as_ref().map_or(0, SourceTexts::len) }
    }

    fn is_full(&self, limit: usize) -> bool {
        self.spans.len() >= limit || self.known.is_some_and(<[TokenId]>::is_empty)
    }

    fn reserve(&mut self, n_bytes: usize) -> Result<()> {
        if self.known.is_some() {
            return Ok(());
        }
        self.ids.make_room(n_bytes)?;
        self.spans.make_room(n_bytes.min(MOST_RESERVED))
    }

    fn append(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> Result<()>,
    ) -> Result<()> {
        if self.known.is_some() { Ok(()) } else { encode(worker, &mut self.ids) }
    }

    fn pieces(
        &mut self,
        policy: &SpecialPolicy<'_>,
        text: &[u8],
        pieces: &[Piece],
        origin: &Origin<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        let token_lengths = policy.token_lengths();
        if token_lengths.is_none() && self.known.is_none() {
            return self.pieces_by_model(policy, text, pieces, origin, worker);
        }
        let new = self.ids.len();
        self.append(worker, |worker, ids| {
            worker.encode_chunk(text, pieces, ids);
            worker.check()
        })?;
        let all = self.known.unwrap_or(&self.ids[new..]);
        let to_come = &mut &*all;
        self.spans.make_room(to_come.len())?;
        let (spans, source_texts) = (&mut self.spans, self.source_texts.as_mut());
        let mut traces = Traces::new(spans, source_texts, policy, origin, text);
        let mut pieces = pieces;
        if token_lengths.is_some_and(|token_lengths| traces.push_marked(pieces, to_come, token_lengths)) {
            pieces = &[];
        }
        loop {
            pieces = &pieces[traces.push_by_length(pieces, to_come, token_lengths)..];
            let Some((&piece, rest)) = pieces.split_first() else { break };
            traces.push_piece(piece, to_come, token_lengths, &mut self.of_piece, worker)?;
            pieces = rest;
        }
        let done = traces.finish();
        let n = all.len() - to_come.len();
        if let Some(known) = &mut self.known {
            *known = &known[n..];
        }
        done
    }

    fn raw_words(
        &mut self,
        policy: &SpecialPolicy<'_>,
        section: &mut RawSection<'_>,
        pieces: &[Piece],
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        let new = self.ids.len();
        self.append(worker, |worker, ids| {
            worker.encode_raw_words(section, section.text.as_bytes(), pieces, ids)
        })?;
        self.trace_raw_words(policy, section, pieces, new, worker)
    }

    fn token(&mut self, token: &AddedToken, span: Span, text: &[u8]) -> Result<()> {
        if let Some(source_texts) = self.source_texts.as_mut().filter(|_| token.content.as_bytes() != text) {
            source_texts.push(self.spans.len(), text)?;
        }
        self.put(&[token.id], span)
    }

    fn put(&mut self, ids: &[TokenId], span: Span) -> Result<()> {
        match &mut self.known {
            None => memory::extend(&mut self.ids, ids)?,
            Some(known) => *known = known.strip_prefix(ids).ok_or_else(different_ids)?,
        }
        let end = self.spans.len() + ids.len();
        memory::resize(&mut self.spans, end, span)
    }

    fn repeat(&mut self, place: Place, n: usize, further: u64) -> Result<()> {
        let n = match &mut self.known {
            Some(known) => {
                let n = n.min(known.len());
                *known = &known[n..];
                n
            }
            None => {
                self.ids.make_room(n)?;
                self.ids.extend_from_within(place.id..place.id + n);
                n
            }
        };
        if let Some(source_texts) = &mut self.source_texts {
            source_texts.repeat(place.source_text, place.id..place.id + n, self.spans.len())?;
        }
        self.spans.make_room(n)?;
        for at in place.id..place.id + n {
            self.spans.push(self.spans[at].map(|end| end + further));
        }
        Ok(())
    }

    fn truncate(&mut self, n: usize) {
        self.ids.truncate(n);
        self.spans.truncate(n);
        if let Some(source_texts) = &mut self.source_texts {
            source_texts.truncate(n);
        }
    }

    fn into_arrays(self) -> Arrays {
        Arrays { ids: self.ids, spans: self.spans, source_texts: self.source_texts.unwrap_or_default() }
    }
}

impl Spans<'_> {
    /// Takes pieces that the model encodes with their spans, without a cache.
    fn pieces_by_model(
        &mut self,
        policy: &SpecialPolicy<'_>,
        text: &[u8],
        pieces: &[Piece],
        origin: &Origin<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        let (spans, source_texts) = (&mut self.spans, self.source_texts.as_mut());
        let mut traces = Traces::new(spans, source_texts, policy, origin, text);
        for &piece in pieces {
            traces.encode_piece(piece, &mut self.of_piece, worker)?;
            memory::extend(&mut self.ids, &self.of_piece.0)?;
        }
        traces.finish()
    }
}

/// The reference implementation: every piece by the model without a cache, and every stage.
#[cfg(any(test, feature = "oracle"))]
pub(super) struct Reference(Spans<'static>);

#[cfg(any(test, feature = "oracle"))]
impl Reference {
    pub(super) fn new() -> Self {
        Self(Spans::new(true))
    }
}

#[cfg(any(test, feature = "oracle"))]
impl Sink for Reference {
    const SPANS: bool = true;
    const NEEDS_PIECES: bool = true;

    fn place(&self) -> Place {
        self.0.place()
    }

    fn append(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> Result<()>,
    ) -> Result<()> {
        self.0.append(worker, encode)
    }

    fn pieces(
        &mut self,
        policy: &SpecialPolicy<'_>,
        text: &[u8],
        pieces: &[Piece],
        origin: &Origin<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        self.0.pieces_by_model(policy, text, pieces, origin, worker)
    }

    fn token(&mut self, token: &AddedToken, span: Span, text: &[u8]) -> Result<()> {
        self.0.token(token, span, text)
    }

    fn put(&mut self, ids: &[TokenId], span: Span) -> Result<()> {
        self.0.put(ids, span)
    }

    fn repeat(&mut self, place: Place, n: usize, further: u64) -> Result<()> {
        self.0.repeat(place, n, further)
    }

    fn truncate(&mut self, n: usize) {
        self.0.truncate(n);
    }

    fn into_arrays(self) -> Arrays {
        self.0.into_arrays()
    }
}

/// Finds the spans and source texts of ids.
pub(super) struct Traces<'a, 'b> {
    /// Those from the `first` on are in `text` until [`Traces::finish`] leads them back to the original text.
    spans: &'a mut Vec<Span>,
    first: usize,
    /// Whether they are led back through the first alignment.
    is_begun: bool,
    source_texts: Option<&'a mut SourceTexts>,
    unk_id: Option<TokenId>,
    origin: &'a Origin<'b>,
    text: &'a [u8],
    /// That there was no memory for a source text.
    missing: Option<Error>,
}

impl<'a, 'b> Traces<'a, 'b> {
    /// Appends to `spans` and `source_texts` what comes of pieces of `text`.
    pub(super) fn new(
        spans: &'a mut Vec<Span>,
        source_texts: Option<&'a mut SourceTexts>,
        policy: &SpecialPolicy<'_>,
        origin: &'a Origin<'b>,
        text: &'a [u8],
    ) -> Self {
        let (first, unk_id) = (spans.len(), policy.model().unk_id());
        Self { spans, first, is_begun: false, source_texts, unk_id, origin, text, missing: None }
    }

    /// Leads the spans back, and reports whether there was memory for all source texts.
    pub(super) fn finish(self) -> Result<()> {
        self.origin.lead_back_after(self.is_begun, &mut self.spans[self.first..]);
        self.missing.map_or(Ok(()), Err)
    }

    /// Takes the next id, which came from `text[start..end]`.
    #[inline(always)]
    fn push(&mut self, id: TokenId, start: usize, end: usize) {
        if self.unk_id == Some(id)
            && let Some(source_texts) = &mut self.source_texts
        {
            self.missing =
                source_texts.push(self.spans.len(), &self.text[start..end]).err().or(self.missing.take());
        }
        self.spans.push([start as u64, end as u64]);
    }

    /// Forgets all ids from the `n`th on.
    fn truncate(&mut self, n: usize) {
        self.spans.truncate(n);
        if let Some(source_texts) = &mut self.source_texts {
            source_texts.truncate(n);
        }
    }

    /// Takes the ids of all pieces, with which `to_come` begins, and leads them back through the first alignment run by
    /// run. Takes none and returns `false` where that is not possible.
    fn push_marked(
        &mut self,
        pieces: &[Piece],
        to_come: &mut &[TokenId],
        token_lengths: &TokenLengths,
    ) -> bool {
        let Some(alignment) = self.origin.first_alignment() else { return false };
        // Of an unknown token the source text is taken.
        let suffice =
            token_lengths.has_no_prefix() && self.unk_id.is_none_or(|id| !token_lengths.covers_text(id));
        let follow = |pair: &[Piece]| pair[0].end == pair[1].start;
        if !suffice || !pieces.windows(2).all(follow) {
            return false;
        }
        let before = self.spans.len();
        match self.push_runs(pieces, to_come, token_lengths, alignment) {
            Some(n) => {
                *to_come = &to_come[n..];
                self.is_begun = true;
            }
            None => self.truncate(before),
        }
        self.is_begun
    }

    /// Appends the spans of the tokens of pieces that follow each other, led back through an alignment; returns how
    /// many, `None` where `ids` do not determine them.
    fn push_runs(
        &mut self,
        pieces: &[Piece],
        ids: &[TokenId],
        token_lengths: &TokenLengths,
        alignment: Alignment<'_>,
    ) -> Option<usize> {
        let text = self.text;
        let (first, last) = (pieces.first()?, pieces.last()?);
        let mut runs = MarkedRuns::new(alignment, text, (first.start, last.end))?;
        let (mut pieces, mut at, mut n) = (pieces, first.start, 0);
        while at < last.end && n < ids.len() {
            if let Some((from, end)) = runs.run(at) {
                let n_bytes = end.min(last.end) - at;
                let tokens = token_lengths.push_marked(&ids[n..], n_bytes, u64::from(from), self.spans);
                (at, n) = (at + tokens.n_bytes, n + tokens.n);
                if !runs.pass_run(at, tokens.n_marks) {
                    return None;
                }
                if at == last.end || n == ids.len() {
                    break;
                }
            }
            while let Some((_, rest)) = pieces.split_first().filter(|(piece, _)| piece.end <= at) {
                pieces = rest;
            }
            let piece = pieces.first()?;
            let rest = text.get(at as usize..piece.end as usize)?;
            let len = token_lengths.next_len(rest, &ids[n..], at == piece.start)?;
            self.push(ids[n], at as usize, at as usize + len);
            runs.pass_token(self.spans.last_mut()?);
            (at, n) = (at + len as u32, n + 1);
        }
        Some(n)
    }

    /// Takes the ids of pieces, with which `to_come` begins, up to the first that does not follow from the lengths of
    /// tokens alone; returns how many pieces these are.
    fn push_by_length(
        &mut self,
        pieces: &[Piece],
        to_come: &mut &[TokenId],
        token_lengths: Option<&TokenLengths>,
    ) -> usize {
        // Of an unknown token the source text is taken; a single piece may be a whole text.
        let suffice = |lengths: &&TokenLengths| {
            pieces.len() > 1 && self.unk_id.is_none_or(|id| !lengths.covers_text(id))
        };
        let Some(token_lengths) = token_lengths.filter(suffice) else { return 0 };
        let (n, n_ids) = token_lengths.push_spans(pieces, to_come, 0, self.spans);
        *to_come = &to_come[n_ids..];
        n
    }

    /// Takes the ids of a piece, with which `to_come` begins; that then begins behind them.
    #[inline]
    pub(super) fn push_piece(
        &mut self,
        piece: Piece,
        to_come: &mut &[TokenId],
        token_lengths: Option<&TokenLengths>,
        of_piece: &mut OfPiece,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        let (text, before) = (self.text, self.spans.len());
        let found = token_lengths.and_then(|token_lengths| {
            token_lengths.visit_tokens(text, piece, to_come, |id, start, end| self.push(id, start, end))
        });
        let n = match found {
            Some(n) => n,
            None => {
                self.truncate(before);
                self.encode_piece(piece, of_piece, worker)?;
                let (ids, _) = of_piece;
                ids.truncate(to_come.len());
                self.truncate(before + ids.len());
                if !to_come.starts_with(ids) {
                    return Err(different_ids());
                }
                ids.len()
            }
        };
        *to_come = &to_come[n..];
        Ok(())
    }

    /// Takes the ids of a piece, which the model encodes.
    fn encode_piece(&mut self, piece: Piece, of_piece: &mut OfPiece, worker: &mut Worker<'_>) -> Result<()> {
        let (ids, lens) = of_piece;
        ids.clear();
        lens.clear();
        let n_bytes = piece.range().len();
        ids.make_room(n_bytes)?;
        lens.make_room(n_bytes)?;
        worker.encode_with_lens(&self.text[piece.range()], ids, lens);
        worker.check()?;
        self.spans.make_room(ids.len())?;
        let mut start = piece.start as usize;
        for (&id, &len) in ids.iter().zip(&*lens) {
            let end = start + len as usize;
            self.push(id, start, end);
            start = end;
        }
        Ok(())
    }
}

/// That a text did not become the ids it had become before.
pub(super) fn different_ids() -> Error {
    Error::Internal("a text encoded twice became two lists of ids".to_owned())
}
