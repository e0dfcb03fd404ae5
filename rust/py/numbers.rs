//! Numeric arguments of calls: sizes, lengths, counts, seeds, shares and powers.
//!
//! Each argument has its own type, so that the error for a wrong type, a negative or a too large
//! number names the argument, the limit and the remedy. Integers of numpy are accepted;
//! booleans are not, nor floats for whole numbers. Ids are in `ids`. Limits that the crate also
//! checks, such as zeros without a meaning, are left to it.

use std::ops::Bound::{Excluded, Included};
use std::ops::RangeBounds;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::corpus::word_counts::SampleSize;
use crate::error::{Error, shown};
use crate::vocab::TokenId;

/// The description of a whole-number argument.
struct Argument {
    name: &'static str,
    least: i128,
    most: i128,
    /// The limit, and the remedy.
    is: &'static str,
}

/// Defines a type for each whole number: the argument's name, its minimum, and its description.
macro_rules! whole_numbers {
    ($($name:ident($number:ident) $argument:literal, $least:expr, $is:literal;)*) => {$(
        #[doc = concat!("The argument `", $argument, "`.")]
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub $number);

        impl $name {
            /// The number.
            pub const fn get(self) -> $number {
                self.0
            }
        }

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                const ARGUMENT: Argument =
                    Argument { name: $argument, least: $least, most: $number::MAX as i128, is: $is };
                Ok(Self(whole(&object, &ARGUMENT)? as $number))
            }
        }
    )*};
}

/// Defines a type for each other number: the argument's name, its range, and its description.
macro_rules! floats {
    ($($name:ident $argument:literal, $taken:expr, $is:literal;)*) => {$(
        #[doc = concat!("The argument `", $argument, "`.")]
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub f64);

        impl $name {
            /// The number.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                float(&object, $argument, &$taken, $is).map(Self)
            }
        }
    )*};
}

/// Defines a type for each mapping of tokens to ids, by the argument's name.
macro_rules! named_ids {
    ($($name:ident $argument:literal;)*) => {$(
        #[doc = concat!("The argument `", $argument, "`.")]
        pub(super) struct $name(Vec<(String, TokenId)>);

        impl $name {
            /// The tokens with their ids, in the given order.
            pub fn get(self) -> Vec<(String, TokenId)> {
                self.0
            }
        }

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                ids_by_name(&object, $argument).map(Self)
            }
        }
    )*};
}

whole_numbers! {
    // Of texts.
    MaxTokens(usize) "max_tokens", 0, "0 or more, or None for all ids";
    Size(usize) "size", 0, "1 or more, special tokens included";
    Stride(usize) "stride", 0, "0 or more, and less than the size of a window";
    Limit(usize) "limit", 0, "0 or more";
    Threads(usize) "threads", 1, "1 or more, or None for all";
    Seed(u64) "seed", 0, "0 or more";
    NBest(usize) "n", 0, "0 or more";
    // Of rectangles.
    Length(usize) "length", 0, "0 or more, or None for that of the longest row";
    MultipleOf(usize) "multiple_of", 0, "1 or more, or None to round nothing up";
    PadId(TokenId) "pad_id", 0, "0 or more, or None for that of the tokenizer";
    // Of positions in an encoding.
    Char(usize) "char", 0, "0 or more, as characters of a text are counted";
    Word(usize) "word", 0, "0 or more, as words of a text are counted";
    Sequence(usize) "sequence", 0, "0 for the first text and 1 for the second";
    // Of tokens.
    Id(TokenId) "id", 0, "0 or more, or None for the next one";
    // Of training.
    VocabSize(usize) "vocab_size", 0, "a number of tokens, such as 32000";
    MinFrequency(u64) "min_frequency", 0, "0 or more, where 0 means no limit";
    MinCount(u64) "min_count", 0, "0 or more, where 0 and 1 keep all pieces";
    MaxMerges(usize) "max_merges", 0, "0 or more, or None for as many as the vocabulary holds";
    GlobalMerges(usize) "global_merges", 0, "0 or more, where 0 is none";
    WindowSize(usize) "window_size", 1, "1 or more, such as 100";
    LimitAlphabet(usize) "limit_alphabet", 0, "0 or more, or None for all characters";
    MaxTokenLength(usize) "max_token_length", 0, "0 or more, or None for any length";
    SuperwordsFrom(usize) "superwords_from", 1, "a number of tokens, such as 24000";
    MaxSuperwordWords(usize) "max_superword_words", 2, "2 or more, such as 4";
    MaxPieceLength(usize) "max_piece_length", 0, "1 to 255, such as 16";
    SeedSize(usize) "seed_size", 0, "0 or more, such as 1000000";
    SubIterations(usize) "sub_iterations", 1, "1 or more, such as 2";
    MaxInputChars(usize) "max_input_chars_per_word", 0, "0 or more, such as 100";
    // Of files.
    MaxLineBytes(usize) "max_line_bytes", 0, "1 or more, or None for 268435456";
    MaxMemory(u64) "max_memory", 0, "0 or more, or None for no limit";
    MaxPieceBytes(usize) "max_piece_bytes", 0, "4 or more, or None for 65536";
    ShardBytes(u64) "shard_bytes", 1, "1 or more, or None for 67108864";
    PartBytes(u64) "part_bytes", 0, "1 or more, such as 268435456";
    SampleBytes(u64) "sample", 1, "a number of bytes, or a share of more than 0 and at most 1, such as 0.1";
    ShardTokens(u64) "shard_tokens", 0, "1 or more, or None for 134217728";
}

