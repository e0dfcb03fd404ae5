//! `Workers`: lends workers of a model, whose caches live on between calls.

use std::sync::{Arc, OnceLock};

use crate::models::{Model, Scratch, Worker};
use crate::parallel;
use crate::scratch_pool::{Owner, ScratchPool};
use crate::token_lengths::TokenLengths;

/// A model and the pool that its workers' caches lie in between calls. The models of one tokenizer share the pool.
pub(super) struct Workers {
    model: Arc<Model>,
    /// Made when spans are first asked for.
    token_lengths: OnceLock<Option<TokenLengths>>,
    owner: Owner,
    pool: Arc<ScratchPool<Scratch>>,
}

impl Workers {
    /// The pool has a place for each thread and each of `n_models`; what lies there has up to 18 MiB (Unigram:
    /// 13 MiB), and 36 MiB more while calls are long.
    pub(super) fn new(model: Arc<Model>, n_models: usize) -> Self {
        let pool = Arc::new(ScratchPool::new(n_models * parallel::default_threads()));
        Self { model, token_lengths: OnceLock::new(), owner: pool.new_owner(), pool }
    }

    /// Workers of another model with the same pool.
    pub(super) fn beside(&self, model: Arc<Model>) -> Self {
        let (owner, pool) = (self.pool.new_owner(), self.pool.clone());
        Self { model, token_lengths: OnceLock::new(), owner, pool }
    }

    pub(super) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// How far the ids of the model reach. Nobody waits for another who makes them.
    pub(super) fn token_lengths(&self) -> Option<&TokenLengths> {
        if self.token_lengths.get().is_none() {
            let _ = self.token_lengths.set(self.model.token_lengths());
        }
        self.token_lengths.get()?.as_ref()
    }

    #[cfg(test)]
    pub(super) fn share_places_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool) && self.owner != other.owner
    }

    #[cfg(test)]
    pub(super) fn n_places(&self) -> usize {
        self.pool.len()
    }

    /// Runs `work` with a worker.
    pub(super) fn lend<T>(&self, work: impl FnOnce(&mut Worker<'_>) -> T) -> T {
        let mut worker = match self.pool.take(self.owner) {
            Some(scratch) => self.model.worker_with(scratch),
            None => self.model.worker(),
        };
        let result = work(&mut worker);
        self.pool.put(self.owner, worker.into_scratch());
        result
    }
}
