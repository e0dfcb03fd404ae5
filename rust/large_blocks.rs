//! `LargeBlocks`: the allocator of the Python module on Linux: large blocks of
//! memory straight from the system, and straight back to it.
//!
//! glibc maps large blocks, too, but no longer after a few were freed: it then
//! takes up to 32 MiB from the arena of the thread and keeps up to 64 MiB of
//! each arena for good (`malloc_trim` reaches only the main one). A program that
//! encodes long texts on a few threads ends with hundreds of MiB that nothing
//! uses. Small blocks are left to the system's allocator: this one has no state,
//! so there is nothing that a fork, a thread or an exit could find half done.
//!
//! The only `unsafe` of the crate; each block says why it is sound.
#![allow(unsafe_code, reason = "an allocator cannot be written without (2026-11-22)")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// Blocks of at least this size are mapped. Mapping costs a few µs and each
/// page its first touch, little beside what fills so many bytes.
const LARGE: usize = 1 << 20;
/// The least size of a page, and so the alignment of what is mapped.
const PAGE: usize = 4096;

/// See the module.
struct LargeBlocks;

#[global_allocator]
static ALLOCATOR: LargeBlocks = LargeBlocks;

/// Whether a block is mapped: a question of its layout alone, which is the same
/// when it is freed.
#[inline]
fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

/// A mapped block, all zeros; null when the system gives none.
fn map(size: usize) -> *mut u8 {
    // SAFETY: a new, anonymous mapping touches nothing that is there.
    let block = unsafe {
        libc::mmap(
            null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if block == libc::MAP_FAILED { null_mut() } else { block.cast() }
}

// SAFETY: `is_large` sends each block, by its layout, to the same of two sound
// allocators when it is made and when it is freed. What is mapped is as large
// as asked for, aligned to pages, which is more than asked for, and belongs to
// nobody else. Nothing here unwinds.
unsafe impl GlobalAlloc for LargeBlocks {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, a size that is not 0, is passed on.
        if is_large(layout) { map(layout.size()) } else { unsafe { System.alloc(layout) } }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as `alloc`; what is mapped is zero.
        if is_large(layout) { map(layout.size()) } else { unsafe { System.alloc_zeroed(layout) } }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_large(layout) {
            // SAFETY: the caller gives back a block of this layout, so it was
            // mapped with this size, and nothing uses it any more. Where the
            // system refuses, the block stays: a leak, not an error.
            unsafe { libc::munmap(block.cast(), layout.size()) };
        } else {
            // SAFETY: such a block came from the system's allocator.
            unsafe { System.dealloc(block, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `new_size`, rounded up to the
        // alignment, does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (is_large(layout), is_large(new)) {
            // SAFETY: such a block came from the system's allocator.
            (false, false) => unsafe { System.realloc(block, layout, new_size) },
            (true, true) => {
                // SAFETY: the block was mapped with this size and belongs to the
                // caller, who no longer uses the old place.
                let moved =
                    unsafe { libc::mremap(block.cast(), layout.size(), new_size, libc::MREMAP_MAYMOVE) };
                if moved == libc::MAP_FAILED { null_mut() } else { moved.cast() }
            }
            _ => {
                // SAFETY: `new` is a layout whose size is not 0; the two blocks
                // are distinct and both hold the bytes copied; the old one goes
                // back under its own layout, once.
                unsafe {
                    let other = self.alloc(new);
                    if !other.is_null() {
                        other.copy_from_nonoverlapping(block, layout.size().min(new_size));
                        self.dealloc(block, layout);
                    }
                    other
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(n: usize) -> Vec<u32> {
        (0..n as u32).map(|at| at.wrapping_mul(2_654_435_761)).collect()
    }

    #[test]
    fn blocks_keep_their_bytes_over_both_borders() {
        let n = LARGE / size_of::<u32>();
        let all = filled(20 * n);
        // Grows and shrinks below, across, and above the border, and by odd sizes.
        let mut held: Vec<u32> = Vec::new();
        for len in [1, n - 1, n, n + 1, 3 * n + 7, 20 * n, 2 * n, n, n - 1, 5, 4 * n, 0, n] {
            held.truncate(len);
            held.extend_from_slice(&all[held.len()..len]);
            held.shrink_to_fit();
            assert_eq!(held, all[..len]);
        }
    }

    #[test]
    fn zeroed_blocks_are_zero_whatever_was_there_before() {
        for len in [LARGE - 1, LARGE, LARGE + 1, 8 * LARGE] {
            drop(vec![7_u8; len]);
            assert!(vec![0_u8; len].iter().all(|&byte| byte == 0), "{len}");
        }
    }

    #[test]
    fn large_alignments_are_kept() {
        #[repr(align(65536))]
        #[derive(Clone)]
        struct Wide([u8; 65536]);
        for len in [1, 8, 64] {
            let mut wide = vec![Wide([3; 65536]); len];
            wide.push(Wide([4; 65536]));
            assert_eq!(wide.as_ptr() as usize % 65536, 0);
            assert!(wide[..len].iter().all(|wide| wide.0.iter().all(|&byte| byte == 3)));
        }
    }

    #[test]
    fn a_block_that_no_system_has_is_refused_not_given() {
        let mut held: Vec<u8> = filled(LARGE).into_iter().map(|value| value as u8).collect();
        let before = held.clone();
        assert!(held.try_reserve_exact(1 << 62).is_err());
        assert!(Vec::<u8>::new().try_reserve_exact(1 << 62).is_err());
        assert_eq!(held, before);
    }
}
