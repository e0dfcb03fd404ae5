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

/// More threads than any machine has use for; a system may refuse to start more.
pub const MAX_THREADS: usize = 1024;

/// The threads to use: what was asked for, else [`default_threads`]; at least 1
/// and at most [`MAX_THREADS`].
pub fn n_threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(default_threads).clamp(1, MAX_THREADS)
}

/// Runs `work` over `0..n` cut into equal parts of at least `least`, one a
/// thread; the results are in order.
pub fn in_chunks<T: Send>(
    n: usize,
    least: usize,
    work: impl Fn(std::ops::Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = default_threads().min(n / least.max(1)).max(1);
    let range = |part: usize| n * part / parts..n * (part + 1) / parts;
    if parts == 1 {
        return vec![work(range(0))];
    }
    let work = &work;
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..parts).map(|part| scope.spawn(move || work(range(part)))).collect();
        let first = work(range(0));
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

/// Runs two pieces of work, at the same time if there is a thread for each.
pub fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    if default_threads() == 1 {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let second = scope.spawn(second);
        (first(), second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_thread() {
        assert!(default_threads() >= 1);
        for (asked, expected) in [
            (None, default_threads()),
            (Some(0), 1),
            (Some(1), 1),
            (Some(7), 7),
            (Some(usize::MAX), MAX_THREADS),
        ] {
            assert_eq!(n_threads(asked), expected);
        }
    }

    #[test]
    fn results_are_in_order() {
        assert_eq!(both(|| 1, || "two"), (1, "two"));
        let chunks = in_chunks(10, 1, |range| range.collect::<Vec<_>>());
        assert_eq!(chunks.concat(), (0..10).collect::<Vec<_>>());
    }
}
