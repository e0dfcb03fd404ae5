//! The trainer against a trainer that counts everything again at each step.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::With;
use proptest::prelude::*;
use sentitok::progress::Stage;
use sentitok::trainers::wordpiece::{Merge, MergeStop, Score, TrainedMerges, WordPieceTrainer};
use sentitok::{Error, Progress, TokenId};

type Counts = BTreeMap<String, u64>;
type Pair = (TokenId, TokenId);

const SCORES: [Score; 3] = [Score::Likelihood, Score::Pmi, Score::Frequency];

fn counts(words: &[(&str, u64)]) -> Counts {
    words.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
}

fn train(options: &WordPieceTrainer, counts: &Counts) -> sentitok::Result<TrainedMerges> {
    options.train(counts.iter().map(|(word, count)| (word.as_bytes(), *count)), &mut Progress::silent())
}

fn plain(vocab_size: usize, score: Score) -> WordPieceTrainer {
    WordPieceTrainer::default().with(|it| {
        it.vocab_size = vocab_size;
        it.score = score;
        it.special_tokens = vec![];
    })
}

fn text(trained: &TrainedMerges, id: TokenId) -> String {
    String::from_utf8(trained.tokens[id as usize].clone().unwrap()).unwrap()
}

fn spelled(trained: &TrainedMerges) -> String {
    let merges = trained.merges.iter();
    merges
        .map(|merge| format!("{} {}", text(trained, merge.left), text(trained, merge.right)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The published definition: 56 binary places of the logarithm, one at a time,
/// of a mantissa of 63 places.
fn log2(n: u64) -> i128 {
    let whole = n.ilog2();
    let mut mantissa = u128::from(n) << (63 - whole);
    let mut log = i128::from(whole);
    for _ in 0..56 {
        mantissa = (mantissa * mantissa) >> 63;
        let bit = mantissa >> 64;
        mantissa >>= bit;
        log = log << 1 | bit as i128;
    }
    log
}

/// What counts are compared by.
#[derive(Clone, Copy)]
struct Counted {
    pair: u64,
    left: u64,
    right: u64,
    total: u64,
}

impl Counted {
    fn bits(self) -> i128 {
        i128::from(self.pair) * (log2(self.pair) + log2(self.total) - log2(self.left) - log2(self.right))
    }

    fn compare(self, other: Self, score: Score) -> Ordering {
        match score {
            Score::Frequency => self.pair.cmp(&other.pair),
            Score::Likelihood => self.bits().cmp(&other.bits()),
            Score::Pmi => {
                let cross = |a: Self, b: Self| u128::from(a.pair) * u128::from(b.left) * u128::from(b.right);
                cross(self, other).cmp(&cross(other, self))
            }
        }
    }
}

/// The specification: each step counts all symbols and all pairs of all words.
fn naive(options: &WordPieceTrainer, words: &Counts) -> (Vec<String>, Vec<Merge>) {
    let prefix = options.continuing_subword_prefix.as_str();
    let mut chars: Vec<char> = words.keys().flat_map(|word| word.chars()).collect();
    chars.sort_unstable();
    chars.dedup();
    let mut tokens: Vec<String> = options.special_tokens.clone();
    let mut add = |token: String| {
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    };
    chars.iter().for_each(|c| add(c.to_string()));
    for c in chars {
        if words.keys().any(|word| word.chars().skip(1).any(|other| other == c)) {
            add(format!("{prefix}{c}"));
        }
    }
    let id = |tokens: &[String], token: &str| tokens.iter().position(|t| t == token).unwrap() as TokenId;
    let mut words: Vec<(Vec<TokenId>, u64)> = words
        .iter()
        .map(|(word, count)| {
            let symbol = |(at, c): (usize, char)| {
                id(&tokens, &if at == 0 { c.to_string() } else { format!("{prefix}{c}") })
            };
            (word.chars().enumerate().map(symbol).collect(), *count)
        })
        .collect();
    let mut lengths: BTreeMap<TokenId, usize> =
        words.iter().flat_map(|(word, _)| word.iter().map(|&id| (id, 1))).collect();
    let mut merges = Vec::new();
    while tokens.len() < options.vocab_size {
        let mut symbols: BTreeMap<TokenId, u64> = BTreeMap::new();
        let mut pairs: BTreeMap<Pair, u64> = BTreeMap::new();
        for (word, weight) in &words {
            word.iter().for_each(|&id| *symbols.entry(id).or_default() += weight);
            word.windows(2).for_each(|pair| *pairs.entry((pair[0], pair[1])).or_default() += weight);
        }
        let most = options.max_token_length.unwrap_or(usize::MAX);
        let total = symbols.values().sum();
        let counted = |pair: Pair, count: u64| Counted {
            pair: count,
            left: symbols[&pair.0],
            right: symbols[&pair.1],
            total,
        };
        let best = pairs
            .into_iter()
            .filter(|&(pair, count)| {
                let length = lengths[&pair.0] + lengths[&pair.1];
                (length == 2 || length < most) && count >= options.min_frequency
            })
            .max_by(|a, b| counted(a.0, a.1).compare(counted(b.0, b.1), options.score).then(b.0.cmp(&a.0)));
        let Some((pair, count)) = best else { break };
        if options.score == Score::Likelihood && counted(pair, count).bits() <= 0 {
            break;
        }
        let right = &tokens[pair.1 as usize];
        let joined = format!("{}{}", tokens[pair.0 as usize], right.strip_prefix(prefix).unwrap_or(right));
        if !tokens.contains(&joined) {
            tokens.push(joined.clone());
        }
        let new = id(&tokens, &joined);
        let length = lengths[&pair.0] + lengths[&pair.1];
        lengths.entry(new).or_insert(length);
        merges.push(Merge { left: pair.0, right: pair.1, id: new, count });
        for (word, _) in &mut words {
            let mut at = 0;
            while at + 1 < word.len() {
                if (word[at], word[at + 1]) == pair {
                    word.splice(at..at + 2, [new]);
                }
                at += 1;
            }
        }
    }
    (tokens, merges)
}

fn words() -> impl Strategy<Value = Counts> {
    let word = prop_oneof!["[ab]{1,10}", "a{1,30}", "[a-f]{1,8}", "(ab|ba|aab){1,8}", "[ab中é]{1,8}"];
    let count = prop_oneof![1u64..4, 1u64..100, 1u64..100_000, Just(1 << 36)];
    prop::collection::btree_map(word, count, 1..40)
}

fn score() -> impl Strategy<Value = Score> {
    prop::sample::select(SCORES.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 3000 }))]

    #[test]
    fn equals_counting_anew(
        counts in words(),
        vocab_size in 24usize..130,
        min_frequency in prop_oneof![Just(0u64), 1u64..6, 50u64..2000],
        score in score(),
        max_token_length in prop_oneof![3 => Just(None), 1 => (2usize..8).prop_map(Some)],
        special_tokens in prop_oneof![Just(vec![]), Just(vec!["ab".to_owned()]), Just(vec!["##ba".to_owned(), "a".to_owned()])],
        prefix in prop::sample::select(vec!["##", "##", "", "a", "ab"]),
        threads in 1usize..4,
    ) {
        // Hugging Face's counts for a spelled-out prefix are not a reference.
        let prefix = if score == Score::Frequency { "##" } else { prefix };
        let options = plain(vocab_size, score).with(|it| { it.min_frequency = min_frequency; it.max_token_length = max_token_length; it.special_tokens = special_tokens; it.continuing_subword_prefix = prefix.to_owned(); it.threads = Some(threads); });
        let trained = train(&options, &counts).unwrap();
        let (tokens, merges) = naive(&options, &counts);
        prop_assert_eq!(&trained.merges, &merges);
        let found: Vec<String> = (0..trained.tokens.len()).map(|id| text(&trained, id as TokenId)).collect();
        prop_assert_eq!(found, tokens);
    }
}

