//! `LargeBlocks`: the allocator of the Python module, for blocks of a megabyte and more.
//!
//! The C library of GNU takes blocks of up to 32 MiB from the arena of the calling
//! thread and keeps what is freed there, up to 64 MiB for each thread, whatever is
//! asked of it. Large blocks are mapped here instead. What is freed is kept for the
//! next to come, [`KEPT`] bytes in the whole process, and the oldest goes back to the
//! system. As in every such list (Knuth, The Art of Computer Programming 1, 2.5),
//! neighbours are joined, the shortest run that is long enough is cut to length, and a
//! block grows into the run behind it: a vector that is pushed to meets the pages that
//! the one before it has left, and none has to be touched anew.
//!
//! Smaller blocks are the C library's. Where the system refuses a block, what is kept and
//! what is [`Held`] is given back and the block asked for again; a small one then comes from the [`Reserve`].
//! Other systems give large blocks back themselves and do without this module.
//!
//! Nobody waits: who finds the list taken, perhaps by a thread that a fork left behind,
//! maps and unmaps.
#![allow(unsafe_code, reason = "2026-11: an allocator deals in raw memory; each block has its proof")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use held::Held;
use reserve::Reserve;

// The paths are for the fuzz target, which takes this file in.
#[path = "large_blocks/held.rs"]
mod held;
#[path = "large_blocks/reserve.rs"]
mod reserve;

/// For small blocks where the system has none left; one for the process.
static RESERVE: Reserve<{ reserve::BYTES }> = Reserve::new();

/// From this size on, in bytes, a block is large.
const LARGE: usize = 1 << 20;
/// Large blocks are whole multiples of this: of the pages of every system.
const STEP: usize = 1 << 16;
/// The most bytes that are kept.
const KEPT: usize = 64 << 20;
/// The most runs that are kept.
const PLACES: usize = 64;

/// Whole pages that lie beside each other.
#[derive(Clone, Copy)]
struct Pages {
    start: *mut u8,
    len: usize,
}

impl Pages {
    /// The address behind it.
    fn end(self) -> usize {
        self.start.addr() + self.len
    }

    /// The first `len` bytes, and the rest.
    fn split(self, len: usize) -> (Self, Self) {
        (Self { len, ..self }, Self { start: self.start.wrapping_add(len), len: self.len - len })
    }
}

/// The runs that nobody uses: at most [`PLACES`], from the oldest to the youngest.
struct Kept {
    runs: [Pages; PLACES],
    n: usize,
}

impl Kept {
    /// All of them.
    fn runs(&self) -> &[Pages] {
        &self.runs[..self.n]
    }

    /// Their bytes.
    fn n_bytes(&self) -> usize {
        self.runs().iter().map(|run| run.len).sum()
    }

    /// Takes out the run at a place; those behind it move up.
    fn remove(&mut self, at: usize) -> Pages {
        let run = self.runs[at];
        self.runs.copy_within(at + 1..self.n, at);
        self.n -= 1;
        run
    }

    /// Takes the first `len` bytes of the run at a place.
    fn cut(&mut self, at: usize, len: usize) -> Pages {
        let (first, rest) = self.runs[at].split(len);
        if rest.len == 0 {
            self.remove(at);
        } else {
            self.runs[at] = rest;
        }
        first
    }

    /// Takes `len` bytes from the shortest run that has as many.
    fn take(&mut self, len: usize) -> Option<Pages> {
        let fits = (0..self.n).filter(|&at| self.runs[at].len >= len);
        let at = fits.min_by_key(|&at| self.runs[at].len)?;
        Some(self.cut(at, len))
    }

    /// Takes the `len` bytes behind a run.
    fn take_behind(&mut self, run: Pages, len: usize) -> Option<Pages> {
        let at = self.runs().iter().position(|other| other.start.addr() == run.end() && other.len >= len)?;
        Some(self.cut(at, len))
    }

    /// Gives all runs back to the system.
    fn give_back(&mut self) {
        while self.n > 0 {
            unmap(self.remove(self.n - 1));
        }
    }

