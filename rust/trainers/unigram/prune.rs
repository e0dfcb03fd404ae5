//! Chooses the pieces to drop: those whose loss costs the corpus least.
//!
//! As in SentencePiece, a piece is dropped if its own text has a better segmentation, or if it is
//! on no best segmentation; it is kept if it cannot be segmented otherwise. For all other pieces
//! the loss is the likelihood that is lost when each occurrence on the best segmentations is
//! replaced by its second-best segmentation.
//!
//! A character without a piece counts as a piece with count 0, as in the final vocabulary; or, with
//! SentencePiece's method, as the first piece, the most frequent character.

use std::sync::atomic::{AtomicBool, Ordering};

use super::blocks;
use super::lattices::{GONE, Lattice, Lattices};
use super::logarithm::ln;
use super::model::Model;
use crate::error::Result;

/// The pieces to keep: at most `most`, unless more than that cannot be segmented otherwise. For
/// `foreign` see [`super::expectation::expected`].
pub(super) fn keep(
    lattices: &Lattices,
    model: &Model,
    foreign: Option<u64>,
    most: usize,
    threads: usize,
    tick: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u32>> {
    let n = model.len();
    let seen: Vec<AtomicBool> = (0..n).map(|_| AtomicBool::new(false)).collect();
    let paths = blocks::each(
        threads,
        lattices.n_blocks(),
        tick,
        || Paths::new(model),
        |number, paths| lattices.block(number).lattices().for_each(|lattice| paths.add(&lattice, &seen)),
    )?;
    let mut counts = vec![0_u64; n];
    for mine in &paths {
        counts.iter_mut().zip(&mine.counts).for_each(|(count, more)| *count += more);
    }
    let mut of_unknown = 0.0;
    if let (Some(foreign), Some(first)) = (foreign, counts.first_mut()) {
        // Cannot overflow, because all of these are characters of the corpus.
        *first += foreign + paths.iter().map(|mine| mine.unknown_count).sum::<u64>();
        of_unknown = *first as f64;
    }
    // SentencePiece computes losses in 32 bits. Rounding gives the same ties.
    let rounded = |value: f64| if foreign.is_some() { f64::from(value as f32) } else { value };
    let sum = rounded(counts.iter().map(|&count| rounded(count as f64)).sum::<f64>());
    let log_of_all = rounded(ln(sum));
    let of_unknown = rounded(of_unknown);

    let mut fates = vec![Fate::Stays; n];
    for (thread, mine) in paths.iter().enumerate() {
        for (at, &(piece, start)) in mine.found.iter().enumerate() {
            let end = mine.found.get(at + 1).map_or(mine.alternatives.len(), |next| next.1);
            fates[piece as usize] = match start == end {
                true => Fate::Goes,
                false => Fate::Costs { thread, start, end },
            };
        }
    }
    let mut kept = Vec::with_capacity(most);
    let mut candidates = Vec::new();
    for (piece, fate) in fates.iter().enumerate() {
        let count = rounded(counts[piece] as f64);
        match *fate {
            _ if counts[piece] == 0 => (),
            Fate::Goes => (),
            Fate::Stays => kept.push(piece as u32),
            Fate::Costs { thread, start, end } => {
                let alternative = &paths[thread].alternatives[start..end];
                let more = rounded(count * (alternative.len() - 1) as f64);
                let log_sum = rounded(ln(rounded(sum + more)));
                let then = alternative
                    .iter()
                    .map(|&part| counts.get(part as usize).map_or(of_unknown, |&count| rounded(count as f64)))
                    .fold(0.0, |then, part| rounded(then + (ln(rounded(part + count)) - log_sum)));
                let now = rounded(ln(count) - log_of_all);
                let loss = rounded(rounded(count / sum) * rounded(now - then));
                candidates.push((loss, piece as u32));
            }
        }
    }
    candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let room = most.saturating_sub(kept.len());
    kept.extend(candidates.iter().take(room).map(|candidate| candidate.1));
    Ok(kept)
}

/// The fate of a piece that is on some best segmentation.
#[derive(Clone, Copy)]
enum Fate {
    /// It is kept, because it cannot be segmented otherwise.
    Stays,
    /// It is dropped, because another segmentation of it is better.
    Goes,
    /// Its loss is that of its second-best segmentation, which is in this range.
    Costs { thread: usize, start: usize, end: usize },
}

/// The results of one thread.
struct Paths<'a> {
    scores: &'a [f64],
    unknown: f64,
    /// How often each piece is on a best segmentation.
    counts: Vec<u64>,
    /// The same for characters without a piece.
    unknown_count: u64,
    /// Pieces with the start of their second-best segmentations, which are empty for pieces with a
    /// better segmentation.
    found: Vec<(u32, usize)>,
    alternatives: Vec<u32>,
    best: Best,
    inner: Best,
}

