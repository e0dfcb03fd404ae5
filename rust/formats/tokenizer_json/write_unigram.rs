//! Writes a Unigram model to tokenizer.json, which stores pieces with scores but without kinds.
//!
//! A user-defined piece is written with its score in the search, and an unused piece with a score
//! so low that it never wins. Neither may change the cost of an unknown character, unless that cost
//! decides nothing. A special piece is found before the model sees the text; but if it contains a
//! space or `▁`, which the text only contains after normalization, it is written like an unused
//! piece.

use std::borrow::Cow;
use std::collections::HashSet;

use super::write::{Reader, entries, not_representable, spell_all};
use crate::error::Result;
use crate::models::unigram::{PieceKind, Precision, Unigram};
use crate::text::SPACE_MARK;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// How much lower than the best other segmentation of its text an unused piece scores.
const BEHIND: f64 = 10.0;

#[derive(serde::Serialize)]
pub(super) struct WrittenUnigram<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    unk_id: Option<TokenId>,
    vocab: Vec<(Cow<'a, str>, f64)>,
    byte_fallback: bool,
}

impl<'a> WrittenUnigram<'a> {
    pub(super) fn of(tokenizer: &'a Tokenizer, model: &'a Unigram, reader: Reader) -> Result<Self> {
        let spelled = spell_all(tokenizer.model())?;
        // Ids are indices of the list, so no added token can be inserted.
        if entries(tokenizer, &spelled, reader)?.len() > spelled.len() {
            return Err(not_representable(
                "its added tokens have ids that tokenizers would not give them behind a Unigram model",
            ));
        }
        let scores = match reader {
            Reader::Sentitok => model.scores().to_vec(),
            Reader::HuggingFace => scores_without_kinds(model)?,
        };
        Ok(Self {
            kind: "Unigram",
            unk_id: model.unk_id(),
            vocab: spelled.into_iter().zip(scores).collect(),
            byte_fallback: model.options().byte_fallback,
        })
    }
}

/// Scores with which tokenizers, which does not know kinds, finds the same pieces as the model.
fn scores_without_kinds(model: &Unigram) -> Result<Vec<f64>> {
    let mut scores = model.scores().to_vec();
    let Some(least_id) = model.least_id() else { return Ok(scores) };
    let is_single = model.options().precision == Precision::F32;
    let least = model.score_in_search(least_id).unwrap_or_default();
    let mut lowest = None;
    for (id, score) in scores.iter_mut().enumerate() {
        let id = id as TokenId;
        *score = match model.kind(id) {
            PieceKind::UserDefined => model.score_in_search(id).unwrap_or(*score),
            PieceKind::Unused => below_others(model, id)?,
            PieceKind::Unknown | PieceKind::Control if text(model, id).contains([' ', SPACE_MARK]) => {
                below_others(model, id)?
            }
            // These are not found in text, so only the minimum of all scores matters.
            PieceKind::Unknown | PieceKind::Control | PieceKind::Byte if is_single => score.max(least),
            _ => *score,
        };
        if *score < least {
            lowest.get_or_insert(id);
        }
    }
    match lowest {
        Some(id) if !knows_all_characters(model) => Err(not_representable(format!(
            "the piece of id {id}, {:?}, would make unknown characters cost more than in the model; \
             save as .model",
            text(model, id)
        ))),
        _ => Ok(scores),
    }
}

/// A score so low that a piece, which must not be found in text, is never on the best path.
fn below_others(model: &Unigram, id: TokenId) -> Result<f64> {
    let piece = model.vocab().bytes(id).unwrap_or_default();
    let others = model.encode(piece);
    let is_all =
        others.iter().map(|&id| model.vocab().bytes(id).map_or(0, <[u8]>::len)).sum::<usize>() == piece.len();
    if !is_all || others.iter().any(|&id| !is_in_text(model, id)) {
        return Err(not_representable(format!(
            "the piece of id {id}, {:?}, {}, and no other pieces write its text: tokenizers would use it; save as .model",
            text(model, id),
            if model.kind(id) == PieceKind::Unused { "is not used" } else { "is special" },
        )));
    }
    Ok(others.iter().filter_map(|&id| model.score_in_search(id)).sum::<f64>() - BEHIND)
}

/// Whether each character of each piece is also a piece. Then only characters that are in no piece
/// are unknown, and their cost decides nothing.
fn knows_all_characters(model: &Unigram) -> bool {
    let pieces = || {
        let used = model.vocab().iter().filter(|(id, _)| is_in_text(model, *id));
        used.map(|(_, piece)| String::from_utf8_lossy(piece))
    };
    let single_char = |piece: Cow<'_, str>| {
        let mut chars = piece.chars();
        chars.next().filter(|_| chars.next().is_none())
    };
    let known: HashSet<char> = pieces().filter_map(single_char).collect();
    pieces().all(|piece| piece.chars().all(|c| known.contains(&c)))
}

fn is_in_text(model: &Unigram, id: TokenId) -> bool {
    matches!(model.kind(id), PieceKind::Normal | PieceKind::UserDefined) && model.unk_id() != Some(id)
}

fn text(model: &Unigram, id: TokenId) -> Cow<'_, str> {
    String::from_utf8_lossy(model.vocab().bytes(id).unwrap_or_default())
}
