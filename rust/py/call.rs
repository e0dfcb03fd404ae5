//! `Call`: the options of one call, owned, so that they can outlive it.

use std::sync::atomic::AtomicBool;

use super::specials::OwnedSpecials;
use crate::tokenizer::EncodeOptions;

/// The options of a call, owned.
pub(super) struct Call {
    pub add_special_tokens: bool,
    pub specials: OwnedSpecials,
    pub max_tokens: Option<usize>,
    pub seed: u64,
    pub threads: Option<usize>,
    pub spans: bool,
}

impl Call {
    pub fn new(add_special_tokens: bool, specials: OwnedSpecials) -> Self {
        Self { add_special_tokens, specials, max_tokens: None, seed: 0, threads: None, spans: false }
    }

    pub fn options<'a>(&'a self, stop: Option<&'a AtomicBool>) -> EncodeOptions<'a> {
        let Self { add_special_tokens, max_tokens, seed, threads, spans, ref specials } = *self;
        let specials = specials.get();
        EncodeOptions { add_special_tokens, specials, max_tokens, seed, threads, spans, stop }
    }
}