floats! {
    // Of texts.
    Alpha "alpha", 0.0..=f64::MAX, "0 or more; 0.1 to 1 is usual";
    Dropout "p", 0.0..=1.0, "a probability, from 0 to 1, or None to pass over no merge";
    // Of training.
    Share "sample", (Excluded(0.0), Included(1.0)), "a number of bytes, or a share of more than 0 and at most 1, such as 0.1";
    CharacterCoverage "character_coverage", (Excluded(0.0), Included(1.0)), "a share, more than 0 and at most 1, such as 0.9995";
    Ratio "ratios", (Excluded(0.0), Included(f64::MAX)), "a number of more than 0 for each language, such as 1.5";
    WindowAlpha "alpha", (Excluded(0.0), Included(f64::MAX)), "more than 0, such as 2.0";
    CheckpointSeconds "checkpoint_seconds", 0.0..=f64::MAX, "0 or more, such as 60";
    ShrinkingFactor "shrinking_factor", (Excluded(0.0), Excluded(1.0)), "the share that a round keeps, more than 0 and less than 1, such as 0.75";
}

named_ids! {
    SpecialIds "special_ids";
    SpecialTokens "special_tokens";
}

/// Takes a whole number within the bounds of an argument.
fn whole(object: &Bound<'_, PyAny>, argument: &Argument) -> PyResult<i128> {
    let &Argument { name, least, most, is } = argument;
    let Some(index) = index(object)? else {
        return Err(wrong_type(object, name, &format!("whole number: it is {is}")));
    };
    let number = index.extract::<i128>().ok();
    match number {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => {
            let found = spelled(&index);
            let is_small = number.map_or_else(|| index.lt(0), |number| Ok(number < least))?;
            let bits = most.ilog2() + 1;
            let most = if is_small { String::new() } else { format!(", and less than 2**{bits}") };
            Err(PyValueError::new_err(format!("{name}={found}: it is {is}{most}")))
        }
    }
}

/// Takes a finite number within the range of an argument.
fn float(
    object: &Bound<'_, PyAny>,
    name: &'static str,
    taken: &impl RangeBounds<f64>,
    is: &str,
) -> PyResult<f64> {
    if !object.is_exact_instance_of::<PyFloat>() {
        let py = object.py();
        let real = py.import(intern!(py, "numbers"))?.getattr(intern!(py, "Real"))?;
        if object.is_instance_of::<PyBool>() || !object.is_instance(&real)? {
            return Err(wrong_type(object, name, &format!("number: it is {is}")));
        }
    }
    match object.extract::<f64>() {
        Ok(number) if taken.contains(&number) => Ok(number),
        // Fails for numbers of more than 1,024 bits.
        _ => {
            Err(Error::Option { option: name, value: spelled(object), reason: format!("it is {is}") }.into())
        }
    }
}

