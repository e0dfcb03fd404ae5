//! The Python module's allocator: each block keeps its content while blocks are made, resized and
//! freed.
#![no_main]

use std::alloc::{GlobalAlloc, Layout};

use libfuzzer_sys::fuzz_target;

// It is private to the crate.
#[path = "../../rust/py/allocator.rs"]
mod allocator;

/// The sizes around which the allocator decides, in steps of 64 KiB.
const SIZES: [usize; 8] = [1, 15, 16, 17, 40, 160, 700, 1100];

/// One for all runs, as in a process: what it keeps is never given back as a whole.
static BLOCKS: allocator::Allocator = allocator::Allocator::new();

struct Block {
    start: *mut u8,
    size: usize,
    byte: u8,
}

/// Writes the byte of a block at the ends and at each page; the whole would take long.
unsafe fn write(start: *mut u8, from: usize, to: usize, byte: u8) {
    for at in (from..to).step_by(4096).chain([to - 1]) {
        unsafe { start.add(at).write(byte) };
    }
}

unsafe fn check(block: &Block) {
    assert_eq!(unsafe { block.start.read() }, block.byte);
    assert_eq!(unsafe { block.start.add(block.size - 1).read() }, block.byte);
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 16).expect("small")
}

fuzz_target!(|data: &[u8]| {
    let blocks = &BLOCKS;
    let mut live: Vec<Block> = Vec::new();
    for (step, &code) in data.iter().take(256).enumerate() {
        let size = (SIZES[usize::from(code >> 2 & 7)] << 16) - usize::from(code >> 5);
        let byte = step as u8;
        let at = usize::from(code >> 5) % live.len().max(1);
        // Blocks are freed once, with the layout that they were made with.
        unsafe {
            match code & 3 {
                0 | 1 if live.len() < 16 => {
                    let zeroed = code & 3 == 1;
                    let start =
                        if zeroed { blocks.alloc_zeroed(layout(size)) } else { blocks.alloc(layout(size)) };
                    assert!(!start.is_null());
                    assert!(!zeroed || (0..size).step_by(509).all(|at| start.add(at).read() == 0));
                    write(start, 0, size, byte);
                    live.push(Block { start, size, byte });
                }
                2 if !live.is_empty() => {
                    let block = &mut live[at];
                    let kept = size.min(block.size);
                    block.start = blocks.realloc(block.start, layout(block.size), size);
                    assert!(!block.start.is_null());
                    assert!((0..kept).step_by(4096).all(|at| block.start.add(at).read() == block.byte));
                    write(block.start, 0, size, byte);
                    (block.size, block.byte) = (size, byte);
                }
                _ if !live.is_empty() => {
                    let block = live.swap_remove(at);
                    check(&block);
                    blocks.dealloc(block.start, layout(block.size));
                }
                _ => assert!(blocks.has_room(size)),
            }
        }
    }
    for block in live {
        unsafe {
            check(&block);
            blocks.dealloc(block.start, layout(block.size));
        }
    }
});
