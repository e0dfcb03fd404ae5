//! `ByteRange`: a part of the bytes of some files, and `FileVersion`, which detects whether a file
//! has changed.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::error::{Error, Result};

/// A part of files: the units that begin in a range of their bytes, counted over the files end to
/// end.
///
/// A unit is a line of a plain text or JSONL file, a row of CSV or TSV, or the whole file if units
/// cannot be found without decoding it (compressed files and [`Format::Text`](super::Format)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The end. A range that reaches the end of the files includes empty files there.
    pub stop: u64,
    /// Whether units begin at both ends, as between the offsets of [`cut_file`](super::cut_file).
    /// Otherwise they are searched, and the quotes of CSV are followed from the start of the file.
    pub aligned: bool,
    /// The expected version of each file; empty if that is not checked.
    pub versions: Vec<FileVersion>,
}

impl ByteRange {
    /// The units that begin in these bytes.
    ///
    /// # Errors
    /// [`Error::Option`] if `stop` is less than `start`.
    pub fn new(start: u64, stop: u64) -> Result<Self> {
        if start <= stop {
            return Ok(Self { start, stop, ..Self::default() });
        }
        Err(Error::Option {
            option: "byte_range",
            value: format!("({start}, {stop})"),
            reason: "it is written (start, stop), and stops before it starts".to_owned(),
        })
    }

    /// The range in files of `total` bytes.
    pub(super) fn within(&self, total: u64) -> std::ops::Range<u64> {
        let stop = if self.stop >= total { u64::MAX } else { self.stop };
        self.start..stop
    }
}

/// The size of a file, and a mark that changes with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// The size in bytes.
    pub size: u64,
    /// The time of modification in nanoseconds; of a remote file what its store says, such as an
    /// ETag.
    pub mark: String,
}

impl FileVersion {
    /// The version of a local file.
    pub fn of(metadata: &Metadata) -> Self {
        let nanoseconds = match metadata.modified().map(|time| time.duration_since(UNIX_EPOCH)) {
            Ok(Ok(after)) => after.as_nanos() as i128,
            Ok(Err(before)) => -(before.duration().as_nanos() as i128),
            // A system without such times is left with the size.
            Err(_) => 0,
        };
        Self { size: metadata.len(), mark: nanoseconds.to_string() }
    }

    /// Checks that a file, which is `now`, still is this version.
    ///
    /// # Errors
    /// [`Error::Format`] that names the file if it is not.
    pub(super) fn check(&self, path: &Path, now: &Self) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let how = match now.size == self.size {
            true => "it was modified".to_owned(),
            false => format!("it had {} bytes and has {}", self.size, now.size),
        };
        Err(Error::format(
            path.display().to_string(),
            format!("the file has changed since shards were planned: {how}; plan the shards again"),
        ))
    }
}
