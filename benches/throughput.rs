//! `cargo bench`: the crate alone, without Python, on the bundled texts.
//!
//! A plain timed `main`: medians of five runs on one thread, and the answers of
//! the fast paths compared with their definitions before a time is shown.
//! Rivals are compared in `report.py`, which `make bench-all` runs.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use sentitok::corpus::word_counts::{CountOptions, count};
use sentitok::normalizer::Normalizer;
use sentitok::tokenizer::Parts;
use sentitok::{
    BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Progress, Result, Tokenizer, UnigramTrainer,
    WordCounts, WordPieceTrainer, corpus,
};

const RUNS: usize = 5;
/// Turns of `encode` and `encode_batch` on one text.
const TURNS: usize = 25;
/// The most time that `encode` may take for one text, by that of `encode_batch`.
const MOST_OF_BATCH: f64 = 1.1;

/// The median time of `work` as MB/s of `bytes`, printed.
fn report(name: &str, bytes: usize, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        work()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[RUNS / 2];
    println!("{name:<32} {:>9.1} MB/s {:>9.2} ms", bytes as f64 / median / 1e6, median * 1e3);
    Ok(())
}

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus");
    for name in ["sherlock-holmes.txt", "udhr-23-languages.txt"] {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(|error| sentitok::Error::io(&path, error))?;
        println!("{name}, {} bytes, one thread", text.len());
        for splitter in ["gpt2", "cl100k", "o200k"] {
            let pre_tokenizer = PreTokenizer::from_name(splitter)?;
            report(&format!("split {splitter}"), text.len(), || {
                let mut n = 0_usize;
                pre_tokenizer.for_each_piece(&text, |piece| {
                    n += piece.len();
                    Ok(())
                })?;
                assert_eq!(black_box(n), text.len(), "pieces tile the text");
                Ok(())
            })?;
        }
        let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2")?);
        let mut options = CountOptions::default();
        options.threads = Some(1);
        let counted = || {
            let mut source = corpus::FileSource::new([&path], corpus::FileOptions::default())?;
            count(&mut source, &pipeline, &options, &mut Progress::silent())
        };
        let counts = counted()?;
        report("count", text.len(), || counted().map(|counts| assert!(!black_box(counts).is_empty())))?;
        let mut trainer = BpeTrainer::default();
        trainer.vocab_size = 8000;
        trainer.threads = Some(1);
        let train = || Tokenizer::train_bpe(&trainer, &counts, &mut Progress::silent());
        report("train to 8,000 from counts", text.len(), || {
            train().map(|tokenizer| drop(black_box(tokenizer)))
        })?;

        let tokenizer = train()?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let one = EncodeOptions { threads: Some(1), ..EncodeOptions::default() };
        let batch = tokenizer.encode_batch(&lines, one)?;
        for (row, line) in lines.iter().enumerate() {
            let mut slow = Vec::new();
            pipeline.for_each_piece(line, |piece| {
                slow.extend(tokenizer.model().encode(piece));
                Ok(())
            })?;
            assert_eq!(batch.row(row).map(|ids| &batch.ids[ids]), Some(&slow[..]), "{line:?}");
        }
        let bytes = tokenizer.to_bytes()?;
        let mut fresh = (0..RUNS).map(|_| Tokenizer::from_bytes(&bytes)).collect::<Result<Vec<_>>>()?;
        report("encode, first pass", text.len(), || {
            // A tokenizer whose caches are empty; loading it is not measured.
            let Some(fresh) = fresh.pop() else { return Ok(()) };
            fresh.encode_batch(&lines, one).map(|ids| drop(black_box(ids)))
        })?;
        report("encode, again", text.len(), || {
            tokenizer.encode_batch(&lines, one).map(|ids| drop(black_box(ids)))
        })?;
        report("decode", text.len(), || {
            assert_eq!(tokenizer.decode(&batch.ids, false)?, text);
            Ok(())
        })?;
    }
    one_text(&folder.join("sherlock-holmes.txt"))
}

/// The least times of one text by `encode`, and by `encode_batch`, which returns ids alone; alternately.
fn one_text(path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(|error| sentitok::Error::io(path, error))?;
    let page: &str = &text.chars().take(1_000).collect::<String>();
    let long: &str = &text.chars().cycle().take(1_000_000).collect::<String>();
    let options = EncodeOptions { threads: Some(1), ..EncodeOptions::default() };
    println!("\none text, one thread: encode, encode_batch, the one by the other");
    for (name, tokenizer) in tokenizers(path)? {
        for (size, text, times) in [("1 kB", page, 1_000), ("1 MB", long, 1)] {
            assert_eq!(tokenizer.encode(text, options)?.ids, tokenizer.encode_batch(&[text], options)?.ids);
            let mut least = [f64::INFINITY; 2];
            for turn in 0..2 * TURNS {
                let start = Instant::now();
                for _ in 0..times {
                    match turn % 2 {
                        0 => drop(black_box(tokenizer.encode(text, options)?)),
                        _ => drop(black_box(tokenizer.encode_batch(&[text], options)?)),
                    }
                }
                least[turn % 2] = least[turn % 2].min(start.elapsed().as_secs_f64() / times as f64);
            }
            let ([one, batch], ratio) = (least.map(|seconds| seconds * 1e6), least[0] / least[1]);
            let mark = if ratio > MOST_OF_BATCH { format!("  above {MOST_OF_BATCH}") } else { String::new() };
            println!("{name:<12} {size} {one:>12.2} us {batch:>9.2} us {ratio:>6.2}{mark}");
        }
    }
    Ok(())
}

/// A tokenizer of each kind of path from text to ids.
fn tokenizers(path: &Path) -> Result<Vec<(&'static str, Tokenizer)>> {
    let silent = &mut Progress::silent();
    let counted = |normalizer: Option<&str>, splitter: &str| -> Result<WordCounts> {
        let normalizer = normalizer.map(Normalizer::from_name).transpose()?;
        let pipeline = Pipeline { normalizer, pre_tokenizer: PreTokenizer::from_name(splitter)? };
        let mut source = corpus::FileSource::new([path], corpus::FileOptions::default())?;
        count(&mut source, &pipeline, &CountOptions::default(), &mut Progress::silent())
    };
    let mut all = Vec::new();
    for splitter in ["gpt2", "cl100k"] {
        all.push((
            splitter,
            Tokenizer::train_bpe(&BpeTrainer::default(), &counted(None, splitter)?, silent)?,
        ));
    }
    let mut trainer = WordPieceTrainer::default();
    trainer.vocab_size = 8_000;
    all.push(("bert", Tokenizer::train_wordpiece(&trainer, &counted(Some("hf-bert"), "bert")?, silent)?));
    let mut trainer = UnigramTrainer::default();
    trainer.seed_size = 20_000;
    let unigram = Tokenizer::train_unigram(&trainer, &counted(None, "metaspace")?, silent)?;
    // T5's pipeline: SentencePiece's rules, and a text is one piece.
    let normalizer = Some(Normalizer::from_name("sentencepiece-nmt-nfkc")?);
    let pipeline = Pipeline { normalizer, pre_tokenizer: PreTokenizer::Bytes };
    let t5 = Tokenizer::new(Parts::new(pipeline, unigram.model().clone()))?;
    all.extend([("t5", t5), ("unigram", unigram)]);
    Ok(all)
}
