//! `cut_file`: finds where a file may be cut into parts of about equal size.
//!
//! Parts begin and end between units, so that a reader of one, given as an aligned
//! [`ByteRange`](super::ByteRange), reads nothing else of the file but its start. Only the quotes of
//! CSV and of quoted TSV make it necessary to read the whole file for this.

use std::path::Path;

use super::files::{Input, inputs_of, open_units, pipe_in_parts};
use super::unit_starts::UnitStarts;
use super::{Format, MAX_LINE_BYTES};
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};

/// The offsets at which the parts of a file begin, from 0: parts of at most `part_bytes` bytes on
/// disk, each extended to the end of its last line or row.
///
/// A file that cannot be cut (compressed files, and [`Format::Text`]) is one part. The offsets
/// depend on nothing but the file, the format and `part_bytes`.
///
/// # Errors
/// [`Error::Option`] if `part_bytes` is 0, or for a pipe; errors of opening a file as for
/// [`FileSource`](super::FileSource); [`Error::Cancelled`] if `progress` says so.
pub fn cut_file(
    path: impl AsRef<Path>,
    format: Option<&Format>,
    part_bytes: u64,
    progress: &mut Progress<'_>,
) -> Result<Vec<u64>> {
    if part_bytes == 0 {
        return Err(Error::Option {
            option: "part_bytes",
            value: "0".to_owned(),
            reason: "a part has at least one byte".to_owned(),
        });
    }
    let (inputs, size) = inputs_of([path], format, &[])?;
    let mut cuts = vec![0];
    for input in &inputs {
        if input.size.is_none() {
            return Err(pipe_in_parts(&input.path));
        }
        cuts.extend(cuts_of(input, size, part_bytes, MAX_LINE_BYTES, progress)?);
    }
    Ok(cuts)
}

/// The offsets between the parts of a file of `size` bytes.
pub(super) fn cuts_of(
    input: &Input,
    size: u64,
    part_bytes: u64,
    max_line_bytes: usize,
    progress: &mut Progress<'_>,
) -> Result<Vec<u64>> {
    let mut cuts = Vec::new();
    let n_parts = size.div_ceil(part_bytes);
    if n_parts < 2 {
        return Ok(cuts);
    }
    let Some((file, end, first)) = open_units(input, max_line_bytes)? else { return Ok(cuts) };
    let mut starts = UnitStarts::new(&input.path, file, end, first);
    for part in 1..n_parts {
        let at = (u128::from(size) * u128::from(part) / u128::from(n_parts)) as u64;
        let start = starts.at_or_after(at, |offset| progress.tick(Stage::Plan, offset, size))?;
        // A unit longer than a part makes its part longer.
        if start >= size {
            break;
        }
        if start > first && cuts.last().is_none_or(|&last| start > last) {
            cuts.push(start);
        }
    }
    Ok(cuts)
}
