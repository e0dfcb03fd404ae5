//! `Run`: bytes as runs of text, and of bytes that are not text, alternately.
//!
//! Counting and encoding both go by them, so that what is cached from invalid
//! bytes is what they are encoded with: each longest run of them is one piece.
//! Not a decoder: nothing is replaced here.

/// A run of bytes; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run<'a> {
    /// UTF-8.
    Text(&'a str),
    /// No part of it is a character.
    Invalid(&'a [u8]),
}

impl Run<'_> {
    /// The number of its bytes.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Invalid(run) => run.len(),
        }
    }
}

/// Calls `f` with each run and the place where it begins, in order.
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

/// The runs that [`for_each_few_runs`] hands on at once.
const FEW: usize = 16;

/// Calls `f` with the same, several at once, so that what is known of them can be fetched together.
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
    fn each_longest_run_of_invalid_bytes_is_one() {
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
    fn a_few_at_once_are_the_same() {
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
