//! Hints that a value will be read soon.
//!
//! Safe Rust has no such instruction. It changes no result; on a processor without it, nothing
//! happens.

/// Prefetches the cache line of a value.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and prefetching is allowed for any address; this is the
        // address of a live value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
