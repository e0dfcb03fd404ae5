//! The allocator of large blocks: whatever is made, resized and freed, each block holds what
//! was written into it.
#![no_main]

use std::alloc::{GlobalAlloc, Layout};

use libfuzzer_sys::fuzz_target;

// It is private to the crate and of the Python module only.
#[path = "../../rust/large_blocks.rs"]
mod large_blocks;

/// The sizes around which the allocator decides, in steps of 64 KiB.
const SIZES: [usize; 8] = [1, 15, 16, 17, 40, 160, 700, 1100];

/// One for all runs, as in a process: what it keeps is never given back as a whole.
static BLOCKS: large_blocks::LargeBlocks = large_blocks::LargeBlocks::new();

struct Held {
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

unsafe fn check(held: &Held) {
    assert_eq!(unsafe { held.start.read() }, held.byte);
    assert_eq!(unsafe { held.start.add(held.size - 1).read() }, held.byte);
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 16).expect("small")
}

fuzz_target!(|data: &[u8]| {
    let blocks = &BLOCKS;
    let mut held: Vec<Held> = Vec::new();
    for (step, &code) in data.iter().take(256).enumerate() {
        let size = (SIZES[usize::from(code >> 2 & 7)] << 16) - usize::from(code >> 5);
        let byte = step as u8;
        let at = usize::from(code >> 5) % held.len().max(1);
        // Blocks are freed once, with the layout that they were made with.
        unsafe {
            match code & 3 {
                0 | 1 if held.len() < 16 => {
                    let zeroed = code & 3 == 1;
                    let start =
                        if zeroed { blocks.alloc_zeroed(layout(size)) } else { blocks.alloc(layout(size)) };
                    assert!(!start.is_null());
                    assert!(!zeroed || (0..size).step_by(509).all(|at| start.add(at).read() == 0));
                    write(start, 0, size, byte);
                    held.push(Held { start, size, byte });
                }
                2 if !held.is_empty() => {
                    let block = &mut held[at];
                    let kept = size.min(block.size);
                    block.start = blocks.realloc(block.start, layout(block.size), size);
                    assert!(!block.start.is_null());
                    assert!((0..kept).step_by(4096).all(|at| block.start.add(at).read() == block.byte));
                    write(block.start, 0, size, byte);
                    (block.size, block.byte) = (size, byte);
                }
                _ if !held.is_empty() => {
                    let block = held.swap_remove(at);
                    check(&block);
                    blocks.dealloc(block.start, layout(block.size));
                }
                // What is held and given back changes nothing.
                _ => assert!(large_blocks::Held::new(size).is_some() && !large_blocks::are_scarce()),
            }
        }
    }
    for block in held {
        unsafe {
            check(&block);
            blocks.dealloc(block.start, layout(block.size));
        }
    }
});
