//! Trainings that stop after every save, and damaged checkpoints.

use std::fmt::{Debug, Write as _};

use super::*;
use crate::corpus::word_counts::{SampleOptions, SampleSize};
use crate::corpus::{ByteRange, Format, Shard};
use crate::normalizer::Normalizer;
use crate::pre_tokenizer::PreTokenizer;
use crate::trainers::bpe::{
    Alphabet, Base, BpeTrainer, PieceKind, ScoredTrained, SentencePieceBpeTrainer, TieBreak, TrainedMerges,
    Unit,
};
use crate::trainers::superwords::{SuperwordBegin, SuperwordOptions, SuperwordRule, SuperwordTraining};
use crate::trainers::unigram::{Method, TrainedUnigram, UnigramTrainer};
use crate::trainers::wordpiece::{Score, WordPieceTrainer};

/// Trains in a folder, or without one.
type Train<'a, T> = &'a dyn Fn(Option<&mut Checkpoint>) -> Result<T>;

/// Opens a folder, and stops after some saves.
fn opened(
    open: &dyn Fn(&Path, bool) -> Result<Checkpoint>,
    dir: &Path,
    writes_left: usize,
) -> Result<Checkpoint> {
    let mut checkpoint = open(dir, true)?;
    checkpoint.set_every(Duration::ZERO);
    checkpoint.writes_left = writes_left;
    Ok(checkpoint)
}

