//! The index of document ends: numpy's .npy and Megatron-LM's .idx.
//!
//! Both are written as documents arrive, in constant memory. Layouts: numpy's format 1.0;
//! `megatron/core/datasets/indexed_dataset.py`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::atomic::{self, AtomicFile};
use crate::error::{Error, Result};

/// An array of int64 with the end of each document, in tokens.
pub(super) struct NpyIndex {
    file: AtomicFile,
    documents: u64,
    tokens: u64,
}

impl NpyIndex {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let mut file = AtomicFile::create_beside(path)?;
        file.write(&npy_header(0))?;
        Ok(Self { file, documents: 0, tokens: 0 })
    }

    pub(super) fn push(&mut self, len: u64) -> Result<()> {
        self.documents += 1;
        self.tokens += len;
        self.file.write(&(self.tokens as i64).to_le_bytes())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.file.write_at_start(&npy_header(self.documents))?;
        self.file.finish()
    }
}

/// A header of 128 bytes for any number of elements.
fn npy_header(len: u64) -> [u8; 128] {
    let dict = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({len},), }}");
    let mut header = [b' '; 128];
    header[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
    header[8..10].copy_from_slice(&118u16.to_le_bytes());
    // At most 77 bytes, as a u64 has at most 20 digits.
    header[10..10 + dict.len()].copy_from_slice(dict.as_bytes());
    header[127] = b'\n';
    header
}

/// The lengths, offsets and numbers of documents; each document is one sequence.
pub(super) struct MegatronIndex {
    path: PathBuf,
    /// The lengths as int32, in a temporary file until their number is known.
    lens: BufWriter<File>,
    documents: u64,
    bytes_per_id: u64,
}

const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";

impl MegatronIndex {
    pub(super) fn create(path: &Path, bytes_per_id: u64) -> Result<Self> {
        let dir = path.parent().unwrap_or(Path::new("."));
        let lens = atomic::scratch(dir)?;
        Ok(Self { path: path.into(), lens: BufWriter::new(lens), documents: 0, bytes_per_id })
    }

    pub(super) fn push(&mut self, len: u64) -> Result<()> {
        let len = i32::try_from(len).map_err(|_| Error::NotRepresentable {
            format: "Megatron's .idx",
            reason: format!("a document has {len} tokens, more than 2^31 - 1; split it"),
        })?;
        self.documents += 1;
        self.lens.write_all(&len.to_le_bytes()).map_err(|error| Error::io(&self.path, error))
    }

    pub(super) fn finish(self) -> Result<()> {
        let Self { path, lens, documents, bytes_per_id } = self;
        let io = |error| Error::io(&path, error);
        let mut lens = lens.into_inner().map_err(|error| io(error.into_error()))?;
        let mut file = AtomicFile::create_beside(&path)?;
        file.write(MAGIC)?;
        file.write(&1u64.to_le_bytes())?;
        // Megatron's codes of types: 8 is uint16, 4 is int32.
        file.write(&[if bytes_per_id == 2 { 8 } else { 4 }])?;
        file.write(&documents.to_le_bytes())?;
        file.write(&(documents + 1).to_le_bytes())?;
        let mut each_len = |each: &mut dyn FnMut(&mut AtomicFile, [u8; 4]) -> Result<()>| -> Result<()> {
            lens.seek(SeekFrom::Start(0)).map_err(io)?;
            let mut reader = BufReader::new(&lens);
            for _ in 0..documents {
                let mut len = [0; 4];
                reader.read_exact(&mut len).map_err(io)?;
                each(&mut file, len)?;
            }
            Ok(())
        };
        each_len(&mut |file, len| file.write(&len))?;
        let mut place = 0i64;
        each_len(&mut |file, len| {
            file.write(&place.to_le_bytes())?;
            place += i64::from(i32::from_le_bytes(len)) * bytes_per_id as i64;
            Ok(())
        })?;
        for number in 0..=documents as i64 {
            file.write(&number.to_le_bytes())?;
        }
        file.finish()
    }
}
