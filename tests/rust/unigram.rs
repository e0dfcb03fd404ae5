//! Unigram models against their definition.

mod definition;

use proptest::prelude::*;
use sentitok::Vocab;
use sentitok::models::unigram::{Path, PieceKind, Precision, Random, Unigram, UnigramOptions};

use crate::With;
use definition::{Pieces, all_ways, best_way, drawn, ids_of_way, scores};

fn model(pieces: &[(String, f64, PieceKind)], precision: Precision, byte_fallback: bool) -> Unigram {
    let vocab = Vocab::from_tokens(pieces.iter().map(|(piece, ..)| piece)).unwrap();
    let kinds = match precision {
        Precision::F32 => pieces.iter().map(|(.., kind)| *kind).collect(),
        Precision::F64 => Vec::new(),
    };
    let options = UnigramOptions::default().with(|it| {
        it.unk_id = Some(0);
        it.byte_fallback = byte_fallback;
        it.precision = precision;
        it.kinds = kinds;
    });
    Unigram::new(vocab, pieces.iter().map(|(_, score, _)| *score).collect(), options).unwrap()
}

fn pieces() -> impl Strategy<Value = Pieces> {
    let kind = prop_oneof![8 => Just(PieceKind::Normal), 1 => Just(PieceKind::UserDefined), 1 => Just(PieceKind::Unused)];
    // Few scores make ties; great ones make sums that begin again.
    let score = prop_oneof![
        3 => -9.0..-0.5,
        3 => prop::sample::select(vec![-1.0, -2.0, -2.5, -3.0, -4.0]),
        1 => -9000.0..-100.0,
        1 => 0.0..0.5,
    ];
    prop::collection::vec(("[abé▁]{1,4}|▁[abc]{1,5}", score, kind), 1..40).prop_map(|found| {
        let mut pieces: Pieces =
            vec![("<unk>".into(), -1.0, PieceKind::Unknown), ("▁".into(), -2.0, PieceKind::Normal)];
        for (piece, score, kind) in found {
            if pieces.iter().all(|(other, ..)| *other != piece) {
                pieces.push((piece, score, kind));
            }
        }
        pieces
    })
}

fn with_bytes(mut pieces: Pieces) -> Pieces {
    pieces.extend((0..=255).map(|byte| (format!("<0x{byte:02X}>"), 0.0, PieceKind::Byte)));
    pieces
}