/// Stops training after every `n` saves until it ends; returns the result and the number of starts.
fn with_stops<T>(
    open: &dyn Fn(&Path, bool) -> Result<Checkpoint>,
    train: Train<'_, T>,
    n: usize,
) -> (T, usize) {
    let dir = tempfile::tempdir().unwrap();
    for starts in 1.. {
        // Unigram and a merge save again when they are stopped.
        match train(Some(&mut opened(open, dir.path(), n).unwrap())) {
            Ok(trained) => return (trained, starts),
            Err(Error::Cancelled) => assert!(starts < 10_000),
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

fn check<T: Debug + PartialEq>(
    name: &str,
    open: &dyn Fn(&Path, bool) -> Result<Checkpoint>,
    train: Train<'_, T>,
    least_starts: usize,
) {
    let whole = train(None).unwrap();
    for n in [1, 2, 7] {
        let (trained, starts) = with_stops(open, train, n);
        assert!(starts >= least_starts / n, "{name}: {starts} starts");
        assert_eq!(trained, whole, "{name}, stopped after {n}");
    }
}

/// Words of a few letters, whose counts often tie.
fn words(seed: u64, n: usize, letters: &[&str]) -> WordCounts {
    let mut state = seed;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let pairs: Vec<(String, u64)> = (0..n)
        .map(|_| {
            let word = (0..1 + next(9)).map(|_| letters[next(letters.len())]).collect();
            (word, 1 + next(6) as u64)
        })
        .collect();
    WordCounts::from_pairs(Pipeline::new(PreTokenizer::Bytes), pairs).unwrap()
}

fn check_bpe(name: &str, counts: &WordCounts, trainer: &BpeTrainer, least_starts: usize) {
    let train = |checkpoint: Option<&mut Checkpoint>| -> Result<TrainedMerges> {
        match checkpoint {
            None => trainer.train(counts.iter(), &mut Progress::silent()),
            Some(checkpoint) => trainer.train_resumable(counts, checkpoint, &mut Progress::silent()),
        }
    };
    check(name, &|dir, resume| trainer.checkpoint(dir, resume), &train, least_starts);
}

fn seen(vocab_size: usize) -> BpeTrainer {
    BpeTrainer { vocab_size, initial_alphabet: Alphabet::Seen, ..BpeTrainer::default() }
}

#[test]
fn bpe_resumes_after_every_merge() {
    let letters = ["a", "b", "a", "ab", "é"];
    for tie_break in [TieBreak::HuggingFace, TieBreak::Bytes, TieBreak::SentencePiece] {
        for (unit, max_token_length) in [(Unit::Bytes, None), (Unit::Chars, Some(5))] {
            let trainer = BpeTrainer { tie_break, unit, max_token_length, ..seen(45) };
            check_bpe(&format!("{tie_break:?} {unit:?}"), &words(1, 60, &letters), &trainer, 20);
        }
    }
    let trainer = BpeTrainer { min_frequency: 4, limit_alphabet: Some(2), byte_fallback: true, ..seen(290) };
    check_bpe("limits", &words(2, 60, &letters), &BpeTrainer { unit: Unit::Chars, ..trainer }, 20);
}

/// Tokens that occur before a merge forms them: the text contains the prefix, the suffix, or a base
/// has other merges for them.
#[test]
fn bpe_resumes_where_tokens_are_formed_again() {
    for seed in 0..6 {
        let counts = words(seed, 40, &["a", "b", "#", "a#"]);
        let affixed = BpeTrainer {
            unit: Unit::Chars,
            continuing_subword_prefix: Some("#".to_owned()),
            end_of_word_suffix: Some("a".to_owned()),
            ..seen(40)
        };
        for tie_break in [TieBreak::HuggingFace, TieBreak::Bytes, TieBreak::SentencePiece] {
            let trainer = BpeTrainer { tie_break, ..affixed.clone() };
            check_bpe(&format!("affixes {seed} {tie_break:?}"), &counts, &trainer, 1);
        }
        let start = seen(16).train(counts.iter(), &mut Progress::silent()).unwrap();
        let mut merges: Vec<_> = start.merges.iter().map(|m| (m.left, m.right, m.id)).collect();
        merges.reverse();
        let base = Base { tokens: start.tokens, merges, special_tokens: Vec::new() };
        let trainer = BpeTrainer { extend: Some(base), ..seen(60) };
        check_bpe(&format!("extend {seed}"), &words(seed + 9, 60, &["a", "b", "#", "ab"]), &trainer, 10);
    }
}

#[test]
fn long_pieces_resume() {
    let pairs: Vec<(String, u64)> = (1..9)
        .map(|n| (["ab", "a", "aab", "b", "ba"].iter().cycle().take(n * 67).copied().collect(), n as u64))
        .collect();
    let counts = WordCounts::from_pairs(Pipeline::new(PreTokenizer::Bytes), pairs).unwrap();
    check_bpe("long", &counts, &seen(40), 20);
}

#[test]
fn sentencepiece_bpe_resumes_after_every_merge() {
    let counts = words(3, 80, &["a", "b", "▁a", "ab", "1", "-"]);
    let mut trainer = SentencePieceBpeTrainer { vocab_size: 60, ..SentencePieceBpeTrainer::default() };
    trainer.pieces.character_coverage = 0.95;
    let train = |checkpoint: Option<&mut Checkpoint>| -> Result<ScoredTrained> {
        match checkpoint {
            None => trainer.train(counts.iter(), &mut Progress::silent()),
            Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, &mut Progress::silent()),
        }
    };
    check("sentencepiece", &|dir, resume| trainer.checkpoint(dir, resume), &train, 20);
}

#[test]
fn wordpiece_resumes_after_every_merge() {
    for score in [Score::Frequency, Score::Likelihood, Score::Pmi] {
        for letters in [["a", "b", "c", "ab"], ["a", "b", "#", "##b"]] {
            let counts = words(4, 80, &letters);
            let trainer = WordPieceTrainer { vocab_size: 50, score, ..WordPieceTrainer::default() };
            let train = |checkpoint: Option<&mut Checkpoint>| -> Result<TrainedMerges> {
                match checkpoint {
                    None => trainer.train(counts.iter(), &mut Progress::silent()),
                    Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, &mut Progress::silent()),
                }
            };
            check(&format!("{score:?}"), &|dir, resume| trainer.checkpoint(dir, resume), &train, 5);
        }
    }
}

#[test]
fn unigram_resumes_after_every_step() {
    let counts = words(5, 400, &["▁a", "b", "c", "ab", "d", "e"]);
    for method in [Method::Full, Method::SentencePiece] {
        let trainer = UnigramTrainer { vocab_size: 60, method, ..UnigramTrainer::default() };
        let train = |checkpoint: Option<&mut Checkpoint>| -> Result<TrainedUnigram> {
            match checkpoint {
                None => trainer.train(counts.iter(), &mut Progress::silent()),
                Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, &mut Progress::silent()),
            }
        };
        check(&format!("{method:?}"), &|dir, resume| trainer.checkpoint(dir, resume), &train, 9);
    }
}

