//! `Checkpoint`: a folder from which a training that was stopped or killed resumes, with the same
//! result.
//!
//! The folder holds one file, which is replaced atomically and lists everything else:
//!
//! - While text is counted: the counts of the parts that were read, a count file each, and where
//!   reading continues. A part is at least as long as the interval between two saves.
//! - While the model is trained: the SHA-256 of the counts, and the merges made so far (BPE,
//!   WordPiece) or the pieces that remain with their scores (Unigram). Merges are made again on each
//!   distinct piece (`replay`), and Unigram finds its seeds again, which takes less time
//!   than training.
//!
//! - While superwords are trained: also the counts of the parts that were read again for them
//!   (`Purpose`), the SHA-256 of the segments, and the superwords made so far.
//!
//! Counts are only stored if counting took longer than the interval; otherwise the text is counted
//! again. Options, inputs and counts are compared before training resumes, and all bytes are
//! verified by SHA-256.

mod option_text;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use option_text::shown;
pub(crate) use option_text::{OptionText, Options, piece_options};

use crate::atomic;
use crate::corpus::word_counts::{self, CountOptions, WordCounts};
use crate::corpus::{FileOptions, FileSource, FileVersion, remote_version, url_of};
use crate::error::{Error, Result};
use crate::pipeline::{Pipeline, hex};
use crate::progress::{Progress, Stage};
use crate::trainers::pair_merging::Merge;
use crate::vocab::TokenId;

/// The file that lists everything.
const FILE: &str = "training.checkpoint";
/// Locked while a process trains.
const LOCK: &str = "training.lock";
/// How the name of a part begins; a number follows.
const PART: &str = "counts-";
/// The first line of the file: this, the version of the format, and the SHA-256 of the rest.
const MAGIC: &str = "#sentitok-checkpoint ";
const VERSION: &str = "1";

/// Reading can pause after about this many bytes.
const INPUT_BYTES: u64 = 1 << 23;
/// So many parts are merged into one, so that their size on disk stays near that of all counts.
const MAX_PARTS: usize = 32;
/// A save waits until at least this many times the duration of the last one has passed.
const PATIENCE: u32 = 50;
/// How long a stop waits until reading can pause. Then the part is lost.
const GRACE: Duration = Duration::from_secs(5);

/// A folder from which training resumes.
///
/// Opening it and training give [`Error::Option`] if nothing should be resumed and something is
/// saved there; if options (without those for speed and memory), text or counts differ from the
/// saved ones; and if another process uses the folder. They give [`Error::Format`] for a damaged
/// file, [`Error::Version`] for one of another release, and [`Error::Io`].
///
/// ```
/// use sentitok::corpus::FileOptions;
/// use sentitok::corpus::word_counts::CountOptions;
/// use sentitok::{BpeTrainer, Pipeline, PreTokenizer, Progress};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let (text, dir) = (folder.path().join("text.txt"), folder.path().join("checkpoint"));
/// # std::fs::write(&text, "It was good, and it was short.").unwrap();
/// let mut trainer = BpeTrainer::default();
/// trainer.vocab_size = 260;
/// let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2")?);
/// // Run again after a kill, the same lines continue where they were.
/// let mut checkpoint = trainer.checkpoint(&dir, true)?;
/// let (files, options) = (FileOptions::default(), CountOptions::default());
/// let counts = checkpoint.count(&[&text], files, &pipeline, &options, &mut Progress::silent())?;
/// let trained = trainer.train_resumable(&counts, &mut checkpoint, &mut Progress::silent())?;
/// assert_eq!(trained.merges.len(), 4);
/// // Save the tokenizer, then delete the checkpoint.
/// drop(checkpoint);
/// sentitok::trainers::checkpoint::remove(&dir)?;
/// # Ok::<(), sentitok::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint {
    dir: PathBuf,
    saved: Saved,
    /// Keeps other processes out until it is dropped.
    _lock: File,
    every: Duration,
    last: Instant,
    cost: Duration,
    resumed: Option<String>,
    /// Whether [`Checkpoint::count`] gave the counts.
    is_counted: bool,
    /// Whether merges that are saved are superwords.
    joins: bool,
    /// After so many writes, a test stops the process.
    #[cfg(test)]
    writes_left: usize,
}

