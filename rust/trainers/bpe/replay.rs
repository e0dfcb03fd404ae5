//! Writes pieces as a base vocabulary would encode them: applies its merges, lowest rank first, and
//! the leftmost pair among equals. Runs once per distinct piece before training continues.

use super::Base;
use crate::error::{Error, Result};
use crate::models::bpe::{Merged, PairTable, Symbols};
use crate::progress::{Progress, Stage};
use crate::trainers::pair_merging::layout::SymbolLayout;
use crate::trainers::pair_merging::symbols::FirstSymbols;
use crate::trainers::pair_merging::tokens::Tokens;
use crate::vocab::TokenId;

/// How many pieces are processed between two checks for progress; a long piece checks more often.
const TICK: usize = 1 << 12;

/// A layout of the pieces after all merges of the base.
pub(super) fn replay(
    base: &Base,
    pieces: &[(&[u8], u64)],
    symbols: &FirstSymbols,
    tokens: &mut Tokens,
    progress: &mut Progress,
) -> Result<SymbolLayout> {
    let mut pairs = PairTable::with_capacity(base.merges.len());
    for (rank, &(left, right, id)) in base.merges.iter().enumerate() {
        if let Some(unknown) = [left, right, id].into_iter().find(|id| *id as usize >= base.tokens.len()) {
            return Err(Error::UnknownId {
                id: unknown.into(),
                max: (base.tokens.len() as TokenId).saturating_sub(1),
            });
        }
        // Of equal pairs the last counts, as in encoding with the base.
        pairs.insert(left, right, Merged { rank: rank as u32, id });
    }
    let mut layout = SymbolLayout::with_capacity(pieces)?;
    let mut run = Symbols::default();
    for (at, &(piece, weight)) in pieces.iter().enumerate() {
        if at % TICK == 0 || piece.len() > TICK {
            progress.tick(Stage::Merge, tokens.len() as u64, 0)?;
        }
        symbols.for_each(piece, |id| match id {
            Some(id) => run.push(id, 1),
            None if symbols.unknown_breaks => finish(&mut run, &pairs, &mut layout, tokens, weight),
            None => {}
        })?;
        finish(&mut run, &pairs, &mut layout, tokens, weight);
        run.check()?;
    }
    layout.check()
}

/// Merges the symbols of `run`, appends them to the layout and empties the run. Records in `run` if
/// memory runs out.
fn finish(run: &mut Symbols, pairs: &PairTable, layout: &mut SymbolLayout, tokens: &mut Tokens, weight: u64) {
    run.merge(pairs);
    for (&id, &len) in run.ids.iter().zip(&run.lens) {
        tokens.set_length(id, len as usize);
    }
    layout.push_merged(&run.ids, &run.lens, weight);
    run.clear();
}
