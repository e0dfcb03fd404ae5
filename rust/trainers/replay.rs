//! Writes pieces as they are after merges that were made before: those of a base vocabulary, and
//! those of a checkpoint. Runs once per distinct piece before training continues.
//!
//! A stage merges a piece as encoding does: lowest rank first, the leftmost pair among equals. That
//! equals making the merges one after another, unless a merge forms a token that is part of an
//! earlier pair: training had passed that pair, but encoding goes back to it. So [`Replay::add`]
//! begins a new stage there. Few corpora need a second one, because a merge usually forms a new
//! token.

use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::models::bpe::{Merged, PairTable, Symbols};
use crate::progress::{Progress, Stage};
use crate::trainers::pair_merging::Merge;
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::symbols::FirstSymbols;
use crate::trainers::pair_merging::tokens::Tokens;
use crate::vocab::TokenId;

/// How many pieces are processed between two checks for progress; a long piece checks more often.
const TICK: usize = 1 << 12;

/// Pieces to lay out, the most frequent first, and how to write them in initial symbols.
pub(super) struct Written<'a, F> {
    pub(super) pieces: &'a [(&'a [u8], u64)],
    /// Calls a function with each symbol of a piece; `None` for an unknown one.
    pub(super) symbols: F,
    /// Whether an unknown symbol ends a run.
    pub(super) unknown_breaks: bool,
}

/// Pieces in the initial symbols of an alphabet.
#[allow(clippy::type_complexity, reason = "2026-11: the type of a closure cannot be named")]
pub(super) fn written<'a>(
    pieces: &'a [(&'a [u8], u64)],
    symbols: &'a FirstSymbols,
) -> Written<'a, impl Fn(&[u8], &mut dyn FnMut(Option<TokenId>)) -> Result<()> + 'a> {
    Written {
        pieces,
        symbols: move |piece: &[u8], f: &mut dyn FnMut(Option<TokenId>)| symbols.for_each(piece, f),
        unknown_breaks: symbols.unknown_breaks,
    }
}

/// Merges to make, in stages.
pub(super) struct Replay {
    stages: Vec<PairTable>,
    keeps_single: bool,
}

impl Replay {
    /// No merges. `keeps_single` keeps pieces that become one symbol, which have no pair, for
    /// training that may start over.
    pub(super) fn new(keeps_single: bool) -> Self {
        Self { stages: Vec::new(), keeps_single }
    }

    /// Adds a stage of these merges, as left, right and resulting id. Of equal pairs the last
    /// counts.
    pub(super) fn add_stage(&mut self, merges: impl ExactSizeIterator<Item = (TokenId, TokenId, TokenId)>) {
        let mut pairs = PairTable::with_capacity(merges.len());
        for (rank, (left, right, id)) in merges.enumerate() {
            pairs.insert(left, right, Merged { rank: rank as u32, id });
        }
        self.stages.push(pairs);
    }

    /// Adds the stages that equal making `merges` one after another.
    pub(super) fn add(&mut self, merges: &[Merge]) {
        let triple = |merge: &Merge| (merge.left, merge.right, merge.id);
        let (mut start, mut parts) = (0, FxHashSet::default());
        for (at, merge) in merges.iter().enumerate() {
            if parts.contains(&merge.id) {
                self.add_stage(merges[start..at].iter().map(triple));
                start = at;
                parts.clear();
            }
            parts.extend([merge.left, merge.right]);
        }
        if start < merges.len() {
            self.add_stage(merges[start..].iter().map(triple));
        }
    }

    /// The number of stages.
    pub(super) fn n_stages(&self) -> usize {
        self.stages.len()
    }

    /// A layout of pieces after all stages. Calls `seen` after each stage with its number, and the
    /// symbols, their lengths and the weight of a run.
    pub(super) fn layout<F>(
        &self,
        written: Written<'_, F>,
        mut seen: impl FnMut(usize, &[TokenId], &[u32], u64),
        (done, total): (u64, u64),
        progress: &mut Progress,
    ) -> Result<SymbolLayout>
    where
        F: Fn(&[u8], &mut dyn FnMut(Option<TokenId>)) -> Result<()>,
    {
        let mut layout = SymbolLayout::with_capacity(written.pieces)?;
        let mut run = Symbols::default();
        let mut finish = |run: &mut Symbols, weight: u64| {
            for (number, pairs) in self.stages.iter().enumerate() {
                run.merge(pairs);
                seen(number, &run.ids, &run.lens, weight);
            }
            let n_initial: u32 = run.lens.iter().sum();
            if run.ids.len() > 1 || self.keeps_single && n_initial > 1 {
                layout.push_merged(&run.ids, &run.lens, weight);
            }
            run.clear();
        };
        for (at, &(piece, weight)) in written.pieces.iter().enumerate() {
            if at % TICK == 0 || piece.len() > TICK {
                progress.tick(Stage::Merge, done, total)?;
            }
            (written.symbols)(piece, &mut |id| match id {
                Some(id) => run.push(id, 1),
                None if written.unknown_breaks => finish(&mut run, weight),
                None => {}
            })?;
            finish(&mut run, weight);
            // Merging records that memory ran out.
            run.check()?;
        }
        layout.check()
    }
}

/// Adds the tokens of merges that were made before.
///
/// # Errors
/// [`Error::Format`] for a merge that these tokens do not give.
pub(super) fn add_tokens(tokens: &mut Tokens, merges: &[Merge]) -> Result<()> {
    for (number, merge) in merges.iter().enumerate() {
        let wrong =
            || Error::format("checkpoint", format!("merge {number} does not fit; delete the checkpoint"));
        if [merge.left, merge.right].iter().any(|&id| id as usize >= tokens.len()) {
            return Err(wrong());
        }
        let length = tokens.length(merge.left) + tokens.length(merge.right);
        let bytes = tokens.joined(merge.left, merge.right);
        let id = tokens.intern(&bytes);
        if id != merge.id {
            return Err(wrong());
        }
        tokens.set_length(id, length);
    }
    Ok(())
}