#[test]
fn merges_of_known_corpora() {
    // The corpus of the Hugging Face course. Of its ratios `b ##u`, `h ##u` and `p ##u` are equal.
    let hugs = [("hug", 10), ("pug", 5), ("pun", 12), ("bun", 4), ("hugs", 5)];
    for (name, score, words, expected) in [
        ("the course's ratio", Score::Pmi, &hugs[..], "##g ##s, b ##u, bu ##n"),
        ("frequency", Score::Frequency, &hugs, "##u ##g, ##u ##n, h ##ug"),
        ("likelihood", Score::Likelihood, &hugs, "##u ##g, ##u ##n, h ##ug"),
        ("ties go to the smaller ids", Score::Likelihood, &[("cd", 2), ("ab", 2)], "a ##b, c ##d"),
    ] {
        let n_initial = train(&plain(1000, score), &counts(words)).unwrap().n_initial;
        let trained = train(&plain(n_initial + 3, score), &counts(words)).unwrap();
        assert_eq!(spelled(&trained), expected, "{name}");
    }
}

#[test]
fn scores_have_names() {
    for score in SCORES {
        assert_eq!(score.to_string().parse::<Score>().unwrap(), score);
    }
    let error = "Likelihood".parse::<Score>().unwrap_err().to_string();
    assert_eq!(error, "score = \"Likelihood\": it is 'likelihood', 'pmi' or 'frequency'");
}