/// Files of lines, of JSON, a table and one document.
fn texts(dir: &Path) -> Vec<PathBuf> {
    let line = |n: usize| format!("the {} of {}, and the {n}th\r\n", n * n % 97, n % 13);
    let lines: String = (0..300).map(line).collect();
    let mut json = String::new();
    (0..200).for_each(|n| writeln!(json, "{{\"text\": \"a\\n{}\"}}", line(n).trim()).unwrap());
    let mut paths = Vec::new();
    for (name, text) in [
        ("a.txt", format!("\u{feff}{lines}")),
        ("empty.txt", String::new()),
        ("b.jsonl", json),
        ("c.txt", format!("{lines}no line end")),
        ("d.txt", "short".to_owned()),
    ] {
        paths.push(dir.join(name));
        fs::write(paths.last().unwrap(), text).unwrap();
    }
    paths
}

#[test]
fn counting_resumes_after_every_part() {
    let folder = tempfile::tempdir().unwrap();
    let paths = texts(folder.path());
    for (threads, max_memory) in [(1, None), (2, Some(1)), (2, None)] {
        let options = CountOptions { threads: Some(threads), max_memory, ..CountOptions::default() };
        let files = FileOptions { block_bytes: 64, ..FileOptions::default() };
        check_counting(&paths, &files, &options, 60);
    }
}

/// Tables with line ends in quotes, a range that begins and ends within lines, and samples.
#[test]
fn counting_of_tables_ranges_and_samples_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = "id,text\r\n".to_owned();
    (0..300).for_each(|n| writeln!(table, "{n},\"a\nthe {}\"\"\n, {n}\"\r", n * n % 97).unwrap());
    let tables = vec![folder.path().join("a.csv"), folder.path().join("b.csv")];
    tables.iter().for_each(|path| fs::write(path, &table).unwrap());
    let csv = FileOptions { format: Some("csv:text".parse().unwrap()), ..FileOptions::default() };
    let options = CountOptions::default();
    check_counting(&tables, &csv, &options, 20);

    let lines = texts(folder.path());
    let range = Some(ByteRange::new(777, 20_005).unwrap());
    check_counting(&lines, &FileOptions { byte_range: range, ..FileOptions::default() }, &options, 40);
    let shard = Some(Shard::new(1, 3).unwrap());
    check_counting(&tables, &FileOptions { shard, ..csv.clone() }, &options, 5);
    for size in [SampleSize::Bytes(9000), SampleSize::Share(0.3), SampleSize::Share(1.0)] {
        let sample = Some(SampleOptions { size, seed: 3 });
        let options = CountOptions { sample, ..CountOptions::default() };
        check_counting(&lines, &FileOptions::default(), &options, 60);
        check_counting(&tables, &csv, &options, 20);
    }
}

/// Counts the pieces of files in inputs of some bytes.
fn count_inputs<P: AsRef<Path>>(
    checkpoint: &mut Checkpoint,
    paths: &[P],
    files: FileOptions,
    (pipeline, options): (&Pipeline, &CountOptions),
    input_bytes: u64,
    progress: &mut Progress,
) -> Result<WordCounts> {
    let mut count = |source: &mut FileSource, options: &CountOptions, progress: &mut Progress| {
        word_counts::count(source, pipeline, options, progress)
    };
    let counting = (pipeline, options);
    checkpoint.count_inputs(Purpose::Pieces, paths, files, counting, input_bytes, &mut count, progress)
}

/// Counts files in inputs of 400 bytes, and stops after every `n` saves; compares with one count.
fn check_counting(paths: &[PathBuf], files: &FileOptions, options: &CountOptions, least_starts: usize) {
    let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2").unwrap());
    let trainer = seen(300);
    let mut source = FileSource::new(paths, files.clone()).unwrap();
    let whole = word_counts::count(&mut source, &pipeline, options, &mut Progress::silent()).unwrap();
    for n in [1, 3, 40, 1000] {
        let dir = tempfile::tempdir().unwrap();
        let mut starts = 0;
        let counts = loop {
            starts += 1;
            let mut checkpoint =
                opened(&|dir, resume| trainer.checkpoint(dir, resume), dir.path(), n).unwrap();
            let mut done = 0;
            let mut report = |stage, bytes, _| {
                if stage == Stage::Count {
                    assert!(bytes >= done, "progress goes back");
                    done = bytes;
                }
                true
            };
            let mut progress = Progress::new(&mut report);
            match count_inputs(
                &mut checkpoint,
                paths,
                files.clone(),
                (&pipeline, options),
                400,
                &mut progress,
            ) {
                Ok(counts) => break counts,
                Err(Error::Cancelled) => assert!(starts < 1000),
                Err(error) => panic!("{error}"),
            }
        };
        assert!(starts > least_starts / n, "{starts}");
        assert_eq!(counts, whole);
        // A process that is killed after every part comes to merge none.
        assert!(n == 1 || part_files(dir.path()).unwrap().len() <= MAX_PARTS + 1);
    }
}