    /// Keeps a run, joined with its neighbours, and gives back the oldest when it is too
    /// many or too much.
    fn put(&mut self, mut run: Pages) {
        while let Some(at) = self.runs().iter().position(|other| other.end() == run.start.addr()) {
            let before = self.remove(at);
            run = Pages { start: before.start, len: before.len + run.len };
        }
        while let Some(at) = self.runs().iter().position(|other| other.start.addr() == run.end()) {
            run.len += self.remove(at).len;
        }
        if run.len > KEPT {
            let (first, rest) = run.split(KEPT);
            unmap(rest);
            run = first;
        }
        while self.n == PLACES || self.n_bytes() + run.len > KEPT {
            unmap(self.remove(0));
        }
        self.runs[self.n] = run;
        self.n += 1;
    }
}

/// The allocator.
pub(crate) struct LargeBlocks {
    taken: AtomicBool,
    kept: UnsafeCell<Kept>,
}

// SAFETY: `kept` is reached through `with_kept` alone, one thread at a time, and the runs in
// it belong to no thread.
unsafe impl Sync for LargeBlocks {}

impl LargeBlocks {
    /// With nothing kept.
    pub(crate) const fn new() -> Self {
        let none = Pages { start: ptr::null_mut(), len: 0 };
        Self { taken: AtomicBool::new(false), kept: UnsafeCell::new(Kept { runs: [none; PLACES], n: 0 }) }
    }

    /// Lets `f` have the list, unless another thread has it.
    fn with_kept<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: `taken` was false, and is true until `f` has ended, so no other
        // reference into the cell lives.
        let result = f(unsafe { &mut *self.kept.get() });
        self.taken.store(false, Ordering::Release);
        Some(result)
    }

    /// Takes `len` bytes from what is kept; they may hold anything.
    fn take(&self, len: usize) -> Option<*mut u8> {
        self.with_kept(|kept| kept.take(len)).flatten().map(|run| run.start)
    }

    /// Makes `len` new bytes, all zero, if there is memory, if need be that which is kept or held.
    fn map(&self, len: usize) -> Option<*mut u8> {
        map_as(len, 0)
            .or_else(|| {
                self.with_kept(Kept::give_back);
                map_as(len, 0)
            })
            .or_else(|| {
                held::give_back();
                map_as(len, 0)
            })
    }

    /// Takes a run back.
    fn free(&self, run: Pages) {
        if self.with_kept(|kept| kept.put(run)).is_none() {
            unmap(run);
        }
    }

    /// Makes a run longer or shorter and says where it is then; none, and the run as it was,
    /// if there is no memory.
    fn resize(&self, run: Pages, len: usize) -> Option<*mut u8> {
        if len <= run.len {
            let (_, rest) = run.split(len);
            if rest.len > 0 {
                self.free(rest);
            }
            return Some(run.start);
        }
        if self.with_kept(|kept| kept.take_behind(run, len - run.len)).flatten().is_some() {
            return Some(run.start);
        }
        // Copying into pages that are there takes less time than touching new ones.
        if let Some(start) = self.take(len) {
            return Some(self.move_to(start, run));
        }
        // The system moves what it mapped at once, not what was joined here.
        remap(run, len).or_else(|| self.map(len).map(|start| self.move_to(start, run)))
    }

    /// Copies a run to the beginning of a longer one and frees it.
    fn move_to(&self, start: *mut u8, run: Pages) -> *mut u8 {
        // SAFETY: the new run was just made, so it is nobody else's, and it is longer.
        unsafe { ptr::copy_nonoverlapping(run.start, start, run.len) };
        self.free(run);
        start
    }
}

/// The bytes that are mapped for a layout, if it is that of a large block. It follows from
/// the layout alone, so a block is freed as it was made.
fn mapped(size: usize, align: usize) -> Option<usize> {
    if size < LARGE || align > 4096 { None } else { size.checked_next_multiple_of(STEP) }
}

/// Whether small blocks come from the reserve, as the system has none.
#[inline]
pub(crate) fn are_scarce() -> bool {
    RESERVE.is_low() && !system_has_blocks()
}

/// Whether the system would give a block of [`STEP`] bytes, perhaps again.
#[cold]
fn system_has_blocks() -> bool {
    let Ok(layout) = Layout::from_size_align(STEP, 16) else { return false };
    // SAFETY: the size is not zero; the block goes back to where it came from.
    unsafe {
        let block = System.alloc(layout);
        System.dealloc(block, layout);
        !block.is_null()
    }
}

