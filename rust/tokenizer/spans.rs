//! The ids of pieces with their spans: where in the original each came from.
//!
//! No token is chosen twice. The ids come from where they are known, or else from
//! the model's fast path, and how far each reaches is told by the ids
//! ([`Extents`](crate::token_lengths::Extents)), piece by piece. A piece of which they do
//! not tell is encoded by `Worker::encode_with_lens`, which is the definition.

use super::origin::Origin;
use super::output::{Keeps, Output, other_ids};
use super::walk::Walk;
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::Worker;
use crate::pre_tokenizer::chunks::Piece;
use crate::token_lengths::Extents;
use crate::tokenizer::encoding::{Span, Surfaces};
use crate::tokenizer::special_policy::Finder;
use crate::vocab::TokenId;

/// The spans and surfaces of ids, and what they are found by.
pub(super) struct Traces<'a, 'b> {
    pub(super) spans: &'a mut Vec<Span>,
    pub(super) surfaces: Option<&'a mut Surfaces>,
    pub(super) unk_id: Option<TokenId>,
    pub(super) origin: &'a mut Origin<'b>,
    pub(super) text: &'a [u8],
    /// That there was no memory for a surface.
    pub(super) missing: Option<Error>,
}

/// The ids of a piece that the model encodes for its spans, and the bytes that each
/// covers; kept for their memory.
pub(super) type OfPiece = (Vec<TokenId>, Vec<u32>);

impl Traces<'_, '_> {
    /// Takes the next id, which came from `text[start..end]`.
    #[inline]
    pub(super) fn push(&mut self, id: TokenId, start: usize, end: usize) {
        if self.unk_id == Some(id)
            && let Some(surfaces) = &mut self.surfaces
        {
            self.missing =
                surfaces.push(self.spans.len(), &self.text[start..end]).err().or(self.missing.take());
        }
        self.spans.push(self.origin.span(start, end));
    }

    /// Forgets all ids from the `n`th on.
    pub(super) fn truncate(&mut self, n: usize) {
        self.spans.truncate(n);
        if let Some(surfaces) = &mut self.surfaces {
            surfaces.truncate(n);
        }
    }

    /// Takes the ids of a piece, with which `to_come` begins; that then begins behind them.
    #[inline]
    pub(super) fn push_piece(
        &mut self,
        piece: Piece,
        to_come: &mut &[TokenId],
        extents: Option<&Extents>,
        of_piece: &mut OfPiece,
        worker: &mut Worker<'_>,
    ) -> Result<()> {
        let (text, before) = (self.text, self.spans.len());
        let told = extents.and_then(|extents| {
            extents.walk(text, piece, to_come, |id, start, end| self.push(id, start, end))
        });
        let n = match told {
            Some(n) => n,
            None => {
                self.truncate(before);
                self.encode_piece(piece, of_piece, worker)?;
                let (ids, _) = of_piece;
                ids.truncate(to_come.len());
                self.truncate(before + ids.len());
                if !to_come.starts_with(ids) {
                    return Err(other_ids());
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

impl Output<'_> {
    /// Appends the ids of pieces that follow each other in a text, or the spans of known ones.
    pub(super) fn encode_chunk(
        &mut self,
        finder: &Finder<'_>,
        text: &[u8],
        pieces: &[Piece],
        origin: &mut Origin<'_>,
        worker: &mut Worker<'_>,
    ) -> Walk {
        let model = finder.model();
        if model.refuses_unknown() {
            for piece in pieces {
                model.check_known(&text[piece.range()])?;
            }
        }
        let Self { ids, spans, surfaces, known, words, piece: of_piece, keeps, .. } = self;
        let Some(spans) = spans else {
            self.count_or_keep(worker, |worker, ids| worker.encode_chunk(text, pieces, ids));
            return Ok(worker.check()?);
        };
        let (surfaces, unk_id) = (surfaces.as_mut(), finder.model().unk_id());
        let mut traces = Traces { spans, surfaces, unk_id, origin, text, missing: None };
        let extents = if *keeps == Keeps::Spans { finder.extents() } else { None };
        let new = ids.len();
        if known.is_none() {
            if extents.is_none() {
                for &piece in pieces {
                    traces.encode_piece(piece, of_piece, worker)?;
                    memory::extend(ids, &of_piece.0)?;
                    if let Some(words) = words {
                        words.end(traces.spans.len())?;
                    }
                }
                return Ok(());
            }
            worker.encode_chunk(text, pieces, ids);
            worker.check()?;
        }
        let all = known.unwrap_or(&ids[new..]);
        let to_come = &mut &*all;
        traces.spans.make_room(to_come.len())?;
        for &piece in pieces {
            traces.push_piece(piece, to_come, extents, of_piece, worker)?;
        }
        let n = all.len() - to_come.len();
        if let Some(known) = known {
            *known = &known[n..];
        }
        Ok(traces.missing.map_or(Ok(()), Err)?)
    }
}
