//! Fixed work for counting instructions: `cargo bench --bench instructions -- ROW`.
//!
//! `instructions.py` runs each row under callgrind and compares what it counted
//! with `instructions.json`; what a busy machine does to times does nothing to
//! that. Without a row it prints their names. `throughput.rs` measures times.
//! One row does one thing, on one thread, on bundled texts; what it needs is made
//! before, outside of [`measured`].

use std::hint::black_box;
use std::path::{Path, PathBuf};

use sentitok::corpus::word_counts::{CountOptions, count};
use sentitok::trainers::unigram::Method;
use sentitok::{
    BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Progress, Result, Tokenizer, UnigramTrainer,
    WordCounts, WordPieceTrainer, corpus,
};

const ENGLISH: &str = "pride-and-prejudice.txt";
const SCRIPTS: &str = "udhr-23-languages.txt";
/// What models are trained on: not the text they encode.
const TRAINING: &str = "sherlock-holmes.txt";

/// The measured call; callgrind knows it by its name.
#[inline(never)]
fn measured(work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    black_box(work)()
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus").join(name)
}

fn text(name: &str) -> Result<String> {
    std::fs::read_to_string(path(name)).map_err(|error| sentitok::Error::io(path(name), error))
}

fn counted(name: &str, splitter: &str) -> Result<WordCounts> {
    let pipeline = Pipeline::new(PreTokenizer::from_name(splitter)?);
    let mut options = CountOptions::default();
    options.threads = Some(1);
    let mut source = corpus::FileSource::new([path(name)], corpus::FileOptions::default())?;
    count(&mut source, &pipeline, &options, &mut Progress::silent())
}

fn split(splitter: &str, name: &str) -> Result<()> {
    let (pre_tokenizer, text) = (PreTokenizer::from_name(splitter)?, text(name)?);
    let mut n = 0;
    measured(&mut || {
        pre_tokenizer.for_each_piece(&text, |piece| {
            n += piece.len();
            Ok(())
        })
    })?;
    assert!(black_box(n) > 0);
    Ok(())
}

fn trained(model: &str, vocab_size: usize) -> Result<Tokenizer> {
    let (threads, silent) = (Some(1), &mut Progress::silent());
    match model {
        "bpe" => {
            let mut trainer = BpeTrainer::default();
            trainer.vocab_size = vocab_size;
            trainer.threads = threads;
            Tokenizer::train_bpe(&trainer, &counted(TRAINING, "gpt2")?, silent)
        }
        "wordpiece" => {
            let mut trainer = WordPieceTrainer::default();
            trainer.vocab_size = vocab_size;
            trainer.threads = threads;
            Tokenizer::train_wordpiece(&trainer, &counted(TRAINING, "bert")?, silent)
        }
        _ => {
            let mut trainer = UnigramTrainer::default();
            trainer.vocab_size = vocab_size;
            trainer.method = Method::Full;
            trainer.seed_size = 20_000;
            trainer.threads = threads;
            Tokenizer::train_unigram(&trainer, &counted(TRAINING, "metaspace")?, silent)
        }
    }
}

/// Encodes lines with a model whose caches know `known` passes over them.
fn encode(model: &str, name: &str, known: usize) -> Result<()> {
    let (tokenizer, text) = (trained(model, 4000)?, text(name)?);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let options = EncodeOptions { threads: Some(1), ..EncodeOptions::default() };
    for _ in 0..known {
        tokenizer.encode_batch(&lines, options)?;
    }
    measured(&mut || tokenizer.encode_batch(&lines, options).map(|ids| drop(black_box(ids))))
}

fn decode(model: &str, name: &str) -> Result<()> {
    let (tokenizer, text) = (trained(model, 4000)?, text(name)?);
    let ids = tokenizer.encode(text.as_bytes(), EncodeOptions::default())?.ids;
    measured(&mut || tokenizer.decode(&ids, false).map(|text| drop(black_box(text))))
}

fn train(model: &str) -> Result<()> {
    measured(&mut || trained(model, 2000).map(|tokenizer| drop(black_box(tokenizer))))
}

type Row = (&'static str, fn() -> Result<()>);

const ROWS: [Row; 20] = [
    ("split/gpt2/english", || split("gpt2", ENGLISH)),
    ("split/gpt2/scripts", || split("gpt2", SCRIPTS)),
    ("split/cl100k/english", || split("cl100k", ENGLISH)),
    ("split/cl100k/scripts", || split("cl100k", SCRIPTS)),
    ("split/o200k/english", || split("o200k", ENGLISH)),
    ("split/o200k/scripts", || split("o200k", SCRIPTS)),
    ("split/bert/english", || split("bert", ENGLISH)),
    ("split/bert/scripts", || split("bert", SCRIPTS)),
    ("encode/bpe/english/first", || encode("bpe", ENGLISH, 0)),
    ("encode/bpe/english/again", || encode("bpe", ENGLISH, 1)),
    ("encode/bpe/scripts/first", || encode("bpe", SCRIPTS, 0)),
    ("encode/wordpiece/english/first", || encode("wordpiece", ENGLISH, 0)),
    ("encode/wordpiece/english/again", || encode("wordpiece", ENGLISH, 1)),
    ("encode/unigram/english/first", || encode("unigram", ENGLISH, 0)),
    ("encode/unigram/english/again", || encode("unigram", ENGLISH, 1)),
    ("decode/bpe/english", || decode("bpe", ENGLISH)),
    ("count/gpt2/english", || measured(&mut || counted(ENGLISH, "gpt2").map(drop))),
    ("count/gpt2/scripts", || measured(&mut || counted(SCRIPTS, "gpt2").map(drop))),
    ("train/bpe", || train("bpe")),
    ("train/wordpiece", || train("wordpiece")),
];

fn main() -> Result<()> {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    for (name, work) in ROWS {
        match &wanted {
            None => println!("{name}"),
            Some(wanted) if wanted == name => work()?,
            Some(_) => {}
        }
    }
    Ok(())
}
