//! Tokenizers made of the same bytes are one: unpickling in a loop, or in each
//! task of a worker, reads the tables once.
//!
//! Holds no tokenizer alive. Nobody waits for the table: a thread that finds it
//! locked, perhaps by one that a fork left behind, reads the bytes itself.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::tokenizer::Tokenizer;

type LoadedTable = HashMap<[u8; 32], Weak<Tokenizer>>;

static LOADED: LazyLock<Mutex<LoadedTable>> = LazyLock::new(Mutex::default);

/// The tokenizer of these bytes.
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
