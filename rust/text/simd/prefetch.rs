//! A hint to the processor: a place in memory is going to be read.
//!
//! The one instruction of encoding that safe Rust cannot say. It changes no
//! result; where a processor has no such hint, nothing is done.

/// Asks for the line of a value, which will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and prefetching reads nothing: it may be
        // given any address, and this one is of a live value.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
