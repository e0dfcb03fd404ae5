//! `InputFile`: a file to read, on this machine or behind a URL.
//!
//! The crate has no client for the web or for object stores. A program that has one registers it by
//! [`set_remote_files`]; the Python package registers fsspec.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::{FileVersion, Meter};

/// How many bytes of a remote file are read at a time, so that a round trip does not matter.
pub const REMOTE_BLOCK_BYTES: usize = 8 << 20;

/// How many bytes of remote files are read ahead, of the current file and the files after it.
pub(super) const REMOTE_AHEAD_BYTES: u64 = 4 * REMOTE_BLOCK_BYTES as u64;

/// How often a reader that waits for a block checks for a request to stop.
const WAIT: Duration = Duration::from_millis(100);

/// A file behind a URL.
pub trait RemoteFile: Send {
    /// The size in bytes; `None` if it is not known.
    fn size(&self) -> Option<u64>;

    /// The version of the file in its store, such as an ETag; changes with its content.
    fn mark(&self) -> &str;

    /// Reads `length` bytes from `offset` on, fewer only at the end of the file. `None` after `wait`
    /// without them: the caller asks for the same bytes again. Nothing from `until` on is read ahead.
    ///
    /// # Errors
    /// Errors of the store.
    fn read_at(&mut self, offset: u64, length: usize, until: u64, wait: Duration) -> Result<Option<Bytes>>;

    /// Checks that the file has not changed since it was opened.
    ///
    /// # Errors
    /// An error if it has, or cannot be asked for.
    fn check(&mut self) -> Result<()>;
}

/// A block of a remote file.
pub type Bytes = Box<dyn AsRef<[u8]> + Send>;

/// A file behind a URL that is being opened.
pub trait OpeningFile: Send {
    /// Waits until the file is open.
    ///
    /// # Errors
    /// Errors of the store.
    fn opened(self: Box<Self>) -> Result<Box<dyn RemoteFile>>;
}

/// Files behind URLs.
pub trait RemoteFiles: Send + Sync {
    /// Begins to open a file, and to read its first `first_bytes` bytes.
    ///
    /// # Errors
    /// Errors of the store; most come from [`OpeningFile::opened`].
    fn open(&self, url: &str, first_bytes: usize) -> Result<Box<dyn OpeningFile>>;

    /// The sizes of files in bytes; `None` if the server does not send them.
    ///
    /// # Errors
    /// Errors of the store.
    fn sizes(&self, urls: &[&str]) -> Result<Vec<Option<u64>>>;
}

static FILES: OnceLock<Box<dyn RemoteFiles>> = OnceLock::new();

/// Registers what reads files behind URLs. The first one stays.
pub fn set_remote_files(files: Box<dyn RemoteFiles>) {
    let _ = FILES.set(files);
}

/// An error of a store, as what reads it raised it.
#[derive(Debug)]
pub struct RemoteError(pub Box<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for RemoteError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for RemoteError {}

/// Whether an error is one of a store, not of this machine.
pub(super) fn is_remote(error: &Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<RemoteError>())
}

/// The URL that a path is: `scheme://` with a scheme of at least two letters, as `C://` is a drive.
pub fn url_of(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte));
    is_scheme.then_some(text)
}

/// A file that is read.
pub(super) enum InputFile {
    Local(File),
    Remote(RemoteReader),
}

/// The position in a remote file, and the block there.
pub(super) struct RemoteReader {
    file: Box<dyn RemoteFile>,
    meter: Arc<Meter>,
    offset: u64,
    /// Where reading ends, if that is before the end of the file.
    end: u64,
    /// How many bytes are read at a time.
    block_bytes: usize,
    block: Option<(u64, Bytes)>,
    checked: bool,
}

/// A file that is read soon: one behind a URL is being opened.
pub(super) struct OpeningInput {
    remote: Option<Box<dyn OpeningFile>>,
    block_bytes: usize,
}

