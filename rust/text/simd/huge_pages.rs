//! Advice to the system: a table is going to be read all over, in large pages.
//!
//! A table of megabytes in pages of 4 KiB has more of them than the processor
//! remembers, and each look-up of another one takes a walk through the system's
//! tables. It changes no result and no bound; where the system has no such
//! advice, or refuses it, nothing is done. To be given before the first touch.

/// Below this there is no large page to be had.
#[cfg(target_os = "linux")]
const LEAST_BYTES: usize = 2 << 20;
/// Advice begins and ends with a page; where pages are larger, it is refused.
#[cfg(target_os = "linux")]
const PAGE: usize = 4096;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// madvise(2).
    fn madvise(start: *mut std::ffi::c_void, len: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
}

/// Advises large pages for the memory of some values.
pub(crate) fn advise<T>(values: &[T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(values) >= LEAST_BYTES && !cfg!(miri) {
        const MADV_HUGEPAGE: std::ffi::c_int = 14;
        let start = values.as_ptr().cast_mut().cast::<std::ffi::c_void>();
        // The whole pages that the values lie in; none of them is another's alone.
        let before = start as usize % PAGE;
        let len = (before + size_of_val(values)).next_multiple_of(PAGE);
        // SAFETY: this advice reads and writes no memory, whatever addresses it is
        // given, and these are of pages that are mapped, as live values lie in
        // them. What it returns says whether it was taken, which changes nothing.
        let _ = unsafe { madvise(start.wrapping_byte_sub(before), len, MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}
