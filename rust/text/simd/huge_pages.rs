//! Advises the system to use huge pages for a table that is read at random.
//!
//! A table of several megabytes in pages of 4 KiB has more pages than the TLB of the processor
//! holds, so most lookups miss it. The advice changes no result; if the system does not support or
//! refuses it, nothing happens. Give it before the memory is first touched.

/// Smaller blocks contain no huge page.
#[cfg(target_os = "linux")]
const LEAST_BYTES: usize = 2 << 20;
/// The advice begins and ends at a page. If pages are larger, the system refuses it.
#[cfg(target_os = "linux")]
const PAGE: usize = 4096;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// madvise(2).
    fn madvise(start: *mut std::ffi::c_void, len: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
}

/// Advises huge pages for the memory of some values.
pub(crate) fn advise<T>(values: &[T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(values) >= LEAST_BYTES && !cfg!(miri) {
        const MADV_HUGEPAGE: std::ffi::c_int = 14;
        let start = values.as_ptr().cast_mut().cast::<std::ffi::c_void>();
        // Rounds to the pages that contain the values.
        let before = start as usize % PAGE;
        let len = (before + size_of_val(values)).next_multiple_of(PAGE);
        // SAFETY: this advice reads and writes no memory for any address, and these pages are
        // mapped, because they contain live values. The return value only says whether it was
        // accepted.
        let _ = unsafe { madvise(start.wrapping_byte_sub(before), len, MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}