impl OpeningInput {
    /// Begins to open a file, of which `block_bytes` bytes are read at a time if it is remote.
    pub fn new(path: &Path, block_bytes: usize) -> Result<Self> {
        let remote = url_of(path).map(|url| remote_files()?.open(url, block_bytes)).transpose()?;
        Ok(Self { remote, block_bytes })
    }

    /// Waits until the file at this path is open.
    pub fn opened(self, path: &Path, meter: &Arc<Meter>) -> Result<InputFile> {
        let Some(remote) = self.remote else { return File::open(path).map(InputFile::Local) };
        Ok(InputFile::Remote(RemoteReader {
            file: remote.opened()?,
            meter: meter.clone(),
            offset: 0,
            end: u64::MAX,
            block_bytes: self.block_bytes,
            block: None,
            checked: false,
        }))
    }
}

impl InputFile {
    /// Opens a file, of which `block_bytes` bytes are read at a time if it is remote.
    pub fn open(path: &Path, block_bytes: usize, meter: &Arc<Meter>) -> Result<Self> {
        OpeningInput::new(path, block_bytes)?.opened(path, meter)
    }

    /// Sets how many bytes of a remote file are read at a time: few to look at one place, else
    /// [`REMOTE_BLOCK_BYTES`].
    pub fn set_block_bytes(&mut self, block_bytes: usize) {
        if let Self::Remote(reader) = self {
            reader.block_bytes = block_bytes;
        }
    }

    /// Sets where reading of a remote file ends.
    pub fn set_end(&mut self, end: u64) {
        if let Self::Remote(reader) = self {
            reader.end = end;
        }
    }

    /// The version of the file.
    pub fn version(&self) -> Result<FileVersion> {
        match self {
            Self::Local(file) => file.metadata().map(|metadata| FileVersion::of(&metadata)),
            Self::Remote(RemoteReader { file, .. }) => {
                Ok(FileVersion { size: file.size().unwrap_or(0), mark: file.mark().to_owned() })
            }
        }
    }

    /// The sizes of files with URLs; `None` if the server does not send them.
    pub fn remote_sizes(urls: &[&str]) -> Result<Vec<Option<u64>>> {
        if urls.is_empty() { Ok(Vec::new()) } else { remote_files()?.sizes(urls) }
    }

    /// Ends the file at `end`.
    pub fn until(mut self, end: u64) -> Result<Box<dyn Read + Send>> {
        match &mut self {
            Self::Local(file) => {
                let at = file.stream_position()?;
                let Self::Local(file) = self else { unreachable!("matched above") };
                Ok(Box::new(file.take(end.saturating_sub(at))))
            }
            Self::Remote(_) => {
                self.set_end(end);
                Ok(Box::new(self))
            }
        }
    }
}

/// The size and the mark of the file behind a URL; `None` if they are not known.
#[cfg(feature = "train")]
pub(crate) fn remote_version(url: &str) -> Result<Option<(u64, String)>> {
    let file = remote_files()?.open(url, 1)?.opened()?;
    let mark = file.mark().to_owned();
    Ok(file.size().map(|size| (size, mark)).filter(|version| !version.1.is_empty()))
}

fn remote_files() -> Result<&'static dyn RemoteFiles> {
    FILES.get().map(Box::as_ref).ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            "a URL, and no reader of URLs is registered; download the file and name that",
        )
    })
}

