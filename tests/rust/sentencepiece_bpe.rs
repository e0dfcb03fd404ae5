//! BPE in SentencePiece's manner: the trainer against one that counts everything
//! again at each step, and the order of scores against merging one pair at a time.

use std::collections::{BTreeMap, BTreeSet};

use crate::With;
use proptest::prelude::*;
use sentitok::models::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use sentitok::trainers::bpe::{PieceKind, PieceOptions, ScoredTrained, SentencePieceBpeTrainer};
use sentitok::{Progress, TokenId, Vocab};

type Counts = BTreeMap<String, u64>;

fn train(options: &SentencePieceBpeTrainer, counts: &Counts) -> sentitok::Result<ScoredTrained> {
    let words = counts.iter().map(|(word, count)| (word.as_bytes(), *count));
    options.train(words, &mut Progress::silent())
}

/// The pieces made by merging, in order: each step counts all pairs of all words.
fn naive(most: usize, max_length: usize, counts: &Counts) -> Vec<String> {
    let mut words: Vec<(Vec<String>, u64)> =
        counts.iter().map(|(word, count)| (word.chars().map(String::from).collect(), *count)).collect();
    let (mut made, mut spent) = (Vec::new(), BTreeSet::new());
    while made.len() < most {
        let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (word, count) in &words {
            for pair in word.windows(2) {
                *pairs.entry((pair[0].clone(), pair[1].clone())).or_default() += count;
            }
        }
        let length = |pair: &(String, String)| pair.0.chars().count() + pair.1.chars().count();
        let text = |pair: &(String, String)| format!("{}{}", pair.0, pair.1);
        pairs.retain(|pair, _| {
            !spent.contains(&text(pair)) && length(pair) <= max_length && !pair.1.contains('▁')
        });
        let best = pairs.iter().min_by_key(|(pair, count)| {
            (std::cmp::Reverse(**count), length(pair), text(pair), (*pair).clone())
        });
        let Some((pair, _)) = best else { break };
        let (pair, joined) = (pair.clone(), text(pair));
        for (word, _) in &mut words {
            let (mut out, mut at) = (Vec::new(), 0);
            while at < word.len() {
                let is_pair = word[at] == pair.0 && word.get(at + 1) == Some(&pair.1);
                out.push(if is_pair { joined.clone() } else { word[at].clone() });
                at += if is_pair { 2 } else { 1 };
            }
            *word = out;
        }
        spent.insert(joined.clone());
        made.push(joined);
    }
    made
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn training_is_counting_anew(
        words in prop::collection::btree_map("▁?[abc]{1,12}", 1..20_u64, 1..8),
        n_merges in 0..30_usize,
        max_piece_length in 2..9_usize,
        threads in 1..4_usize,
    ) {
        let alphabet: BTreeSet<char> = words.keys().flat_map(|word| word.chars()).collect();
        let options = SentencePieceBpeTrainer::default().with(|it| { it.vocab_size = 3 + alphabet.len() + n_merges; it.pieces = PieceOptions::default().with(|it| { it.character_coverage = 1.0; it.max_piece_length = max_piece_length; }); it.threads = Some(threads); });
        let trained = train(&options, &words).unwrap();
        let made: Vec<&str> =
            trained.pieces[3..3 + trained.n_merges].iter().map(|piece| piece.text.as_str()).collect();
        prop_assert_eq!(made, naive(n_merges, max_piece_length, &words));
        let scores: Vec<f64> = trained.pieces[3..].iter().map(|piece| piece.score).collect();
        prop_assert!(scores.iter().zip(0..).all(|(score, n)| *score == -f64::from(n)));
        let chars: BTreeSet<char> =
            trained.pieces[3 + trained.n_merges..].iter().flat_map(|piece| piece.text.chars()).collect();
        prop_assert_eq!(chars, alphabet);
    }
}

#[test]
fn rare_characters_cut_words_and_are_reported() {
    let words: Counts =
        [("▁abab", 50), ("▁azb", 10), ("▁z", 1)].map(|(word, count)| (word.to_owned(), count)).into();
    let options = SentencePieceBpeTrainer::default().with(|it| {
        it.vocab_size = 12;
        it.pieces = PieceOptions::default().with(|it| {
            it.character_coverage = 0.9;
            it.special_tokens =
                vec![("<unk>".into(), PieceKind::Unknown), ("ba".into(), PieceKind::UserDefined)];
        });
    });
    let trained = train(&options, &words).unwrap();
    assert_eq!(trained.dropped, [('z', 11)]);
    let texts: Vec<&str> = trained.pieces.iter().map(|piece| piece.text.as_str()).collect();
    // The user's own piece is cut out: of `▁abab` `▁a` and `b` are left.
    assert_eq!(texts, ["<unk>", "ba", "▁a", "▁", "a", "b"]);
    assert_eq!(trained.n_merges, 1);
    let error = train(&options.with(|it| it.vocab_size = 4), &words).unwrap_err();
    assert!(error.to_string().contains('5'), "{error}");
}

