//! How often text is looked at: counted in tests, nothing elsewhere.
//!
//! What reads a text place by place says so with [`step`]: a character looked up,
//! eight letters at once, a window of 64 bytes. A test that holds time to be
//! linear counts these, where a clock would show how busy the machine is.
//! Steps of different kinds cost different times, so they do not measure speed.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Notes one look.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// The steps that this thread takes in `work`.
#[cfg(test)]
pub(crate) fn of(work: impl FnOnce()) -> u64 {
    let before = STEPS.with(std::cell::Cell::get);
    work();
    STEPS.with(std::cell::Cell::get) - before
}
