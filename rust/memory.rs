//! Memory that input decides the size of: asked for, never assumed.
//!
//! A vector that grows by itself ends the process where there is no memory;
//! these say so. For what a text or a file decides the size of, not for what
//! the code does.

use crate::error::{Error, Result};

/// There is no room for `n` values of `T`.
pub(crate) fn missing<T>(n: usize) -> Error {
    Error::Memory { n, size: size_of::<T>() }
}

/// Makes room for `more` values beside those that are there.
///
/// # Errors
/// [`Error::Memory`] where there is not enough, as for all of these.
#[inline]
pub(crate) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve(more).map_err(|_| missing::<T>(values.len().saturating_add(more)))
}

/// Appends a value.
#[inline]
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        reserve(values, 1)?;
    }
    values.push(value);
    Ok(())
}

/// Appends values.
#[inline]
pub(crate) fn extend<T: Clone>(values: &mut Vec<T>, more: &[T]) -> Result<()> {
    reserve(values, more.len())?;
    values.extend_from_slice(more);
    Ok(())
}

/// An empty vector with room for `n` values.
pub(crate) fn reserved<T>(n: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(n).map_err(|_| missing::<T>(n))?;
    Ok(values)
}

/// Whether there is room for `n` values, which are not made: for what grows in several arrays.
pub(crate) fn check<T>(n: usize) -> Result<()> {
    #[cfg(all(feature = "python", target_os = "linux", target_env = "gnu"))]
    let is_there = n.checked_mul(size_of::<T>()).is_some_and(crate::large_blocks::are_there);
    #[cfg(not(all(feature = "python", target_os = "linux", target_env = "gnu")))]
    let is_there = reserved::<T>(n).is_ok();
    if is_there { Ok(()) } else { Err(missing::<T>(n)) }
}

/// A vector of `n` values that are alike.
pub(crate) fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut values = reserved(n)?;
    values.resize(n, value);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_an_error_that_names_its_size() {
        let n = usize::MAX / 8;
        let mut values = vec![1_u64];
        for error in [
            reserve(&mut values, n - 1).unwrap_err(),
            reserved::<u64>(n).unwrap_err(),
            filled(n, 0_u64).unwrap_err(),
            check::<u64>(n).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Memory { n: found, size: 8 } if found == n), "{error}");
        }
        check::<u64>(1 << 17).unwrap();
        push(&mut values, 2).unwrap();
        extend(&mut values, &[3, 4]).unwrap();
        assert_eq!(values, [1, 2, 3, 4]);
        assert_eq!(filled(2, 7).unwrap(), [7, 7]);
    }
}