/// Merges the adjacent pair whose joined text has the greatest score, the
/// leftmost first, until there is none.
fn merged_by_scores(pieces: &BTreeMap<String, f32>, text: &str) -> Vec<String> {
    let mut parts: Vec<String> = text.chars().map(String::from).collect();
    loop {
        let mut best: Option<(f32, usize)> = None;
        for at in 1..parts.len() {
            if let Some(&score) = pieces.get(&format!("{}{}", parts[at - 1], parts[at]))
                && best.is_none_or(|(most, _)| score > most)
            {
                best = Some((score, at - 1));
            }
        }
        let Some((_, at)) = best else { return parts };
        let right = parts.remove(at + 1);
        parts[at].push_str(&right);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_greatest_score_merges_first(
        // Few distinct scores: many ties. Some characters may not be pieces.
        pieces in prop::collection::btree_map("[ab▁]{1,5}", -4..1_i8, 1..20),
        text in "[ab▁c]{0,24}",
    ) {
        let pieces: BTreeMap<String, f32> =
            pieces.into_iter().map(|(piece, score)| (piece, f32::from(score))).collect();
        let tokens: Vec<&str> = ["<unk>"].into_iter().chain(pieces.keys().map(String::as_str)).collect();
        let scores = [0.0].into_iter().chain(pieces.values().copied()).collect();
        let options =
            BpeOptions::default().with(|it| { it.unit = Unit::Chars; it.unk_token = Some("<unk>".into()); });
        let bpe = Bpe::new(Vocab::from_tokens(&tokens).unwrap(), MergeOrder::Scores(scores), options).unwrap();
        let id = |part: &String| tokens.iter().position(|token| token == part).unwrap_or(0) as TokenId;
        let expected: Vec<TokenId> = merged_by_scores(&pieces, &text).iter().map(id).collect();
        prop_assert_eq!(bpe.encode(text.as_bytes()), expected.clone());
        let mut worker = bpe.worker();
        let mut ids = Vec::new();
        worker.encode(text.as_bytes(), 0, text.len(), &mut ids);
        prop_assert_eq!(ids, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_token_is_reachable_if_its_text_becomes_it(
        pieces in prop::collection::btree_map("[ab]{1,6}", (-3..1_i8, 0..8_u8), 1..16),
    ) {
        let tokens: Vec<&str> = ["<unk>"].into_iter().chain(pieces.keys().map(String::as_str)).collect();
        let scores = [0.0].into_iter().chain(pieces.values().map(|(score, _)| f32::from(*score))).collect();
        let of_kind = |kind| {
            (1..).zip(pieces.values()).filter(|(_, piece)| piece.1 == kind).map(|(id, _)| id).collect()
        };
        let options = BpeOptions::default().with(|it| { it.unit = Unit::Chars; it.unk_token = Some("<unk>".into()); it.user_defined = of_kind(0); it.unused = of_kind(1); it.control = of_kind(2); });
        let bpe = Bpe::new(Vocab::from_tokens(&tokens).unwrap(), MergeOrder::Scores(scores), options).unwrap();
        let is_plain = |id: &TokenId| pieces[tokens[*id as usize]].1 > 2;
        let expected: Vec<TokenId> = (1..tokens.len() as TokenId)
            .filter(is_plain)
            .filter(|&id| bpe.encode(tokens[id as usize].as_bytes()) != [id])
            .collect();
        prop_assert_eq!(bpe.unreachable(), expected);
        for (id, pair) in (0..).zip(bpe.last_merges()).filter(|(id, _)| *id > 0 && is_plain(id)) {
            let Some((left, right)) = pair else { continue };
            prop_assert_eq!(tokens[left as usize].to_owned() + tokens[right as usize], tokens[id as usize]);
            prop_assert_eq!(bpe.encode(tokens[id as usize].as_bytes()), vec![id]);
        }
    }
}

/// A model by scores, and the same by the list of merges it has.
fn with_list(pieces: &[(String, f32)]) -> (Bpe, Option<Bpe>) {
    let tokens = || ["<unk>"].into_iter().chain(pieces.iter().map(|piece| piece.0.as_str()));
    let options = BpeOptions::default().with(|it| {
        it.unit = Unit::Chars;
        it.unk_token = Some("<unk>".into());
    });
    let make = |order| Bpe::new(Vocab::from_tokens(tokens()).unwrap(), order, options.clone()).unwrap();
    let scores = [0.0].into_iter().chain(pieces.iter().map(|piece| piece.1));
    let model = make(MergeOrder::Scores(scores.collect()));
    let list = model.scores_as_list().ok().map(|merges| make(MergeOrder::List(merges)));
    (model, list)
}

#[test]
fn runs_of_one_score_have_a_list() {
    let others =
        [("▁", -9.0), ("a", -9.0), ("b", -9.0), ("▁a", -1.0), ("ab", -2.0), ("▁ab", -3.0), ("b▁", -4.0)];
    let others = others.map(|(piece, score)| (piece.to_owned(), score));
    // Mistral's file has no run of 15.
    for (longest, left_out) in [(2, 0), (4, 0), (8, 3), (8, 7), (16, 0), (16, 15)] {
        let runs = (2..=longest).filter(|length| *length != left_out);
        let runs = runs.map(|length| ("▁".repeat(length), -9.0));
        let pieces: Vec<_> = others.iter().cloned().chain(runs).collect();
        let (model, list) = with_list(&pieces);
        let list = list.unwrap();
        for before in ["", "ab"] {
            for after in ["", "a", "ba"] {
                for length in 0..40 {
                    let text = format!("{before}{}{after}{}a", "▁".repeat(length), "▁".repeat(length % 7));
                    assert_eq!(list.encode(text.as_bytes()), model.encode(text.as_bytes()), "{text}");
                }
            }
        }
    }
    // A length is missing; another piece has such a run, or comes as late.
    let eight = |left_out: usize| (2..=8).filter(move |n| *n != left_out).map(|n| ("▁".repeat(n), -9.0));
    for (left_out, more) in [(4, None), (8, None), (0, Some(("a▁▁", -5.0))), (0, Some(("ba", -9.0)))] {
        let more = more.map(|(piece, score)| (piece.to_owned(), score));
        let pieces: Vec<_> = others.iter().cloned().chain(eight(left_out)).chain(more).collect();
        assert!(with_list(&pieces).1.is_none(), "{left_out}");
    }
}
