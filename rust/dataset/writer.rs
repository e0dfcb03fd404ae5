//! `DatasetWriter`: writes documents to shards, and the manifest.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{Manifest, Shard};
use super::shard::{NANO_GPT, NANO_GPT_PART, OpenShard, Width, sha256_of};
use super::{DatasetOptions, Layout};
use crate::atomic;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// Writes encoded documents, in order.
pub struct DatasetWriter {
    dir: PathBuf,
    layout: Layout,
    width: Width,
    manifest: Manifest,
    open: Option<OpenShard>,
}

impl DatasetWriter {
    /// Starts a dataset in `dir`, or resumes after the existing shards.
    ///
    /// # Errors
    /// [`Error::Option`] for a shard size of 0, a missing separator, or a different dataset in the
    /// directory; [`Error::NotRepresentable`] for ids too large for the layout;
    /// [`Error::UnknownId`] for a separator that is not a token; [`Error::Io`].
    pub fn create(dir: &Path, tokenizer: &Tokenizer, options: &DatasetOptions<'_>) -> Result<Self> {
        let refuse = |option, value: &str, reason: &str| {
            Err(Error::Option { option, value: value.into(), reason: reason.into() })
        };
        if options.shard_tokens == 0 {
            return refuse("shard_tokens", "0", "a shard holds at least one token");
        }
        match options.separator {
            Some(id) if tokenizer.id_to_bytes(id).is_none() => {
                return Err(Error::UnknownId { id: u64::from(id), max: tokenizer.max_id() });
            }
            None if options.layout == Layout::NanoGpt => {
                return refuse(
                    "separator",
                    "none",
                    "nanoGPT's file has no index; name a token to end documents with",
                );
            }
            _ => {}
        }
        let fresh = Manifest::new(tokenizer, options)?;
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
        let manifest = match Manifest::load(dir)? {
            Some(there) if options.resume => {
                there.check_same(&fresh, dir)?;
                there
            }
            Some(there) => {
                remove(dir, &there)?;
                fresh
            }
            None => fresh,
        };
        if options.layout != Layout::NanoGpt || manifest.complete {
            manifest.check_files(dir)?;
        }
        atomic::remove_leftovers(dir, is_of_dataset);
        if options.layout == Layout::NanoGpt && !manifest.complete && !manifest.shards.is_empty() {
            // A run was killed after it renamed the file and before it wrote the manifest, so the
            // file becomes a growing one again.
            let (part, path) = (dir.join(NANO_GPT_PART), dir.join(NANO_GPT));
            if path.exists() && !part.exists() {
                atomic::rename(&path, &part)?;
            }
        }
        let width = Width::of(&manifest.dtype);
        Ok(Self { dir: dir.into(), layout: options.layout, width, manifest, open: None })
    }

    /// The number of documents written, including earlier runs.
    pub fn documents(&self) -> u64 {
        self.manifest.documents + self.open.as_ref().map_or(0, |open| open.shard.documents)
    }

    /// Whether the dataset is complete.
    pub fn is_complete(&self) -> bool {
        self.manifest.complete
    }

    /// Appends a document.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NotRepresentable`] for a document too long for
    /// the layout.
    pub fn push(&mut self, ids: &[TokenId]) -> Result<()> {
        let len = (ids.len() + usize::from(self.manifest.separator.is_some())) as u64;
        let limit = self.manifest.shard_tokens;
        if self.open.as_ref().is_some_and(|open| open.shard.tokens.saturating_add(len) > limit) {
            self.close()?;
            self.manifest.save(&self.dir)?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let Manifest { shards, documents, .. } = &self.manifest;
                let bytes = shards.iter().map(|shard| shard.bytes).sum();
                let shard =
                    OpenShard::create(&self.dir, self.layout, self.width, shards.len(), *documents, bytes)?;
                self.open.insert(shard)
            }
        };
        open.push(ids, self.manifest.separator)?;
        if open.shard.tokens >= limit {
            self.close()?;
            self.manifest.save(&self.dir)?;
        }
        Ok(())
    }

    /// Writes the last shard and the manifest.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<Manifest> {
        if self.manifest.complete {
            return Ok(self.manifest);
        }
        if self.layout == Layout::NanoGpt && self.open.is_none() && self.manifest.shards.is_empty() {
            // Without documents, writes an empty file.
            self.open = Some(OpenShard::create(&self.dir, self.layout, self.width, 0, 0, 0)?);
        }
        self.close()?;
        if self.layout == Layout::NanoGpt {
            self.join_parts()?;
        }
        self.manifest.complete = true;
        self.manifest.save(&self.dir)?;
        Ok(self.manifest)
    }

    fn close(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            let shard = open.finish()?;
            self.manifest.documents += shard.documents;
            self.manifest.tokens += shard.tokens;
            self.manifest.shards.push(shard);
        }
        Ok(())
    }

    /// Renames the growing file to its final name and joins its parts to one shard.
    fn join_parts(&mut self) -> Result<()> {
        let (part, path) = (self.dir.join(NANO_GPT_PART), self.dir.join(NANO_GPT));
        let whole = Shard {
            file: NANO_GPT.into(),
            index: None,
            first_document: 0,
            documents: self.manifest.documents,
            tokens: self.manifest.tokens,
            bytes: self.manifest.shards.iter().map(|shard| shard.bytes).sum(),
            sha256: sha256_of(&part)?,
            index_sha256: None,
        };
        atomic::rename(&part, &path)?;
        self.manifest.shards = vec![whole];
        Ok(())
    }
}

/// Whether a temporary file with this target is left over from writing a dataset.
fn is_of_dataset(target: &OsStr) -> bool {
    let name = target.to_string_lossy();
    let number = |rest: &str| rest.split('.').next().is_some_and(|number| number.parse::<usize>().is_ok());
    name == super::manifest::FILE || name.strip_prefix("shard-").is_some_and(number)
}

/// Removes a dataset, the manifest first, so that a partly removed dataset is not taken for a
/// complete one.
fn remove(dir: &Path, manifest: &Manifest) -> Result<()> {
    let names = manifest.shards.iter().flat_map(|shard| [Some(shard.file.as_str()), shard.index.as_deref()]);
    for name in [Some(super::manifest::FILE)].into_iter().chain(names).chain([Some(NANO_GPT_PART)]).flatten()
    {
        match fs::remove_file(dir.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(dir.join(name), error));
            }
            _ => {}
        }
    }
    Ok(())
}
