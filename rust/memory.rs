//! Fallible allocation: an error if the system refuses memory.
//!
//! Vectors and maps of the standard library abort the process if they cannot grow. [`MakeRoom`] and
//! the functions here use `try_reserve` and return [`Error::Memory`]. Use them for buffers whose
//! size depends on a text, a file or a number from the caller; a few kilobytes may be allocated as
//! usual.

use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The error that there is no memory for `n` values of `T`.
pub(crate) fn missing<T>(n: usize) -> Error {
    Error::Memory { n, size: size_of::<T>() }
}

/// A collection that grows fallibly.
pub(crate) trait MakeRoom {
    /// Reserves memory for `more` values in addition to those it holds.
    ///
    /// # Errors
    /// [`Error::Memory`] if the system refuses it.
    fn make_room(&mut self, more: usize) -> Result<()>;
}

impl<T> MakeRoom for Vec<T> {
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<()> {
        if self.capacity() - self.len() >= more { Ok(()) } else { grow(self, more) }
    }
}

/// Vectors of so many bytes or more grow by a quarter instead of doubling.
const LONG: usize = 16 << 20;

/// Lets a vector grow, out of the loops that push to it.
#[cold]
#[inline(never)]
fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let n = values.len().saturating_add(more);
    let grown = match values.len() / 4 {
        // Twice the length would be mostly pages that no value touches, given back at the end and mapped again by the
        // next call.
        quarter if quarter * size_of::<T>() >= LONG / 4 => values.try_reserve_exact(more.max(quarter)),
        _ => values.try_reserve(more),
    };
    grown.map_err(|_| missing::<T>(n))
}

impl MakeRoom for String {
    fn make_room(&mut self, more: usize) -> Result<()> {
        let n = self.len().saturating_add(more);
        if n > self.capacity() {
            self.try_reserve(more).map_err(|_| missing::<u8>(n))?;
        }
        Ok(())
    }
}

impl<T: Ord> MakeRoom for BinaryHeap<T> {
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<()> {
        let n = self.len().saturating_add(more);
        if n > self.capacity() {
            self.try_reserve(more).map_err(|_| missing::<T>(n))?;
        }
        Ok(())
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> MakeRoom for HashMap<K, V, S> {
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<()> {
        let n = self.len().saturating_add(more);
        if n > self.capacity() {
            self.try_reserve(more).map_err(|_| missing::<(K, V)>(n))?;
        }
        Ok(())
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> MakeRoom for hashbrown::HashMap<K, V, S> {
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<()> {
        let n = self.len().saturating_add(more);
        if n > self.capacity() {
            self.try_reserve(more).map_err(|_| missing::<(K, V)>(n))?;
        }
        Ok(())
    }
}

/// Appends a value.
///
/// # Errors
/// [`Error::Memory`], as for all functions here.
#[inline]
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        grow(values, 1)?;
    }
    values.push(value);
    Ok(())
}

/// Appends values.
#[inline]
pub(crate) fn extend<T: Clone>(values: &mut Vec<T>, more: &[T]) -> Result<()> {
    values.make_room(more.len())?;
    values.extend_from_slice(more);
    Ok(())
}

/// An empty vector with memory for `n` values.
pub(crate) fn reserved<T>(n: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(n).map_err(|_| missing::<T>(n))?;
    Ok(values)
}

/// Checks that the system would grant `size` bytes for each of `n` values, and a few megabytes
/// more.
///
/// Called before a tokenizer is loaded, written or changed: this builds many tables, some of them
/// in other crates, which abort the process if they cannot grow.
pub(crate) fn check_room(n: usize, size: usize) -> Result<()> {
    let n_bytes = n.saturating_mul(size).saturating_add(LEAST_ROOM);
    if has_room(n_bytes) { Ok(()) } else { Err(Error::Memory { n, size }) }
}

/// How [`has_room`] asks the system instead of through the global allocator. An allocator that keeps
/// freed blocks sets it: it would give up touched blocks for one that is never written to.
pub(crate) static ASK: OnceLock<fn(usize) -> bool> = OnceLock::new();

/// Whether the system would grant a block of `n_bytes` now.
pub(crate) fn has_room(n_bytes: usize) -> bool {
    if let Some(ask) = ASK.get() {
        return ask(n_bytes);
    }
    let mut room = Vec::<u8>::new();
    let is_given = room.try_reserve_exact(n_bytes).is_ok();
    // Otherwise the compiler removes the unused allocation.
    std::hint::black_box(&mut room);
    is_given
}

/// The memory for loading a tokenizer, in bytes for each byte of its file: three times the measured
/// 4 to 10.
pub(crate) const OF_READING: usize = 32;

/// Memory for a pattern, a cache or a thread, in addition.
const LEAST_ROOM: usize = 8 << 20;

/// Collects an iterator of known length.
pub(crate) fn collected<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = reserved(values.len())?;
    all.extend(values);
    Ok(all)
}

/// Extends a vector to `n` values, if it is shorter.
pub(crate) fn resize<T: Clone>(values: &mut Vec<T>, n: usize, value: T) -> Result<()> {
    values.make_room(n.saturating_sub(values.len()))?;
    values.resize(n, value);
    Ok(())
}

/// A vector of `n` equal values.
pub(crate) fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut values = reserved(n)?;
    values.resize(n, value);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_memory_is_an_error_that_names_the_size() {
        let n = usize::MAX / 8;
        let mut values = vec![1_u64];
        for error in [
            values.make_room(n - 1).unwrap_err(),
            reserved::<u64>(n).unwrap_err(),
            filled(n, 0_u64).unwrap_err(),
            collected(vec![(); n].into_iter().map(|()| 0_u64)).unwrap_err(),
            resize(&mut Vec::new(), n, 0_u64).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Memory { n: found, size: 8 } if found == n), "{error}");
        }
        push(&mut values, 2).unwrap();
        extend(&mut values, &[3, 4]).unwrap();
        assert_eq!(values, [1, 2, 3, 4]);
        assert_eq!(filled(2, 7).unwrap(), [7, 7]);
        assert_eq!(collected([1, 2].into_iter()).unwrap(), [1, 2]);
        resize(&mut values, 6, 9).unwrap();
        assert_eq!(values, [1, 2, 3, 4, 9, 9]);
        let (mut text, mut heap, mut map) = ("a".to_owned(), BinaryHeap::new(), HashMap::new());
        for n in 0..100 {
            text.make_room(2).unwrap();
            text.push_str("bc");
            heap.make_room(1).unwrap();
            heap.push(n);
            map.make_room(1).unwrap();
            map.insert(n, ());
        }
        assert_eq!((text.len(), heap.pop(), map.len()), (201, Some(99), 100));
    }
}
