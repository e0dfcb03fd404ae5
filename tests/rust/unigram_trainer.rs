//! The trainer against the reference implementation, and against models that
//! SentencePiece 0.2.3 trains.

mod naive;

use std::collections::BTreeMap;
use std::path::Path;

use crate::With;
use proptest::prelude::*;
use sentitok::progress::Stage;
use sentitok::trainers::unigram::{
    Method, PieceKind, PieceOptions, TrainedPiece, TrainedUnigram, UnigramStop, UnigramTrainer,
};
use sentitok::{Error, Progress};

type Counts = BTreeMap<String, u64>;

fn counts(words: &[(&str, u64)]) -> Counts {
    words.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
}

fn train(options: &UnigramTrainer, counts: &Counts) -> sentitok::Result<TrainedUnigram> {
    options.train(counts.iter().map(|(word, count)| (word.as_bytes(), *count)), &mut Progress::silent())
}

fn of_size(vocab_size: usize) -> UnigramTrainer {
    UnigramTrainer::default().with(|it| {
        it.vocab_size = vocab_size;
        it.pieces = all_covered();
        it.threads = Some(1);
    })
}

/// The defaults, but that no character is left out.
fn all_covered() -> PieceOptions {
    PieceOptions::default().with(|it| it.character_coverage = 1.0)
}

fn normal(trained: &TrainedUnigram) -> impl Iterator<Item = &TrainedPiece> {
    trained.pieces.iter().filter(|piece| piece.kind == PieceKind::Normal)
}

fn texts(trained: &TrainedUnigram) -> Vec<&str> {
    normal(trained).map(|piece| piece.text.as_str()).collect()
}

/// The words of a text as SentencePiece sees them.
fn words(text: &str) -> Counts {
    let mut counts = Counts::new();
    for line in text.lines() {
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            *counts.entry(format!("▁{word}")).or_default() += 1;
        }
    }
    counts
}

