//! Unigram models by their definition: the best sum, by trying every piece at
//! every place; all ways to cut a text, by recursion; samples, from all sums.

use std::collections::BTreeMap;

use sentitok::TokenId;
use sentitok::models::unigram::{PieceKind, Precision, Random};

pub(super) type Pieces = Vec<(String, f64, PieceKind)>;
/// Where pieces start and end, without an id for an unknown character; and their score.
pub(super) type Way = (Vec<(usize, usize, Option<TokenId>)>, f64);

/// The score of each piece in a search and of an unknown character, as the
/// references define them.
pub(super) fn scores(pieces: &[(String, f64, PieceKind)], precision: Precision) -> (Vec<Option<f64>>, f64) {
    match precision {
        Precision::F64 => {
            let least = pieces.iter().map(|(_, score, _)| *score).fold(f64::INFINITY, f64::min);
            (pieces.iter().map(|(_, score, _)| Some(*score)).collect(), least - 10.0)
        }
        Precision::F32 => {
            let normal = pieces.iter().filter(|(.., kind)| *kind == PieceKind::Normal);
            let least = normal.map(|(_, score, _)| *score as f32).fold(f32::MAX, f32::min);
            let score = |(piece, score, kind): &(String, f64, PieceKind)| match kind {
                PieceKind::Normal => Some(f64::from(*score as f32)),
                PieceKind::UserDefined => Some(f64::from((0.1 * (piece.len() - 1) as f64) as f32)),
                _ => None,
            };
            (pieces.iter().map(score).collect(), f64::from(least - 10.0))
        }
    }
}

/// The pieces of the best way to cut a text, with where they start and end;
/// without an id for an unknown character.
pub(super) fn best_way(
    pieces: &[(String, f64, PieceKind)],
    precision: Precision,
    text: &str,
) -> Vec<(usize, usize, Option<TokenId>)> {
    let (scores, unknown) = scores(pieces, precision);
    let single = precision == Precision::F32;
    let rounded = |sum: f64| if single { f64::from(sum as f32) } else { sum };
    let ids: BTreeMap<&str, usize> =
        pieces.iter().enumerate().map(|(id, (piece, ..))| (&**piece, id)).collect();
    let longest = pieces.iter().map(|(piece, ..)| piece.len()).max().unwrap();
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    places.push(text.len());
    // The best sum to each place, and its last piece.
    let mut best: BTreeMap<usize, (f64, usize, Option<TokenId>)> = BTreeMap::from([(0, (0.0, 0, None))]);
    for (at, &start) in places.iter().enumerate() {
        let mut here = best[&start].0;
        if single && here.abs() > 100_000.0 {
            best.range_mut(start..).for_each(|(_, way)| way.0 = rounded(way.0 - here));
            here = 0.0;
        }
        let mut known_char = false;
        let mut offer = |end: usize, sum: f64, id| {
            let sum = rounded(sum);
            if best.get(&end).is_none_or(|way| sum > way.0) {
                best.insert(end, (sum, start, id));
            }
        };
        for &end in places[at + 1..].iter().take_while(|end| **end - start <= longest) {
            let found = ids.get(&text[start..end]).and_then(|&id| Some((id, scores[id]?)));
            if let Some((id, score)) = found {
                offer(end, here + score, Some(id as TokenId));
                known_char |= end == places[at + 1];
            }
        }
        if !known_char && let Some(&end) = places.get(at + 1) {
            offer(end, here + unknown, None);
        }
    }
    let mut way = Vec::new();
    let mut end = text.len();
    while end > 0 {
        let (_, start, id) = best[&end];
        way.insert(0, (start, end, id));
        end = start;
    }
    way
}

