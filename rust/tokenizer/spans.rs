//! The ids of pieces with their spans: where in the original each came from.
//!
//! No token is chosen twice. The ids come from where they are known, or else from
//! the model's fast path, and how far each reaches is told by the ids
//! ([`Extents`](crate::extents::Extents)), piece by piece. A piece of which they do
//! not tell is encoded by `Worker::encode_with_lens`, which is the definition.

use super::finder::Finder;
use super::output::{Keeps, Output, other_ids};
use super::rewritten::Origin;
use super::walk::Walk;
use crate::encoding::{Span, Surfaces};
use crate::error::Error;
use crate::memory;
use crate::model::Worker;
use crate::pre_tokenizer::chunks::Piece;
use crate::vocab::TokenId;

/// The spans and surfaces of ids, and what they are found by.
struct Traces<'a, 'b> {
    spans: &'a mut Vec<Span>,
    surfaces: Option<&'a mut Surfaces>,
    unk_id: Option<TokenId>,
    origin: &'a mut Origin<'b>,
    text: &'a [u8],
    /// That there was no memory for a surface.
    missing: Option<Error>,
}

impl Traces<'_, '_> {
    /// Takes the next id, which came from `text[start..end]`.
    #[inline]
    fn push(&mut self, id: TokenId, start: usize, end: usize) {
        if self.unk_id == Some(id)
            && let Some(surfaces) = &mut self.surfaces
        {
            self.missing =
                surfaces.push(self.spans.len(), &self.text[start..end]).err().or(self.missing.take());
        }
        self.spans.push(self.origin.span(start, end));
    }

    /// Forgets all ids from the `n`th on.
    fn truncate(&mut self, n: usize) {
        self.spans.truncate(n);
        if let Some(surfaces) = &mut self.surfaces {
            surfaces.truncate(n);
        }
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
        let Self { ids, spans, surfaces, known, piece: (of_piece, lens), keeps, .. } = self;
        let Some(spans) = spans else {
            worker.encode_chunk(text, pieces, ids);
            return Ok(worker.check()?);
        };
        let (surfaces, unk_id) = (surfaces.as_mut(), finder.model().unk_id());
        let mut traces = Traces { spans, surfaces, unk_id, origin, text, missing: None };
        let extents = if *keeps == Keeps::Spans { finder.extents() } else { None };
        let mut new = ids.len();
        if known.is_none() && extents.is_some() {
            worker.encode_chunk(text, pieces, ids);
            worker.check()?;
        }
        memory::reserve(traces.spans, known.map_or(ids.len() - new, <[TokenId]>::len))?;
        let are_known = known.is_some() || extents.is_some();
        for &piece in pieces {
            let to_come = known.unwrap_or(&ids[new..]);
            let before = traces.spans.len();
            let told = extents.and_then(|extents| {
                extents.walk(text, piece, to_come, |id, start, end| traces.push(id, start, end))
            });
            let n = match told {
                Some(n) => n,
                None => {
                    traces.truncate(before);
                    of_piece.clear();
                    lens.clear();
                    let n_bytes = piece.range().len();
                    memory::reserve(of_piece, n_bytes)?;
                    memory::reserve(lens, n_bytes)?;
                    worker.encode_with_lens(&text[piece.range()], of_piece, lens);
                    worker.check()?;
                    memory::reserve(traces.spans, of_piece.len())?;
                    if are_known {
                        of_piece.truncate(to_come.len());
                        if !to_come.starts_with(of_piece) {
                            return Err(other_ids().into());
                        }
                    } else {
                        memory::extend(ids, of_piece)?;
                    }
                    let mut start = piece.start as usize;
                    for (&id, &len) in of_piece.iter().zip(&*lens) {
                        let end = start + len as usize;
                        traces.push(id, start, end);
                        start = end;
                    }
                    of_piece.len()
                }
            };
            match known {
                Some(known) => *known = &known[n..],
                None => new += n,
            }
        }
        Ok(traces.missing.map_or(Ok(()), Err)?)
    }
}
