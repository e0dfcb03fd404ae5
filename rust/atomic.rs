//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name in its own directory, brought to
//! the disk, then renamed. A reader never sees half of it, a killed process
//! leaves at most a file whose name begins with a dot.

use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A file being written.
pub(crate) struct AtomicFile {
    file: BufWriter<tempfile::NamedTempFile>,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts the file that will be at `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        refuse_devices(path)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".sentitok-");
        #[cfg(unix)]
        {
            // As any new file, less the umask; temporary files are private.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(directory(path)).map_err(|error| Error::io(path, error))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 16, file), path: path.to_path_buf() })
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| Error::io(&self.path, error))
    }

    /// Writes over the first bytes, then goes on at the end.
    pub(crate) fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        let io = |error| Error::io(&self.path, error);
        self.file.seek(SeekFrom::Start(0)).map_err(io)?;
        self.file.write_all(bytes).map_err(io)?;
        self.file.seek(SeekFrom::End(0)).map_err(io)?;
        Ok(())
    }

    /// The directory the file will be in.
    pub(crate) fn dir(&self) -> &Path {
        directory(&self.path)
    }

    /// Puts the file under its name.
    pub(crate) fn finish(self) -> Result<()> {
        let path = self.path;
        let file = self.file.into_inner().map_err(|error| Error::io(&path, error.into_error()))?;
        file.as_file().sync_all().map_err(|error| Error::io(&path, error))?;
        file.persist(&path).map_err(|error| Error::io(&path, error.error))?;
        Ok(())
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."))
}

/// Refuses a device, a pipe or a socket: the renamed file would take its place.
fn refuse_devices(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let reason = "is a device or a pipe, which a file would replace; name a file";
            Err(Error::io(path, std::io::Error::new(std::io::ErrorKind::AlreadyExists, reason)))
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
