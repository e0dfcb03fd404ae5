//! Threads: how many there are, and how work is shared among them.
//!
//! Threads live for one call (`std::thread::scope`): nothing survives a fork,
//! nothing runs at import, nothing mutable is shared between calls. A pool was
//! rejected: starting two threads costs about 50 µs, less than a block of work.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

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

/// Whether 16 MB are left, without which no thread is started: a C library ends the process where it has no
/// memory for the variables of a thread that has begun. Asks for small blocks, since an allocator may keep
/// large ones that the C library cannot use.
fn has_room() -> bool {
    let mut blocks: [Vec<u8>; 16] = Default::default();
    let are_given = blocks.iter_mut().all(|block| block.try_reserve_exact(1_000_000).is_ok());
    // The compiler removes blocks that nothing uses, and with them the question.
    std::hint::black_box(&mut blocks);
    are_given
}

/// The number of threads to use: the requested one, else [`default_threads`]; at least 1
/// and at most [`MAX_THREADS`].
pub fn n_threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(default_threads).clamp(1, MAX_THREADS)
}

/// Starts a thread of `scope`; `None` when the system refuses one.
///
/// A system may refuse threads at any time (a limit of processes, memory for
/// stacks), and none is started where less than 16 MB are left for it. That is
/// not an error: callers continue with the threads there are, if need be
/// with the calling one alone, and the result is the same.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    if is_refused() || !has_room() {
        return None;
    }
    std::thread::Builder::new().name("sentitok".to_owned()).spawn_scoped(scope, work).ok()
}

/// Runs `own` here and `other(1)` to `other(n - 1)` on threads; what the system
/// gives no thread for runs here, after `own`. The results are in order; one
/// that panicked is an error.
pub fn shared<T: Send>(
    n: usize,
    own: impl FnOnce() -> T,
    other: impl Fn(usize) -> T + Sync,
) -> Vec<std::thread::Result<T>> {
    let other = &other;
    std::thread::scope(|scope| {
        // Where one thread is refused, so are those after it.
        let others: Vec<_> = (1..n).map_while(|part| spawn(scope, move || other(part))).collect();
        let left = others.len() + 1..n.max(1);
        let mut results = vec![Ok(own())];
        let late: Vec<_> = left.map(|part| Ok(other(part))).collect();
        results.extend(others.into_iter().map(ScopedJoinHandle::join));
        results.extend(late);
        results
    })
}

/// Runs `work(0)` here and `work(1)` to `work(n - 1)` on threads, as [`shared`] does; the results are in
/// order.
pub fn parts<T: Send>(n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results = shared(n, || work(0), &work);
    results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// Runs `work` over `0..n` cut into equal parts of at least `least`, one a
/// thread; the results are in order.
pub fn in_chunks<T: Send>(
    n: usize,
    least: usize,
    work: impl Fn(std::ops::Range<usize>) -> T + Sync,
) -> Vec<T> {
    let n_parts = default_threads().min(n / least.max(1)).max(1);
    parts(n_parts, |part| work(n * part / n_parts..n * (part + 1) / n_parts))
}

/// Runs `work` on each part, one a thread; what the system gives no thread for
/// runs here.
pub fn each<P: Send>(parts: Vec<P>, work: impl Fn(P) + Sync) {
    // Threads and caller each take the next as they come.
    let n = parts.len();
    let parts = Mutex::new(parts);
    let take = || parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let run = || {
        while let Some(part) = take() {
            work(part);
        }
    };
    for result in shared(n, run, |_| run()) {
        result.unwrap_or_else(|panic| resume_unwind(panic));
    }
}

/// Runs two pieces of work, at the same time if there is a thread for each.
pub fn both<A, B: Send>(first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
    // The thread that takes it runs it, or the caller that got none.
    let second = Mutex::new(Some(second));
    let run_second = || {
        let second = second.lock().unwrap_or_else(PoisonError::into_inner).take();
        second.map(|second| second())
    };
    std::thread::scope(|scope| {
        let thread = if default_threads() == 1 { None } else { spawn(scope, run_second) };
        let first = first();
        let made = match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => run_second(),
        };
        match made {
            Some(second) => (first, second),
            // Taken once, by the one thread or here.
            None => unreachable!("the second piece of work was taken twice"),
        }
    })
}

#[cfg(not(test))]
fn is_refused() -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static REFUSED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
fn is_refused() -> bool {
    REFUSED.get()
}

/// Runs `work` on a system that gives the calling thread no other.
#[cfg(test)]
pub(crate) fn without_threads<T>(work: impl FnOnce() -> T) -> T {
    REFUSED.set(true);
    let result = work();
    REFUSED.set(false);
    result
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

    #[test]
    fn a_system_without_threads_changes_nothing() {
        let work = || {
            let chunks = in_chunks(10, 1, |range| range.collect::<Vec<_>>());
            let parts = shared(5, || 0, |part| part * 10).into_iter().map(Result::unwrap).collect::<Vec<_>>();
            (chunks.concat(), parts, both(|| 1, || "two"))
        };
        assert_eq!(without_threads(work), work());
        assert_eq!(work().1, [0, 10, 20, 30, 40]);
        let spawned = || std::thread::scope(|scope| spawn(scope, || ()).is_some());
        assert!(spawned() && !without_threads(spawned));
    }
}