/// What a text is read for: the pieces, or the readings of
/// [`SuperwordTraining`](crate::trainers::superwords::SuperwordTraining).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Pieces,
    Neighbours,
    Segments,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Pieces => "pieces",
            Self::Neighbours => "neighbours",
            Self::Segments => "segments",
        }
    }
}

/// Reads and counts a part of the files for a [`Purpose`].
pub(crate) type CountPart<'a> =
    dyn FnMut(&mut FileSource, &CountOptions, &mut Progress) -> Result<WordCounts> + 'a;

/// The contents of the file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    /// The release that wrote it. Another one may train differently.
    release: String,
    trainer: String,
    options: BTreeMap<String, String>,
    text: Option<SavedText>,
    /// SHA-256 of all counts, once they are known.
    counts: Option<String>,
    state: Option<State>,
    /// How far the text was read for superwords, by purpose.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    superword_texts: BTreeMap<String, SavedText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    superwords: Option<SavedSuperwords>,
}

/// The second phase of superwords.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSuperwords {
    /// Segments hold no neighbours that are rarer.
    least: u64,
    /// SHA-256 of all segments, once they are known.
    segments: Option<String>,
    merges: Vec<SavedMerge>,
}

/// Left, right and resulting id, and count.
type SavedMerge = (TokenId, TokenId, TokenId, u64);

/// How far text was counted.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedText {
    options: BTreeMap<String, String>,
    files: Vec<SavedFile>,
    /// The number of inputs that were counted, and of all.
    done: u64,
    total: u64,
    parts: Vec<Part>,
}

/// A file of text.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedFile {
    path: PathBuf,
    size: u64,
    /// When it was changed, in nanoseconds since 1970; of a URL, what the store says of its version.
    version: String,
}

/// A count file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    number: u64,
    sha256: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Merges(Vec<SavedMerge>),
    Round(SavedRound),
}

/// A round of Unigram training.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedRound {
    /// The seeds that remain, by number.
    pub(crate) seeds: Vec<u32>,
    /// The bits of their scores.
    pub(crate) scores: Vec<u64>,
    pub(crate) n_steps: usize,
    pub(crate) is_last: bool,
}

impl Checkpoint {
    /// The default time between two saves.
    pub const EVERY: Duration = Duration::from_secs(60);

