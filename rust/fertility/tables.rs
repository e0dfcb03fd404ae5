//! `Tables`: pieces of texts with their counts, in a table for each thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::corpus::word_counts::CountTable;
use crate::error::Result;

/// Tables of threads.
#[derive(Default)]
pub(super) struct Tables(Vec<Mutex<CountTable>>);

impl Tables {
    /// A table for each of so many threads.
    pub(super) fn parts(&mut self, n: usize) -> &[Mutex<CountTable>] {
        if self.0.len() < n {
            self.0.resize_with(n, Mutex::default);
        }
        &self.0
    }

    /// The bytes of the largest.
    pub(super) fn most_bytes(&mut self) -> usize {
        self.0.iter_mut().map(|table| content(table).n_bytes()).max().unwrap_or(0)
    }

    /// All of them in one table.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(super) fn joined(&mut self) -> Result<&mut CountTable> {
        self.parts(1);
        let (first, others) = self.0.split_at_mut(1);
        let first = content(&mut first[0]);
        for other in others {
            std::mem::take(content(other)).for_each(|piece, count| first.put(piece, count))?;
        }
        Ok(first)
    }
}

/// The table of a thread.
pub(super) fn held(table: &Mutex<CountTable>) -> MutexGuard<'_, CountTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn content(table: &mut Mutex<CountTable>) -> &mut CountTable {
    table.get_mut().unwrap_or_else(PoisonError::into_inner)
}
