//! Threads: how many there are, and how work is shared among them.
//!
//! Threads live for one call (`std::thread::scope`): nothing survives a fork,
//! nothing runs at import, nothing mutable is shared between calls. A pool was
//! rejected: starting two threads costs about 50 µs, less than a block of work.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

/// The number of threads to use when the caller names none: the processors
/// this process may use, or the cgroup's CPU quota if that is less.
///
/// `std` reads both the affinity mask and the cgroup v1 and v2 quotas.
pub fn default_threads() -> usize {
    static THREADS: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get));
    *THREADS
}

/// The threads to use: what was asked for, else [`default_threads`]; at least 1.
pub fn n_threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(default_threads).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_thread() {
        assert!(default_threads() >= 1);
        for (asked, expected) in [(None, default_threads()), (Some(0), 1), (Some(1), 1), (Some(7), 7)] {
            assert_eq!(n_threads(asked), expected);
        }
    }
}
