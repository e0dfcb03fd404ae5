//! Training where the corpus spells out the suffix, against Hugging Face's
//! bookkeeping done slowly: every merge reads each piece again.

use std::collections::{BTreeMap, HashMap};

use crate::With;
use proptest::prelude::*;
use sentitok::Progress;
use sentitok::models::bpe::Unit;
use sentitok::trainers::bpe::{Alphabet, BpeTrainer};

const SUFFIX: &str = "</w>";

type Pair = (usize, usize);

/// A queue's entry: the count it was queued with, its pair, its pieces.
struct Entry {
    count: u64,
    pair: Pair,
    pieces: Vec<usize>,
    waits: bool,
}

/// The tokens and the merges; `tokens` holds the first symbols.
fn naive(pieces: &[(String, i64)], mut tokens: Vec<String>, vocab_size: usize) -> (Vec<String>, Vec<Pair>) {
    let id_of = |tokens: &[String], text: &str| tokens.iter().position(|token| token == text);
    let mut words: Vec<(Vec<usize>, i64)> = Vec::new();
    for (piece, count) in pieces {
        let last = piece.chars().count() - 1;
        let symbols = piece.chars().enumerate().map(|(at, c)| match at == last {
            true => format!("{c}{SUFFIX}"),
            false => c.to_string(),
        });
        words.push((symbols.map(|symbol| id_of(&tokens, &symbol).unwrap()).collect(), *count));
    }
    let mut counts: HashMap<Pair, i64> = HashMap::new();
    let mut births: Vec<(Pair, usize)> = Vec::new();
    for (at, (symbols, count)) in words.iter().enumerate() {
        for pair in symbols.windows(2) {
            *counts.entry((pair[0], pair[1])).or_default() += count;
            births.push(((pair[0], pair[1]), at));
        }
    }
    let (mut queue, mut merges): (Vec<Entry>, Vec<Pair>) = (Vec::new(), Vec::new());
    loop {
        let mut born: BTreeMap<Pair, Vec<usize>> = BTreeMap::new();
        births.drain(..).for_each(|(pair, at)| born.entry(pair).or_default().push(at));
        for (pair, mut pieces) in born {
            pieces.dedup();
            if counts[&pair] > 0 {
                queue.push(Entry { count: counts[&pair] as u64, pair, pieces, waits: true });
            }
        }
        let best = loop {
            let order = |at: &usize| (queue[*at].count, std::cmp::Reverse((queue[*at].pair, *at)));
            let Some(at) = (0..queue.len()).filter(|&at| queue[at].waits).max_by_key(order) else {
                break None;
            };
            let live = counts[&queue[at].pair] as u64;
            if queue[at].count == live {
                queue[at].waits = false;
                break (live > 0).then_some(at);
            }
            queue[at].count = live;
        };
        let Some(at) = best.filter(|_| tokens.len() < vocab_size) else { break };
        let (left, right) = queue[at].pair;
        let joined = format!("{}{}", tokens[left], tokens[right]);
        let id = id_of(&tokens, &joined).unwrap_or_else(|| {
            tokens.push(joined);
            tokens.len() - 1
        });
        merges.push((left, right));
        for piece in std::mem::take(&mut queue[at].pieces) {
            let (symbols, weight) = &mut words[piece];
            let mut merged: Vec<usize> = Vec::new();
            let mut from = 0;
            while from < symbols.len() {
                if symbols.get(from..from + 2) != Some(&[left, right][..]) {
                    merged.push(symbols[from]);
                    from += 1;
                    continue;
                }
                if let Some(&before) = merged.last() {
                    *counts.entry((before, left)).or_default() -= *weight;
                    *counts.entry((before, id)).or_default() += *weight;
                    births.push(((before, id), piece));
                }
                if let Some(&after) = symbols.get(from + 2) {
                    *counts.entry((right, after)).or_default() -= *weight;
                    *counts.entry((id, after)).or_default() += *weight;
                    births.push(((id, after), piece));
                }
                merged.push(id);
                from += 2;
            }
            *symbols = merged;
        }
    }
    // Of a pair merged twice the last stays.
    let last: HashMap<Pair, usize> = merges.iter().enumerate().map(|(rank, pair)| (*pair, rank)).collect();
    let merges = merges.iter().enumerate().filter(|(rank, pair)| last[pair] == *rank);
    (tokens, merges.map(|(_, pair)| *pair).collect())
}

proptest! {
    #[test]
    fn a_corpus_that_spells_out_the_suffix(
        counts in prop::collection::btree_map("(a|b|</w>|/w>|<|w){1,8}", 1..20_u64, 1..12), more in 0..60_usize,
    ) {
        let trainer = |vocab_size| BpeTrainer::default().with(|it| { it.vocab_size = vocab_size; it.unit = Unit::Chars; it.initial_alphabet = Alphabet::Seen; it.end_of_word_suffix = Some(SUFFIX.to_owned()); });
        let train = |vocab_size| {
            let pieces = counts.iter().map(|(piece, count)| (piece.as_bytes(), *count));
            trainer(vocab_size).train(pieces, &mut Progress::silent()).unwrap()
        };
        let whole = train(1000);
        let text = |token: &Option<Vec<u8>>| String::from_utf8(token.clone().unwrap()).unwrap();
        let first: Vec<String> = whole.tokens[..whole.n_initial].iter().map(text).collect();
        let found = train(first.len() + more);
        let mut pieces: Vec<_> = counts.iter().map(|(piece, count)| (piece.clone(), *count as i64)).collect();
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.1));
        let (tokens, merges) = naive(&pieces, first, whole.n_initial + more);
        prop_assert_eq!(found.tokens.iter().map(text).collect::<Vec<_>>(), tokens);
        let found: Vec<Pair> =
            found.merges.iter().map(|merge| (merge.left as usize, merge.right as usize)).collect();
        prop_assert_eq!(found, merges);
    }
}
