//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name in its own directory, brought to
//! the disk, then renamed; the directory is brought to the disk as well. A
//! reader never sees half of it.
//!
//! A temporary name is `.sentitok-NAME-XXXXXX` of a file `NAME`, and is locked
//! while its writer lives. The lock ends with the process however that ends,
//! so what can be locked was left behind: the next writer of `NAME` removes
//! it. Where the file system has no locks, nothing is removed.

mod stale_temp_files;

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

pub(crate) use crate::atomic::stale_temp_files::remove_leftovers;
use crate::atomic::stale_temp_files::{SUFFIX_CHARS, prefix_of, short};
use crate::error::{Error, Result};

/// A file being written.
pub(crate) struct AtomicFile {
    file: BufWriter<File>,
    /// Removes the file unless it is renamed.
    temporary_name: TemporaryName,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts the file that will be at `path`; removes what a killed writer of it left.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let name = short(path.file_name().unwrap_or_default());
        remove_leftovers(directory(path), |target| target == name);
        Self::create_beside(path)
    }

    /// [`AtomicFile::create`] where [`remove_leftovers`] has been called for
    /// the whole directory.
    pub(crate) fn create_beside(path: &Path) -> Result<Self> {
        refuse_devices(path)?;
        let (file, temporary_name) = temporary(path).map_err(|error| Error::io(path, error))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 16, file), temporary_name, path: path.to_path_buf() })
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::io(&self.path, error))
    }

    /// Writes over the first bytes, then continues at the end.
    #[cfg(feature = "corpus")]
    pub(crate) fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        use std::io::{Seek, SeekFrom};

        let io = |error| Error::io(&self.path, error);
        self.file.seek(SeekFrom::Start(0)).map_err(io)?;
        self.file.write_all(bytes).map_err(io)?;
        self.file.seek(SeekFrom::End(0)).map_err(io)?;
        Ok(())
    }

    /// Puts the file under its name.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { file, temporary_name, path } = self;
        let io = |error| Error::io(&path, error);
        // Open until it is renamed: the lock goes with it.
        let file = file.into_inner().map_err(|error| io(error.into_error()))?;
        file.sync_all().map_err(io)?;
        temporary_name.persist(&path).map_err(io)?;
        sync_directory(directory(&path))
    }
}

/// Renames a file within its directory, and brings that to the disk.
#[cfg(feature = "corpus")]
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|error| Error::io(to, error))?;
    sync_directory(directory(to))
}

/// Brings the names in a directory to the disk: without it a crash of the
/// machine may undo a rename whose file is on the disk.
fn sync_directory(dir: &Path) -> Result<()> {
    // Only Unix opens directories; elsewhere the system keeps names in order.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(dir).and_then(|opened| opened.sync_all()) {
        // A directory one may write to but not read, or a file system that
        // knows no such call: the file is in place all the same.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result.map_err(|error| Error::io(dir, error)),
    }
}

pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."))
}

/// The name of a temporary file, which is removed with it.
struct TemporaryName(PathBuf);

impl TemporaryName {
    /// Renames the file, which is then no longer temporary.
    fn persist(mut self, path: &Path) -> std::io::Result<()> {
        std::fs::rename(&self.0, path)?;
        self.0 = PathBuf::new();
        Ok(())
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // A file that cannot be removed stays for the next writer of its target.
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// A locked file next to `path`.
fn temporary(path: &Path) -> std::io::Result<(File, TemporaryName)> {
    let prefix = prefix_of(path.file_name().unwrap_or_default());
    loop {
        let mut name = prefix.clone();
        name.push(random_suffix());
        let temporary_name = directory(path).join(name);
        // With the permissions of any new file, less the umask.
        let file = match File::options().read(true).write(true).create_new(true).open(&temporary_name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        let temporary_name = TemporaryName(temporary_name);
        // Before the lock is there, another writer of the same name may take
        // the file for one left behind: then it holds the lock, or the name is gone.
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => {}
            _ if temporary_name.0.exists() => return Ok((file, temporary_name)),
            _ => {}
        }
    }
}

/// Letters and digits that differ from call to call and from process to process.
fn random_suffix() -> String {
    const CHARS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // The standard library seeds each of these differently.
    let mut number = RandomState::new().hash_one(0);
    let mut next = || {
        let c = CHARS[(number % 36) as usize];
        number /= 36;
        char::from(c)
    };
    (0..SUFFIX_CHARS).map(|_| next()).collect()
}

/// A file in `dir` without a name, which vanishes with the process.
#[cfg(feature = "corpus")]
pub(crate) fn scratch(dir: &Path) -> Result<File> {
    tempfile::tempfile_in(dir).map_err(|error| Error::io(dir, error))
}

/// Refuses a device, a pipe or a socket: the renamed file would take its place.
fn refuse_devices(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let reason = "is a device or a pipe, which a file would replace; name a file";
            Err(Error::io(path, std::io::Error::new(ErrorKind::AlreadyExists, reason)))
        }
        _ => Ok(()),
    }
}

/// Writes a whole file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write(bytes)?;
    file.finish()
}
