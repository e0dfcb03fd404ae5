//! The final vocabulary: the remaining pieces, cut to size and ordered.
//!
//! Required characters come first, then the best scores. Characters whose pieces were dropped get
//! scores below all other pieces, the rarer the lower (as in SentencePiece), so that no two are equal.

use std::collections::BTreeSet;

use super::model::Model;
use super::{PieceKind, TrainedPiece, TrainedUnigram, UnigramStop, UnigramTrainer};
use crate::error::{Error, Result};
use crate::sentencepiece_rules::characters::Characters;

/// The difference between the scores of two characters that lost their pieces.
const STEP: f64 = 0.0001;

pub(super) fn finish(
    options: &UnigramTrainer,
    model: Model,
    characters: Characters,
    seeds: usize,
) -> Result<TrainedUnigram> {
    let mut pieces: Vec<TrainedPiece> = options.pieces.reserved().collect();
    let n_reserved = pieces.len();

    let mut order: Vec<usize> = (0..model.len()).collect();
    order.sort_unstable_by(|&a, &b| {
        model.scores[b].total_cmp(&model.scores[a]).then_with(|| model.text(a).cmp(model.text(b)))
    });
    let required: BTreeSet<char> = characters.required.iter().map(|seen| seen.0).collect();
    let as_required = |piece: usize| {
        let mut chars = model.text(piece).chars();
        chars.next().filter(|c| chars.next().is_none() && required.contains(c))
    };
    let mut has_piece = BTreeSet::new();
    let mut room = options.vocab_size - n_reserved - required.len();
    for piece in order {
        let is_kept = match as_required(piece) {
            Some(c) => has_piece.insert(c),
            None if room > 0 => {
                room -= 1;
                true
            }
            None => false,
        };
        if is_kept {
            let (text, score) = (model.text(piece).to_owned(), model.scores[piece]);
            pieces.push(TrainedPiece { text, score, kind: PieceKind::Normal });
        }
    }
    let least = model.min_score();
    let lost = characters.required.iter().filter(|seen| !has_piece.contains(&seen.0));
    pieces.extend(lost.enumerate().map(|(n, seen)| TrainedPiece {
        text: seen.0.to_string(),
        score: least + STEP * n as f64,
        kind: PieceKind::Normal,
    }));
    pieces[n_reserved..].sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.text.cmp(&b.text)));

    let stop = if room == 0 { UnigramStop::VocabFull } else { UnigramStop::NoPieces { seeds } };
    if options.hard_vocab_limit && room > 0 {
        return Err(Error::Option {
            option: "vocab_size",
            value: options.vocab_size.to_string(),
            reason: format!(
                "the text gives only {} pieces; ask for at most that, or leave out hard_vocab_limit",
                pieces.len()
            ),
        });
    }
    let pieces = options.pieces.arranged(pieces)?;
    Ok(TrainedUnigram { pieces, stop, dropped: characters.dropped })
}