/// A small block that the system has refused: asked for again when what is held is given
/// back, and else of the reserve.
#[cold]
fn last(layout: Layout, again: impl FnOnce() -> *mut u8) -> *mut u8 {
    held::give_back();
    let start = again();
    if start.is_null() { RESERVE.alloc(layout).unwrap_or(ptr::null_mut()) } else { start }
}

/// `len` new bytes, all zero, by more `flags` of the system, if it does not refuse them.
fn map_as(len: usize, flags: libc::c_int) -> Option<*mut u8> {
    // SAFETY: an anonymous private mapping at an address of the system's choice touches
    // nothing that is in use.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

/// Lets the system make a run longer, elsewhere if it must.
fn remap(run: Pages, len: usize) -> Option<*mut u8> {
    // SAFETY: the run is ours as a whole, and who asks to have it resized replaces all
    // pointers into it.
    let start = unsafe { libc::mremap(run.start.cast(), run.len, len, libc::MREMAP_MAYMOVE) };
    (start != libc::MAP_FAILED).then_some(start.cast())
}

/// Gives a run back to the system.
fn unmap(run: Pages) {
    // SAFETY: the pages are ours and nobody uses them any more. Should the system refuse,
    // they stay mapped and unused.
    unsafe { libc::munmap(run.start.cast(), run.len) };
}

// SAFETY: a layout is large or not by its size and alignment alone, and a small block is of
// the reserve or not by its address, so each goes back to where it came from. Runs are at least as long as asked for, begin at a page (4096 bytes
// or more), and are nobody else's: each byte that is mapped is in one run that is kept or in
// one that was handed out. `realloc` keeps the beginning, as `mremap` and copies do. Nothing
// panics: places lie within the list.
unsafe impl GlobalAlloc for LargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match mapped(layout.size(), layout.align()) {
            Some(len) => self.take(len).or_else(|| self.map(len)).unwrap_or(ptr::null_mut()),
            None => {
                // SAFETY: the caller's promise is passed on.
                let start = unsafe { System.alloc(layout) };
                // SAFETY: as above.
                if start.is_null() { last(layout, || unsafe { System.alloc(layout) }) } else { start }
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match mapped(layout.size(), layout.align()) {
            Some(len) => match self.take(len) {
                Some(start) => {
                    // SAFETY: the run was just taken, and it is that long.
                    unsafe { start.write_bytes(0, len) };
                    start
                }
                None => self.map(len).unwrap_or(ptr::null_mut()),
            },
            None => {
                // SAFETY: the caller's promise is passed on.
                let start = unsafe { System.alloc_zeroed(layout) };
                if !start.is_null() {
                    return start;
                }
                // SAFETY: as above.
                let start = last(layout, || unsafe { System.alloc(layout) });
                if !start.is_null() {
                    // SAFETY: the block was just made, with that many bytes.
                    unsafe { start.write_bytes(0, layout.size()) };
                }
                start
            }
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        match mapped(layout.size(), layout.align()) {
            Some(len) => self.free(Pages { start, len }),
            None if RESERVE.has(start) => RESERVE.free(start, layout.size()),
            // SAFETY: the caller's promise is passed on; the block came from `System`, as it
            // is neither large nor of the reserve.
            None => unsafe { System.dealloc(start, layout) },
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_reserved = RESERVE.has(start);
        match (mapped(layout.size(), layout.align()), mapped(size, layout.align())) {
            (Some(len), Some(new_len)) => {
                return self.resize(Pages { start, len }, new_len).unwrap_or(ptr::null_mut());
            }
            (None, None) if is_reserved && RESERVE.resize(start, layout.size(), size) => return start,
            (None, None) if !is_reserved => {
                // SAFETY: the caller's promise is passed on; the block came from `System`, as
                // it is neither large nor of the reserve.
                let new = unsafe { System.realloc(start, layout, size) };
                if !new.is_null() {
                    return new;
                }
            }
            _ => {}
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not
        // overflow; the alignment is that of a layout.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `size` is not zero, as the caller promises.
        let new = unsafe { self.alloc(new_layout) };
        if !new.is_null() {
            // SAFETY: both blocks hold that many bytes, and the new one is nobody else's; the
            // old one is freed once, with its layout.
            unsafe {
                ptr::copy_nonoverlapping(start, new, size.min(layout.size()));
                self.dealloc(start, layout);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests;