#[test]
fn superwords_resume_after_every_save() {
    let folder = tempfile::tempdir().unwrap();
    let paths = texts(folder.path());
    let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2").unwrap());
    let trainer = BpeTrainer { vocab_size: 320, ..BpeTrainer::default() };
    let (files, counting) = (FileOptions::default, CountOptions::default());
    let source = || FileSource::new(&paths, files()).unwrap();
    for begin in [SuperwordBegin::At(280), SuperwordBegin::Auto] {
        let options = SuperwordOptions::new(begin);
        let first = SuperwordTraining::first_phase(&options, &trainer).unwrap();
        let train = |checkpoint: Option<&mut Checkpoint>| -> Result<TrainedMerges> {
            let silent = &mut Progress::silent();
            let new = |first| SuperwordTraining::new(options.clone(), &trainer, &pipeline, first);
            let Some(checkpoint) = checkpoint else {
                let counts = word_counts::count(&mut source(), &pipeline, &counting, silent)?;
                let mut training = new(first.train(counts.iter(), silent)?)?;
                training.add_neighbours(&mut source(), &counting, silent)?;
                loop {
                    let segments = training.count_segments(&mut source(), &counting, silent)?;
                    if let Some(trained) = training.merge(&segments, silent)? {
                        return Ok(trained);
                    }
                }
            };
            let counts = checkpoint.count(&paths, files(), &pipeline, &counting, silent)?;
            let mut training = new(first.train_resumable(&counts, checkpoint, silent)?)?;
            training.add_neighbours_of_files(&paths, files(), &counting, checkpoint, silent)?;
            training.resume_from(checkpoint);
            loop {
                let segments =
                    training.count_segments_of_files(&paths, files(), &counting, checkpoint, silent)?;
                if let Some(trained) = training.merge_resumable(&segments, checkpoint, silent)? {
                    return Ok(trained);
                }
            }
        };
        let open = |dir: &Path, resume| SuperwordTraining::checkpoint(&options, &trainer, dir, resume);
        check(&format!("{begin:?}"), &open, &train, 25);
    }
}

