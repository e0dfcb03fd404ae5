//! `cargo bench`: the crate alone, without Python, on the bundled texts.
//!
//! A plain timed `main`: medians of five runs on one thread, and the answers of
//! the fast paths compared with their definitions before a time is shown.
//! Rivals are compared in `report.py`, which `make bench-all` runs.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use sentitok::corpus::word_counts::{CountOptions, count};
use sentitok::{BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Progress, Result, Tokenizer, corpus};

const RUNS: usize = 5;

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
        // One text by `encode`, and the same by the batch, of which it may take 1.1 times the time.
        let page: &str = &text.chars().take(1000).collect::<String>();
        for (name, text, times) in [("page of 1 kB", page, 1000), ("text", &text[..], 1)] {
            let bytes = text.len() * times;
            report(&format!("encode, one {name}"), bytes, || {
                (0..times).try_for_each(|_| tokenizer.encode(text, one).map(|ids| drop(black_box(ids))))
            })?;
            report(&format!("encode_batch, one {name}"), bytes, || {
                (0..times)
                    .try_for_each(|_| tokenizer.encode_batch(&[text], one).map(|ids| drop(black_box(ids))))
            })?;
        }
        report("decode", text.len(), || {
            assert_eq!(tokenizer.decode(&batch.ids, false)?, text);
            Ok(())
        })?;
    }
    Ok(())
}
