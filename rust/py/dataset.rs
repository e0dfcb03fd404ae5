//! `encode_files`: encodes texts of files or from memory into token shards.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::call::OwnedSpecials;
use super::error::entry;
use super::numbers::{MaxLineBytes, ShardBytes, ShardOf, ShardTokens, Threads};
use super::remote::{size_of, with_shards};
use super::source::{Documents, FileFormat, SourceOptions};
use super::tokenizer::PyTokenizer;
use crate::corpus::{InvalidUtf8, Shard};
use crate::dataset::{self, DatasetOptions, Layout, Manifest, SourceFile};
use crate::error::{Error, Result};
use crate::tokenizer::EncodeOptions;

/// Encodes texts into token shards in `out_dir`; returns the manifest.
///
/// `source` is a path, or a list of paths; `texts`, or an iterator, series, array or Arrow column
/// as `source`, is text in memory. Documents are encoded and written in order, in bounded memory.
/// `separator` is a token written after each document. `layout` is `"sentitok"` (read by
/// `sentitok.datasets.TokenDataset`), `"nanogpt"`, `"megatron"` or `"text"`.
///
/// With `resume` a run continues after the last finished shard of an earlier run over the same
/// source. This is the default for files. Texts in memory cannot be identified: for them, a
/// directory that already contains a data set is an error unless `resume` is given.
///
/// With `executor`, a `concurrent.futures.Executor` such as a process pool or
/// `dask.distributed.Client.get_executor()`, its workers encode parts of about `shard_bytes` of the
/// files, one thread each. The shards hold the same documents in the same order, one file or more
/// for each part, so their files do not depend on the workers. Finished parts are kept in
/// `out_dir/parts` until all are there. Workers read `source` and write `out_dir` by path, so all
/// machines must see both. A part that fails is tried again, and then raises the error
/// (`on_error="stop"`), or is left out with a warning and named in the manifest's `sources`
/// (`"skip"`).
#[pyfunction]
#[pyo3(signature = (
    source = None, out_dir = None, tokenizer = None, *, texts = None, format = None, layout = "sentitok",
    separator = None, add_special_tokens = false, specials = OwnedSpecials::None, invalid_utf8 = "error",
    shard = None, max_line_bytes = None, shard_tokens = None, resume = None, threads = None, progress = None,
    executor = None, on_error = "stop", shard_bytes = None,
))]
#[pyo3(
    text_signature = "(source=None, out_dir=None, tokenizer=None, *, texts=None, format=None, layout='sentitok', separator=None, add_special_tokens=False, specials='none', invalid_utf8='error', shard=None, max_line_bytes=None, shard_tokens=None, resume=None, threads=None, progress=None, executor=None, on_error='stop', shard_bytes=None)"
)]
#[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
pub(super) fn encode_files<'py>(
    py: Python<'py>,
    source: Option<&Bound<'py, PyAny>>,
    out_dir: Option<PathBuf>,
    tokenizer: Option<&Bound<'py, PyTokenizer>>,
    texts: Option<&Bound<'py, PyAny>>,
    format: Option<&str>,
    layout: &str,
    separator: Option<&str>,
    add_special_tokens: bool,
    specials: OwnedSpecials,
    invalid_utf8: &str,
    shard: Option<ShardOf>,
    max_line_bytes: Option<MaxLineBytes>,
    shard_tokens: Option<ShardTokens>,
    resume: Option<bool>,
    threads: Option<Threads>,
    progress: Option<Py<PyAny>>,
    executor: Option<&Bound<'py, PyAny>>,
    on_error: &str,
    shard_bytes: Option<ShardBytes>,
) -> PyResult<Bound<'py, PyAny>> {
    entry(|| {
        let shard = shard.map(ShardOf::get);
        let missing = |what| {
            PyTypeError::new_err(format!("{what} is missing; encode_files(source, out_dir, tokenizer)"))
        };
        let documents = Documents::new(source, texts)?
            .ok_or_else(|| missing("what to encode (paths as source, or texts=[...])"))?;
        let out_dir = out_dir.ok_or_else(|| missing("out_dir, the directory to write to,"))?;
        let given_tokenizer = tokenizer.ok_or_else(|| missing("tokenizer"))?;
        if let Some(executor) = executor {
            let options = PyDict::new(py);
            for (name, number) in [
                ("max_line_bytes", max_line_bytes.map(|it| it.get() as u64)),
                ("shard_tokens", shard_tokens.map(ShardTokens::get)),
                ("threads", threads.map(|it| it.get() as u64)),
                ("shard_bytes", shard_bytes.map(ShardBytes::get)),
            ] {
                options.set_item(name, number)?;
            }
            for (name, text) in [
                ("format", format),
                ("layout", Some(layout)),
                ("separator", separator),
                ("invalid_utf8", Some(invalid_utf8)),
                ("on_error", Some(on_error)),
            ] {
                options.set_item(name, text)?;
            }
            options.set_item("texts", texts)?;
            options.set_item("add_special_tokens", add_special_tokens)?;
            options.set_item("specials", specials.to_object(py)?)?;
            options.set_item("shard", shard)?;
            options.set_item("resume", resume)?;
            options.set_item("progress", progress)?;
            options.set_item("executor", executor)?;
            let room = py.import("sentitok.distributed")?;
            return room.call_method("encode_files", (source, out_dir, given_tokenizer), Some(&options));
        }
        let tokenizer = &*given_tokenizer.get().tokenizer;
        let separator = match separator {
            None => None,
            Some(token) => Some(tokenizer.spelled_to_id(token).ok_or_else(|| Error::Option {
                option: "separator",
                value: token.to_owned(),
                reason: "it is not a token of this tokenizer; add it by with_specials".to_owned(),
            })?),
        };
        let mut sources = match documents.files() {
            Some(files) => {
                files.paths.iter().map(|path| source_file(py, path)).collect::<PyResult<Vec<_>>>()?
            }
            None => {
                vec![SourceFile { name: "<iterable>".to_owned(), bytes: None }]
            }
        };
        if let Some(range) = documents.files().and_then(|files| files.byte_range.as_ref()) {
            sources.push(SourceFile { name: format!("bytes {}-{}", range.start, range.stop), bytes: None });
        }
        if let Some((index, count)) = shard {
            sources.push(SourceFile { name: format!("shard {index}/{count}"), bytes: None });
        }
        // The format decides which texts are encoded, so a run only resumes with the same format.
        if let Some(format) = format {
            sources.push(SourceFile { name: format!("format {format}"), bytes: None });
        }
        if invalid_utf8 != "error" {
            sources.push(SourceFile { name: format!("invalid UTF-8 {invalid_utf8}"), bytes: None });
        }
        let options = DatasetOptions {
            layout: Layout::from_str(layout)?,
            separator,
            shard_tokens: shard_tokens.map_or(DatasetOptions::SHARD_TOKENS, ShardTokens::get),
            resume: resume.unwrap_or(true),
            encode: EncodeOptions {
                add_special_tokens,
                specials: specials.get(),
                threads: threads.map(Threads::get),
                ..EncodeOptions::default()
            },
            sources,
        };
        let reading = SourceOptions {
            format: format.map(FileFormat::of).transpose()?,
            invalid_utf8: InvalidUtf8::from_str(invalid_utf8)?,
            shard: shard.map(|(index, count)| Shard::new(index, count)).transpose()?,
            max_line_bytes: max_line_bytes.map(MaxLineBytes::get),
        };
        let of_memory = documents.files().is_none();
        let manifest = with_shards(py, out_dir, resume.unwrap_or(true), |out_dir| {
            if of_memory && resume.is_none() {
                refuse_unknown(&out_dir)?;
            }
            documents.run(py, reading, progress.as_ref(), |source, progress| {
                let summary = dataset::encode_files(source, tokenizer, &out_dir, &options, progress)?;
                serde_json::to_string(&summary.manifest).map_err(|error| Error::Internal(error.to_string()))
            })
        })?;
        py.import("json")?.call_method1("loads", (manifest,))
    })
}

/// Refuses to resume, or to skip, a data set that may be made from different texts.
fn refuse_unknown(out_dir: &Path) -> Result<()> {
    if Manifest::load(out_dir)?.is_none() {
        return Ok(());
    }
    Err(Error::Option {
        option: "out_dir",
        value: out_dir.display().to_string(),
        reason: "it holds a data set, and whether it is of the same texts is not known; choose another \
                 directory, start over with resume=False, or continue with resume=True"
            .to_owned(),
    })
}

fn source_file(py: Python<'_>, path: &PathBuf) -> PyResult<SourceFile> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let bytes = metadata.map_or_else(|| size_of(py, path), |file| Ok(Some(file.len())))?;
    Ok(SourceFile { name: path.to_string_lossy().into_owned(), bytes })
}
