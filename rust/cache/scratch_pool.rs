//! `Resting`: what calls leave behind for the calls after them, a fixed number.
//!
//! Caches and buffers are made once and lent again and again; as many rest as
//! there are places, whatever the number of threads, and the rest is dropped.
//! What rests has an owner, as a cache of one model is of no use to another.
//!
//! Nobody waits here. A place whose lock is taken, perhaps by a thread that a
//! fork left behind, is passed over, and a new value is made.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Which of those that share the places a value is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner(usize);

/// Where one value may rest.
type Place<T> = Mutex<Option<(Owner, T)>>;

/// Places for values at rest.
pub(crate) struct Resting<T> {
    places: Box<[Place<T>]>,
    n_owners: AtomicUsize,
}

impl<T> Resting<T> {
    /// Places for `n` values.
    pub(crate) fn new(n: usize) -> Self {
        Self { places: (0..n.max(1)).map(|_| Mutex::default()).collect(), n_owners: AtomicUsize::new(0) }
    }

    /// How many values may rest.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// An owner that was not there before.
    pub(crate) fn new_owner(&self) -> Owner {
        Owner(self.n_owners.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes a value of an owner, if one rests.
    pub(crate) fn take(&self, owner: Owner) -> Option<T> {
        let mut places = self.free_places();
        places.find_map(|mut place| place.take_if(|(known, _)| *known == owner)).map(|(_, value)| value)
    }

    /// Lets a value rest: in an empty place, else in that of another owner, else
    /// it is dropped.
    pub(crate) fn put(&self, owner: Owner, value: T) {
        let is_empty = |place: &MutexGuard<'_, Option<(Owner, T)>>| place.is_none();
        let is_other = |place: &MutexGuard<'_, Option<(Owner, T)>>| {
            place.as_ref().is_none_or(|(known, _)| *known != owner)
        };
        let place = self.free_places().find(is_empty).or_else(|| self.free_places().find(is_other));
        if let Some(mut place) = place {
            *place = Some((owner, value));
        }
    }

    /// The places that nobody holds, beginning elsewhere for each thread, so that
    /// many threads do not meet at the first.
    fn free_places(&self) -> impl Iterator<Item = MutexGuard<'_, Option<(Owner, T)>>> {
        let (before, after) = self.places.split_at(own_number() % self.places.len());
        after.iter().chain(before).filter_map(|place| place.try_lock().ok())
    }
}

/// A number for each thread, counted up.
fn own_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that is ending has none any more.
    OWN.try_with(|own| *own).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What rests, by owner.
    fn held(resting: &Resting<u32>, owner: Owner) -> Vec<u32> {
        let values = resting.places.iter().filter_map(|place| *place.lock().unwrap());
        let mut values: Vec<u32> =
            values.filter(|(known, _)| *known == owner).map(|(_, value)| value).collect();
        values.sort_unstable();
        values
    }

    #[test]
    fn as_many_rest_as_there_are_places() {
        let resting = Resting::new(3);
        let owner = resting.new_owner();
        assert_eq!(resting.take(owner), None);
        (0..10).for_each(|value| resting.put(owner, value));
        assert_eq!(held(&resting, owner), [0, 1, 2]);
        assert!(resting.take(owner).is_some());
        assert_eq!(held(&resting, owner).len(), 2);
    }

    #[test]
    fn whatever_thread_put_it_any_thread_takes_it() {
        let resting = Resting::new(4);
        let owner = resting.new_owner();
        for value in 0..20 {
            std::thread::scope(|scope| {
                scope.spawn(|| assert_eq!(resting.take(owner), (value > 0).then(|| value - 1)));
            });
            std::thread::scope(|scope| {
                scope.spawn(|| resting.put(owner, value));
            });
        }
        assert_eq!(held(&resting, owner), [19]);
    }

    #[test]
    fn kinds_share_the_places_and_never_a_value() {
        let resting = Resting::new(2);
        let (one, two) = (resting.new_owner(), resting.new_owner());
        resting.put(one, 1);
        resting.put(one, 2);
        assert_eq!(resting.take(two), None);
        resting.put(two, 3);
        assert_eq!((held(&resting, one).len(), held(&resting, two)), (1, vec![3]));
        resting.put(two, 4);
        resting.put(two, 5);
        assert_eq!((held(&resting, one), held(&resting, two)), (vec![], vec![3, 4]));
    }

    #[test]
    fn nobody_waits_for_a_place_that_is_taken() {
        let resting = Resting::new(2);
        let owner = resting.new_owner();
        resting.put(owner, 1);
        resting.put(owner, 2);
        let locked: Vec<_> = resting.places.iter().map(|place| place.lock().unwrap()).collect();
        assert_eq!(resting.take(owner), None);
        resting.put(owner, 3);
        drop(locked);
        assert_eq!(held(&resting, owner), [1, 2]);
    }
}
