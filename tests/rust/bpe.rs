//! The model against its definition: the naive loop, on random vocabularies
//! and on real ones.

use std::collections::BTreeSet;

use crate::With;
use proptest::prelude::*;
use sentitok::models::bpe::{Bpe, BpeOptions, MergeOrder, PairTable, Unit, Worker};
use sentitok::{TokenId, Vocab};

/// Merges the lowest pair, leftmost first, until there is none: quadratic and
/// obvious.
fn naive(pairs: &PairTable, mut ids: Vec<TokenId>) -> Vec<TokenId> {
    while let Some((at, merged)) = ids
        .windows(2)
        .enumerate()
        .map(|(at, pair)| (at, pairs.get(pair[0], pair[1])))
        .filter(|(_, merged)| merged.rank != u32::MAX)
        .min_by_key(|(at, merged)| (merged.rank, *at))
    {
        ids.splice(at..at + 2, [merged.id]);
    }
    ids
}

fn all_pairs(bpe: &Bpe) -> BTreeSet<(TokenId, TokenId, TokenId, u32)> {
    bpe.pairs().iter().map(|(left, right, merged)| (left, right, merged.id, merged.rank)).collect()
}

/// Every way to cut a token into two, found by trying all.
fn all_cuts(bpe: &Bpe) -> BTreeSet<(TokenId, TokenId, TokenId, u32)> {
    let id = |bytes: &[u8]| bpe.vocab().id(bytes);
    let cut = |token: TokenId, (left, right): (&[u8], &[u8])| Some((id(left)?, id(right)?, token, token));
    bpe.vocab()
        .iter()
        .flat_map(|(token, bytes)| (1..bytes.len()).filter_map(move |at| cut(token, bytes.split_at(at))))
        .collect()
}

/// Reference implementation of a byte-level model with all bytes.
fn definition(bpe: &Bpe, piece: &[u8]) -> Vec<TokenId> {
    let whole = *bpe.order() == MergeOrder::Ranks || bpe.options().ignore_merges;
    if whole && let Some(id) = bpe.vocab().id(piece) {
        return vec![id];
    }
    naive(bpe.pairs(), piece.iter().map(|&byte| bpe.vocab().id(&[byte]).unwrap()).collect())
}

fn with_worker(worker: &mut Worker<'_>, text: &[u8], start: usize, end: usize) -> Vec<TokenId> {
    let mut ids = Vec::new();
    worker.encode(text, start, end, &mut ids);
    ids
}

/// A byte-level model whose merges join random tokens.
fn model(joins: &[(usize, usize)], by_rank: bool, ignore_merges: bool) -> Bpe {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut merges = Vec::new();
    for &(left, right) in joins {
        let n = tokens.len();
        // Half of the picks are late tokens and the bytes of a few characters.
        let pick = |i: usize| match i % 4 {
            0 => 97 + i / 4 % 3,
            1 => "é€語".as_bytes()[i / 4 % 8] as usize,
            _ => 256 + (i / 4) % (n - 255).max(1),
        };
        let (left, right) = (pick(left).min(n - 1), pick(right).min(n - 1));
        let joined = [&tokens[left][..], &tokens[right][..]].concat();
        if joined.len() < 40 && !tokens.contains(&joined) {
            tokens.push(joined);
            merges.push((left as TokenId, right as TokenId));
        }
    }
    let order = if by_rank { MergeOrder::Ranks } else { MergeOrder::List(merges) };
    let options = BpeOptions::default().with(|it| it.ignore_merges = ignore_merges);
    Bpe::new(Vocab::from_tokens(tokens).unwrap(), order, options).unwrap()
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[abcé€語x]{1,12}".prop_map(String::into_bytes),
        "[abcé€語]{60,120}".prop_map(String::into_bytes),
        prop::collection::vec(prop::sample::select("aé€語".as_bytes().to_vec()), 1..100),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn every_path_gives_the_definition(
        joins in prop::collection::vec((any::<usize>(), any::<usize>()), 0..60),
        by_rank: bool,
        ignore_merges: bool,
        pieces in prop::collection::vec(pieces(), 1..8),
    ) {
        let bpe = model(&joins, by_rank, ignore_merges);
        if by_rank {
            prop_assert_eq!(all_pairs(&bpe), all_cuts(&bpe));
        }
        let text = pieces.concat();
        let mut worker = bpe.worker();
        for _ in 0..2 {
            let mut start = 0;
            for piece in &pieces {
                let expected = definition(&bpe, piece);
                prop_assert_eq!(&bpe.encode(piece), &expected);
                let end = start + piece.len();
                prop_assert_eq!(&with_worker(&mut worker, &text, start, end), &expected);
                let (mut ids, mut lens) = (Vec::new(), Vec::new());
                worker.encode_with_lens(piece, &mut ids, &mut lens);
                prop_assert_eq!(&ids, &expected);
                let token_lens: Vec<u32> =
                    ids.iter().map(|&id| bpe.vocab().bytes(id).unwrap().len() as u32).collect();
                prop_assert_eq!(lens, token_lens);
                start = end;
            }
        }
    }
}