/// The ids of a way: a run of unknown characters is one token, or its bytes.
pub(super) fn ids_of_way(
    pieces: &[(String, f64, PieceKind)],
    precision: Precision,
    byte_fallback: bool,
    text: &str,
    way: &[(usize, usize, Option<TokenId>)],
) -> Vec<TokenId> {
    let id_of = |text: &str| pieces.iter().position(|(piece, ..)| piece == text).map(|id| id as TokenId);
    let mut ids = Vec::new();
    // The unknown token found as text is as unknown as a character.
    for run in way.chunk_by(|a, b| a.2.unwrap_or(0) == 0 && b.2.unwrap_or(0) == 0) {
        let (start, end) = (run[0].0, run[run.len() - 1].1);
        match run[0].2 {
            Some(id) if id != 0 => ids.push(id),
            _ => match id_of(&text[start..end]).filter(|_| precision == Precision::F64) {
                Some(id) => ids.push(id),
                None if byte_fallback => ids
                    .extend(text[start..end].bytes().map(|byte| id_of(&format!("<0x{byte:02X}>")).unwrap())),
                None => ids.push(0),
            },
        }
    }
    ids
}

/// Every way to cut a text, with its score, best first; of equal ones that whose
/// last piece starts earlier, then that whose beginning comes earlier.
pub(super) fn all_ways(pieces: &Pieces, scores: &[Option<f64>], unknown: f64, text: &str) -> Vec<Way> {
    let Some(last) = text.chars().next_back() else { return vec![(Vec::new(), 0.0)] };
    let mut ways = Vec::new();
    let mut add = |start: usize, id: Option<TokenId>, score: f64| {
        for (mut way, sum) in all_ways(pieces, scores, unknown, &text[..start]) {
            way.push((start, text.len(), id));
            ways.push((way, sum + score));
        }
    };
    let mut known_char = false;
    for (id, (piece, ..)) in pieces.iter().enumerate() {
        if let Some(score) = scores[id].filter(|_| text.ends_with(piece.as_str())) {
            add(text.len() - piece.len(), Some(id as TokenId), score);
            known_char |= piece.chars().eq([last]);
        }
    }
    if !known_char {
        add(text.len() - last.len_utf8(), None, unknown);
    }
    // Sorting is stable: beginnings came in their order.
    ways.sort_by_key(|(way, _)| way.last().map(|last| last.0));
    ways.sort_by(|a, b| b.1.total_cmp(&a.1));
    ways
}

/// The draws of [`Random`], by the reference implementation: every arc of every place at hand.
pub(super) fn drawn(
    longest: usize,
    text: &str,
    alpha: f64,
    seed: u64,
    score: impl Fn(usize) -> f64,
) -> (Vec<usize>, f64) {
    let n = text.len();
    // The starts of the pieces that end at a place: no further back than its letter goes.
    let bytes = text.as_bytes();
    let starts_to = |end: usize| {
        let run = bytes[..end].iter().rev().take_while(|&&byte| byte == bytes[end - 1]).count();
        end - run.min(longest)..end
    };
    let (mut sums, mut entropies) = (vec![0.0_f64; n + 1], vec![0.0_f64; n + 1]);
    for end in 1..=n {
        let starts = || starts_to(end);
        let before = sums.clone();
        let weight = |start: usize| before[start] + alpha * score(end - start);
        let most = starts().map(weight).fold(f64::NEG_INFINITY, f64::max);
        sums[end] = most + starts().map(|start| (weight(start) - most).exp()).sum::<f64>().ln();
        let of_arc = |start: usize| {
            let log_p = weight(start) - sums[end];
            log_p.exp() * (entropies[start] - log_p)
        };
        entropies[end] = starts().map(of_arc).sum();
    }
    let mut random = Random::new(seed);
    let (mut lens, mut end) = (Vec::new(), n);
    while end > 0 {
        let mut left = random.next_f64();
        let start = starts_to(end).find(|&start| {
            left -= (sums[start] + alpha * score(end - start) - sums[end]).exp();
            left < 0.0
        });
        let start = start.unwrap_or(end - 1);
        lens.insert(0, end - start);
        end = start;
    }
    (lens, entropies[n])
}
