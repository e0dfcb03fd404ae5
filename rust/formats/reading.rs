//! Reads the bytes of a tokenizer's file within limits.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::MAX_FILE_BYTES;
use crate::error::{Error, Result};
use crate::memory::{self, OF_READING};

/// Reads a file of at most [`MAX_FILE_BYTES`], and checks that its tables fit into memory.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = read_while(path, |_| true)?;
    memory::check_room(bytes.len(), OF_READING)?;
    Ok(bytes)
}

/// How many bytes are read before the format is decided.
pub(super) const START_BYTES: u64 = 1 << 20;

/// Reads a file of at most [`MAX_FILE_BYTES`], or only its start if that is not `wanted`. The
/// number of bytes read is limited in any case, because a device or a pipe reports no size.
pub(super) fn read_while(path: &Path, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
    let io = |error| Error::io(path, error);
    let mut file = fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    (&mut file).take(START_BYTES).read_to_end(&mut bytes).map_err(io)?;
    if (bytes.len() as u64) < START_BYTES || !wanted(&bytes) {
        return Ok(bytes);
    }
    let rest = file.metadata().map_err(io)?.len().clamp(START_BYTES, MAX_FILE_BYTES) - START_BYTES;
    // Room for one byte more, so that the read at the end of the file does not grow the buffer.
    bytes.try_reserve_exact(rest as usize + 1).map_err(|error| io(error.into()))?;
    file.take(MAX_FILE_BYTES + 1 - START_BYTES).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::format(
            path.display().to_string(),
            format!("it continues after {MAX_FILE_BYTES} bytes, the most that a tokenizer has"),
        ));
    }
    Ok(bytes)
}