impl RemoteReader {
    /// The block in which the position is, or `None` at the end.
    fn at_block(&mut self) -> Result<Option<&[u8]>> {
        // An empty block is the end of the file.
        let holds = |(start, bytes): &(u64, Bytes), offset| {
            let length = (**bytes).as_ref().len() as u64;
            (*start..*start + length).contains(&offset) || (length == 0 && *start == offset)
        };
        if self.offset >= self.end {
            return Ok(None);
        }
        if !self.block.as_ref().is_some_and(|block| holds(block, self.offset)) {
            self.block = None;
            let length = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX).min(self.block_bytes);
            let bytes = loop {
                if let Some(bytes) = self.file.read_at(self.offset, length, self.end, WAIT)? {
                    break bytes;
                }
                if self.meter.is_stopped() {
                    return Err(Error::other("stopped"));
                }
            };
            self.block = Some((self.offset, bytes));
        }
        let Some((start, bytes)) = &self.block else { return Ok(None) };
        let used = (self.offset - start) as usize;
        let bytes = (**bytes).as_ref();
        let limit = usize::try_from(self.end - start).unwrap_or(usize::MAX).min(bytes.len());
        Ok(bytes.get(used..limit).filter(|rest| !rest.is_empty()))
    }
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let reader = match self {
            Self::Local(file) => return file.read(buffer),
            Self::Remote(reader) => reader,
        };
        let n = match reader.at_block()? {
            Some(rest) => {
                let n = rest.len().min(buffer.len());
                buffer[..n].copy_from_slice(&rest[..n]);
                n
            }
            None => 0,
        };
        if n == 0 && !buffer.is_empty() && !reader.checked {
            reader.file.check()?;
            reader.checked = true;
        }
        reader.offset += n as u64;
        Ok(n)
    }
}

impl Seek for InputFile {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let reader = match self {
            Self::Local(file) => return file.seek(to),
            Self::Remote(reader) => reader,
        };
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => reader.offset.checked_add_signed(by),
            SeekFrom::End(by) => reader.file.size().and_then(|size| size.checked_add_signed(by)),
        };
        reader.offset =
            offset.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a position outside of the file"))?;
        Ok(reader.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_distinguished_from_paths() {
        for (path, expected) in [
            ("s3://bucket/key", true),
            ("simplecache::s3://bucket/key", true),
            ("C://x", false),
            ("/a/b://c", false),
            ("a.txt", false),
            ("://x", false),
            ("-", false),
        ] {
            assert_eq!(url_of(Path::new(path)).is_some(), expected, "{path}");
        }
    }

    /// A file in memory that needs two questions for each block.
    struct Slow(Vec<u8>, bool, Arc<std::sync::atomic::AtomicUsize>);

    impl RemoteFile for Slow {
        fn size(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }

        fn mark(&self) -> &str {
            "1"
        }

        fn read_at(&mut self, offset: u64, length: usize, _: u64, _: Duration) -> Result<Option<Bytes>> {
            self.1 = !self.1;
            if self.1 {
                return Ok(None);
            }
            let start = (offset as usize).min(self.0.len());
            let end = start.saturating_add(length.min(7)).min(self.0.len());
            Ok(Some(Box::new(self.0[start..end].to_vec())))
        }

        fn check(&mut self) -> Result<()> {
            self.2.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn ranges_and_seeks_give_the_bytes_of_the_file_and_check_it_once() {
        let data: Vec<u8> = (0..100).collect();
        for (start, end) in [(0, u64::MAX), (0, 100), (3, 50), (3, 3), (99, 100), (100, 200)] {
            let checks = Arc::default();
            let mut file = InputFile::Remote(RemoteReader {
                file: Box::new(Slow(data.clone(), false, Arc::clone(&checks))),
                meter: Arc::default(),
                offset: 0,
                end: u64::MAX,
                block_bytes: REMOTE_BLOCK_BYTES,
                block: None,
                checked: false,
            });
            assert_eq!(file.seek(SeekFrom::Start(50)).unwrap(), 50);
            assert_eq!(file.read(&mut [0; 3]).unwrap(), 3);
            assert_eq!(file.seek(SeekFrom::Start(start)).unwrap(), start);
            let mut read = Vec::new();
            file.until(end).unwrap().read_to_end(&mut read).unwrap();
            let end = end.min(100) as usize;
            assert_eq!(read, data.get(start as usize..end).unwrap_or_default(), "{start}..{end}");
            assert_eq!(checks.load(std::sync::atomic::Ordering::Relaxed), 1);
        }
    }
}
