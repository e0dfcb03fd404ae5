//! Writes corpora as token ids to disk, for training models.
//!
//! All threads encode, and documents are written in order as they are ready, so memory does not
//! grow with the corpus. Files appear whole: a killed run resumes after its last finished shard and
//! ends with the same bytes. Boundaries of shards depend only on documents and tokens, not on
//! threads or blocks.
//!
//! Readers: `sentitok.datasets` (Python), numpy.memmap, nanoGPT, Megatron.

mod index;
mod manifest;
mod shard;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError, mpsc};

pub use self::manifest::{Manifest, Shard, SourceFile};
pub use self::writer::DatasetWriter;
use crate::corpus::{Block, Source, Tally};
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::tokenizer::{EncodeOptions, Tokenizer};
use crate::vocab::TokenId;

/// About how many bytes of text are encoded at once: enough for all threads, few enough to stop
/// promptly.
const BATCH_BYTES: usize = 4 << 20;

/// The maximum number of documents encoded at once.
const BATCH_DOCUMENTS: usize = 1 << 16;

/// The file layout of a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// `shard-00000.bin` with little-endian ids, and `shard-00000.idx.npy` with the end of each
    /// document.
    #[default]
    Sentitok,
    /// One `tokens.bin` of uint16, as nanoGPT reads it.
    NanoGpt,
    /// `shard-00000.bin` and `shard-00000.idx` of Megatron-LM.
    Megatron,
    /// `shard-00000.txt`: one document per line, ids in decimal.
    Text,
}

impl Layout {
    /// The layouts with their names.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("sentitok", Self::Sentitok),
        ("nanogpt", Self::NanoGpt),
        ("megatron", Self::Megatron),
        ("text", Self::Text),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, layout)| *layout == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, layout)| *layout).ok_or_else(|| {
            Error::Option {
                option: "layout",
                value: name.into(),
                reason: format!("it is one of {}", Self::NAMES.map(|(name, _)| name).join(", ")),
            }
        })
    }
}

/// How a corpus is written to files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DatasetOptions<'a> {
    /// The file layout.
    pub layout: Layout,
    /// The id written after each document; nanoGPT needs one.
    pub separator: Option<TokenId>,
    /// The maximum number of tokens in a shard; a longer document is a shard alone. For nanoGPT's
    /// single file, how often a point to resume from is recorded.
    pub shard_tokens: u64,
    /// Whether to resume the dataset in the directory.
    pub resume: bool,
    /// How texts are encoded.
    pub encode: EncodeOptions<'a>,
    /// The sources of the corpus. A run only resumes with the same sources.
    pub sources: Vec<SourceFile>,
}

impl DatasetOptions<'_> {
    /// 2^27 tokens, which are 256 or 512 MiB.
    pub const SHARD_TOKENS: u64 = 1 << 27;
}

impl Default for DatasetOptions<'_> {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            separator: None,
            shard_tokens: Self::SHARD_TOKENS,
            resume: true,
            encode: EncodeOptions { add_special_tokens: false, ..EncodeOptions::default() },
            sources: Vec::new(),
        }
    }
}

/// The result of [`encode_files`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// The manifest of the directory.
    pub manifest: Manifest,
    /// Counts of the input of this run; all 0 if the dataset was complete.
    pub tally: Tally,
    /// The number of documents from earlier runs.
    pub resumed_documents: u64,
}

