//! Shares tokenizers that are loaded from the same bytes: unpickling in a loop, or in each task of
//! a worker, builds the tables once.
//!
//! The table holds weak references, and the last tokenizer that was loaded: between two tasks of
//! a worker no object holds it. Loading 200,000 tokens takes 130 ms, as long as encoding 10 MB. No
//! thread waits for the table: if it is locked, perhaps by a thread that does not exist after a
//! fork, the bytes are read again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::formats;
use crate::tokenizer::Tokenizer;

#[derive(Default)]
struct Loaded {
    by_hash: HashMap<[u8; 32], Weak<Tokenizer>>,
    last: Option<Arc<Tokenizer>>,
}

impl Loaded {
    fn get(&mut self, hash: &[u8; 32]) -> Option<Arc<Tokenizer>> {
        let tokenizer = self.by_hash.get(hash)?.upgrade()?;
        self.last = Some(Arc::clone(&tokenizer));
        Some(tokenizer)
    }

    fn insert(&mut self, hash: [u8; 32], tokenizer: &Arc<Tokenizer>) {
        self.last = Some(Arc::clone(tokenizer));
        self.by_hash.retain(|_, tokenizer| tokenizer.strong_count() > 0);
        self.by_hash.insert(hash, Arc::downgrade(tokenizer));
    }
}

static LOADED: LazyLock<Mutex<Loaded>> = LazyLock::new(Mutex::default);

/// The tokenizer for these bytes.
pub(super) fn from_bytes(bytes: &[u8]) -> Result<Arc<Tokenizer>> {
    let hash = Sha256::digest(bytes).into();
    if let Ok(mut loaded) = LOADED.try_lock()
        && let Some(tokenizer) = loaded.get(&hash)
    {
        return Ok(tokenizer);
    }
    let tokenizer = Arc::new(Tokenizer::from_bytes(bytes)?);
    if let Ok(mut loaded) = LOADED.try_lock() {
        loaded.insert(hash, &tokenizer);
    }
    Ok(tokenizer)
}

/// The tokenizer in this file.
pub(super) fn from_file(path: &Path) -> Result<Arc<Tokenizer>> {
    let bytes = formats::tokenizer_bytes(path)?;
    from_bytes(&bytes).map_err(|error| formats::in_file(error, path))
}
