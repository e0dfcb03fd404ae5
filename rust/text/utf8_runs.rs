//! `Run`: splits bytes into alternating runs of UTF-8 text and of invalid bytes. Nothing is
//! replaced.
//!
//! Counting and encoding share this, so that each maximal run of invalid bytes is one piece for
//! both.

/// A run of bytes; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run<'a> {
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes of which no part is a character.
    Invalid(&'a [u8]),
}

impl Run<'_> {
    /// The number of bytes.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Invalid(run) => run.len(),
        }
    }
}

/// Calls `f` with each run and its offset, in order.
pub(crate) fn for_each_run<'a, E>(
    bytes: &'a [u8],
    mut f: impl FnMut(usize, Run<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut start, mut end) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        if !valid.is_empty() {
            if start < end {
                f(start, Run::Invalid(&bytes[start..end]))?;
            }
            f(end, Run::Text(valid))?;
            start = end + valid.len();
            end = start;
        }
        end += chunk.invalid().len();
    }
    if start < end { f(start, Run::Invalid(&bytes[start..end])) } else { Ok(()) }
}

/// The maximum number of runs per call of [`for_each_few_runs`].
const FEW: usize = 16;

/// As [`for_each_run`], with several runs per call, so that callers can prefetch data for them
/// together.
pub(crate) fn for_each_few_runs<'a, E>(
    bytes: &'a [u8],
    mut f: impl FnMut(&[(usize, Run<'a>)]) -> Result<(), E>,
) -> Result<(), E> {
    let mut few = [(0, Run::Invalid(&[])); FEW];
    let mut n = 0;
    for_each_run(bytes, |start, run| {
        few[n] = (start, run);
        n += 1;
        if n < FEW {
            return Ok(());
        }
        n = 0;
        f(&few)
    })?;
    if n > 0 { f(&few[..n]) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::Run::{Invalid, Text};
    use super::*;

    #[test]
    fn maximal_runs_of_invalid_bytes_are_one_run() {
        type Case<'a> = (&'a [u8], &'a [(usize, Run<'a>)]);
        let cases: &[Case] = &[
            (b"", &[]),
            (b"ab", &[(0, Text("ab"))]),
            (b"\xff", &[(0, Invalid(b"\xff"))]),
            (b"\x80\x80a", &[(0, Invalid(b"\x80\x80")), (2, Text("a"))]),
            (
                b"a\xff\xfe\xe2\x82b\xc3",
                &[(0, Text("a")), (1, Invalid(b"\xff\xfe\xe2\x82")), (5, Text("b")), (6, Invalid(b"\xc3"))],
            ),
        ];
        for (bytes, expected) in cases {
            let mut found = Vec::new();
            let result = for_each_run(bytes, |at, run| {
                found.push((at, run));
                Ok::<(), ()>(())
            });
            assert_eq!((result, found.as_slice()), (Ok(()), *expected), "{bytes:?}");
        }
    }

    #[test]
    fn runs_are_the_same_in_groups() {
        let bytes: Vec<u8> = (0..200u8).map(|n| if n % 3 == 0 { 0xff } else { n }).collect();
        for len in 0..bytes.len() {
            let (mut one_by_one, mut together) = (Vec::new(), Vec::new());
            let _ = for_each_run(&bytes[..len], |at, run| {
                one_by_one.push((at, run));
                Ok::<(), ()>(())
            });
            let _ = for_each_few_runs(&bytes[..len], |few| {
                assert!(!few.is_empty());
                together.extend_from_slice(few);
                Ok::<(), ()>(())
            });
            assert_eq!(together, one_by_one);
        }
    }
}