/// That every path gives the ids of the reference implementation.
fn every_path_gives(
    pieces: &[(String, f64, PieceKind)],
    precision: Precision,
    byte_fallback: bool,
    text: &str,
) -> Result<(), TestCaseError> {
    let model = model(pieces, precision, byte_fallback);
    let way = best_way(pieces, precision, text);
    let expected = ids_of_way(pieces, precision, byte_fallback, text, &way);
    prop_assert_eq!(&model.encode(text.as_bytes()), &expected);
    let mut worker = model.worker();
    for _ in 0..2 {
        let mut ids = vec![7];
        worker.encode(text.as_bytes(), 0, text.len(), &mut ids);
        prop_assert_eq!(&ids[1..], &expected);
        let (mut ids, mut lens) = (Vec::new(), Vec::new());
        worker.encode_with_lens(text.as_bytes(), &mut ids, &mut lens);
        prop_assert_eq!(&ids, &expected);
        prop_assert_eq!(lens.len(), ids.len());
        prop_assert_eq!(lens.iter().sum::<u32>() as usize, text.len());
    }
    if text.len() < 3000 {
        let first = model.n_best(text.as_bytes(), 1).unwrap();
        prop_assert_eq!(&first[0].ids, &expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 2000 }))]

    #[test]
    fn every_path_gives_the_definition(
        pieces in pieces(),
        words in prop::collection::vec("▁{0,2}[abcé語]{0,7}|<unk>|▁[ab]{14,20}", 1..30),
        repeats in prop::sample::select(vec![1_usize, 2, 60]),
        byte_fallback: bool,
        double: bool,
    ) {
        let precision = if double { Precision::F64 } else { Precision::F32 };
        let pieces = if byte_fallback { with_bytes(pieces) } else { pieces };
        every_path_gives(&pieces, precision, byte_fallback, &words.concat().repeat(repeats))?;
    }

    /// Scores so large that SentencePiece's sums begin again inside a word, and so alike that
    /// rounding decides what comes after it.
    #[test]
    fn large_scores_give_the_definition_on_every_path(
        found in prop::collection::btree_set("[ab]{1,3}|▁[ab]{1,2}", 1..12),
        scale in 500.0..9000.0_f64,
        words in prop::collection::vec("▁[abx]{1,9}|▁x{3,14}", 1..6),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
        double: bool,
    ) {
        let precision = if double { Precision::F64 } else { Precision::F32 };
        let mut pieces: Pieces =
            vec![("<unk>".into(), 0.0, PieceKind::Unknown), ("▁".into(), -scale, PieceKind::Normal)];
        let score = |piece: &str| -scale * piece.chars().count() as f64;
        pieces.extend(found.into_iter().map(|piece| (piece.clone(), score(&piece), PieceKind::Normal)));
        let text: String = order.iter().map(|at| &*words[at.index(words.len())]).collect();
        every_path_gives(&pieces, precision, false, &text)?;
    }

    #[test]
    fn long_pieces_that_begin_each_other_give_the_definition(
        lens in prop::collection::btree_set(1_usize..120, 1..60),
        dense in (1_usize..60, 0_usize..60),
        falling: bool,
        scores in prop::collection::vec(prop::sample::select(vec![-1.0, -2.0, -3.5, -40.0, -9e3, 1.0]), 20),
        runs in prop::collection::vec((0_usize..150, "[abé]{0,3}"), 1..5),
        double: bool,
    ) {
        let precision = if double { Precision::F64 } else { Precision::F32 };
        let mut pieces: Pieces = vec![("<unk>".into(), -1.0, PieceKind::Unknown), ("b".into(), -2.0, PieceKind::Normal)];
        let lens = lens.into_iter().chain(dense.0..dense.0 + dense.1).collect::<std::collections::BTreeSet<_>>();
        for (at, len) in lens.into_iter().enumerate() {
            let score = if falling { -(len as f64).sqrt() } else { scores[at % scores.len()] };
            pieces.push(("a".repeat(len), score, PieceKind::Normal));
            if at % 5 == 0 {
                pieces.push((format!("{}b", "a".repeat(len)), score, PieceKind::Normal));
                pieces.push((format!("b{}", "a".repeat(len)), score, PieceKind::Normal));
            }
        }
        let model = model(&pieces, precision, false);
        let text: String = runs.iter().map(|(n, rest)| "a".repeat(*n) + rest).collect();
        let way = best_way(&pieces, precision, &text);
        let expected = ids_of_way(&pieces, precision, false, &text, &way);
        prop_assert_eq!(&model.encode(text.as_bytes()), &expected);
        let mut ids = Vec::new();
        model.worker().encode(text.as_bytes(), 0, text.len(), &mut ids);
        prop_assert_eq!(&ids, &expected);
        prop_assert_eq!(&model.n_best(text.as_bytes(), 1).unwrap()[0].ids, &expected);
    }

    #[test]
    fn the_n_best_are_the_best_of_all_in_order(
        pieces in pieces(),
        text in "[abé▁c]{0,7}",
        double: bool,
        n in 1_usize..9,
    ) {
        let precision = if double { Precision::F64 } else { Precision::F32 };
        let model = model(&pieces, precision, false);
        let (scores, unknown) = scores(&pieces, precision);
        let mut all = all_ways(&pieces, &scores, unknown, &text);
        // The first is the best way as encoding sums it.
        let best = best_way(&pieces, precision, &text);
        let at = all.iter().position(|(way, _)| *way == best).unwrap();
        all[..=at].rotate_right(1);
        let expected: Vec<Path> = all
            .iter()
            .map(|(way, score)| Path { ids: ids_of_way(&pieces, precision, false, &text, way), score: *score })
            .collect();
        for n in [n, usize::MAX] {
            let found = model.n_best(text.as_bytes(), n).unwrap();
            prop_assert_eq!(&found, &expected[..expected.len().min(n)]);
        }
    }

    #[test]
    fn entropy_is_that_of_all_ways(pieces in pieces(), text in "[ab▁]{1,6}", alpha in 0.0..1.5) {
        let (scores, unknown) = scores(&pieces, Precision::F64);
        let weights: Vec<f64> =
            all_ways(&pieces, &scores, unknown, &text).iter().map(|(_, score)| alpha * score).collect();
        let greatest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = weights.iter().map(|weight| (weight - greatest).exp()).sum();
        let entropy: f64 = weights
            .iter()
            .map(|weight| (weight - greatest).exp() / sum)
            .filter(|p| *p > 0.0)
            .map(|p| -p * p.ln())
            .sum();
        let found = model(&pieces, Precision::F64, false).lattice(text.as_bytes()).entropy(alpha).unwrap();
        prop_assert!((found - entropy).abs() < 1e-6 * entropy.max(1.0), "{found} {entropy}");
    }

    #[test]
    fn any_bytes_give_some_ids(pieces in pieces(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let model = model(&pieces, Precision::F32, false);
        let (mut ids, mut lens) = (Vec::new(), Vec::new());
        model.worker().encode_with_lens(&bytes, &mut ids, &mut lens);
        prop_assert_eq!(lens.iter().sum::<u32>() as usize, bytes.len());
        model.encode(&bytes);
        model.n_best(&bytes, 3).unwrap();
        model.sample(&bytes, 0.5, 1).unwrap();
    }
}