/// Encodes all documents of a source into files in `dir`.
///
/// ```
/// use sentitok::corpus::{InvalidUtf8, IterSource};
/// use sentitok::dataset::{DatasetOptions, encode_files};
/// use sentitok::{Progress, Tokenizer};
/// let file = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}"#;
/// let tokenizer = Tokenizer::from_bytes(file.as_bytes())?;
/// let dir = tempfile::tempdir().unwrap();
/// let mut source = IterSource::from_documents(["abab", "b"], InvalidUtf8::Error);
/// let options = DatasetOptions::default();
/// let summary = encode_files(&mut source, &tokenizer, dir.path(), &options, &mut Progress::silent())?;
/// assert_eq!((summary.manifest.documents, summary.manifest.tokens), (2, 3));
/// # Ok::<(), sentitok::Error>(())
/// ```
///
/// # Errors
/// Errors of reading and encoding; [`Error::Io`]; [`Error::NotRepresentable`] if ids do not fit the
/// layout; [`Error::Option`] if `resume` is set and the directory contains a different dataset;
/// [`Error::Cancelled`].
pub fn encode_files(
    source: &mut dyn Source,
    tokenizer: &Tokenizer,
    dir: &Path,
    options: &DatasetOptions<'_>,
    progress: &mut Progress<'_>,
) -> Result<Summary> {
    let _made = NewFolders::create(dir)?;
    let mut writer = DatasetWriter::create(dir, tokenizer, options)?;
    let resumed_documents = writer.documents();
    if writer.is_complete() {
        return Ok(Summary { manifest: writer.finish()?, tally: Tally::default(), resumed_documents });
    }
    let meter = source.meter();
    let mut reader =
        Reader { source, block: Block::default(), tally: Tally::default(), skip: resumed_documents };
    let mut tick = || progress.tick(Stage::Encode, meter.done(), meter.total());
    let shared = Mutex::new(&mut reader);
    let next = || shared.lock().unwrap_or_else(PoisonError::into_inner).next();
    // While one batch is encoded, the next one is read, decompressed and parsed by a thread,
    // because reading may wait for a pipe, and a request to stop must not.
    let (sender, batches) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        let ahead = parallel::spawn(scope, move || {
            while let Some(batch) = next().transpose() {
                let is_last = batch.is_err();
                if sender.send(batch).is_err() || is_last {
                    break;
                }
            }
        });
        if ahead.is_none() {
            while let Some(batch) = next()? {
                encode_batch(tokenizer, &batch, &options.encode, &mut writer, &mut tick)?;
            }
            return Ok(());
        }
        let result = loop {
            let encoded = match batches.recv_timeout(Progress::INTERVAL) {
                Ok(batch) => batch.and_then(|batch| {
                    encode_batch(tokenizer, &batch, &options.encode, &mut writer, &mut tick)
                }),
                Err(mpsc::RecvTimeoutError::Timeout) => tick(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break Ok(()),
            };
            if encoded.is_err() {
                break encoded;
            }
        };
        // The reader may be waiting for room in the channel, or for a pipe.
        drop(batches);
        if result.is_err() {
            meter.stop();
        }
        result
    })?;
    progress.report(Stage::Encode, meter.done(), meter.total())?;
    let tally = reader.tally;
    Ok(Summary { manifest: writer.finish()?, tally, resumed_documents })
}

/// The folders that a run made. The empty ones are removed at the end, so that a run that fails before
/// it writes a file leaves nothing.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    fn create(dir: &Path) -> Result<Self> {
        let missing = dir.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let folders = Self(missing.map(Path::to_path_buf).collect());
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
        Ok(folders)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = fs::remove_dir(folder); // it is not empty
        }
    }
}

/// Documents in order.
#[derive(Default)]
struct Batch {
    data: Vec<u8>,
    ends: Vec<usize>,
}

/// Reads documents from a source and skips those of earlier runs.
struct Reader<'a> {
    source: &'a mut dyn Source,
    block: Block,
    tally: Tally,
    skip: u64,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let mut batch = Batch::default();
        let Self { source, block, tally, skip } = self;
        while batch.data.len() < BATCH_BYTES && batch.ends.len() < BATCH_DOCUMENTS {
            if !source.fill(block)? {
                break;
            }
            block.for_each_document(tally, |document| {
                if *skip > 0 {
                    *skip -= 1;
                } else {
                    batch.data.extend_from_slice(document.as_bytes());
                    batch.ends.push(batch.data.len());
                }
                Ok(())
            })?;
        }
        Ok((!batch.ends.is_empty()).then_some(batch))
    }
}

fn encode_batch(
    tokenizer: &Tokenizer,
    batch: &Batch,
    options: &EncodeOptions<'_>,
    writer: &mut DatasetWriter,
    tick: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let starts = std::iter::once(0).chain(batch.ends.iter().copied());
    let documents: Vec<&[u8]> =
        starts.zip(&batch.ends).map(|(start, &end)| &batch.data[start..end]).collect();
    let options = EncodeOptions { spans: false, ..*options };
    if tokenizer.model().dropout().is_some() {
        // The seed depends on the document, not on its index in a batch.
        for document in documents {
            let seed = options.seed.wrapping_add(writer.documents().wrapping_mul(0xA076_1D64_78BD_642F));
            writer.push(&tokenizer.encode(document, EncodeOptions { seed, ..options })?.ids)?;
            tick()?;
        }
        return Ok(());
    }
    // The units of a batch are not those of the whole, so only the request to stop is passed on.
    let mut report = |_: Stage, _: u64, _: u64| tick().is_ok();
    let encoded = tokenizer.encode_batch_reporting(&documents, options, &mut Progress::new(&mut report))?;
    tick()?;
    for row in (0..encoded.len()).filter_map(|row| encoded.row(row)) {
        writer.push(encoded.ids.get(row).unwrap_or_default())?;
    }
    Ok(())
}
