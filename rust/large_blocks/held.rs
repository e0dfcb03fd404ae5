//! `Held`: memory that is held for work that cannot say that there is none.
//!
//! Readers of files and trainers build maps and lists of many kinds, some in other
//! crates, that grow by themselves. Before such work as much as it may take is mapped
//! and not touched, so that it is an address and no more; where that is refused, the
//! work does not begin. Where a block is refused later, whatever is held is given back
//! to the system, and the block is asked for again.
//!
//! Each is noted by its address in a place of its own. Whoever puts [`BUSY`] there instead
//! has it alone, and unmaps it, so it is unmapped once. Nobody waits: a fork in between
//! loses a place at most.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::{Pages, STEP, unmap};

/// How much may be held at a time; what is more is not held.
const PLACES: usize = 64;
/// The address of a place that somebody writes to. No mapping has it.
const BUSY: *mut u8 = ptr::without_provenance_mut(1);

/// Where something may be held: nothing where the address is null.
struct Place {
    start: AtomicPtr<u8>,
    len: AtomicUsize,
}

static HELD: [Place; PLACES] =
    [const { Place { start: AtomicPtr::new(ptr::null_mut()), len: AtomicUsize::new(0) } }; PLACES];

impl Place {
    /// Makes the place busy if it holds what begins there.
    fn take(&self, start: *mut u8) -> bool {
        self.start.compare_exchange(start, BUSY, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Notes what is held, in a place that is nobody's.
    fn put(&self, start: *mut u8, len: usize) -> bool {
        let is_free = self.take(ptr::null_mut());
        if is_free {
            self.len.store(len, Ordering::Relaxed);
            self.start.store(start, Ordering::Release);
        }
        is_free
    }

    /// Gives back what begins there, if it is here.
    fn give_back(&self, start: *mut u8) -> bool {
        let is_here = self.take(start);
        if is_here {
            let len = self.len.load(Ordering::Relaxed);
            self.start.store(ptr::null_mut(), Ordering::Release);
            unmap(Pages { start, len });
        }
        is_here
    }
}

/// Memory that is held until this is dropped, or until a block is refused.
pub(crate) struct Held(*mut u8);

impl Held {
    /// Holds so many bytes; `None` if the system refuses them.
    pub(crate) fn new(n_bytes: usize) -> Option<Self> {
        let len = n_bytes.max(1).checked_next_multiple_of(STEP)?;
        // Not charged to what the machine has, where the system does not count strictly:
        // it would refuse what only may be needed.
        let start = super::map_as(len, libc::MAP_NORESERVE)?;
        if !HELD.iter().any(|place| place.put(start, len)) {
            unmap(Pages { start, len });
        }
        Some(Self(start))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.iter().any(|place| place.give_back(self.0));
    }
}

/// Gives back all that is held.
#[cold]
pub(super) fn give_back() {
    for place in &HELD {
        let start = place.start.load(Ordering::Relaxed);
        if !start.is_null() && start != BUSY {
            place.give_back(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back_once() {
        let place = Place { start: AtomicPtr::new(ptr::null_mut()), len: AtomicUsize::new(0) };
        let [first, second] = [1, 2].map(|n| super::super::map_as(n * STEP, libc::MAP_NORESERVE).unwrap());
        assert!(place.put(first, STEP) && !place.put(second, 2 * STEP));
        assert!(!place.give_back(second) && place.give_back(first) && !place.give_back(first));
        assert!(place.put(second, 2 * STEP) && place.give_back(second));
        assert!(place.start.load(Ordering::Relaxed).is_null());
    }

    #[test]
    fn no_more_is_held_than_there_are_places() {
        assert!(Held::new(usize::MAX).is_none() && Held::new(1 << 60).is_none());
        // Other tests may hold as well, and give back what is held here.
        let many: Vec<_> = (0..2 * PLACES).map(|n| Held::new(n * STEP).unwrap()).collect();
        give_back();
        drop(many);
        assert!(Held::new(100 << 20).is_some());
    }
}
