//! `cargo bench --bench splitters -- [FILE...] [--only NAME] [--form FORM]`: splitting alone.
//!
//! Nanoseconds a byte on one thread, medians of nine runs, for each splitter and
//! each of its forms, `scalar` being one character at a time; the forms' pieces
//! are compared before a time is shown. Without files the bundled texts are
//! split. With `--only` and `--form`, a tool such as `perf stat` sees nothing
//! but that one, a hundred times.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use sentitok::text::simd::Level;
use sentitok::{Error, PreTokenizer, Result};

const RUNS: usize = 9;
const NAMES: [&str; 10] = [
    "gpt2",
    "cl100k",
    "cl100k-1digit",
    "o200k",
    "tekken",
    "whitespace",
    "whitespace-split",
    "bert",
    "google-bert",
    "metaspace",
];

/// The number of pieces and a sum that differs between different ones.
fn split(pre_tokenizer: &PreTokenizer, form: Option<Level>, text: &str) -> Result<(usize, usize)> {
    let (mut n, mut sum) = (0, 0_usize);
    pre_tokenizer.for_each_piece_by(form, text, |piece| {
        n += 1;
        sum += piece.start ^ piece.end;
        Ok(())
    })?;
    Ok((n, sum))
}

fn form_name(form: Option<Level>) -> String {
    form.map_or_else(|| "scalar".to_owned(), |level| level.name().to_owned())
}

fn main() -> Result<()> {
    let mut files = Vec::new();
    let (mut only, mut only_form) = (None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {} // cargo's
            "--only" => only = args.next(),
            "--form" => only_form = args.next(),
            _ => files.push(PathBuf::from(arg)),
        }
    }
    if files.is_empty() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus");
        files = ["sherlock-holmes.txt", "udhr-23-languages.txt"].map(|name| folder.join(name)).to_vec();
    }
    let forms: Vec<_> = std::iter::once(None).chain(Level::all().into_iter().map(Some)).collect();
    for path in &files {
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        for name in NAMES.iter().filter(|name| only.as_deref().is_none_or(|only| only == **name)) {
            let pre_tokenizer = PreTokenizer::from_name(name)?;
            if let Some(form) = &only_form {
                for form in forms.iter().filter(|known| form_name(**known) == *form) {
                    for _ in 0..100 {
                        black_box(split(&pre_tokenizer, *form, &text)?);
                    }
                }
                continue;
            }
            let expected = split(&pre_tokenizer, None, &text)?;
            let mut row =
                format!("{:<28} {name:<17}", path.file_name().unwrap_or_default().to_string_lossy());
            for form in &forms {
                let mut nanoseconds = [0.0; RUNS];
                for run in &mut nanoseconds {
                    let start = Instant::now();
                    assert_eq!(split(&pre_tokenizer, *form, &text)?, expected, "{name}");
                    *run = start.elapsed().as_secs_f64() * 1e9 / text.len() as f64;
                }
                nanoseconds.sort_by(f64::total_cmp);
                row += &format!("  {} {:.3}", form_name(*form), nanoseconds[RUNS / 2]);
            }
            println!("{row}  ns/byte, {:.2} bytes a piece", text.len() as f64 / expected.0 as f64);
        }
    }
    Ok(())
}