#[test]
fn workers_know_their_models_only() {
    let tokens = |last: &str| Vocab::from_tokens(["a", "b", last]).unwrap();
    let make = |last| Bpe::new(tokens(last), MergeOrder::Ranks, BpeOptions::default()).unwrap();
    let (one, other) = (make("ab"), make("ba"));
    let (mut first, mut second) = (one.worker(), other.worker());
    for _ in 0..2 {
        assert_eq!(with_worker(&mut first, b"aba", 0, 3), [2, 0]);
        assert_eq!(with_worker(&mut second, b"aba", 0, 3), [0, 2]);
    }
}

#[test]
fn a_character_whose_merges_come_before_it() {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.extend(["é", "éé"].map(|text| text.as_bytes().to_vec()));
    tokens.push(b"\xA8\xC3\xA9".to_vec());
    let merges = vec![(256, 256), (0xA8, 256), (0xC3, 0xA9)];
    let bpe = Bpe::new(Vocab::from_tokens(tokens).unwrap(), MergeOrder::List(merges), BpeOptions::default());
    // The second `é` is built after the first has merged.
    assert_eq!(bpe.unwrap().encode("èéé".as_bytes()), [0xC3, 258, 256]);
}

#[test]
fn characters_unknowns_and_affixes() {
    let vocab = |tokens: &[&str]| Vocab::from_tokens(tokens.iter().map(|token| token.as_bytes())).unwrap();
    let chars = BpeOptions::default().with(|it| it.unit = Unit::Chars);
    let unk = chars.clone().with(|it| it.unk_token = Some("?".into()));
    let affixes = chars.clone().with(|it| {
        it.continuing_subword_prefix = Some("##".into());
        it.end_of_word_suffix = Some("</w>".into());
    });
    for (name, tokens, merges, options, piece, expected) in [
        ("characters", &["é", "a", "éa"][..], vec![(0, 1)], chars.clone(), "éaé", vec![2, 0]),
        ("left out", &["a", "aa"], vec![(0, 0)], chars, "axa", vec![1]),
        ("unknown", &["?", "a"], vec![], unk.clone(), "xxa", vec![0, 0, 1]),
        ("fused", &["?", "a"], vec![], unk.with(|it| it.fuse_unk = true), "xxax", vec![0, 1, 0]),
        ("affixes", &["a", "##b</w>", "ab</w>"], vec![(0, 1)], affixes, "ab", vec![2]),
    ] {
        let bpe = Bpe::new(vocab(tokens), MergeOrder::List(merges), options).unwrap();
        assert_eq!(bpe.encode(piece.as_bytes()), expected, "{name}");
    }
    let fallback: Vec<String> =
        ["a".to_owned()].into_iter().chain((0..256).map(|byte| format!("<0x{byte:02X}>"))).collect();
    let options = BpeOptions::default().with(|it| {
        it.unit = Unit::Chars;
        it.byte_fallback = true;
    });
    let bpe =
        Bpe::new(Vocab::from_tokens(fallback).unwrap(), MergeOrder::List(vec![]), options.clone()).unwrap();
    assert_eq!(bpe.encode("aé".as_bytes()), [0, 1 + 0xC3, 1 + 0xA9]);
    assert_eq!(bpe.fallback_byte(1 + 0xC3), Some(0xC3));
    // A token that represents a byte by its name is not that byte.
    assert!(!bpe.is_lossless());

    // As tokenizers 0.23.3: a character whose bytes are not all there is
    // unknown, and the unknown token comes after the bytes that follow.
    let some = Vocab::from_tokens(["a", "?", "<0xC3>", "<0xA9>", "b"]).unwrap();
    let options = options.with(|it| {
        it.unk_token = Some("?".into());
        it.fuse_unk = true;
    });
    let bpe = Bpe::new(some, MergeOrder::List(vec![]), options).unwrap();
    for (piece, expected) in [("aéèb", &[0, 2, 3, 1, 4][..]), ("èéb", &[2, 3, 1, 4]), ("èéèb", &[2, 3, 1, 4])]
    {
        assert_eq!(bpe.encode(piece.as_bytes()), expected, "{piece}");
    }
    assert!(!bpe.is_lossless());
}

#[test]
fn bad_models_are_refused() {
    let vocab = || Vocab::from_tokens(["a", "b"]).unwrap();
    for (merges, options, expected) in [
        (
            vec![(0, 1)],
            BpeOptions::default(),
            "$.model.merges[0]: its result \"ab\" is not in the vocabulary",
        ),
        (vec![(0, 7)], BpeOptions::default(), "ids 0 and 7 are not both"),
        (vec![], BpeOptions::default().with(|it| it.dropout = Some(1.5)), "dropout = 1.5"),
    ] {
        let error = Bpe::new(vocab(), MergeOrder::List(merges), options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
