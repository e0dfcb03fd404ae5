//! The trainer against a trainer that counts everything again at each step, and
//! against what Hugging Face's is known to do.

mod naive;

use std::collections::BTreeMap;

use crate::With;
use proptest::prelude::*;
use sentitok::progress::Stage;
use sentitok::trainers::bpe::{Alphabet, Base, BpeTrainer, MergeStop, TieBreak, TrainedMerges, Unit};
use sentitok::{Error, Progress, TokenId};

type Counts = BTreeMap<Vec<u8>, u64>;

fn counts(words: &[(&str, u64)]) -> Counts {
    words.iter().map(|(word, count)| (word.as_bytes().to_vec(), *count)).collect()
}

fn train(options: &BpeTrainer, counts: &Counts) -> sentitok::Result<TrainedMerges> {
    options.train(counts.iter().map(|(piece, count)| (piece.as_slice(), *count)), &mut Progress::silent())
}

fn text(bytes: &Option<Vec<u8>>) -> String {
    bytes.as_ref().map_or("-".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Merges as `left right`, joined by commas.
fn spelled(trained: &TrainedMerges) -> String {
    let token = |id: TokenId| text(&trained.tokens[id as usize]);
    let merges = trained.merges.iter().map(|merge| format!("{} {}", token(merge.left), token(merge.right)));
    merges.collect::<Vec<_>>().join(", ")
}

fn seen(vocab_size: usize) -> BpeTrainer {
    BpeTrainer::default().with(|it| {
        it.vocab_size = vocab_size;
        it.initial_alphabet = Alphabet::Seen;
    })
}

fn pieces() -> impl Strategy<Value = Counts> {
    let piece = prop_oneof![
        "[ab]{1,12}".prop_map(String::into_bytes),
        "a{1,40}".prop_map(String::into_bytes),
        "[a-d]{1,30}".prop_map(String::into_bytes),
        "(ab|ba|aab){1,12}".prop_map(String::into_bytes),
        "[ab中文é]{1,12}".prop_map(String::into_bytes),
    ];
    let count = prop_oneof![1u64..4, 1u64..100, Just(1 << 40)];
    prop::collection::btree_map(piece, count, 1..30)
}

fn tie_break() -> impl Strategy<Value = TieBreak> {
    prop_oneof![
        Just(TieBreak::HuggingFace),
        Just(TieBreak::Bytes),
        Just(TieBreak::SentencePiece),
        Just(TieBreak::Text),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn equals_counting_anew(
        counts in pieces(),
        vocab_size in 24usize..130,
        min_frequency in 0u64..6,
        tie_break in tie_break(),
        chars: bool,
        max_token_length in prop_oneof![Just(None), (2usize..8).prop_map(Some)],
        special in prop_oneof![Just(vec![]), Just(vec!["ab".to_owned()]), Just(vec!["aba".to_owned(), "a".to_owned()])],
    ) {
        let options = seen(vocab_size).with(|it| { it.min_frequency = min_frequency; it.tie_break = tie_break; it.max_token_length = max_token_length; it.special_tokens = special; it.unit = if chars { Unit::Chars } else { Unit::Bytes }; });
        let trained = train(&options, &counts).unwrap();
        let (tokens, merges) = naive::from_pieces(&options, &counts);
        prop_assert_eq!(&trained.merges, &merges);
        prop_assert_eq!(trained.tokens.into_iter().map(Option::unwrap).collect::<Vec<_>>(), tokens);
    }

    #[test]
    fn extending_keeps_ids_and_equals_counting_anew(
        counts in pieces(),
        more in pieces(),
        first in 20usize..45,
        tie_break in tie_break(),
        shuffled: bool,
    ) {
        let start = train(&seen(first).with(|it| it.tie_break = tie_break), &counts).unwrap();
        let mut base = Base {
            tokens: start.tokens.clone(),
            merges: start.merges.iter().map(|merge| (merge.left, merge.right, merge.id)).collect(),
            special_tokens: vec![],
        };
        if shuffled {
            // A second way to a token that occurs in pieces, as files made from
            // SentencePiece models have.
            base.merges.reverse();
        }
        let options = seen(first + 40).with(|it| { it.tie_break = tie_break; it.extend = Some(base.clone()); });
        let trained = train(&options, &more).unwrap();
        prop_assert_eq!(&trained.tokens[..base.tokens.len()], &base.tokens[..]);

        let mut tokens: Vec<Vec<u8>> = trained.tokens[..trained.n_initial].iter().cloned().map(Option::unwrap).collect();
        let id = |byte: &u8| tokens.iter().position(|token| *token == [*byte]).unwrap() as TokenId;
        let mut words: Vec<(Vec<TokenId>, u64)> =
            more.iter().map(|(piece, count)| (piece.iter().map(id).collect(), *count)).collect();
        for (word, _) in &mut words {
            *word = encode(&base, word);
        }
        prop_assert_eq!(&trained.merges, &naive::merges(&options, &mut tokens, &mut words));
    }
}

/// Encoding by definition: the lowest rank, leftmost, until none is left.
fn encode(base: &Base, word: &[TokenId]) -> Vec<TokenId> {
    let mut word = word.to_vec();
    loop {
        let rank =
            |at: usize| base.merges.iter().position(|merge| (merge.0, merge.1) == (word[at], word[at + 1]));
        let best = (0..word.len().saturating_sub(1)).filter_map(|at| rank(at).map(|rank| (rank, at))).min();
        let Some((rank, at)) = best else { return word };
        word.splice(at..at + 2, [base.merges[rank].2]);
    }
}

#[test]
fn merges_of_known_corpora() {
    let table = [
        ("overlaps count", seen(3), vec![("aaa", 3), ("ab", 5)], "a a"),
        ("left to right", seen(3), vec![("aaaaa", 1)], "a a, aa a"),
        ("no pair", seen(9), vec![("a", 5), ("b", 1)], ""),
        (
            "a special token of the same text gives its id, and shifts ties",
            seen(9).with(|it| it.special_tokens = vec!["abc".into()]),
            vec![("dabc", 5), ("abcab", 5), ("abc", 1)],
            "a b, ab c, abc ab, d abc",
        ),
        (
            "bytes: greatest pair",
            seen(5).with(|it| it.tie_break = TieBreak::Bytes),
            vec![("ab", 1), ("bc", 1)],
            "b c, a b",
        ),
        ("ids: smallest pair", seen(5), vec![("ab", 1), ("bc", 1)], "a b, b c"),
        (
            "sentencepiece: the shorter, then the smaller",
            seen(8).with(|it| it.tie_break = TieBreak::SentencePiece),
            vec![("cabx", 1), ("ab", 1)],
            "a b, ab x, c abx",
        ),
        (
            "a corpus that spells out the prefix, as tokenizers 0.23.3",
            seen(18).with(|it| {
                it.unit = Unit::Chars;
                it.special_tokens =
                    ["#", "a", "b", "x", "###", "##a", "##b", "##x"].map(String::from).to_vec();
                it.continuing_subword_prefix = Some("##".into());
            }),
            vec![("x##ab", 11), ("xab", 40), ("xabab", 9), ("##ab##ab", 7)],
            "##a ##b, x ##ab, ### ##ab, ### ###ab, x ####ab, xab ##ab, # ###ab, ##ab ####ab",
        ),
        (
            "suffix and prefix",
            seen(12).with(|it| {
                it.continuing_subword_prefix = Some("##".into());
                it.end_of_word_suffix = Some("</w>".into());
            }),
            vec![("abc", 3), ("ab", 5)],
            "a ##b</w>, a ##b, ab ##c</w>",
        ),
        (
            "characters left out let their neighbours meet",
            seen(3).with(|it| it.limit_alphabet = Some(2)),
            vec![("axb", 3), ("ab", 1)],
            "a b",
        ),
        (
            "with byte fallback they part them",
            seen(259).with(|it| {
                it.limit_alphabet = Some(2);
                it.byte_fallback = true;
                it.unit = Unit::Chars;
            }),
            vec![("axb", 3), ("ab", 1), ("ba", 2)],
            "b a",
        ),
    ];
    for (name, options, words, expected) in table {
        let trained = train(&options, &counts(&words)).unwrap();
        assert_eq!(spelled(&trained), expected, "{name}: {:?}", trained);
    }
}

#[test]
fn limited_alphabet_keeps_the_frequent_and_tells_the_rest() {
    let options = seen(10).with(|it| it.limit_alphabet = Some(2));
    let trained = train(&options, &counts(&[("cccbbaazz", 1)])).unwrap();
    assert_eq!(trained.tokens[..2], [Some(b"a".to_vec()), Some(b"c".to_vec())]);
    assert_eq!(trained.dropped, [(b"b".to_vec(), 2), (b"z".to_vec(), 2)]);
}

#[test]
fn ids_begin_with_specials_then_code_points() {
    let options = BpeTrainer::default().with(|it| {
        it.vocab_size = 258;
        it.special_tokens = vec!["<s>".into(), " the".into()];
    });
    let trained = train(&options, &counts(&[("a b", 1)])).unwrap();
    assert_eq!(text(&trained.tokens[0]), "<s>");
    // Over bytes a blank is spelled Ġ, so " the" is not a token's spelling.
    assert_eq!(trained.tokens[1], None);
    assert_eq!((text(&trained.tokens[2]), text(&trained.tokens[95])), ("!".into(), "~".into()));
    assert_eq!(trained.tokens[2 + 188], Some(vec![0]));
    assert_eq!(trained.stop, MergeStop::VocabFull);
    assert_eq!(trained.special_tokens, [("<s>".to_owned(), 0), (" the".to_owned(), 1)]);
}

#[test]
fn the_size_is_kept_or_refused() {
    let words = counts(&[("ab", 2), ("cd", 1)]);
    for (options, stop) in [
        (seen(5), MergeStop::VocabFull),
        (seen(9), MergeStop::NoPairs),
        (seen(9).with(|it| it.min_frequency = 2), MergeStop::BelowMinFrequency { count: 1 }),
        (seen(4), MergeStop::VocabFull),
    ] {
        let trained = train(&options, &words).unwrap();
        assert_eq!(trained.stop, stop);
        assert!(trained.tokens.len() <= options.vocab_size);
    }
    let base = Base { tokens: vec![Some(b"a".to_vec()), Some(b"b".to_vec())], ..Base::default() };
    for (options, minimum) in [
        (seen(3), 4),
        (seen(4).with(|it| it.special_tokens = vec!["<s>".into(), "a".into()]), 5),
        (BpeTrainer::default().with(|it| it.vocab_size = 255), 256),
        (seen(2).with(|it| it.extend = Some(base.clone())), 4),
    ] {
        match train(&options, &words) {
            Err(Error::VocabSize { minimum: found, .. }) => assert_eq!(found, minimum),
            other => panic!("{other:?}"),
        }
    }
    let same = seen(2).with(|it| it.extend = Some(base));
    assert!(matches!(train(&same, &counts(&[("ab", 1)])), Err(Error::VocabSize { minimum: 3, .. })));
}

#[test]
fn counts_are_wide_and_checked() {
    for big in [3_000_000_000, 1 << 53, (1 << 53) + 1, 1 << 60] {
        let trained = train(&seen(4), &counts(&[("ab", big), ("cd", big - 1)])).unwrap();
        assert_eq!((spelled(&trained).as_str(), trained.tokens.len()), ("", 4));
        let trained = train(&seen(6), &counts(&[("ab", big - 1), ("cd", big)])).unwrap();
        assert_eq!(spelled(&trained), "c d, a b");
        assert_eq!(trained.merges.iter().map(|merge| merge.count).collect::<Vec<_>>(), [big, big - 1]);
    }
    let words = counts(&[("ab", u64::MAX), ("abc", 1)]);
    assert!(matches!(train(&seen(9), &words), Err(Error::CountOverflow { .. })));
}

#[test]
fn wrong_options_are_refused() {
    for (options, word, expected) in [
        (seen(9).with(|it| it.byte_fallback = true), &b"ab"[..], "byte_fallback = true"),
        (seen(9).with(|it| it.unit = Unit::Chars), &b"a\xff"[..], "is not UTF-8"),
        (seen(9).with(|it| it.end_of_word_suffix = Some("a b".into())), &b"ab"[..], "a blank is Ġ"),
        (
            seen(9).with(|it| it.initial_alphabet = Alphabet::Chars(vec!['中'])),
            &b"ab"[..],
            "initial_alphabet",
        ),
    ] {
        let error = options.train([(word, 1)], &mut Progress::silent()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Bytes that look random and are the same each time.
fn noise(n: u32, range: u8) -> Vec<u8> {
    (0..n)
        .map(|n| {
            b'a' + (n.wrapping_mul(2_654_435_761).rotate_left(15).wrapping_mul(n | 1) >> 24) as u8 % range
        })
        .collect()
}

#[test]
fn threads_do_not_change_the_result() {
    let long = noise(300_000, 20);
    let text = noise(200_000, 6);
    let mut counts: Counts = text.chunks(7).map(|word| (word.to_vec(), u64::from(word[0]))).collect();
    counts.insert(long, 3);
    let trained = |threads| train(&seen(400).with(|it| it.threads = Some(threads)), &counts).unwrap();
    let one = trained(1);
    assert_eq!(one.stop, MergeStop::VocabFull);
    for threads in [2, 3, 7] {
        assert!(trained(threads) == one, "{threads} threads");
    }
}

#[test]
fn long_pieces_equal_counting_anew() {
    for piece in [vec![b'a'; 100_000], [b'a', b'b'].repeat(50_000), noise(100_000, 2)] {
        let options = seen(40).with(|it| it.vocab_size = 40);
        let words = Counts::from([(piece.clone(), 1)]);
        let trained = train(&options, &words).unwrap();
        let (tokens, merges) = naive::from_pieces(&options, &words);
        assert_eq!(trained.merges, merges);
        assert_eq!(trained.tokens.len(), tokens.len());
    }
}

#[test]
fn a_caller_can_stop_it() {
    let piece = noise(1_000_000, 90);
    let mut calls = 0;
    let mut callback = |stage: Stage, _: u64, _: u64| {
        assert_eq!(stage, Stage::Merge);
        calls += 1;
        calls < 3
    };
    let result = seen(60_000).train([(piece.as_slice(), 1)], &mut Progress::new(&mut callback));
    assert!(matches!(result, Err(Error::Cancelled)));
}

#[test]
fn nothing_in_gives_the_alphabet() {
    let trained = train(&BpeTrainer::default(), &Counts::new()).unwrap();
    assert_eq!((trained.tokens.len(), trained.stop), (256, MergeStop::NoPairs));
}
