//! Runs numbered blocks of work on several threads, with the same result for any number of threads.
//!
//! Sums of f64 depend on their order. So blocks do not depend on the number of threads, and
//! [`in_order`] adds their results by number: a thread that finishes early waits for its turn, so
//! each thread holds one result at a time. The calling thread reports progress and passes on a
//! request to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::parallel;

/// How often the calling thread reports and checks for a request to stop.
const WAIT: Duration = Duration::from_millis(25);

/// Runs `work` on each of `n` blocks; returns the state of each thread, which starts as `local()`.
pub(super) fn each<L: Send>(
    threads: usize,
    n: usize,
    tick: &mut dyn FnMut() -> Result<()>,
    local: impl Fn() -> L + Sync,
    work: impl Fn(usize, &mut L) + Sync,
) -> Result<Vec<L>> {
    if threads.min(n) <= 1 {
        return on_this_thread(n, tick, local, work);
    }
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = channel::<()>();
    let mut stopped = Ok(());
    let results = std::thread::scope(|scope| {
        let (next, stop, local, work) = (&next, &stop, &local, &work);
        let workers: Vec<_> = (0..threads.min(n))
            .map_while(|_| {
                let sender = sender.clone();
                parallel::spawn(scope, move || {
                    let _until_done = sender;
                    let mut mine = local();
                    while !stop.load(Ordering::Relaxed) {
                        let block = next.fetch_add(1, Ordering::Relaxed);
                        if block >= n {
                            break;
                        }
                        work(block, &mut mine);
                    }
                    mine
                })
            })
            .collect();
        drop(sender);
        // Workers send nothing; the channel disconnects when the last worker ends.
        while receiver.recv_timeout(WAIT) != Err(RecvTimeoutError::Disconnected) {
            if stopped.is_ok() {
                stopped = tick();
                stop.store(stopped.is_err(), Ordering::Relaxed);
            }
        }
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });
    stopped?;
    if results.is_empty() {
        return on_this_thread(n, tick, local, work);
    }
    let panicked = |_| Error::Internal("a training thread panicked".to_owned());
    results.into_iter().map(|result| result.map_err(panicked)).collect()
}

/// [`each`] on the calling thread.
fn on_this_thread<L>(
    n: usize,
    tick: &mut dyn FnMut() -> Result<()>,
    local: impl Fn() -> L,
    work: impl Fn(usize, &mut L),
) -> Result<Vec<L>> {
    let mut mine = local();
    for block in 0..n {
        tick()?;
        work(block, &mut mine);
    }
    Ok(vec![mine])
}

/// Runs `work` on each of `n` blocks and `add`s the results to `total` in the order of blocks.
pub(super) fn in_order<L: Send, T: Send>(
    threads: usize,
    n: usize,
    tick: &mut dyn FnMut() -> Result<()>,
    local: impl Fn() -> L + Sync,
    work: impl Fn(usize, &mut L) + Sync,
    total: T,
    add: impl Fn(&mut T, &mut L) + Sync,
) -> Result<T> {
    let ordered = OrderedTotal {
        state: Mutex::new(Total { next: 0, abandoned: false, total }),
        changed: Condvar::new(),
    };
    each(threads, n, tick, local, |block, mine| {
        let mut turn = Turn { ordered: &ordered, is_done: false };
        work(block, mine);
        turn.wait(block, |total| add(total, mine));
    })?;
    Ok(ordered.state.into_inner().unwrap_or_else(PoisonError::into_inner).total)
}

/// A total, and the block whose result it lacks next.
struct Total<T> {
    next: usize,
    /// A block panicked, so the blocks after it stop waiting.
    abandoned: bool,
    total: T,
}

/// A total to which threads add in the order of blocks.
struct OrderedTotal<T> {
    state: Mutex<Total<T>>,
    changed: Condvar,
}

impl<T> OrderedTotal<T> {
    fn lock(&self) -> MutexGuard<'_, Total<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one turn. If a panic drops it unused, the other threads stop waiting.
struct Turn<'a, T> {
    ordered: &'a OrderedTotal<T>,
    is_done: bool,
}

impl<T> Turn<'_, T> {
    fn wait(&mut self, block: usize, f: impl FnOnce(&mut T)) {
        let mut state = self.ordered.lock();
        while state.next != block && !state.abandoned {
            state = self.ordered.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.abandoned {
            f(&mut state.total);
            state.next += 1;
        }
        self.is_done = true;
        self.ordered.changed.notify_all();
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if !self.is_done {
            self.ordered.lock().abandoned = true;
            self.ordered.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_adds_by_number() {
        for threads in [1, 2, 3, 7] {
            let push = |all: &mut Vec<usize>, mine: &mut usize| all.push(*mine);
            let sum = in_order(threads, 50, &mut || Ok(()), || 0, |n, mine| *mine = n, Vec::new(), push);
            assert_eq!(sum.unwrap(), (0..50).collect::<Vec<_>>());
            let refused = parallel::without_threads(|| {
                in_order(threads, 50, &mut || Ok(()), || 0, |n, mine| *mine = n, Vec::new(), push)
            });
            assert_eq!(refused.unwrap(), (0..50).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_stops_on_request() {
        let work = |_, _: &mut ()| std::thread::sleep(Duration::from_millis(1));
        for threads in [1, 4] {
            let mut left = 3;
            let mut tick = || {
                left -= 1;
                if left == 0 { Err(Error::Cancelled) } else { Ok(()) }
            };
            let done = each(threads, usize::MAX, &mut tick, || (), work);
            assert!(matches!(done, Err(Error::Cancelled)));
        }
    }

    #[test]
    fn panic_becomes_an_error() {
        let work = |n: usize, _: &mut ()| assert_ne!(n, 2);
        let done = in_order(3, 9, &mut || Ok(()), || (), work, (), |(), ()| ());
        assert!(matches!(done, Err(Error::Internal(_))));
    }
}
