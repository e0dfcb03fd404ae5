//! Encoding, the fast code path against the slow one, for all kinds of models.
//!
//! The bytes are a kind, a vocabulary (a line a token) and a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sentitok::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use sentitok::models::unigram::{Precision, Unigram, UnigramOptions};
use sentitok::{TokenId, Vocab};

/// Merges the adjacent pair of the least rank, the leftmost first.
fn naive(vocab: &Vocab, ranks: &[u32], unit: Unit, piece: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = match (unit, std::str::from_utf8(piece)) {
        (Unit::Chars, Ok(text)) => text.chars().map(|c| c.to_string().into_bytes()).collect(),
        _ => piece.iter().map(|&byte| vec![byte]).collect(),
    };
    loop {
        let joined = |at: usize| vocab.id(&[&parts[at][..], &parts[at + 1]].concat());
        let pairs =
            (0..parts.len().saturating_sub(1)).filter_map(|at| Some((ranks[joined(at)? as usize], at)));
        let Some((_, at)) = pairs.min() else { return parts };
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
}

fn bpe(scores: bool, tokens: &[&str], text: &[u8]) {
    let unit = if scores { Unit::Chars } else { Unit::Bytes };
    // All bytes are tokens where nothing is unknown.
    let bytes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut all: Vec<Vec<u8>> = if scores { vec![b"<unk>".to_vec()] } else { bytes };
    for token in tokens {
        if !all.iter().any(|known| known == token.as_bytes()) {
            all.push(token.as_bytes().to_vec());
        }
    }
    let Ok(vocab) = Vocab::from_tokens(&all) else { return };
    // Few distinct scores: ties.
    let order = match scores {
        true => MergeOrder::Scores(all.iter().map(|token| -((token.len() % 5) as f32)).collect()),
        false => MergeOrder::Ranks,
    };
    let mut options = BpeOptions::default();
    options.unit = unit;
    options.unk_token = scores.then(|| "<unk>".to_owned());
    let Ok(model) = Bpe::new(vocab.clone(), order, options) else { return };
    let slow = model.encode(text);
    let (mut worker, mut fast) = (model.worker(), Vec::new());
    for _ in 0..2 {
        fast.clear();
        worker.encode(text, 0, text.len(), &mut fast);
        assert_eq!(fast, slow);
    }
    let is_token = !scores && vocab.id(text).is_some();
    if text.len() < 200 && !is_token && (!scores || std::str::from_utf8(text).is_ok()) {
        let ranks: Vec<u32> = match scores {
            true => all.iter().map(|token| (token.len() % 5) as u32).collect(),
            false => (0..all.len() as u32).collect(),
        };
        // The unknown piece is made by no merge.
        let parts = naive(&vocab, &ranks, unit, text);
        if !text.windows(5).any(|window| window == b"<unk>") {
            let ids: Vec<TokenId> = parts.iter().map(|part| vocab.id(part).unwrap_or(0)).collect();
            assert_eq!(slow, ids);
        }
    }
}

fn one_unigram(precision: Precision, tokens: &[&str], text: &[u8]) {
    let mut all = vec!["<unk>"];
    for token in tokens {
        if !token.is_empty() && !all.contains(token) {
            all.push(token);
        }
    }
    let Ok(vocab) = Vocab::from_tokens(&all) else { return };
    let scores = all.iter().map(|token| -((token.len() * 7 % 11) as f64) - 1.0).collect();
    let mut options = UnigramOptions::default();
    options.unk_id = Some(0);
    options.precision = precision;
    let Ok(model) = Unigram::new(vocab, scores, options) else { return };
    let slow = model.encode(text);
    let (mut worker, mut fast) = (model.worker(), Vec::new());
    for _ in 0..2 {
        fast.clear();
        worker.encode(text, 0, text.len(), &mut fast);
        assert_eq!(fast, slow);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else { return };
    let (vocab, text) = rest.split_at(rest.len() / 2);
    let vocab = String::from_utf8_lossy(vocab);
    let tokens: Vec<&str> = vocab.split('\n').filter(|token| !token.is_empty()).take(200).collect();
    match kind % 4 {
        0 => bpe(false, &tokens, text),
        1 => bpe(true, &tokens, text),
        2 => one_unigram(Precision::F32, &tokens, text),
        _ => one_unigram(Precision::F64, &tokens, text),
    }
});
