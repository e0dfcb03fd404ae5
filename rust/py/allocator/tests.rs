//! Allocates, resizes and frees blocks of random sizes, and checks that they keep their contents.

use super::*;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

/// Pseudo-random numbers.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

fn kept_bytes(blocks: &Allocator) -> usize {
    blocks.with_kept(|kept| kept.n_bytes()).unwrap()
}

/// Allocates, resizes and frees blocks, fills each with its own byte, and checks that it keeps it.
fn churn(blocks: &Allocator, seed: u64, n_steps: usize) {
    let mut number = numbers(seed);
    let mut live: Vec<(*mut u8, usize, u8)> = Vec::new();
    let sizes = [100, LARGE - 1, LARGE, LARGE + STEP, 3 * LARGE + 5, 7 * LARGE];
    for step in 0..n_steps {
        let size = sizes[number(sizes.len())];
        let byte = u8::try_from(step % 251).unwrap();
        match number(3) {
            0 => {
                let zeroed = number(2) == 0;
                // SAFETY: sizes are not zero. Each block is filled over its whole length, and freed
                // once with the layout of its allocation.
                unsafe {
                    let start =
                        if zeroed { blocks.alloc_zeroed(layout(size)) } else { blocks.alloc(layout(size)) };
                    assert!(!start.is_null() && start.addr() % 8 == 0);
                    if zeroed {
                        let bytes = std::slice::from_raw_parts(start, size);
                        assert!(bytes.iter().step_by(97).all(|&byte| byte == 0));
                    }
                    start.write_bytes(byte, size);
                    live.push((start, size, byte));
                }
            }
            _ if live.is_empty() => {}
            1 => {
                let at = number(live.len());
                let (start, old, filled) = live[at];
                // SAFETY: as above. Bytes after the old end are filled before they are read.
                unsafe {
                    let start = blocks.realloc(start, layout(old), size);
                    assert!(!start.is_null());
                    if size > old {
                        start.add(old).write_bytes(filled, size - old);
                    }
                    live[at] = (start, size, filled);
                }
            }
            _ => {
                let (start, size, filled) = live.swap_remove(number(live.len()));
                // SAFETY: as above.
                unsafe {
                    let bytes = std::slice::from_raw_parts(start, size);
                    assert!(
                        bytes.iter().step_by(89).all(|&byte| byte == filled) && bytes[size - 1] == filled
                    );
                    blocks.dealloc(start, layout(size));
                }
            }
        }
    }
    for (start, size, _) in live {
        // SAFETY: as above.
        unsafe { blocks.dealloc(start, layout(size)) };
    }
}

#[test]
fn blocks_keep_what_was_written() {
    let blocks = Allocator::new();
    churn(&blocks, 1, 600);
    assert!(kept_bytes(&blocks) <= KEPT);
}

#[test]
fn threads_share_the_kept_blocks() {
    let blocks = Allocator::new();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let blocks = &blocks;
            scope.spawn(move || churn(blocks, seed, 150));
        }
    });
    assert!(kept_bytes(&blocks) <= KEPT);
}

#[test]
fn at_most_kept_bytes_are_kept() {
    let blocks = Allocator::new();
    for size in [LARGE, KEPT / 2, KEPT, 2 * KEPT] {
        // SAFETY: sizes are not zero; each block is freed once with its layout.
        let live: Vec<_> = (0..100).map(|_| unsafe { blocks.alloc(layout(size)) }).collect();
        assert!(live.iter().all(|start| !start.is_null()));
        // SAFETY: as above.
        live.into_iter().for_each(|start| unsafe { blocks.dealloc(start, layout(size)) });
        assert!(kept_bytes(&blocks) <= KEPT);
    }
}

#[test]
fn block_grows_into_freed_neighbour_and_shrinks() {
    let blocks = Allocator::new();
    // SAFETY: sizes are not zero; each block is freed once with its layout.
    unsafe {
        let start = blocks.alloc(layout(4 * LARGE));
        blocks.dealloc(start, layout(4 * LARGE));
        assert_eq!(kept_bytes(&blocks), 4 * LARGE);
        let again = blocks.alloc(layout(LARGE));
        assert_eq!((again, kept_bytes(&blocks)), (start, 3 * LARGE));
        let grown = blocks.realloc(again, layout(LARGE), 3 * LARGE);
        assert_eq!((grown, kept_bytes(&blocks)), (start, LARGE));
        let shrunk = blocks.realloc(grown, layout(3 * LARGE), 2 * LARGE);
        assert_eq!((shrunk, kept_bytes(&blocks)), (start, 2 * LARGE));
        blocks.dealloc(shrunk, layout(2 * LARGE));
        assert_eq!(blocks.with_kept(|kept| (kept.n, kept.n_bytes())), Some((1, 4 * LARGE)));
    }
}

#[test]
fn oldest_range_goes_when_the_list_is_full() {
    let blocks = Allocator::new();
    // SAFETY: sizes are not zero; each block is freed once with its layout. Every second block
    // stays allocated, so that no free ranges are neighbours.
    unsafe {
        let live: Vec<_> = (0..4 * PLACES).map(|_| blocks.alloc(layout(LARGE))).collect();
        live.iter().step_by(2).for_each(|&start| blocks.dealloc(start, layout(LARGE)));
        let kept: Vec<_> =
            blocks.with_kept(|kept| kept.ranges().iter().map(|range| range.start).collect()).unwrap();
        let youngest: Vec<_> = live.iter().copied().step_by(2).skip(PLACES).collect();
        assert_eq!(kept, youngest);
        live.iter().skip(1).step_by(2).for_each(|&start| blocks.dealloc(start, layout(LARGE)));
    }
    assert!(kept_bytes(&blocks) <= KEPT);
}

#[test]
fn impossible_sizes_are_refused() {
    let blocks = Allocator::new();
    // SAFETY: sizes are not zero; nothing is written.
    unsafe {
        assert!(blocks.alloc(layout(1 << 60)).is_null());
        let start = blocks.alloc(layout(LARGE));
        assert!(blocks.realloc(start, layout(LARGE), 1 << 60).is_null());
        start.write_bytes(1, LARGE);
        blocks.dealloc(start, layout(LARGE));
    }
}

#[test]
fn asking_for_room_keeps_the_free_ranges() {
    let blocks = Allocator::new();
    // SAFETY: the size is not zero; the block is freed once with its layout.
    unsafe {
        let start = blocks.alloc(layout(KEPT));
        blocks.dealloc(start, layout(KEPT));
    }
    for n_bytes in [0, 1, LARGE, KEPT - 1, 2 * KEPT] {
        assert!(blocks.has_room(n_bytes));
        assert_eq!(kept_bytes(&blocks), KEPT);
    }
    assert!(!blocks.has_room(1 << 60) && !blocks.has_room(usize::MAX));
}

#[test]
fn allocates_while_the_list_is_locked() {
    let blocks = Allocator::new();
    blocks.with_kept(|_| churn(&blocks, 3, 50)).unwrap();
    assert_eq!(kept_bytes(&blocks), 0);
}