/// A model of the pieces `a` to `aaa…`, and as many of `b`; where they are `tied`, all
/// ways to cut a text are equal.
fn dense(longest: usize, tied: bool) -> Unigram {
    let mut pieces: Pieces = vec![("<unk>".into(), 0.0, PieceKind::Unknown)];
    for len in 1..=longest {
        for letter in ["a", "b"] {
            let score = if tied { -(len as f64) } else { -(len as f64).sqrt() - 0.1 * (len % 3) as f64 };
            pieces.push((letter.repeat(len), score, PieceKind::Normal));
        }
    }
    model(&pieces, Precision::F64, false)
}

#[test]
fn the_n_best_of_a_text_of_countless_ways() {
    let text = "a".repeat(1000);
    for (longest, tied) in [(2, true), (2, false), (300, true), (300, false)] {
        let found = dense(longest, tied).n_best(text.as_bytes(), 50).unwrap();
        assert_eq!(found.len(), 50);
        assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let ids: std::collections::BTreeSet<_> = found.iter().map(|path| &path.ids).collect();
        assert_eq!(ids.len(), 50);
        assert_eq!(found[0].ids, dense(longest, tied).encode(text.as_bytes()));
        // Fewer are the first of more.
        assert_eq!(dense(longest, tied).n_best(text.as_bytes(), 7).unwrap(), found[..7]);
    }
}

#[test]
fn too_many_ways_are_refused() {
    let text = "a".repeat(30_000);
    for (n, text, expected) in [
        (1000, &text[..], "4194304 ways to its places; ask for fewer ways"),
        (usize::MAX, &text[..60], "4194304 ways to its places"),
        // One way to most places, and many at the end, each of many ids.
        (20_000, &*("c".repeat(9_000) + &text[..17]), "16777216 ids"),
    ] {
        let error = dense(2, false).n_best(text.as_bytes(), n).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&format!("the {n} best ways")), "{error}");
    }
}

#[test]
fn samples_of_long_texts_are_those_of_the_definition() {
    let text = "a".repeat(1500) + &"b".repeat(700) + "ab" + &"a".repeat(900);
    for longest in [2, 90, 1200] {
        let model = dense(longest, false);
        let score = |len: usize| -(len as f64).sqrt() - 0.1 * (len % 3) as f64;
        for (seed, alpha) in [(1, 0.0), (2, 0.2), (3, 3.0)] {
            let (lens, entropy) = drawn(longest, &text, alpha, seed, score);
            let ids = model.sample(text.as_bytes(), alpha, seed).unwrap();
            let found: Vec<usize> = ids.iter().map(|&id| model.vocab().bytes(id).unwrap().len()).collect();
            assert_eq!(found, lens, "{longest} {alpha}");
            let found = model.lattice(text.as_bytes()).entropy(alpha).unwrap();
            assert!((found - entropy).abs() <= 1e-9 * entropy, "{found} {entropy}");
        }
    }
}

