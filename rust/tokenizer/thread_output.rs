//! `Made`: what a thread made of its units, and how the batch is put together
//! of what all threads made.
//!
//! One thread's is the batch as it is: nothing is copied. Of more, each copies a
//! part into the one array there is at the end.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::tokenizer::encoding::{EncodingBatch, Span, Surfaces};
use crate::vocab::TokenId;

/// What a thread made of its units: stretches of the batch, one after the other.
#[derive(Default)]
pub(super) struct Made {
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Vec<Span>,
    pub(super) surfaces: Surfaces,
    /// The number of ids, also where they are only counted.
    pub(super) n_ids: usize,
    /// Where rows end, in ids.
    row_ends: Vec<usize>,
    /// The units, as they were done, and how much there was after each.
    units: Vec<(usize, Extent)>,
    /// The unit at which the thread failed.
    failed: Option<(usize, Error)>,
}

/// How much a thread has made.
#[derive(Clone, Copy, Default)]
struct Extent {
    n_ids: usize,
    n_rows: usize,
}

/// A unit in what its thread made.
struct Place {
    unit: usize,
    thread: usize,
    ids: Range<usize>,
    rows: Range<usize>,
}

impl Made {
    /// Ends a row.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is no memory to note it.
    pub(super) fn end_row(&mut self) -> Result<()> {
        memory::push(&mut self.row_ends, self.n_ids)
    }

    /// Takes note that a unit is done.
    ///
    /// # Errors
    /// As [`Made::end_row`].
    pub(super) fn end_unit(&mut self, number: usize) -> Result<()> {
        memory::push(&mut self.units, (number, Extent { n_ids: self.n_ids, n_rows: self.row_ends.len() }))
    }

    /// Takes note of why a unit is not done.
    pub(super) fn fail(&mut self, number: usize, error: Error) {
        self.failed = Some((number, error));
    }

    /// Whether a unit is beyond what a text may become or take.
    pub(super) fn is_beyond_limits(&self) -> bool {
        matches!(self.failed, Some((_, Error::Encode(_) | Error::Pattern { .. })))
    }
}

/// The units in order, and the rows.
///
/// # Errors
/// That of the first unit that failed.
fn in_order(made: &mut [Made]) -> Result<(Vec<Place>, Vec<i64>)> {
    let failed = made.iter_mut().filter_map(|made| made.failed.take());
    if let Some((_, error)) = failed.min_by_key(|(unit, _)| *unit) {
        return Err(error);
    }
    let mut places = memory::reserved(made.iter().map(|made| made.units.len()).sum())?;
    for (thread, made) in made.iter().enumerate() {
        let mut before = Extent::default();
        for &(unit, end) in &made.units {
            let (ids, rows) = (before.n_ids..end.n_ids, before.n_rows..end.n_rows);
            places.push(Place { unit, thread, ids, rows });
            before = end;
        }
    }
    places.sort_unstable_by_key(|place| place.unit);
    let mut row_offsets = memory::reserved(1 + made.iter().map(|made| made.row_ends.len()).sum::<usize>())?;
    row_offsets.push(0);
    let mut start = 0;
    for Place { thread, ids, rows, .. } in &places {
        let ends = &made[*thread].row_ends[rows.clone()];
        row_offsets.extend(ends.iter().map(|end| (start + end - ids.start) as i64));
        start += ids.len();
    }
    Ok((places, row_offsets))
}

/// The number of ids of each row.
///
/// # Errors
/// That of the first unit that failed.
pub(super) fn counts(mut made: Vec<Made>) -> Result<Vec<u64>> {
    let (_, row_offsets) = in_order(&mut made)?;
    memory::collected(row_offsets.windows(2).map(|row| (row[1] - row[0]) as u64))
}

/// Puts the batch together.
///
/// # Errors
/// That of the first unit that failed; [`Error::Memory`] where there is not
/// enough for all ids.
pub(super) fn batch(mut made: Vec<Made>, with_spans: bool) -> Result<EncodingBatch> {
    let (places, row_offsets) = in_order(&mut made)?;
    if let [only] = &mut made[..] {
        let (mut ids, mut spans) = (std::mem::take(&mut only.ids), std::mem::take(&mut only.spans));
        ids.shrink_to_fit();
        spans.shrink_to_fit();
        let (spans, surfaces) = (with_spans.then_some(spans), std::mem::take(&mut only.surfaces));
        return Ok(EncodingBatch { ids, row_offsets, spans, surfaces });
    }
    let ids = gathered(&made, &places, |made| &made.ids)?;
    let spans = if with_spans { Some(gathered(&made, &places, |made| &made.spans)?) } else { None };
    let (mut surfaces, mut done) = (Surfaces::default(), 0);
    for Place { thread, ids, .. } in &places {
        for (place, text) in made[*thread].surfaces.within(ids.clone()) {
            surfaces.push(done + place - ids.start, text.as_bytes())?;
        }
        done += ids.len();
    }
    Ok(EncodingBatch { ids, row_offsets, spans, surfaces })
}

/// What lies in the places, one after the other, copied by as many threads.
fn gathered<T: Copy + Default + Send + Sync>(
    made: &[Made],
    places: &[Place],
    array: impl Fn(&Made) -> &[T],
) -> Result<Vec<T>> {
    let n = places.iter().map(|place| place.ids.len()).sum();
    // Asked for first, as what is zero by the system's own doing, page by page
    // in the thread that uses it, cannot be refused without an abort.
    drop(memory::reserved::<T>(n)?);
    let mut all = vec![T::default(); n];
    let mut parts: Vec<Vec<(&mut [T], &[T])>> = made.iter().map(|_| Vec::new()).collect();
    let (mut rest, mut done) = (&mut all[..], 0);
    for Place { thread, ids, .. } in places {
        let (to, after) = std::mem::take(&mut rest).split_at_mut(ids.len());
        let part = (done * parts.len() / n.max(1)).min(parts.len() - 1);
        parts[part].push((to, &array(&made[*thread])[ids.clone()]));
        (rest, done) = (after, done + ids.len());
    }
    parallel::each(parts, |part| part.into_iter().for_each(|(to, from)| to.copy_from_slice(from)));
    Ok(all)
}