/// The message with which a training in `dir` is refused.
fn refused(trainer: &BpeTrainer, dir: &Path, counts: &WordCounts) -> String {
    let result = trainer
        .checkpoint(dir, true)
        .and_then(|mut checkpoint| trainer.train_resumable(counts, &mut checkpoint, &mut Progress::silent()));
    match result {
        Err(error @ (Error::Option { .. } | Error::Format { .. } | Error::Version { .. })) => {
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// A folder with a checkpoint of `trainer`.
fn stopped(trainer: &BpeTrainer, counts: &WordCounts) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut checkpoint = opened(&|dir, resume| trainer.checkpoint(dir, resume), dir.path(), 5).unwrap();
    let trained = trainer.train_resumable(counts, &mut checkpoint, &mut Progress::silent());
    assert!(matches!(trained, Err(Error::Cancelled)));
    dir
}

#[test]
fn other_options_and_counts_are_refused() {
    let counts = words(6, 40, &["a", "b"]);
    let trainer = seen(30);
    let dir = stopped(&trainer, &counts);
    for (other, name) in [
        (BpeTrainer { vocab_size: 31, ..trainer.clone() }, "vocab_size = 30, not 31"),
        (BpeTrainer { tie_break: TieBreak::Bytes, ..trainer.clone() }, "tie_break = huggingface, not bytes;"),
        (BpeTrainer { limit_alphabet: Some(9), ..trainer.clone() }, "limit_alphabet = none, not 9;"),
        (
            BpeTrainer { special_tokens: vec!["<s>".into(), "a\"".into()], ..trainer.clone() },
            r#"special_tokens = [], not ["<s>", "a\""];"#,
        ),
        (
            BpeTrainer { end_of_word_suffix: Some("none".into()), ..trainer.clone() },
            r#"end_of_word_suffix = none, not "none";"#,
        ),
        (
            BpeTrainer { initial_alphabet: Alphabet::ByteLevel, ..trainer.clone() },
            "initial_alphabet = none, not bytes;",
        ),
        (
            BpeTrainer { extend: Some(Base::default()), ..trainer.clone() },
            "extend = none, not a tokenizer of 0 tokens",
        ),
    ] {
        let message = refused(&other, dir.path(), &counts);
        assert!(message.contains(name), "{message}");
    }
    let message = refused(&trainer, dir.path(), &words(7, 40, &["a", "b"]));
    assert!(message.contains("counts"), "{message}");
    let message = trainer.checkpoint(dir.path(), false).unwrap_err().to_string();
    assert!(message.contains("stopped"), "{message}");
    let other = WordPieceTrainer { vocab_size: 30, ..WordPieceTrainer::default() };
    let message = other.checkpoint(dir.path(), true).unwrap_err().to_string();
    assert!(message.contains("a training of BPE, not of WordPiece;"), "{message}");
    // More threads give the same result.
    let same = BpeTrainer { threads: Some(3), ..trainer.clone() };
    let mut checkpoint = same.checkpoint(dir.path(), true).unwrap();
    let trained = same.train_resumable(&counts, &mut checkpoint, &mut Progress::silent()).unwrap();
    assert_eq!(checkpoint.resumed(), Some("after 5 merges"));
    assert_eq!(trained, trainer.train(counts.iter(), &mut Progress::silent()).unwrap());
    let message = trainer.checkpoint(dir.path(), true).unwrap_err().to_string();
    assert!(message.contains("another process"), "{message}");
    assert!(matches!(remove(dir.path()), Err(Error::Option { .. })));
    drop(checkpoint);
    remove(dir.path()).unwrap();
    assert!(!dir.path().exists());
}

#[test]
fn different_superwords_are_refused() {
    let trainer = seen(300);
    let options = SuperwordOptions::new(SuperwordBegin::Auto);
    let dir = tempfile::tempdir().unwrap();
    let open =
        |options: &SuperwordOptions| SuperwordTraining::checkpoint(options, &trainer, dir.path(), true);
    open(&options).unwrap().save_merges(&[]).unwrap();
    for (other, name) in [
        (SuperwordOptions { begin: SuperwordBegin::At(200), ..options }, "superwords = auto, not none;"),
        (SuperwordOptions { max_words: 3, ..options }, "max_superword_words = 4, not 3;"),
        (
            SuperwordOptions { rule: SuperwordRule::Lines, ..options },
            "superword_rule = sentences, not lines;",
        ),
    ] {
        let message = open(&other).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
    let message = trainer.checkpoint(dir.path(), true).unwrap_err().to_string();
    assert!(message.contains("a training of BPE with superwords, not of BPE;"), "{message}");
}

#[test]
fn options_are_shown_as_they_are_typed() {
    let text = |value: &dyn OptionText| value.option_text();
    assert_eq!(text(&vec![("<s>".to_owned(), PieceKind::Control)]), r#"{"<s>": control}"#);
    assert_eq!(text(&Some(Format::Csv { column: "text".into() })), "csv:text");
    assert_eq!(text(&Some(Shard::new(0, 4).unwrap())), "0/4");
    assert_eq!(text(&vec!['a', '"']), r#""a\"""#);
    // A share and a number of bytes.
    assert_eq!([text(&SampleSize::Share(1.0)), text(&SampleSize::Bytes(1))], ["1.0", "1"]);
    assert_eq!(
        shown("normalizer", &text(&Some(Normalizer::from_name("nfkc+lowercase").unwrap()))),
        "nfkc+lowercase"
    );
    assert_eq!(shown("normalizer", &text(&None::<Normalizer>)), "none");
    // Custom patterns have no name.
    let custom = PreTokenizer::FixedLength { length: std::num::NonZero::new(3).unwrap() };
    assert_eq!(shown("pre_tokenizer", &text(&custom)), text(&custom));
}

#[test]
fn damaged_checkpoints_are_refused() {
    let counts = words(8, 40, &["a", "b"]);
    let trainer = seen(30);
    let dir = stopped(&trainer, &counts);
    let path = dir.path().join(FILE);
    let bytes = fs::read(&path).unwrap();
    for n in 0..bytes.len() {
        fs::write(&path, &bytes[..n]).unwrap();
        refused(&trainer, dir.path(), &counts);
        let mut changed = bytes.clone();
        changed[n] ^= 1;
        fs::write(&path, &changed).unwrap();
        refused(&trainer, dir.path(), &counts);
    }
    fs::write(&path, &bytes).unwrap();
    trainer.checkpoint(dir.path(), true).unwrap();
}

#[test]
fn changed_texts_and_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let paths = texts(folder.path());
    let trainer = seen(300);
    let dir = tempfile::tempdir().unwrap();
    let count = |paths: &[PathBuf], pre_tokenizer: &str, writes_left: usize| {
        let pipeline = Pipeline::new(PreTokenizer::from_name(pre_tokenizer).unwrap());
        let mut checkpoint =
            opened(&|dir, resume| trainer.checkpoint(dir, resume), dir.path(), writes_left).unwrap();
        let (files, options) = (FileOptions::default(), CountOptions::default());
        count_inputs(&mut checkpoint, paths, files, (&pipeline, &options), 400, &mut Progress::silent())
    };
    assert!(matches!(count(&paths, "gpt2", 9), Err(Error::Cancelled)));
    let message = |result: Result<WordCounts>| result.unwrap_err().to_string();
    assert!(message(count(&paths, "cl100k", 9)).contains("pre_tokenizer = gpt2, not cl100k;"));
    assert!(message(count(&paths[1..], "gpt2", 9)).contains("a.txt"));
    assert!(message(count(&paths[..4], "gpt2", 9)).contains("number of files"));
    // Counts instead of the text.
    assert!(refused(&trainer, dir.path(), &words(8, 40, &["a", "b"])).contains("files of text"));

    let part = dir.path().join("counts-4");
    let bytes = fs::read(&part).unwrap();
    for n in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&part, &bytes[..n]).unwrap();
        assert!(message(count(&paths, "gpt2", 9)).contains("counts-4"));
    }
    fs::remove_file(&part).unwrap();
    assert!(message(count(&paths, "gpt2", 9)).contains("counts-4"));
    fs::write(&part, &bytes).unwrap();
    fs::write(&paths[4], "longer").unwrap();
    assert!(message(count(&paths, "gpt2", 9)).contains("d.txt has changed"));
}

#[test]
fn stopping_saves_what_was_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    fs::write(&path, "a b c d e f\n".repeat(400_000)).unwrap();
    let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2").unwrap());
    let trainer = seen(300);
    let dir = folder.path().join("checkpoint");
    let mut calls = 0;
    let mut callback = |_: Stage, _: u64, _: u64| {
        calls += 1;
        calls < 2
    };
    let options = CountOptions { threads: Some(1), ..CountOptions::default() };
    let mut checkpoint = trainer.checkpoint(&dir, true).unwrap();
    let mut progress = Progress::new(&mut callback);
    let files = FileOptions::default;
    let result =
        count_inputs(&mut checkpoint, &[&path], files(), (&pipeline, &options), 1 << 16, &mut progress);
    drop(checkpoint);
    if result.is_ok() {
        return; // The machine is too fast for this test.
    }
    assert!(matches!(result, Err(Error::Cancelled)));
    let saved = parse(&dir.join(FILE), &fs::read(dir.join(FILE)).unwrap()).unwrap();
    let text = saved.text.unwrap();
    assert!(text.done > 0 && text.done < text.total, "{} of {}", text.done, text.total);
    let mut checkpoint = trainer.checkpoint(&dir, true).unwrap();
    let silent = &mut Progress::silent();
    let counts =
        count_inputs(&mut checkpoint, &[&path], files(), (&pipeline, &options), 1 << 16, silent).unwrap();
    assert_eq!(counts.totals().documents, 400_000);
    assert!(checkpoint.resumed().is_some());
}