fn bundled(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn corpus() -> impl Strategy<Value = Counts> {
    let word = prop_oneof![
        "▁[a-d]{1,8}",
        "▁[ab]{1,20}",
        "▁(low|lower|slow|new|newest)(er|est)?[.,]?",
        "▁[a-c]{0,4}[0-9]{0,3}[.,]{0,2}",
        "[бвг中文かー]{1,6}",
        "▁[a-cбв中]{1,6}",
        "[a-b]{3}\u{301}[a-bбв]{2}",
    ];
    prop::collection::btree_map(word, 1..5000_u64, 2..40)
}

fn options() -> impl Strategy<Value = UnigramTrainer> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let numbers = (3..40_usize, 1..8_usize, 1..4_usize, prop_oneof![Just(1.0), 0.8..1.0]);
    (flags, numbers).prop_map(|((script, number, space, digits, full), (room, length, steps, coverage))| {
        UnigramTrainer::default().with(|it| {
            it.vocab_size = room;
            it.method = if full { Method::Full } else { Method::SentencePiece };
            it.pieces = PieceOptions::default().with(|it| {
                it.character_coverage = coverage;
                it.split_by_unicode_script = script;
                it.split_by_number = number;
                it.split_by_whitespace = space;
                it.split_digits = digits;
                it.max_piece_length = length;
            });
            it.n_sub_iterations = steps;
            it.shrinking_factor = 0.75;
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_definition(counts in corpus(), mut options in options()) {
        options.vocab_size += 3 + naive::alphabet(&options, &counts).len();
        // Where rounding decides, both answers are right.
        let Some(expected) = naive::train(&options, &counts) else { return Err(TestCaseError::reject("a tie")) };
        let trained = train(&options, &counts).unwrap();
        let found: BTreeMap<&str, f64> =
            normal(&trained).map(|piece| (piece.text.as_str(), piece.score)).collect();
        prop_assert_eq!(
            found.keys().copied().collect::<Vec<_>>(),
            expected.keys().map(String::as_str).collect::<Vec<_>>()
        );
        let most = if options.method == Method::Full { 1e-9 } else { 1e-5 };
        for (text, score) in &expected {
            let found = found[text.as_str()];
            prop_assert!((found - score).abs() < most, "{text}: {found}, expected {score}");
        }
    }

    #[test]
    fn any_number_of_threads(counts in corpus(), mut options in options()) {
        options.vocab_size += 3 + naive::alphabet(&options, &counts).len();
        options.threads = Some(1);
        let expected = train(&options, &counts).unwrap();
        prop_assert!(expected.pieces.len() <= options.vocab_size);
        for threads in [2, 3, 7] {
            let found = train(&options.clone().with(|it| it.threads = Some(threads)), &counts).unwrap();
            prop_assert_eq!(bits(&found), bits(&expected));
        }
    }
}

fn bits(trained: &TrainedUnigram) -> Vec<(&str, u64)> {
    trained.pieces.iter().map(|piece| (piece.text.as_str(), piece.score.to_bits())).collect()
}

#[test]
fn a_book_as_sentencepiece_trains_it() {
    // A line feed marks where a line ended, and is a separate token.
    let mut counts = Counts::new();
    for line in bundled("corpus/sherlock-holmes.txt").lines() {
        let mut words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let last = words.pop().map(|last| format!("▁{last}\n"));
        for word in words.into_iter().map(|word| format!("▁{word}")).chain(last) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut options = of_size(4001).with(|it| {
        it.method = Method::SentencePiece;
        it.pieces = PieceOptions::default();
    });
    options.pieces.special_tokens.push(("\n".to_owned(), PieceKind::UserDefined));
    let trained = train(&options, &counts).unwrap();
    assert_eq!((trained.pieces.len(), trained.stop), (4001, UnigramStop::VocabFull));
    let theirs = bundled("unigram/sentencepiece-0.2.3-sherlock-4000.txt");
    let theirs: BTreeMap<&str, f64> = theirs
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(text, score)| (text, score.parse().unwrap()))
        .collect();
    let common: Vec<f64> = normal(&trained)
        .filter_map(|piece| theirs.get(piece.text.as_str()).map(|score| (piece.score - score).abs()))
        .collect();
    assert!(common.len() * 100 >= theirs.len() * 98, "{} of {} are common", common.len(), theirs.len());
    let apart = common.iter().sum::<f64>() / common.len() as f64;
    assert!(apart < 0.01, "scores are {apart} apart");
    for threads in [2, 3, 7] {
        let found = train(&options.clone().with(|it| it.threads = Some(threads)), &counts).unwrap();
        assert_eq!(bits(&found), bits(&trained));
    }
}

#[test]
fn counts_are_repetitions() {
    let counts = words(&bundled("corpus/sherlock-holmes.txt"));
    let options = of_size(1000);
    let once = train(&options, &counts).unwrap();
    let repeated = counts.iter().flat_map(|(word, &count)| (0..count).map(|_| (word.as_bytes(), 1)));
    let repeated = options.train(repeated, &mut Progress::silent()).unwrap();
    assert_eq!(bits(&once), bits(&repeated));
}

#[test]
fn the_vocabulary_in_order() {
    let words = counts(&[("▁low", 5), ("▁lower", 2), ("▁newest", 6), ("▁widest", 3)]);
    let special = |text: &str, kind| (text.to_owned(), kind);
    let options = of_size(259 + 20).with(|it| {
        it.pieces = all_covered().with(|it| {
            it.special_tokens = vec![
                special("<pad>", PieceKind::Control),
                special("<unk>", PieceKind::Unknown),
                special("west", PieceKind::UserDefined),
            ];
            it.byte_fallback = true;
            it.required_chars = vec!['é', 'w'];
        })
    });
    let trained = train(&options, &words).unwrap();
    let kinds: Vec<PieceKind> = trained.pieces.iter().map(|piece| piece.kind).collect();
    assert_eq!(kinds[..3], [PieceKind::Control, PieceKind::Unknown, PieceKind::UserDefined]);
    assert_eq!(kinds[3..259], [PieceKind::Byte; 256]);
    assert!(kinds[259..].iter().all(|&kind| kind == PieceKind::Normal));
    assert_eq!((trained.pieces[3].text.as_str(), trained.pieces[258].text.as_str()), ("<0x00>", "<0xFF>"));
    assert!(trained.pieces[259..].windows(2).all(|pair| {
        pair[0].score > pair[1].score || pair[0].score == pair[1].score && pair[0].text < pair[1].text
    }));
    let texts = texts(&trained);
    for required in ["é", "w", "▁", "l", "n", "e", "i", "d", "s", "t", "o", "r"] {
        assert!(texts.contains(&required), "{required} in {texts:?}");
    }
    // `west` of `newest` is a separate token: no piece holds its text.
    assert!(!texts.iter().any(|text| text.contains("est") && !text.contains("dest") && *text != "est"));
}

#[test]
fn size_is_honoured_or_explained() {
    let words = counts(&[("▁aa", 4), ("▁ab", 3), ("▁b", 3)]);
    let error = train(&of_size(5), &words).unwrap_err();
    assert!(matches!(error, Error::VocabSize { requested: 5, minimum: 6 }), "{error}");
    assert_eq!(texts(&train(&of_size(6), &words).unwrap()).len(), 3);
    let trained = train(&of_size(1000), &words).unwrap();
    assert!(matches!(trained.stop, UnigramStop::NoPieces { seeds: 3.. }), "{:?}", trained.stop);
    let error = train(&of_size(1000).with(|it| it.hard_vocab_limit = true), &words).unwrap_err();
    assert!(error.to_string().starts_with("vocab_size = 1000: the text gives only "), "{error}");
}

#[test]
fn rare_characters_are_left_out() {
    let words = counts(&[("▁aé", 98), ("▁aß", 1), ("▁a\0", 3)]);
    for (coverage, dropped) in [
        (1.0, vec![('\0', 3)]),
        (0.99, vec![('ß', 1), ('\0', 3)]),
        (0.6, vec![('é', 98), ('ß', 1), ('\0', 3)]),
    ] {
        let pieces = PieceOptions::default().with(|it| it.character_coverage = coverage);
        let trained = train(&of_size(100).with(|it| it.pieces = pieces), &words).unwrap();
        assert_eq!(trained.dropped, dropped, "coverage {coverage}");
        let has = |c: char| texts(&trained).iter().any(|text| text.contains(c));
        assert!(dropped.iter().all(|&(c, _)| !has(c)));
    }
}

#[test]
fn options_that_cannot_be() {
    let words = counts(&[("▁a", 1)]);
    let plain = || of_size(100);
    let with = |pieces| plain().with(|it| it.pieces = pieces);
    let special = |text: &str, kind| (text.to_owned(), kind);
    for (options, expected) in [
        (with(all_covered().with(|it| it.character_coverage = 0.0)), "character_coverage = 0"),
        (with(all_covered().with(|it| it.character_coverage = f64::NAN)), "character_coverage = NaN"),
        (plain().with(|it| it.shrinking_factor = 1.0), "shrinking_factor = 1"),
        (plain().with(|it| it.n_sub_iterations = 0), "n_sub_iterations = 0"),
        (with(all_covered().with(|it| it.max_piece_length = 256)), "max_piece_length = 256"),
        (plain().with(|it| it.vocab_size = usize::MAX), "vocab_size = "),
        (
            with(all_covered().with(|it| it.special_tokens = vec![special("x", PieceKind::Byte)])),
            "special_tokens = \"x\"",
        ),
        (
            with(all_covered().with(|it| it.special_tokens = vec![special("", PieceKind::Control)])),
            "special_tokens = \"\"",
        ),
        (
            with(all_covered().with(|it| {
                it.special_tokens = vec![special("<0x00>", PieceKind::Control)];
                it.byte_fallback = true;
            })),
            "special_tokens = \"<0x00>\"",
        ),
        (
            with(all_covered().with(|it| {
                it.special_tokens = vec![special("a", PieceKind::Unknown), special("b", PieceKind::Unknown)]
            })),
            "special_tokens = two",
        ),
    ] {
        let error = train(&options, &words).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let bytes = [(&b"a\xFF"[..], 1)];
    let error = plain().train(bytes, &mut Progress::silent()).unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
    let error = train(&plain(), &counts(&[("▁a", u64::MAX), ("▁b", 1)])).unwrap_err();
    assert!(matches!(error, Error::CountOverflow { .. }), "{error}");
}

#[test]
fn nothing_to_train_on() {
    let empty = train(&of_size(10), &Counts::new()).unwrap();
    assert_eq!((empty.pieces.len(), empty.stop), (3, UnigramStop::NoPieces { seeds: 0 }));
    let pieces = all_covered().with(|it| it.required_chars = vec!['b', 'a']);
    let options = of_size(10).with(|it| it.pieces = pieces);
    assert_eq!(texts(&train(&options, &Counts::new()).unwrap()), ["b", "a"]);
    let trained = train(&of_size(10), &counts(&[("▁a", 0), ("b", 1)])).unwrap();
    assert_eq!(texts(&trained), ["b"]);
}

#[test]
fn counts_beyond_32_bits() {
    let words = |times: u64| counts(&[("▁low", 5 * times), ("▁lower", 2 * times), ("▁newest", 6 * times)]);
    let trained = train(&of_size(20), &words(3_000_000_000)).unwrap();
    assert!(normal(&trained).all(|piece| piece.score.is_finite() && piece.score < 0.0));
    assert!(texts(&trained).contains(&"▁low"));
}

#[test]
fn a_long_text_without_spaces() {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 29) as u8)
    };
    for word in [(0..50_000).map(|_| letter()).collect(), "a".repeat(50_000)] {
        let trained = train(&of_size(300), &Counts::from([(word, 1)])).unwrap();
        assert!(normal(&trained).all(|piece| piece.score.is_finite()), "{:?}", trained.pieces);
    }
}

#[test]
fn reports_and_stops_when_asked() {
    let words = words(&bundled("corpus/sherlock-holmes.txt"));
    let pieces = || words.iter().map(|(word, count)| (word.as_bytes(), *count));
    let mut stages = Vec::new();
    let mut listen = |stage: Stage, done: u64, total: u64| {
        stages.push((stage, done, total));
        true
    };
    of_size(1000).train(pieces(), &mut Progress::new(&mut listen)).unwrap();
    let last = stages.last().copied().unwrap();
    assert_eq!((last.0, last.1 == last.2), (Stage::Prune, true));
    assert!(stages.iter().all(|(_, done, total)| done <= total));
    for threads in [1, 3] {
        for stop_at in [Stage::Seed, Stage::Prune] {
            let mut stop = |stage: Stage, _: u64, _: u64| stage != stop_at;
            let options = of_size(1000).with(|it| it.threads = Some(threads));
            let stopped = options.train(pieces(), &mut Progress::new(&mut stop));
            assert!(matches!(stopped, Err(Error::Cancelled)), "{stop_at:?} with {threads} threads");
        }
    }
}
