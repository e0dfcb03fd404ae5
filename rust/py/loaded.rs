//! Shares tokenizers that are loaded from the same bytes: unpickling in a loop, or in each task of
//! a worker, builds the tables once.
//!
//! The table holds weak references. No thread waits for it: if it is locked, perhaps by a thread
//! that does not exist after a fork, the bytes are read again.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::tokenizer::Tokenizer;

type LoadedTable = HashMap<[u8; 32], Weak<Tokenizer>>;

static LOADED: LazyLock<Mutex<LoadedTable>> = LazyLock::new(Mutex::default);

/// The tokenizer for these bytes.
pub(super) fn from_bytes(bytes: &[u8]) -> Result<Arc<Tokenizer>> {
    let key = Sha256::digest(bytes).into();
    if let Ok(table) = LOADED.try_lock()
        && let Some(tokenizer) = table.get(&key).and_then(Weak::upgrade)
    {
        return Ok(tokenizer);
    }
    let tokenizer = Arc::new(Tokenizer::from_bytes(bytes)?);
    if let Ok(mut table) = LOADED.try_lock() {
        table.retain(|_, tokenizer| tokenizer.strong_count() > 0);
        table.insert(key, Arc::downgrade(&tokenizer));
    }
    Ok(tokenizer)
}
