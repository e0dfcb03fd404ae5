//! `Workers`: a model with what is kept for it from call to call.
//!
//! Not for the work itself, which whoever borrows a worker does.

use std::sync::{Arc, OnceLock};

use crate::cache::scratch_pool::{Owner, Resting};
use crate::models::{Model, Scratch, Worker};
use crate::parallel;
use crate::token_lengths::Extents;

/// A model and what its workers left behind: their caches live on between calls.
///
/// The models of one tokenizer share the places where that rests.
pub(super) struct Workers {
    model: Arc<Model>,
    /// Made when spans are first asked for.
    extents: OnceLock<Option<Extents>>,
    owner: Owner,
    resting: Arc<Resting<Scratch>>,
}

impl Workers {
    /// As many may rest as can run, for each of `n_models` in turn: each holds up
    /// to 18 MiB (Unigram: 13 MiB).
    pub(super) fn new(model: Arc<Model>, n_models: usize) -> Self {
        let resting = Arc::new(Resting::new(n_models * parallel::default_threads()));
        Self { model, extents: OnceLock::new(), owner: resting.new_owner(), resting }
    }

    /// Those of another model, which rest in the same places.
    pub(super) fn beside(&self, model: Arc<Model>) -> Self {
        let (owner, resting) = (self.resting.new_owner(), self.resting.clone());
        Self { model, extents: OnceLock::new(), owner, resting }
    }

    pub(super) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// How far the ids of the model reach. Nobody waits for another who makes them.
    pub(super) fn extents(&self) -> Option<&Extents> {
        if self.extents.get().is_none() {
            let _ = self.extents.set(self.model.extents());
        }
        self.extents.get()?.as_ref()
    }

    #[cfg(test)]
    pub(super) fn share_places_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.resting, &other.resting) && self.owner != other.owner
    }

    #[cfg(test)]
    pub(super) fn n_places(&self) -> usize {
        self.resting.len()
    }

    pub(super) fn lend<T>(&self, work: impl FnOnce(&mut Worker<'_>) -> T) -> T {
        let mut worker = match self.resting.take(self.owner) {
            Some(scratch) => self.model.worker_with(scratch),
            None => self.model.worker(),
        };
        let result = work(&mut worker);
        self.resting.put(self.owner, worker.into_scratch());
        result
    }
}
