//! Bytes as stretches of text, and of bytes that are no text, in turns.
//!
//! Counting and encoding both go by them, so that what is learnt from invalid
//! bytes is what they are encoded with: each longest run of them is one piece.
//! Not a decoder: nothing is replaced here.

/// A stretch of bytes; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch<'a> {
    /// UTF-8.
    Text(&'a str),
    /// No part of it is a character.
    Invalid(&'a [u8]),
}

impl Stretch<'_> {
    /// The number of its bytes.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Invalid(run) => run.len(),
        }
    }
}

/// Calls `f` with each stretch and the place where it begins, in order.
pub(crate) fn for_each_stretch<'a, E>(
    bytes: &'a [u8],
    mut f: impl FnMut(usize, Stretch<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut start, mut end) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        if !valid.is_empty() {
            if start < end {
                f(start, Stretch::Invalid(&bytes[start..end]))?;
            }
            f(end, Stretch::Text(valid))?;
            start = end + valid.len();
            end = start;
        }
        end += chunk.invalid().len();
    }
    if start < end { f(start, Stretch::Invalid(&bytes[start..end])) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::Stretch::{Invalid, Text};
    use super::*;

    #[test]
    fn each_longest_run_of_invalid_bytes_is_one() {
        type Case<'a> = (&'a [u8], &'a [(usize, Stretch<'a>)]);
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
            let result = for_each_stretch(bytes, |at, stretch| {
                found.push((at, stretch));
                Ok::<(), ()>(())
            });
            assert_eq!((result, found.as_slice()), (Ok(()), *expected), "{bytes:?}");
        }
    }
}
