//! `Queue`: pairs ordered by key, the greatest first, ties by ids.
//!
//! A binary heap that knows the position of each pair, so that a key may rise (in the lazy heap of
//! byte-pair encoding keys may only fall). A change costs O(log n), or O(1) in the common case that
//! a key moves little.

use crate::error::Result;
use crate::memory;
use crate::vocab::TokenId;

/// A pair in the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<K> {
    pub(super) key: K,
    pub(super) left: TokenId,
    pub(super) right: TokenId,
    /// The number of the pair.
    pub(super) index: u32,
}

impl<K: Ord> Waiting<K> {
    #[inline]
    fn before(&self, other: &Self) -> bool {
        other.key.cmp(&self.key).then_with(|| (self.left, self.right).cmp(&(other.left, other.right))).is_lt()
    }
}

/// The position of a pair that is not in the queue.
const NONE: u32 = u32::MAX;

/// The queue.
pub(super) struct Queue<K> {
    items: Vec<Waiting<K>>,
    /// The position of each pair in `items`, by its number.
    places: Vec<u32>,
}

impl<K: Copy + Ord> Queue<K> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), places: Vec::new() }
    }

    /// Replaces all pairs, whose numbers are below `n`. Linear.
    pub(super) fn refill(&mut self, n: usize, items: Vec<Waiting<K>>) -> Result<()> {
        self.items = items;
        self.places = memory::filled(n, NONE)?;
        for (place, item) in self.items.iter().enumerate() {
            self.places[item.index as usize] = place as u32;
        }
        for at in (0..self.items.len() / 2).rev() {
            self.sift_down(at);
        }
        Ok(())
    }

    pub(super) fn first(&self) -> Option<&Waiting<K>> {
        self.items.first()
    }

    pub(super) fn get(&self, index: u32) -> Option<&Waiting<K>> {
        let place = *self.places.get(index as usize)?;
        self.items.get(place as usize)
    }

    /// Adds a pair, whose number must be the next.
    pub(super) fn push(&mut self, item: Waiting<K>) -> Result<()> {
        memory::push(&mut self.places, self.items.len() as u32)?;
        memory::push(&mut self.items, item)?;
        self.sift_up(self.items.len() - 1);
        Ok(())
    }

    /// Removes a pair, if it is in the queue.
    pub(super) fn remove(&mut self, index: u32) {
        let place = std::mem::replace(&mut self.places[index as usize], NONE) as usize;
        if place < self.items.len() {
            self.items.swap_remove(place);
            if place < self.items.len() {
                self.moved(place);
            }
        }
    }

    /// Changes the key of a pair, if it is in the queue.
    #[inline]
    pub(super) fn update(&mut self, index: u32, key: K) {
        let place = self.places[index as usize] as usize;
        if let Some(item) = self.items.get_mut(place) {
            item.key = key;
            self.moved(place);
        }
    }

    fn moved(&mut self, place: usize) {
        self.places[self.items[place].index as usize] = place as u32;
        if self.sift_up(place) == place {
            self.sift_down(place);
        }
    }

    fn put(&mut self, place: usize, item: Waiting<K>) {
        self.places[item.index as usize] = place as u32;
        self.items[place] = item;
    }

    fn sift_up(&mut self, from: usize) -> usize {
        let moved = self.items[from];
        let mut at = from;
        while at > 0 {
            let parent = (at - 1) / 2;
            if !moved.before(&self.items[parent]) {
                break;
            }
            self.put(at, self.items[parent]);
            at = parent;
        }
        if at != from {
            self.put(at, moved);
        }
        at
    }

    fn sift_down(&mut self, from: usize) {
        let moved = self.items[from];
        let mut at = from;
        loop {
            let mut child = 2 * at + 1;
            if child >= self.items.len() {
                break;
            }
            if child + 1 < self.items.len() && self.items[child + 1].before(&self.items[child]) {
                child += 1;
            }
            if !self.items[child].before(&moved) {
                break;
            }
            self.put(at, self.items[child]);
            at = child;
        }
        if at != from {
            self.put(at, moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn first_is_the_greatest_of_all(
            start in prop::collection::vec(0u8..9, 0..20),
            steps in prop::collection::vec((0u8..3, any::<prop::sample::Index>(), 0u8..9), 1..60),
        ) {
            let item = |index: usize, key: u8| Waiting { key, left: 100 - index as u32 / 2, right: index as u32, index: index as u32 };
            let mut known: Vec<Option<Waiting<u8>>> =
                start.iter().enumerate().map(|(index, &key)| Some(item(index, key))).collect();
            let mut queue = Queue::new();
            queue.refill(known.len(), known.iter().flatten().copied().collect()).unwrap();
            for (step, at, key) in steps {
                let at = if known.is_empty() { 0 } else { at.index(known.len()) };
                match step {
                    0 => {
                        known.push(Some(item(known.len(), key)));
                        queue.push(item(known.len() - 1, key)).unwrap();
                    }
                    _ if known.is_empty() => {}
                    1 => {
                        known[at] = None;
                        queue.remove(at as u32);
                    }
                    _ => {
                        queue.update(at as u32, key);
                        if let Some(known) = &mut known[at] {
                            known.key = key;
                        }
                    }
                }
                let order = |item: &&Waiting<u8>| (std::cmp::Reverse(item.key), item.left, item.right);
                let expected = known.iter().flatten().min_by_key(order).map(|item| item.index);
                prop_assert_eq!(queue.first().map(|item| item.index), expected);
                for (index, item) in known.iter().enumerate() {
                    prop_assert_eq!(queue.get(index as u32).map(|item| item.key), item.map(|item| item.key));
                }
            }
        }
    }
}