    /// Opens the folder, and creates it if necessary. With `resume`, training continues from the
    /// saved state, or begins if there is none.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub(crate) fn open(dir: &Path, resume: bool, trainer: &str, options: &Options<'_>) -> Result<Self> {
        if let Some(url) = url_of(dir) {
            return Err(Error::Option {
                option: "checkpoint",
                value: without_secrets(url),
                reason: "it is a folder of this machine, which is written often; name a local one".to_owned(),
            });
        }
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
        let asked = Saved {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            trainer: trainer.to_owned(),
            options: named(options),
            ..Saved::default()
        };
        let mut checkpoint = Self {
            dir: dir.to_path_buf(),
            saved: asked,
            _lock: lock(dir)?,
            every: Self::EVERY,
            last: Instant::now(),
            cost: Duration::ZERO,
            resumed: None,
            is_counted: false,
            joins: false,
            #[cfg(test)]
            writes_left: usize::MAX,
        };
        let path = dir.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(checkpoint),
            Err(error) => return Err(Error::io(path, error)),
        };
        if !resume {
            return Err(checkpoint.refused(
                "it holds a training that was stopped; resume it, or delete the folder".to_owned(),
            ));
        }
        let saved = parse(&path, &bytes)?;
        if saved.release != checkpoint.saved.release {
            return Err(Error::Version {
                what: path.display().to_string(),
                found: saved.release,
                supported: checkpoint.saved.release,
            });
        }
        if saved.trainer != checkpoint.saved.trainer {
            let (before, asked) = (&saved.trainer, &checkpoint.saved.trainer);
            return Err(checkpoint.refused(format!(
                "it holds a training of {before}, not of {asked}; train the same, or give another folder"
            )));
        }
        checkpoint.compare_all(&saved.options, &checkpoint.saved.options)?;
        checkpoint.saved = saved;
        Ok(checkpoint)
    }

    /// Sets the time between two saves; zero saves after every step.
    pub fn set_every(&mut self, every: Duration) {
        self.every = every;
    }

    /// Where training was resumed, in words; `None` if it began.
    pub fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    /// Counts the pieces of files as [`word_counts::count`] does, and saves the counts so
    /// far. Text that was counted before is not read again.
    ///
    /// # Errors
    /// As [`word_counts::count`]; see [`Checkpoint`].
    pub fn count<P: AsRef<Path>>(
        &mut self,
        paths: &[P],
        files: FileOptions,
        pipeline: &Pipeline,
        options: &CountOptions,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        let mut count = |source: &mut FileSource, options: &CountOptions, progress: &mut Progress| {
            word_counts::count(source, pipeline, options, progress)
        };
        self.count_for(Purpose::Pieces, paths, files, (pipeline, options), &mut count, progress)
    }

    /// [`Checkpoint::count`] for a purpose, whose counts `count` makes of the files.
    ///
    /// # Errors
    /// As `count`; see [`Checkpoint`].
    pub(crate) fn count_for<P: AsRef<Path>>(
        &mut self,
        purpose: Purpose,
        paths: &[P],
        files: FileOptions,
        counting: (&Pipeline, &CountOptions),
        count: &mut CountPart<'_>,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        self.count_inputs(purpose, paths, files, counting, INPUT_BYTES, count, progress)
    }

    #[allow(clippy::too_many_arguments, reason = "2026-11: tests set the size of inputs")]
    fn count_inputs<P: AsRef<Path>>(
        &mut self,
        purpose: Purpose,
        paths: &[P],
        files: FileOptions,
        (pipeline, options): (&Pipeline, &CountOptions),
        input_bytes: u64,
        count: &mut CountPart<'_>,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        let saved = files_of(paths)?;
        let mut text =
            SavedText { options: text_options(&files, pipeline, options)?, ..SavedText::default() };
        let mut source = FileSource::new(paths, files)?;
        let Some(saved) = saved else {
            // A pipe cannot be read again, so only all of its counts are compared.
            return count(&mut source, options, progress);
        };
        text.files = saved;
        // A number of bytes is a share of all files, not of the rest.
        let sample = options.sample.map(|sample| sample.as_share(&source)).transpose()?;
        let options = &CountOptions { sample, ..options.clone() };
        source.cut_into(input_bytes, progress)?;
        text.total = source.n_left();
        let done = self.begin_text(purpose, text)?;
        source.skip(done);
        self.count_parts(purpose, source, options, count, progress)
    }

    /// Begins to count `total` shards of files that another package reads, in this format; returns
    /// how many were counted before. `None` if nothing says whether the files change: only all of
    /// their counts are compared.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    #[cfg(feature = "python")]
    pub(crate) fn begin_shards<P: AsRef<Path>>(
        &mut self,
        paths: &[P],
        format: &str,
        files: &FileOptions,
        pipeline: &Pipeline,
        options: &CountOptions,
        total: u64,
    ) -> Result<Option<u64>> {
        let Some(saved) = files_of(paths)? else { return Ok(None) };
        let mut named = text_options(files, pipeline, options)?;
        named.insert("format".to_owned(), format.to_owned());
        let text = SavedText { options: named, files: saved, total, ..SavedText::default() };
        self.begin_text(Purpose::Pieces, text).map(Some)
    }

    /// Compares the text with the one that was counted; returns how many inputs were counted.
    fn begin_text(&mut self, purpose: Purpose, text: SavedText) -> Result<u64> {
        self.is_counted = true;
        if let Some(before) = self.text(purpose) {
            self.compare_all(&before.options, &text.options)?;
            self.compare_files(&before.files, &text.files)?;
            if before.total != text.total {
                return Err(self.differ("number of inputs", before.total, text.total));
            }
        } else if purpose == Purpose::Pieces && self.saved.state.is_some() {
            return Err(self.refused("it was made from counts, not from files of text".to_owned()));
        }
        let text = match purpose {
            Purpose::Pieces => self.saved.text.get_or_insert(text),
            _ => self.saved.superword_texts.entry(purpose.name().to_owned()).or_insert(text),
        };
        if text.done > 0 {
            let what = match purpose {
                Purpose::Pieces => "",
                _ => ", read again for superwords",
            };
            self.resumed = Some(format!("after {} of {} parts of the text{what}", text.done, text.total));
        }
        let done = text.done;
        self.verify_parts(purpose)?;
        Ok(done)
    }

    /// Counts the rest of the text, part by part; returns the sum of all parts.
    fn count_parts(
        &mut self,
        purpose: Purpose,
        mut source: FileSource,
        options: &CountOptions,
        count: &mut CountPart<'_>,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        let pause = source.pause();
        while source.n_left() > 0 {
            pause.store(self.is_due(), Ordering::Relaxed);
            let mut stopped: Option<Instant> = None;
            let mut report = |stage, done, total| {
                if let Some(at) = stopped {
                    return stage != Stage::Count || at.elapsed() < GRACE;
                }
                if progress.report(stage, done, total).is_err() {
                    stopped = Some(Instant::now());
                }
                if stopped.is_some() || self.is_due() {
                    pause.store(true, Ordering::Relaxed);
                }
                true
            };
            let counts = count(&mut source, options, &mut Progress::new(&mut report))?;
            if source.n_left() == 0 && stopped.is_none() && self.parts(purpose).is_empty() {
                return Ok(counts);
            }
            self.save_part(purpose, &counts, source.n_left())?;
            if stopped.is_some() {
                return Err(Error::Cancelled);
            }
        }
        self.sum(purpose, options, progress)
    }

    /// The sum of all parts.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub(crate) fn sum(
        &self,
        purpose: Purpose,
        options: &CountOptions,
        progress: &mut Progress,
    ) -> Result<WordCounts> {
        let parts = self.parts(purpose).iter();
        let paths: Vec<PathBuf> = parts.map(|part| self.part_path(part.number)).collect();
        WordCounts::load_sum(&paths, &options.temp_dir(), progress)
    }

    fn text(&self, purpose: Purpose) -> Option<&SavedText> {
        match purpose {
            Purpose::Pieces => self.saved.text.as_ref(),
            _ => self.saved.superword_texts.get(purpose.name()),
        }
    }

    fn text_mut(&mut self, purpose: Purpose) -> Option<&mut SavedText> {
        match purpose {
            Purpose::Pieces => self.saved.text.as_mut(),
            _ => self.saved.superword_texts.get_mut(purpose.name()),
        }
    }

    fn parts(&self, purpose: Purpose) -> &[Part] {
        self.text(purpose).map_or(&[], |text| &text.parts)
    }

    /// The parts of all purposes.
    fn all_parts(&self) -> impl Iterator<Item = &Part> {
        let texts = self.saved.text.iter().chain(self.saved.superword_texts.values());
        texts.flat_map(|text| &text.parts)
    }

    fn part_path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{PART}{number}"))
    }

    /// Saves the counts since the last part.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub(crate) fn save_part(&mut self, purpose: Purpose, counts: &WordCounts, n_left: u64) -> Result<()> {
        let started = Instant::now();
        let number = self.all_parts().map(|part| part.number + 1).max().unwrap_or(0);
        let path = self.part_path(number);
        counts.save(&path)?;
        let part = Part { number, sha256: sha256_of(&path)? };
        if let Some(text) = self.text_mut(purpose) {
            text.done = text.total - n_left;
            text.parts.push(part);
        }
        self.write()?;
        (self.cost, self.last) = (started.elapsed(), Instant::now());
        if self.parts(purpose).len() < MAX_PARTS {
            return Ok(());
        }
        let parts = self.parts(purpose).iter();
        let old: Vec<PathBuf> = parts.map(|part| self.part_path(part.number)).collect();
        let path = self.part_path(number + 1);
        word_counts::merge_files(&old, &path, 0, &mut Progress::silent())?;
        let part = Part { number: number + 1, sha256: sha256_of(&path)? };
        if let Some(text) = self.text_mut(purpose) {
            text.parts = vec![part];
        }
        self.write()?;
        (self.cost, self.last) = (started.elapsed(), Instant::now());
        old.iter().try_for_each(|path| remove_file(path))
    }

    /// Verifies the parts, and deletes unlisted and obsolete ones that a killed process left.
    fn verify_parts(&self, purpose: Purpose) -> Result<()> {
        let known: Vec<PathBuf> = self.all_parts().map(|part| self.part_path(part.number)).collect();
        for path in part_files(&self.dir)?.iter().filter(|path| !known.contains(path)) {
            remove_file(path)?;
        }
        for part in self.parts(purpose) {
            let path = self.part_path(part.number);
            if sha256_of(&path)? != part.sha256 {
                let reason = format!("is damaged; delete the folder {}", self.dir.display());
                return Err(Error::format(path.display().to_string(), reason));
            }
        }
        Ok(())
    }

    /// Compares the counts with the saved state, before training continues from it.
    pub(crate) fn begin(&mut self, counts: &WordCounts) -> Result<()> {
        if self.saved.text.is_some() && !self.is_counted {
            return Err(self.refused("it was made from files of text; give the same files".to_owned()));
        }
        let hash = counts.fingerprint()?;
        if self.saved.counts.as_ref().is_some_and(|before| *before != hash) {
            return Err(self.refused(
                "the counts of the text differ from those it was made from; give the same text, or another folder"
                    .to_owned(),
            ));
        }
        self.saved.counts = Some(hash);
        match &self.saved.state {
            Some(State::Merges(merges)) => self.resumed = Some(format!("after {} merges", merges.len())),
            Some(State::Round(round)) => {
                self.resumed = Some(format!("with {} pieces left", round.seeds.len()));
            }
            None => {}
        }
        Ok(())
    }

    /// The merges that were saved. They stay saved while superwords are trained.
    pub(crate) fn merges(&self) -> Vec<Merge> {
        let merges = match &self.saved {
            Saved { superwords: Some(superwords), .. } if self.joins => &superwords.merges,
            Saved { state: Some(State::Merges(merges)), .. } if !self.joins => merges,
            _ => return Vec::new(),
        };
        merges.iter().map(|&(left, right, id, count)| Merge { left, right, id, count }).collect()
    }

    /// The limit of the segments that were saved, if superwords are trained.
    pub(crate) fn least(&self) -> Option<u64> {
        self.saved.superwords.as_ref().map(|superwords| superwords.least)
    }

    /// Begins to count the segments of a limit; those of another limit are forgotten.
    pub(crate) fn begin_segments(&mut self, least: u64) {
        if self.least() != Some(least) {
            self.saved.superword_texts.remove(Purpose::Segments.name());
            self.saved.superwords = Some(SavedSuperwords { least, ..SavedSuperwords::default() });
        }
    }

    /// Compares the segments with the saved superwords, before training continues from them.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub(crate) fn begin_superwords(&mut self, segments: &WordCounts) -> Result<()> {
        let hash = segments.fingerprint()?;
        self.joins = true;
        let Some(superwords) = &mut self.saved.superwords else { return Ok(()) };
        let before = superwords.segments.replace(hash);
        if before.is_some() && before != superwords.segments {
            return Err(self.refused(
                "the order of the words differs from that of the text it was made from; give the same text, \
                 or another folder"
                    .to_owned(),
            ));
        }
        if !superwords.merges.is_empty() {
            self.resumed = Some(format!("after {} superwords", superwords.merges.len()));
        }
        Ok(())
    }

    /// The round that was saved.
    pub(crate) fn take_round(&mut self) -> Option<SavedRound> {
        match self.saved.state.take() {
            Some(State::Round(round)) => Some(round),
            _ => None,
        }
    }

    /// Whether it is time to save.
    pub(crate) fn is_due(&self) -> bool {
        self.every.is_zero() || self.last.elapsed() >= self.every.max(self.cost * PATIENCE)
    }

    /// Saves the merges made so far.
    pub(crate) fn save_merges(&mut self, merges: &[Merge]) -> Result<()> {
        let merges = merges.iter().map(|merge| (merge.left, merge.right, merge.id, merge.count)).collect();
        match &mut self.saved.superwords {
            Some(superwords) if self.joins => superwords.merges = merges,
            _ => self.saved.state = Some(State::Merges(merges)),
        }
        self.save()
    }

    /// Saves a round of Unigram.
    pub(crate) fn save_round(&mut self, round: SavedRound) -> Result<()> {
        self.saved.state = Some(State::Round(round));
        self.save()?;
        self.saved.state = None;
        Ok(())
    }

    fn save(&mut self) -> Result<()> {
        let started = Instant::now();
        self.write()?;
        (self.cost, self.last) = (started.elapsed(), Instant::now());
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let json = serde_json::to_string(&self.saved).map_err(|error| Error::Internal(error.to_string()))?;
        let hash = hex(&Sha256::digest(&json));
        atomic::write(&self.dir.join(FILE), format!("{MAGIC}{VERSION} {hash}\n{json}\n").as_bytes())?;
        #[cfg(test)]
        {
            self.writes_left = self.writes_left.saturating_sub(1);
            if self.writes_left == 0 {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    }

    fn refused(&self, reason: String) -> Error {
        Error::Option { option: "checkpoint", value: self.dir.display().to_string(), reason }
    }

    fn differ(&self, name: &str, saved: impl Display, asked: impl Display) -> Error {
        self.refused(format!(
            "it was made with {name} = {saved}, not {asked}; give the same, or another folder"
        ))
    }

    /// Compares options that have the same names.
    fn compare_all(&self, saved: &BTreeMap<String, String>, asked: &BTreeMap<String, String>) -> Result<()> {
        for (name, asked) in asked {
            let before = saved.get(name).map_or("nothing", String::as_str);
            if before != asked {
                return Err(self.differ(name, shown(name, before), shown(name, asked)));
            }
        }
        Ok(())
    }

    fn compare_files(&self, saved: &[SavedFile], asked: &[SavedFile]) -> Result<()> {
        for (before, now) in saved.iter().zip(asked) {
            if before.path != now.path {
                return Err(self.refused(format!(
                    "it was made from {}, not {}; give the same files in the same order",
                    before.path.display(),
                    now.path.display()
                )));
            }
            if before != now {
                return Err(self.refused(format!(
                    "{} has changed since; give another folder to begin again",
                    now.path.display()
                )));
            }
        }
        if saved.len() != asked.len() {
            return Err(self.differ("number of files", saved.len(), asked.len()));
        }
        Ok(())
    }
}

/// Deletes the checkpoint in a folder, and the folder if nothing else is in it.
///
/// # Errors
/// [`Error::Option`] if another process uses it; [`Error::Io`].
pub fn remove(dir: &Path) -> Result<()> {
    let lock = lock(dir)?;
    // Without this file the rest mean nothing.
    remove_file(&dir.join(FILE))?;
    for path in part_files(dir)? {
        remove_file(&path)?;
    }
    remove_file(&dir.join(LOCK))?;
    drop(lock);
    // It may hold files of other programs.
    let _ = fs::remove_dir(dir);
    Ok(())
}

/// Reads the file that lists everything.
fn parse(path: &Path, bytes: &[u8]) -> Result<Saved> {
    let name = || path.display().to_string();
    let damaged = || Error::format(name(), "is damaged or not a checkpoint; delete it to begin again");
    let text = std::str::from_utf8(bytes).map_err(|_| damaged())?;
    let (first, rest) = text.split_once('\n').ok_or_else(damaged)?;
    let (version, hash) =
        first.strip_prefix(MAGIC).and_then(|first| first.split_once(' ')).ok_or_else(damaged)?;
    if version != VERSION {
        let (found, supported) = (version.to_owned(), VERSION.to_owned());
        return Err(Error::Version { what: name(), found, supported });
    }
    let json = rest.strip_suffix('\n').ok_or_else(damaged)?;
    if hex(&Sha256::digest(json)) != hash {
        return Err(damaged());
    }
    serde_json::from_str(json).map_err(|_| damaged())
}

/// Locks a folder. Where the file system has no locks, the user must see to it.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| Error::io(&path, error))?;
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(Error::Option {
            option: "checkpoint",
            value: dir.display().to_string(),
            reason: "another process trains with it; wait for it, or give another folder".to_owned(),
        }),
        _ => Ok(file),
    }
}