/// An index among `n`, where negative ones count from the end; `None` if it is out of range.
pub(super) fn place(name: &str, object: &Bound<'_, PyAny>, n: usize) -> PyResult<Option<usize>> {
    let Some(index) = index(object)? else {
        return Err(wrong_type(object, name, &format!("whole number, and no place among {n}")));
    };
    let Ok(place) = index.extract::<i128>() else { return Ok(None) };
    let place = if place < 0 { place + n as i128 } else { place };
    Ok(usize::try_from(place).ok().filter(|&place| place < n))
}

/// An object as a Python int; `None` if it is not a whole number.
pub(super) fn index<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if object.is_exact_instance_of::<PyInt>() {
        return Ok(Some(object.clone()));
    }
    if object.is_instance_of::<PyBool>() || !object.hasattr("__index__")? {
        return Ok(None);
    }
    match object.call_method0("__index__") {
        // Arrays have the method but are not numbers.
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => Ok(None),
        index => index.map(Some),
    }
}

/// The digits of a number, or its length if Python does not print it.
pub(super) fn spelled(number: &Bound<'_, PyAny>) -> String {
    match (number.str(), number.call_method0("bit_length")) {
        (Ok(digits), _) => shown(&digits.to_string()).into_owned(),
        (Err(_), Ok(bits)) => format!("(a number of {bits} bits)"),
        (Err(error), Err(_)) => format!("({error})"),
    }
}

/// An object as shown in an error.
pub(super) fn given(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(shown(&object.repr()?.to_string()).into_owned())
}

/// The error for an object that is not of the expected kind, or the error from showing it.
fn wrong_type(object: &Bound<'_, PyAny>, name: &str, kind: &str) -> PyErr {
    match given(object) {
        Ok(found) => PyTypeError::new_err(format!("{name}={found} is not a {kind}")),
        Err(error) => error,
    }
}

/// Takes ids of tokens by name.
fn ids_by_name(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<(String, TokenId)>> {
    const ID: Argument = Argument {
        name: "id",
        least: 0,
        most: TokenId::MAX as i128,
        is: "0 or more, and of this token alone",
    };
    let Some(items) = object.getattr_opt("items")? else {
        return Err(wrong_type(object, name, "mapping of tokens to ids: {'<pad>': 0} is one"));
    };
    let mut ids = Vec::new();
    for item in items.call0()?.try_iter()? {
        let (token, id): (String, Bound<'_, PyAny>) = item?.extract()?;
        let id = whole(&id, &ID).map_err(|error| {
            let py = object.py();
            let message = format!("{name}: {}: {}", shown(&token), error.value(py));
            PyErr::from_type(error.get_type(py), message)
        })?;
        ids.push((token, id as TokenId));
    }
    Ok(ids)
}

/// The argument `shard`: the index and the number of shards.
#[derive(Clone, Copy)]
pub(super) struct ShardOf(u64, u64);

impl ShardOf {
    /// The two numbers.
    pub const fn get(self) -> (u64, u64) {
        (self.0, self.1)
    }
}

impl<'py> FromPyObject<'_, 'py> for ShardOf {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        const PART: Argument = Argument {
            name: "shard",
            least: 0,
            most: u64::MAX as i128,
            is: "two numbers: (0, 2) is the first of two shards",
        };
        let Ok((index, count)) = object.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>() else {
            return Err(wrong_type(&object, PART.name, &format!("pair: it is {}", PART.is)));
        };
        Ok(Self(whole(&index, &PART)? as u64, whole(&count, &PART)? as u64))
    }
}

/// The argument `sample`: a whole number of bytes, or a share of the documents.
#[derive(Clone, Copy)]
pub(super) struct SampleOf(SampleSize);

impl SampleOf {
    /// The size.
    pub const fn get(self) -> SampleSize {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for SampleOf {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match index(&object)? {
            Some(_) => Ok(Self(SampleSize::Bytes(object.extract::<SampleBytes>()?.get()))),
            None => Ok(Self(SampleSize::Share(object.extract::<Share>()?.get()))),
        }
    }
}
