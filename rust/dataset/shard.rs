//! The files of one shard that is being written.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Layout;
use super::index::{MegatronIndex, NpyIndex};
use super::manifest;
use crate::atomic::AtomicFile;
use crate::error::{Error, Result};
use crate::pipeline::hex;
use crate::vocab::TokenId;

/// The format of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
    Text,
}

impl Width {
    pub(super) fn of(dtype: &str) -> Self {
        match dtype {
            "uint16" => Self::Two,
            "text" => Self::Text,
            _ => Self::Four,
        }
    }

    /// Appends the ids of a document.
    pub(super) fn write(self, ids: &[TokenId], out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Two => {
                for &id in ids {
                    let id = u16::try_from(id)
                        .map_err(|_| Error::Internal(format!("id {id} is past the vocabulary's limit")))?;
                    out.extend_from_slice(&id.to_le_bytes());
                }
            }
            Self::Four => ids.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes())),
            Self::Text => {
                for (at, id) in ids.iter().enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(id.to_string().as_bytes());
                }
                out.push(b'\n');
            }
        }
        Ok(())
    }
}

enum Ids {
    Whole(AtomicFile),
    /// A file that grows over several runs, under a temporary name until it is complete.
    Growing(BufWriter<File>),
}

enum Index {
    Npy(NpyIndex),
    Megatron(MegatronIndex),
    None,
}

/// A shard that is being written.
pub(super) struct OpenShard {
    ids: Ids,
    index: Index,
    sha256: Sha256,
    path: PathBuf,
    index_path: Option<PathBuf>,
    pub(super) shard: manifest::Shard,
    buffer: Vec<u8>,
    width: Width,
}

/// The name of nanoGPT's file, and its name until it is complete.
pub(super) const NANO_GPT: &str = "tokens.bin";
pub(super) const NANO_GPT_PART: &str = ".tokens.bin.part";

impl OpenShard {
    /// Starts a shard. Keeps the first `bytes` of a growing file.
    pub(super) fn create(
        dir: &Path,
        layout: Layout,
        width: Width,
        number: usize,
        first_document: u64,
        bytes: u64,
    ) -> Result<Self> {
        let stem = format!("shard-{number:05}");
        let (file, index) = match layout {
            Layout::Sentitok => (format!("{stem}.bin"), Some(format!("{stem}.idx.npy"))),
            Layout::Megatron => (format!("{stem}.bin"), Some(format!("{stem}.idx"))),
            Layout::Text => (format!("{stem}.txt"), None),
            Layout::NanoGpt => (NANO_GPT.into(), None),
        };
        let path = dir.join(&file);
        let ids = if layout == Layout::NanoGpt {
            Ids::Growing(open_part(&dir.join(NANO_GPT_PART), bytes)?)
        } else {
            Ids::Whole(AtomicFile::create_beside(&path)?)
        };
        let index_path = index.as_ref().map(|name| dir.join(name));
        let index_file = match (layout, &index_path) {
            (Layout::Sentitok, Some(path)) => Index::Npy(NpyIndex::create(path)?),
            (Layout::Megatron, Some(path)) => {
                Index::Megatron(MegatronIndex::create(path, if width == Width::Two { 2 } else { 4 })?)
            }
            _ => Index::None,
        };
        let shard = manifest::Shard {
            file,
            index,
            first_document,
            documents: 0,
            tokens: 0,
            bytes: 0,
            sha256: String::new(),
            index_sha256: None,
        };
        let (sha256, buffer) = (Sha256::new(), Vec::new());
        Ok(Self { ids, index: index_file, sha256, path, index_path, shard, buffer, width })
    }

    /// Appends a document.
    pub(super) fn push(&mut self, ids: &[TokenId], separator: Option<TokenId>) -> Result<()> {
        let len = (ids.len() + usize::from(separator.is_some())) as u64;
        self.buffer.clear();
        match (self.width, separator) {
            (Width::Text, Some(separator)) => {
                let all: Vec<_> = ids.iter().copied().chain([separator]).collect();
                self.width.write(&all, &mut self.buffer)?;
            }
            _ => {
                self.width.write(ids, &mut self.buffer)?;
                if let Some(separator) = separator {
                    self.width.write(&[separator], &mut self.buffer)?;
                }
            }
        }
        match &mut self.ids {
            Ids::Whole(file) => {
                self.sha256.update(&self.buffer);
                file.write(&self.buffer)?;
            }
            Ids::Growing(file) => {
                file.write_all(&self.buffer).map_err(|error| Error::io(&self.path, error))?;
            }
        }
        match &mut self.index {
            Index::Npy(index) => index.push(len)?,
            Index::Megatron(index) => index.push(len)?,
            Index::None => {}
        }
        self.shard.documents += 1;
        self.shard.tokens += len;
        self.shard.bytes += self.buffer.len() as u64;
        Ok(())
    }

    /// Flushes the shard to the disk.
    pub(super) fn finish(self) -> Result<manifest::Shard> {
        let mut shard = self.shard;
        match self.index {
            Index::Npy(index) => index.finish()?,
            Index::Megatron(index) => index.finish()?,
            Index::None => {}
        }
        // Its first bytes are written last, so the hash needs another read.
        shard.index_sha256 = self.index_path.as_deref().map(sha256_of).transpose()?;
        match self.ids {
            Ids::Whole(file) => {
                file.finish()?;
                shard.sha256 = hex(&self.sha256.finalize());
            }
            Ids::Growing(mut file) => {
                let synced = file.flush().and_then(|()| file.get_ref().sync_all());
                synced.map_err(|error| Error::io(&self.path, error))?;
            }
        }
        Ok(shard)
    }
}

/// Opens a growing file, truncated to the bytes that are known to be valid.
fn open_part(path: &Path, bytes: u64) -> Result<BufWriter<File>> {
    let io = |error| Error::io(path, error);
    let mut options = OpenOptions::new();
    // Does not truncate yet, because the first `bytes` are kept.
    let mut file = options.create(true).write(true).truncate(false).open(path).map_err(io)?;
    let there = file.metadata().map_err(io)?.len();
    if there < bytes {
        return Err(Error::format(
            path.display().to_string(),
            format!("it has {there} bytes where the manifest says {bytes}; start over with `resume` off"),
        ));
    }
    file.set_len(bytes).map_err(io)?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(io)?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// SHA-256 of a file, read once.
pub(super) fn sha256_of(path: &Path) -> Result<String> {
    let io = |error| Error::io(path, error);
    let mut file = File::open(path).map_err(io)?;
    let (mut sha256, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&sha256.finalize())),
            Ok(n) => sha256.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io(error)),
        }
    }
}