fn named(options: &Options<'_>) -> BTreeMap<String, String> {
    options.iter().map(|(name, value)| ((*name).to_owned(), value.option_text())).collect()
}

/// The options that change counts.
fn text_options(
    files: &FileOptions,
    pipeline: &Pipeline,
    options: &CountOptions,
) -> Result<BTreeMap<String, String>> {
    let FileOptions { format, invalid_utf8, shard, byte_range, block_bytes: _, max_line_bytes: _ } = files;
    let CountOptions { threads: _, max_memory: _, max_piece_bytes: _, line_ends, sample, temp_dir: _ } =
        options;
    let max_piece_bytes = &options.max_piece_bytes(&pipeline.pre_tokenizer)?;
    let Pipeline { normalizer, pre_tokenizer } = pipeline;
    Ok(named(&vec![
        ("format", format),
        ("invalid_utf8", invalid_utf8),
        ("shard", shard),
        ("byte_range", byte_range),
        ("max_piece_bytes", max_piece_bytes),
        ("line_ends", line_ends),
        ("sample", &sample.map(|sample| sample.size)),
        ("seed", &sample.map(|sample| sample.seed)),
        ("normalizer", normalizer),
        ("pre_tokenizer", pre_tokenizer),
    ]))
}

/// A URL without user, password and query, which may hold credentials.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// The identity of files; `None` if one is a pipe, or behind a URL of which nothing is known.
fn files_of<P: AsRef<Path>>(paths: &[P]) -> Result<Option<Vec<SavedFile>>> {
    let mut files = Vec::new();
    for path in paths {
        let path = path.as_ref();
        if let Some(url) = url_of(path) {
            let found = remote_version(url).map_err(|error| Error::io(path, error))?;
            let Some((size, version)) = found else { return Ok(None) };
            files.push(SavedFile { path: without_secrets(url).into(), size, version });
            continue;
        }
        if path == Path::new("-") {
            return Ok(None);
        }
        let found = fs::metadata(path).map_err(|error| Error::io(path, error))?;
        if !found.is_file() {
            return Ok(None);
        }
        let FileVersion { size, mark: version } = FileVersion::of(&found);
        files.push(SavedFile { path: path.to_path_buf(), size, version });
    }
    Ok(Some(files))
}

fn sha256_of(path: &Path) -> Result<String> {
    let io = |error| Error::io(path, error);
    let mut file = File::open(path).map_err(io)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut file, &mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(io(error)),
        }
    }
}

/// The count files of a folder, those of a killed process among them.
fn part_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).map_err(|error| Error::io(dir, error))?;
    let is_part = |name: &str| {
        name.strip_prefix(PART).is_some_and(|end| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit()))
    };
    let paths = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_part));
    Ok(paths.map(|entry| entry.path()).collect())
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}