#[test]
fn the_size_is_kept_or_refused_and_an_early_end_says_why() {
    let words = counts(&[("ab", 2), ("cd", 1)]);
    let specials = vec!["[PAD]".to_owned(), "[UNK]".to_owned()];
    for score in SCORES {
        for (vocab_size, min_frequency, stop) in [
            (7, 0, MergeStop::VocabFull),
            (6, 0, MergeStop::VocabFull),
            (9, 0, MergeStop::NoPairs),
            (9, 2, MergeStop::BelowMinFrequency { count: 1 }),
            (9, 3, MergeStop::BelowMinFrequency { count: 2 }),
        ] {
            let trained =
                train(&plain(vocab_size, score).with(|it| it.min_frequency = min_frequency), &words).unwrap();
            assert_eq!(trained.stop, stop, "{score} {vocab_size} {min_frequency}");
            assert!(trained.tokens.len() <= vocab_size);
        }
        let options = plain(7, score).with(|it| it.special_tokens = specials.clone());
        match train(&options, &words) {
            Err(Error::VocabSize { requested: 7, minimum: 8 }) => {}
            other => panic!("{other:?}"),
        }
    }
    let options = plain(9, Score::Likelihood).with(|it| it.continuing_subword_prefix = String::new());
    let trained = train(&options, &counts(&[("aaa", 5)])).unwrap();
    assert_eq!((trained.stop, trained.tokens.len()), (MergeStop::NoGain, 1));
}

#[test]
fn alphabet_and_special_tokens() {
    for score in SCORES {
        let options = plain(9, score).with(|it| {
            it.special_tokens = vec!["[UNK]".to_owned()];
            it.initial_alphabet = vec!['é'];
            it.limit_alphabet = Some(3);
        });
        let trained = train(&options, &counts(&[("aabbx", 3), ("ba", 1)])).unwrap();
        let tokens: Vec<String> = (0..6).map(|id| text(&trained, id)).collect();
        assert_eq!(tokens, ["[UNK]", "a", "b", "é", "##a", "##b"]);
        assert_eq!(trained.dropped, [(b"x".to_vec(), 3)]);
        assert_eq!(trained.special_tokens, [("[UNK]".to_owned(), 0)]);
    }
}

#[test]
fn counts_are_wide_and_checked() {
    for score in SCORES {
        let big = u64::MAX / 4;
        let trained = train(&plain(6, score), &counts(&[("ab", big), ("cd", big - 1)])).unwrap();
        assert_eq!(trained.tokens.len(), 6);
        let trained = train(&plain(8, score), &counts(&[("ab", big), ("cd", big - 1)])).unwrap();
        assert_eq!(trained.merges.len(), 2, "{score}");
        let words = counts(&[("ab", u64::MAX), ("abc", 1)]);
        assert!(matches!(train(&plain(9, score), &words), Err(Error::CountOverflow { .. })), "{score}");
        let options = plain(9, score);
        let error = options.train([(&b"a\xff"[..], 1)], &mut Progress::silent()).unwrap_err().to_string();
        assert!(error.contains("not UTF-8"), "{error}");
        assert_eq!(train(&options, &Counts::new()).unwrap().stop, MergeStop::NoPairs);
    }
}

/// Words that look drawn by chance and are the same each time.
fn noise(n: u32, range: u32) -> Counts {
    let draw = |n: u32| n.wrapping_mul(2_654_435_761).rotate_left(15).wrapping_mul(n | 1) >> 8;
    let letter = |n: u32| char::from(b'a' + (draw(n).min(draw(n + 7)) % range) as u8);
    (0..n)
        .map(|at| {
            ((0..3 + draw(at) % 9).map(|i| letter(at * 12 + i)).collect(), 1 + (1 << 20) / u64::from(at + 1))
        })
        .collect()
}

#[test]
fn threads_do_not_change_the_result() {
    let words = noise(30_000, 20);
    for score in SCORES {
        let options = plain(600, score).with(|it| it.min_frequency = 5);
        let trained =
            |threads| train(&options.clone().with(|it| it.threads = Some(threads)), &words).unwrap();
        let one = trained(1);
        assert_eq!(one.stop, MergeStop::VocabFull);
        for threads in [2, 3, 7] {
            assert!(trained(threads) == one, "{score}, {threads} threads");
        }
    }
}

#[test]
fn long_runs_equal_counting_anew() {
    let words = noise(600, 12);
    for score in SCORES {
        let options = plain(250, score);
        let trained = train(&options, &words).unwrap();
        assert_eq!(trained.merges, naive(&options, &words).1, "{score}");
    }
    let words = Counts::from([("a".repeat(20_000), 1), ("ab".repeat(10_000), 2)]);
    for score in SCORES {
        let options = plain(20, score);
        assert_eq!(train(&options, &words).unwrap().merges, naive(&options, &words).1, "{score}");
    }
}

#[test]
fn a_caller_can_stop_it() {
    let words = noise(200_000, 24);
    for score in SCORES {
        let mut calls = 0;
        let mut callback = |stage: Stage, _: u64, _: u64| {
            assert_eq!(stage, Stage::Merge);
            calls += 1;
            calls < 3
        };
        let mut progress = Progress::new(&mut callback);
        let pieces = words.iter().map(|(word, count)| (word.as_bytes(), *count));
        let result = plain(60_000, score).train(pieces, &mut progress);
        assert!(matches!(result, Err(Error::Cancelled)), "{score}");
    }
}