/// The best path to each position: its score, and the start and number of its last piece.
#[derive(Default)]
struct Best(Vec<(f64, u32, u32)>);

impl Best {
    fn clear(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len + 1, (f64::NEG_INFINITY, 0, GONE));
        self.0[0].0 = 0.0;
    }

    /// Keeps the earlier start in a tie, because starts ascend.
    #[inline]
    fn offer(&mut self, start: usize, len: usize, score: f64, piece: u32) {
        let score = self.0[start].0 + score;
        let best = &mut self.0[start + len];
        if score > best.0 {
            *best = (score, start as u32, piece);
        }
    }

    /// Calls `f` with each piece of the best path, from the last to the first; [`GONE`] for a
    /// character without a piece.
    fn backwards(&self, mut f: impl FnMut(u32)) {
        let mut at = self.0.len() - 1;
        while at > 0 {
            f(self.0[at].2);
            at = self.0[at].1 as usize;
        }
    }
}

impl<'a> Paths<'a> {
    fn new(model: &'a Model) -> Self {
        Self {
            scores: &model.scores,
            unknown: model.unknown_score(),
            counts: vec![0; model.len()],
            unknown_count: 0,
            found: Vec::new(),
            alternatives: Vec::new(),
            best: Best::default(),
            inner: Best::default(),
        }
    }

    /// Segments one lattice, and the pieces on its best path that no thread has segmented yet.
    fn add(&mut self, lattice: &Lattice<'_>, seen: &[AtomicBool]) {
        self.best.clear(lattice.counts.len());
        let mut place = 0;
        for (start, &count) in lattice.counts.iter().enumerate() {
            let places = place..place + usize::from(count);
            let (pieces, lens) = (&lattice.pieces[places.clone()], &lattice.piece_lens[places.clone()]);
            for (&piece, &len) in pieces.iter().zip(lens) {
                self.best.offer(start, len.into(), self.scores[piece as usize], piece);
                // A piece has the same segmentations wherever it occurs.
                let seen = &seen[piece as usize];
                if len > 1 && !seen.load(Ordering::Relaxed) && !seen.swap(true, Ordering::Relaxed) {
                    self.split(piece, len.into(), lattice, start, place);
                }
            }
            if lens.first() != Some(&1) {
                self.best.offer(start, 1, self.unknown, GONE);
            }
            place = places.end;
        }
        let (counts, unknown) = (&mut self.counts, &mut self.unknown_count);
        self.best.backwards(|piece| *counts.get_mut(piece as usize).unwrap_or(unknown) += lattice.weight);
    }

    /// Finds the best segmentation of a piece without the piece itself. It occurs in the lattice at
    /// `start`, whose entries begin at `place`.
    fn split(&mut self, whole: u32, len: usize, lattice: &Lattice<'_>, start: usize, mut place: usize) {
        self.inner.clear(len);
        for at in 0..len {
            let places = place..place + usize::from(lattice.counts[start + at]);
            place = places.end;
            let (pieces, lens) = (&lattice.pieces[places.clone()], &lattice.piece_lens[places]);
            for (&piece, &piece_len) in pieces.iter().zip(lens) {
                if at + usize::from(piece_len) <= len && piece != whole {
                    self.inner.offer(at, piece_len.into(), self.scores[piece as usize], piece);
                }
            }
            if lens.first() != Some(&1) {
                self.inner.offer(at, 1, self.unknown, GONE);
            }
        }
        let alternatives = &mut self.alternatives;
        self.found.push((whole, alternatives.len()));
        if self.inner.0[len].0 <= self.scores[whole as usize] {
            self.inner.backwards(|piece| alternatives.push(piece));
        }
    }
}
