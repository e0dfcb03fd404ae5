//! `Held`: memory that is held for work that cannot say that there is none.
//!
//! Readers of files and trainers build maps and lists of many kinds, some in other
//! crates, that grow by themselves. Before such work as much as it may take is mapped
//! and not touched, so that it is an address and no more; where that is refused, the
//! work does not begin. Where a block is refused later, whatever is held is given back
//! to the system, and the block is asked for again.
//!
//! Each is noted by its address, in a place of its own: whoever takes the address out of
//! the place unmaps it, so it is unmapped once. Its length stands at its start.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Pages, STEP, unmap};

/// How much may be held at a time; what is more is not held.
const PLACES: usize = 64;

static HELD: [AtomicPtr<usize>; PLACES] = [const { AtomicPtr::new(ptr::null_mut()) }; PLACES];

/// Memory that is held until this is dropped, or until a block is refused.
pub(crate) struct Held(*mut usize);

impl Held {
    /// Holds so many bytes; `None` if the system refuses them.
    pub(crate) fn new(n_bytes: usize) -> Option<Self> {
        let len = n_bytes.max(1).checked_next_multiple_of(STEP)?;
        // Not charged to what the machine has, where the system does not count strictly:
        // it would refuse what only may be needed.
        let start: *mut usize = super::map_as(len, libc::MAP_NORESERVE)?.cast();
        // SAFETY: the mapping is ours alone, begins at a page, and is longer than a word.
        unsafe { start.write(len) };
        let hold = |place: &AtomicPtr<usize>| {
            place.compare_exchange(ptr::null_mut(), start, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        if !HELD.iter().any(hold) {
            unmap(Pages { start: start.cast(), len });
        }
        Some(Self(start))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_here = |place: &&AtomicPtr<usize>| {
            place.compare_exchange(self.0, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        if HELD.iter().find(is_here).is_some() {
            give(self.0);
        }
    }
}

/// Gives back all that is held.
#[cold]
pub(super) fn give_back() {
    for place in &HELD {
        let start = place.swap(ptr::null_mut(), Ordering::AcqRel);
        if !start.is_null() {
            give(start);
        }
    }
}

/// Unmaps what was taken out of its place.
fn give(start: *mut usize) {
    // SAFETY: it was taken out of its place here, by one who alone unmaps it; until then it
    // is mapped, and begins with its length.
    let len = unsafe { start.read() };
    unmap(Pages { start: start.cast(), len });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back_once() {
        assert!(Held::new(usize::MAX).is_none() && Held::new(1 << 60).is_none());
        let count = || HELD.iter().filter(|place| !place.load(Ordering::Relaxed).is_null()).count();
        let held: Vec<_> = [0, 1, 100 << 20].map(Held::new).into_iter().flatten().collect();
        assert_eq!((held.len(), count()), (3, 3));
        drop(held);
        assert_eq!(count(), 0);
        let held = Held::new(1 << 20);
        give_back();
        assert_eq!(count(), 0);
        drop(held);
        let many: Vec<_> = (0..2 * PLACES).map(|_| Held::new(1).unwrap()).collect();
        assert_eq!(count(), PLACES);
        drop(many);
        assert_eq!(count(), 0);
    }
}