/// The text `▁abc`, its pieces with their scores:
///
/// ```text
///   ▁     a     b     c
/// |--2--|--2--|--3--|-14.5-|   c is unknown: 10 less than the least, 4.5
///       |----4.5----|
/// |----3.5----|
/// ```
#[test]
fn a_lattice_by_hand() {
    let normal = |piece: &str, score| (piece.to_owned(), score, PieceKind::Normal);
    let pieces = vec![
        ("<unk>".to_owned(), 0.0, PieceKind::Unknown),
        normal("▁", -2.0),
        normal("a", -2.0),
        normal("b", -3.0),
        normal("ab", -4.5),
        normal("▁a", -3.5),
    ];
    for precision in [Precision::F32, Precision::F64] {
        let model = model(&pieces, precision, false);
        let found: Vec<_> = model
            .n_best("▁abc".as_bytes(), 9)
            .unwrap()
            .into_iter()
            .map(|path| (path.ids, path.score))
            .collect();
        // The first two are equal: of `ab` and `b` the one that starts earlier stays.
        let expected = [
            (vec![1, 4, 0], -2.0 - 4.5 - 14.5),
            (vec![5, 3, 0], -3.5 - 3.0 - 14.5),
            (vec![1, 2, 3, 0], -2.0 - 2.0 - 3.0 - 14.5),
        ];
        assert_eq!(found, expected);
        assert_eq!(model.encode("▁abc".as_bytes()), [1, 4, 0]);
    }
}

#[test]
fn samples_have_the_probabilities_of_ways() {
    let normal = |piece: &str, score| (piece.to_owned(), score, PieceKind::Normal);
    let pieces = vec![
        ("<unk>".to_owned(), 0.0, PieceKind::Unknown),
        normal("a", -1.0),
        normal("b", -2.0),
        normal("ab", -2.0),
    ];
    let model = model(&pieces, Precision::F32, false);
    let lattice = model.lattice(b"ab");
    let mut random = Random::new(5);
    let n = 20_000;
    let whole = (0..n).filter(|_| lattice.sample(0.5, &mut random).unwrap() == [3]).count();
    // Two ways, of scores -3 and -2.
    let p = 1.0 / (1.0 + (-0.5_f64).exp());
    assert!((whole as f64 / f64::from(n) - p).abs() < 0.01, "{whole} of {n}");
    assert_eq!(model.sample(b"ab", 0.3, 9).unwrap(), model.sample(b"ab", 0.3, 9).unwrap());
    assert_eq!(model.sample(b"ab", 1e6, 1).unwrap(), [3]);
    assert_eq!(model.sample(b"", 1.0, 1).unwrap(), [0; 0]);
}

#[test]
fn options_and_refusals() {
    let vocab = |tokens: &[&str]| Vocab::from_tokens(tokens).unwrap();
    let unk = UnigramOptions::default().with(|it| it.unk_id = Some(0));
    let long = "x".repeat(8000);
    for (name, tokens, scores, options, expected) in [
        ("empty", vec![], vec![], UnigramOptions::default(), "no pieces"),
        ("scores", vec!["a"], vec![], unk.clone(), "1 pieces have 0 scores"),
        (
            "kinds",
            vec!["a"],
            vec![0.0],
            unk.clone().with(|it| it.kinds = vec![PieceKind::Normal; 2]),
            "2 kinds",
        ),
        ("unknown", vec!["a"], vec![0.0], unk.clone().with(|it| it.unk_id = Some(1)), "the unknown id 1"),
        ("number", vec!["a"], vec![f64::NAN], unk.clone(), "the score of id 0 is NaN"),
        ("length", vec![&*long], vec![0.0], unk.clone(), "has 8000 bytes"),
        ("no text", vec![""], vec![0.0], unk.clone(), "has 0 bytes"),
    ] {
        let error = Unigram::new(vocab(&tokens), scores, options).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let fuse = |fuse_unk| {
        let options = unk.clone().with(|it| it.fuse_unk = fuse_unk);
        Unigram::new(vocab(&["<unk>", "a"]), vec![0.0, -1.0], options).unwrap()
    };
    assert_eq!(fuse(true).encode(b"xxaxx"), [0, 1, 0]);
    assert_eq!(fuse(false).encode(b"xxaxx"), [0, 0, 1, 0, 0]);
    // Without an unknown token the characters are left out, and belong to what follows.
    let none = Unigram::new(vocab(&["a", "b"]), vec![-1.0, -1.0], UnigramOptions::default()).unwrap();
    let (mut ids, mut lens) = (Vec::new(), Vec::new());
    none.worker().encode_with_lens(b"axxb", &mut ids, &mut lens);
    assert_eq!((ids, lens), (vec![0, 1], vec![1, 3]));
}
