//! `encode_files`: text files to token shards.

use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;

use super::error::entry;
use super::numbers::Threads;
use super::paths::paths_of;
use super::progress::run;
use super::specials::OwnedSpecials;
use super::tokenizer::PyTokenizer;
use crate::corpus::{FileOptions, FileSource, Format, InvalidUtf8, MAX_LINE_BYTES, Shard};
use crate::dataset::{self, DatasetOptions, Layout, SourceFile};
use crate::error::Error;
use crate::tokenizer::EncodeOptions;

/// Encodes files into token shards in `out_dir`; returns the manifest.
///
/// Documents are encoded in order and written as they come. `separator` is a
/// token put after each document. With `resume` a run goes on after the last
/// finished shard of an earlier one. `layout` is `"sentitok"` (read by
/// `sentitok.datasets.TokenDataset`), `"nanogpt"`, `"megatron"` or `"text"`.
#[pyfunction]
#[pyo3(signature = (
    paths, out_dir, tokenizer, *, format = None, layout = "sentitok", separator = None,
    add_special_tokens = false, specials = OwnedSpecials::None, invalid_utf8 = "error", shard = None,
    max_line_bytes = None, shard_tokens = None, resume = true, threads = None, progress = None,
))]
#[pyo3(
    text_signature = "(paths, out_dir, tokenizer, *, format=None, layout='sentitok', separator=None, add_special_tokens=False, specials='none', invalid_utf8='error', shard=None, max_line_bytes=None, shard_tokens=None, resume=True, threads=None, progress=None)"
)]
#[allow(clippy::too_many_arguments, reason = "each is a keyword in Python")]
pub(super) fn encode_files<'py>(
    py: Python<'py>,
    paths: &Bound<'py, PyAny>,
    out_dir: PathBuf,
    tokenizer: &Bound<'py, PyTokenizer>,
    format: Option<&str>,
    layout: &str,
    separator: Option<&str>,
    add_special_tokens: bool,
    specials: OwnedSpecials,
    invalid_utf8: &str,
    shard: Option<(u64, u64)>,
    max_line_bytes: Option<usize>,
    shard_tokens: Option<u64>,
    resume: bool,
    threads: Option<Threads>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    entry(|| {
        let paths = paths_of(paths)?;
        let tokenizer = &*tokenizer.get().tokenizer;
        let separator = match separator {
            None => None,
            Some(token) => Some(tokenizer.spelled_to_id(token).ok_or_else(|| Error::Option {
                option: "separator",
                value: token.to_owned(),
                reason: "it is no token of this tokenizer; add it by with_specials".to_owned(),
            })?),
        };
        let mut sources: Vec<SourceFile> = paths.iter().map(source_file).collect();
        if let Some((index, count)) = shard {
            sources.push(SourceFile { name: format!("shard {index}/{count}"), bytes: None });
        }
        let options = DatasetOptions {
            layout: Layout::from_str(layout)?,
            separator,
            shard_tokens: shard_tokens.unwrap_or(DatasetOptions::SHARD_TOKENS),
            resume,
            encode: EncodeOptions {
                add_special_tokens,
                specials: specials.get(),
                threads: threads.map(Threads::get),
                ..EncodeOptions::default()
            },
            sources,
        };
        let files = FileOptions {
            format: format.map(Format::from_str).transpose()?,
            invalid_utf8: InvalidUtf8::from_str(invalid_utf8)?,
            shard: shard.map(|(index, count)| Shard::new(index, count)).transpose()?,
            max_line_bytes: max_line_bytes.unwrap_or(MAX_LINE_BYTES),
            ..FileOptions::default()
        };
        let manifest = run(py, progress.as_ref(), |progress| {
            let mut source = FileSource::new(&paths, files)?;
            let summary = dataset::encode_files(&mut source, tokenizer, &out_dir, &options, progress)?;
            serde_json::to_string(&summary.manifest).map_err(|error| Error::Internal(error.to_string()))
        })?;
        py.import("json")?.call_method1("loads", (manifest,))
    })
}

fn source_file(path: &PathBuf) -> SourceFile {
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
    SourceFile { name: path.to_string_lossy().into_owned(), bytes: size }
}
