//! A Unigram model in tokenizer.json: pieces with scores, but without kinds.
//!
//! So a user-defined piece is written with the score that it has in the search,
//! and one that is not used with a score by which it never wins. Neither may
//! change what an unknown character costs, where that decides anything. A special
//! piece is found before the model sees the text, unless it holds a space or `▁`,
//! which the text has only once it is normalized: that is one that is not used.

use std::borrow::Cow;
use std::collections::HashSet;

use super::write::{Reader, entries, not_representable, spell_all};
use crate::error::Result;
use crate::models::unigram::{PieceKind, Precision, Unigram};
use crate::text::SPACE_MARK;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// How much worse an unused piece is than others on its own text.
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
        // Ids are places in the list, so no added token can be put into it.
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

/// The scores with which tokenizers, to which all pieces are alike, finds what
/// the model finds.
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
            // Not found in text: the number only may not be the least.
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

/// A score with which a piece that no text holds is never part of the best way.
fn below_others(model: &Unigram, id: TokenId) -> Result<f64> {
    let piece = model.vocab().bytes(id).unwrap_or_default();
    let others = model.encode(piece);
    let is_all =
        others.iter().map(|&id| model.vocab().bytes(id).map_or(0, <[u8]>::len)).sum::<usize>() == piece.len();
    if !is_all || others.iter().any(|&id| !is_in_text(model, id)) {
        return Err(not_representable(format!(
            "the piece of id {id}, {:?}, {}, and no others write its text: tokenizers would use it; save as .model",
            text(model, id),
            if model.kind(id) == PieceKind::Unused { "is not used" } else { "is special" },
        )));
    }
    Ok(others.iter().filter_map(|&id| model.score_in_search(id)).sum::<f64>() - BEHIND)
}

/// Whether each character of each piece is a piece itself: then only characters
/// that are in no piece are unknown, and what they cost decides nothing.
fn knows_all_characters(model: &Unigram) -> bool {
    let pieces = || {
        let used = model.vocab().iter().filter(|(id, _)| is_in_text(model, *id));
        used.map(|(_, piece)| String::from_utf8_lossy(piece))
    };
    let alone = |piece: Cow<'_, str>| {
        let mut chars = piece.chars();
        chars.next().filter(|_| chars.next().is_none())
    };
    let known: HashSet<char> = pieces().filter_map(alone).collect();
    pieces().all(|piece| piece.chars().all(|c| known.contains(&c)))
}

fn is_in_text(model: &Unigram, id: TokenId) -> bool {
    matches!(model.kind(id), PieceKind::Normal | PieceKind::UserDefined) && model.unk_id() != Some(id)
}

fn text(model: &Unigram, id: TokenId) -> Cow<'_, str> {
    String::from_utf8_lossy(model.vocab().bytes(id).unwrap_or_default())
}
