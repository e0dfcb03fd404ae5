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
        let dir = match path.parent() {
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".sentitok-");
        #[cfg(unix)]
        {
            // As any new file, less the umask; temporary files are private.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(dir).map_err(|error| Error::io(path, error))?;
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

    /// Puts the file under its name.
    pub(crate) fn finish(self) -> Result<()> {
        let path = self.path;
        let file = self.file.into_inner().map_err(|error| Error::io(&path, error.into_error()))?;
        file.as_file().sync_all().map_err(|error| Error::io(&path, error))?;
        file.persist(&path).map_err(|error| Error::io(&path, error.error))?;
        Ok(())
    }
}

/// Writes a whole file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write(bytes)?;
    file.finish()
}
