//! Corpora as token ids on disk, for training models.
//!
//! Documents are encoded in order by all threads and written as they come, so
//! memory does not grow with the corpus. Files appear whole: a killed run goes
//! on after its last finished shard and ends with the same bytes. Shard borders
//! follow from documents and tokens alone, never from threads or blocks.
//!
//! Readers: `sentitok.datasets` (Python), numpy.memmap, nanoGPT, Megatron.

mod index;
mod manifest;
mod shard;
mod writer;

use std::path::Path;
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

/// About how many bytes of text are encoded at once: enough to keep the
/// threads busy, little enough to answer a request to stop.
const BATCH_BYTES: usize = 4 << 20;

/// Documents encoded at once, however short.
const BATCH_DOCUMENTS: usize = 1 << 16;

/// What files are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// `shard-00000.bin` with little-endian ids and `shard-00000.idx.npy` with
    /// the end of each document.
    #[default]
    Sentitok,
    /// One `tokens.bin` of uint16, as nanoGPT reads it.
    NanoGpt,
    /// `shard-00000.bin` and `shard-00000.idx` of Megatron-LM.
    Megatron,
    /// `shard-00000.txt`: a document a line, ids in decimal.
    Text,
}

impl Layout {
    /// The layouts by name.
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

/// How a corpus becomes files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DatasetOptions<'a> {
    /// What files are written.
    pub layout: Layout,
    /// Put after each document; nanoGPT needs one.
    pub separator: Option<TokenId>,
    /// The most tokens of a shard; a longer document is a shard of its own. For
    /// nanoGPT's one file, how often a place to resume from is kept.
    pub shard_tokens: u64,
    /// Whether to continue what lies in the directory.
    pub resume: bool,
    /// How texts are encoded.
    pub encode: EncodeOptions<'a>,
    /// What the corpus is, so that a run continues only with the same.
    pub sources: Vec<SourceFile>,
}

impl DatasetOptions<'_> {
    /// A shard of 2^27 tokens has 256 or 512 MiB.
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

/// What [`encode_files`] did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// What lies in the directory now.
    pub manifest: Manifest,
    /// What reading met; zeros if everything was there already.
    pub tally: Tally,
    /// Documents that were there already.
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
/// What reading and encoding can meet; [`Error::Io`];
/// [`Error::NotRepresentable`] when ids do not fit the layout;
/// [`Error::Option`] when the directory holds another dataset and `resume` is
/// set; [`Error::Cancelled`].
pub fn encode_files(
    source: &mut dyn Source,
    tokenizer: &Tokenizer,
    dir: &Path,
    options: &DatasetOptions<'_>,
    progress: &mut Progress<'_>,
) -> Result<Summary> {
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
    // One batch is read, unpacked and parsed while the one before it is encoded.
    // Reading may wait for a pipe; a caller that asks to stop should not.
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
        // The reader may wait for a full channel, or for a pipe.
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

/// Documents, one after the other.
#[derive(Default)]
struct Batch {
    data: Vec<u8>,
    ends: Vec<usize>,
}

/// Takes documents out of a source, without those that are done.
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
        // The seed goes by the document, not by its place in a batch.
        for document in documents {
            let seed = options.seed.wrapping_add(writer.documents().wrapping_mul(0xA076_1D64_78BD_642F));
            writer.push(&tokenizer.encode(document, EncodeOptions { seed, ..options })?.ids)?;
            tick()?;
        }
        return Ok(());
    }
    // The units of a batch are not those of the whole; only that there is progress is taken over.
    let mut report = |_: Stage, _: u64, _: u64| tick().is_ok();
    let encoded = tokenizer.encode_batch_reporting(&documents, options, &mut Progress::new(&mut report))?;
    tick()?;
    for row in (0..encoded.len()).filter_map(|row| encoded.row(row)) {
        writer.push(encoded.ids.get(row).unwrap_or_default())?;
    }
    Ok(())
}
