//! `Reserve`: small blocks where the system has none left.
//!
//! A vector or a map that grows by itself ends the process where the system refuses
//! it memory. What input decides the size of is asked for (`memory`), but between
//! two such questions there are boxes, short lists and messages, also those of other
//! crates. They come from here then, and the next question is answered with an error:
//! [`Reserve::is_low`] says so as soon as a quarter is in use.
//!
//! The blocks lie on each other as on a stack. One word holds where the stack ends and
//! how many blocks live: who frees the last block moves the end back, who frees the
//! only one empties the stack, and what is freed below others waits for them. So there
//! is no list and no lock, and a fork leaves nothing behind. Memory that nobody has
//! touched is only an address; the reserve takes none before it is needed.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of the reserve of the process.
pub(super) const BYTES: usize = 16 << 20;
/// Blocks begin at multiples of this.
const STEP: usize = 16;

/// `N` bytes, fewer than 4 GiB.
#[repr(C, align(4096))]
pub(super) struct Reserve<const N: usize> {
    bytes: UnsafeCell<[MaybeUninit<u8>; N]>,
    /// The end of the stack in the upper half, the number of blocks in the lower.
    stack: AtomicU64,
}

// SAFETY: the bytes are reached through the blocks alone that are handed out, each to one
// owner: [`Reserve::change`] gives the part of the stack that it adds to one caller.
unsafe impl<const N: usize> Sync for Reserve<N> {}

/// Where the stack ends, and how many blocks are on it.
#[derive(Clone, Copy)]
struct Stack {
    end: usize,
    n: usize,
}

impl Stack {
    fn of(word: u64) -> Self {
        Self { end: (word >> 32) as usize, n: (word & 0xFFFF_FFFF) as usize }
    }

    fn word(self) -> u64 {
        (self.end as u64) << 32 | self.n as u64
    }
}

impl<const N: usize> Reserve<N> {
    /// With nothing in use.
    pub(super) const fn new() -> Self {
        Self { bytes: UnsafeCell::new([MaybeUninit::uninit(); N]), stack: AtomicU64::new(0) }
    }

    fn start(&self) -> *mut u8 {
        self.bytes.get().cast()
    }

    /// Whether a block is from here.
    #[inline]
    pub(super) fn has(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.start().addr()) < N
    }

    /// Whether a quarter is in use.
    #[inline]
    pub(super) fn is_low(&self) -> bool {
        Stack::of(self.stack.load(Ordering::Relaxed)).end > N / 4
    }

    /// Changes the stack, unless there is no way to; what it was before.
    fn change(&self, new: impl Fn(Stack) -> Option<Stack>) -> Option<Stack> {
        let change = |word| new(Stack::of(word)).map(Stack::word);
        // What was written into a block comes before it is anybody else's.
        self.stack.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).ok().map(Stack::of)
    }

    /// A block that holds anything, if there is room.
    pub(super) fn alloc(&self, layout: Layout) -> Option<*mut u8> {
        if layout.align() > 4096 {
            return None;
        }
        let place = |stack: Stack| stack.end.next_multiple_of(layout.align().max(STEP));
        let old = self.change(|stack| {
            let end = place(stack).checked_add(rounded(layout.size())?)?;
            (end <= N).then_some(Stack { end, n: stack.n + 1 })
        })?;
        Some(self.start().wrapping_add(place(old)))
    }

    /// Takes back a block of so many bytes.
    pub(super) fn free(&self, block: *mut u8, size: usize) {
        let at = block.addr() - self.start().addr();
        let _ = self.change(|stack| {
            let is_last = rounded(size).is_some_and(|size| at + size == stack.end);
            let end = if stack.n == 1 {
                0
            } else if is_last {
                at
            } else {
                stack.end
            };
            Some(Stack { end, n: stack.n - 1 })
        });
    }

    /// Makes a block longer where it stands, or shorter, if it can be.
    pub(super) fn resize(&self, block: *mut u8, size: usize, new_size: usize) -> bool {
        let at = block.addr() - self.start().addr();
        let resized = self.change(|stack| {
            let (old, new) = (at + rounded(size)?, at.checked_add(rounded(new_size)?)?);
            match old == stack.end {
                true => (new <= N).then_some(Stack { end: new, ..stack }),
                false => (new <= old).then_some(stack),
            }
        });
        resized.is_some()
    }
}

/// The bytes that a block of a size takes.
fn rounded(size: usize) -> Option<usize> {
    size.max(1).checked_next_multiple_of(STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1 << 12;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    fn used<const N: usize>(reserve: &Reserve<N>) -> (usize, usize) {
        let Stack { end, n } = Stack::of(reserve.stack.load(Ordering::Relaxed));
        (end, n)
    }

    #[test]
    fn blocks_lie_on_each_other() {
        let reserve = Reserve::<SIZE>::new();
        let [first, second] = [100, 1].map(|size| reserve.alloc(layout(size)).unwrap());
        assert_eq!((second.addr() - first.addr(), used(&reserve)), (112, (128, 2)));
        assert!(reserve.resize(second, 1, 900) && !reserve.resize(second, 900, SIZE));
        assert_eq!(used(&reserve), (1012 + 12, 2));
        assert!(!reserve.is_low());
        assert!(reserve.resize(first, 100, 50) && !reserve.resize(first, 50, 51 + 16));
        assert!(reserve.resize(second, 900, 1000) && reserve.is_low());
        reserve.free(second, 1000);
        assert_eq!(used(&reserve), (112, 1));
        reserve.free(first, 50);
        assert_eq!(used(&reserve), (0, 0));
    }

    #[test]
    fn what_is_freed_below_others_waits() {
        let reserve = Reserve::<SIZE>::new();
        let blocks = [1000; 4].map(|size| reserve.alloc(layout(size)).unwrap());
        assert_eq!(reserve.alloc(layout(100)), None);
        assert!(blocks.iter().all(|&block| reserve.has(block)));
        reserve.free(blocks[1], 1000);
        reserve.free(blocks[2], 1000);
        assert_eq!(used(&reserve), (4032, 2));
        reserve.free(blocks[3], 1000);
        assert_eq!(used(&reserve), (3024, 1));
        reserve.free(blocks[0], 1000);
        assert_eq!(used(&reserve), (0, 0));
        let mut elsewhere = 0_u8;
        assert!(!reserve.has(&raw mut elsewhere));
        assert!(!reserve.has(reserve.start().wrapping_add(SIZE)));
        assert_eq!(reserve.alloc(Layout::from_size_align(1, 8192).unwrap()), None);
    }

    #[test]
    fn threads_have_blocks_of_their_own() {
        static RESERVE: Reserve<{ 1 << 20 }> = Reserve::new();
        let work = |byte: u8| {
            for round in 0..2000_usize {
                let sizes = [1, 40, 7 + round % 300];
                let blocks = sizes.map(|size| RESERVE.alloc(layout(size)).map(|block| (block, size)));
                for (block, size) in blocks.into_iter().flatten() {
                    // SAFETY: the block was just made, with that many bytes.
                    unsafe { block.write_bytes(byte, size) };
                }
                std::thread::yield_now();
                for (block, size) in blocks.into_iter().flatten() {
                    // SAFETY: as above, and it was filled.
                    let bytes = unsafe { std::slice::from_raw_parts(block, size) };
                    assert!(bytes.iter().all(|&found| found == byte));
                    RESERVE.free(block, size);
                }
            }
        };
        std::thread::scope(|scope| (1..4).for_each(|byte| drop(scope.spawn(move || work(byte)))));
        assert_eq!(used(&RESERVE), (0, 0));
    }
}
