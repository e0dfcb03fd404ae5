//! `mix`: the weighted sum of counts.
//!
//! Weights are exact. All are multiplied by their least common denominator, and the counts of each
//! source by the whole number that results. So whole weights train as if the text of a source were
//! repeated that many times, and the weights 1/3 and 1 train as 1 and 3. Minimum frequencies apply
//! to the multiplied counts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::file::read_header;
use super::run::{self, SortedRun};
use super::{Header, Totals, WordCounts};
use crate::error::{Error, Result};
use crate::progress::Progress;

/// A weight: a positive fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    numerator: u64,
    denominator: u64,
}

impl Weight {
    /// The weight 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };
}

impl FromStr for Weight {
    type Err = Error;

    /// Parses a whole number, a decimal such as `0.25`, or a fraction such as `1/3`.
    fn from_str(text: &str) -> Result<Self> {
        let digits = |text: &str| -> Option<u64> {
            (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
        };
        let parts = if let Some((numerator, denominator)) = text.split_once('/') {
            digits(numerator).zip(digits(denominator))
        } else if let Some((whole, decimals)) = text.split_once('.') {
            let decimals = decimals.trim_end_matches('0');
            let power = u32::try_from(decimals.len()).ok().and_then(|n| 10u64.checked_pow(n));
            digits(&format!("{whole}{decimals}")).zip(power)
        } else {
            digits(text).zip(Some(1))
        };
        match parts {
            Some((numerator, denominator)) if numerator > 0 && denominator > 0 => {
                let common = gcd(numerator, denominator);
                Ok(Self { numerator: numerator / common, denominator: denominator / common })
            }
            _ => Err(Error::Option {
                option: "weight",
                value: text.to_owned(),
                reason: "it is more than 0 and less than 2^64: a whole number, a decimal such as 0.25, or a \
                         fraction such as 1/3"
                    .to_owned(),
            }),
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The smallest whole numbers by which the weights multiply counts: all weights times their least
/// common denominator.
fn factors(weights: impl Iterator<Item = Weight> + Clone) -> Result<Vec<u64>> {
    let overflow = || {
        let all: Vec<String> = weights.clone().map(|weight| weight.to_string()).collect();
        Error::Option {
            option: "weight",
            value: all.join(", "),
            reason: "as whole numbers in the same proportion they exceed 2^64 - 1; give rounder weights"
                .to_owned(),
        }
    };
    let mut common = 1u64;
    for weight in weights.clone() {
        let factor = weight.denominator / gcd(common, weight.denominator);
        common = common.checked_mul(factor).ok_or_else(overflow)?;
    }
    let whole = |weight: Weight| weight.numerator.checked_mul(common / weight.denominator);
    weights.clone().map(|weight| whole(weight).ok_or_else(overflow)).collect()
}

/// Counts to mix.
#[derive(Clone, Debug)]
pub enum Part {
    /// A count file, which is read once, in constant memory.
    File(PathBuf),
    /// Counts in memory, and the file that they were read from.
    Counts(Arc<WordCounts>, Option<PathBuf>),
}

/// A source of mixed counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MixedSource {
    /// The count file; `None` for other counts.
    pub path: Option<PathBuf>,
    /// The weight as given.
    pub weight: String,
    /// The whole number by which the counts were multiplied.
    pub factor: u64,
    /// The totals of the input and of the counts, before weighting.
    pub totals: Totals,
    /// Its share of all weighted pieces.
    pub share: f64,
}

/// The weighted sum of counts. Of its totals, [`Totals::pieces`] is weighted; the rest describe
/// the input.
///
/// # Errors
/// [`Error::PipelineMismatch`], [`Error::CountOverflow`]; [`Error::Option`] for weights that have
/// no common whole numbers; errors of reading count files.
pub fn mix(
    parts: &[(Part, Weight)],
    min_count: u64,
    progress: &mut Progress,
) -> Result<(WordCounts, Vec<MixedSource>)> {
    let (mut header, sources) = headers(parts)?;
    let runs = parts.iter().zip(&sources).map(|((part, _), source)| {
        let run = match part {
            Part::File(path) => SortedRun::Path(path.clone()),
            Part::Counts(words, _) => SortedRun::of_words(words),
        };
        if source.factor == 1 { run } else { SortedRun::times(run, source.factor) }
    });
    header.totals.pieces = 0;
    let mut words = WordCounts::of_header(header);
    run::merge(runs.collect(), &std::env::temp_dir(), progress, |piece, count| {
        if count < min_count {
            return words.header.totals.drop_piece(count);
        }
        words.header.totals.add_pieces(count)?;
        words.push(piece, count)
    })?;
    Ok((words, sources))
}

/// The header of the sum of all counts, without weights, and the description of each.
///
/// # Errors
/// As [`mix`].
pub(super) fn headers(parts: &[(Part, Weight)]) -> Result<(Header, Vec<MixedSource>)> {
    let factors = factors(parts.iter().map(|part| part.1))?;
    let mut common: Option<Header> = None;
    let mut sources = Vec::new();
    let mut pieces = 0u64;
    for ((part, weight), factor) in parts.iter().zip(factors) {
        let (header, path) = match part {
            Part::File(path) => (read_header(path)?, Some(path.clone())),
            Part::Counts(words, path) => (words.header.clone(), path.clone()),
        };
        let overflow = || Error::CountOverflow { what: format!("all pieces times the weight {weight}") };
        let weighted = header.totals.pieces.checked_mul(factor).ok_or_else(overflow)?;
        pieces = pieces.checked_add(weighted).ok_or_else(overflow)?;
        let (totals, share) = (header.totals, weighted as f64);
        sources.push(MixedSource { path, weight: weight.to_string(), factor, totals, share });
        common = Some(match common {
            None => header,
            Some(common) => common.add(&header, "the first counts", &sources[sources.len() - 1].name())?,
        });
    }
    let Some(header) = common else {
        return Err(Error::Option {
            option: "counts",
            value: "none".to_owned(),
            reason: "name at least one count file".to_owned(),
        });
    };
    for source in &mut sources {
        source.share /= (pieces as f64).max(1.0);
    }
    Ok((header, sources))
}

impl MixedSource {
    fn name(&self) -> String {
        let path: Option<&Path> = self.path.as_deref();
        path.map_or_else(|| "other counts".to_owned(), |path| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Pipeline;
    use crate::pre_tokenizer::PreTokenizer;

    fn weights(texts: &[&str]) -> Vec<Weight> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn weights_become_the_smallest_whole_numbers() {
        let cases: [(&[&str], &[u64]); 6] = [
            (&["1", "4"], &[1, 4]),
            (&["2", "4"], &[2, 4]),
            (&["1/3", "1"], &[1, 3]),
            (&["1/3", "0.25", "2"], &[4, 3, 24]),
            (&["0.50", "1.5", "10/4"], &[1, 3, 5]),
            (&["18446744073709551615"], &[u64::MAX]),
        ];
        for (texts, expected) in cases {
            assert_eq!(factors(weights(texts).into_iter()).unwrap(), expected, "{texts:?}");
        }
    }

    #[test]
    fn wrong_weights_are_refused() {
        for text in ["0", "", ".", "-1", "1/0", "0/5", "1e3", "x", "0.0", "18446744073709551616", "½"] {
            let found = text.parse::<Weight>();
            assert!(matches!(found, Err(Error::Option { option: "weight", .. })), "{text}: {found:?}");
        }
        let overflowing: [&[&str]; 2] = [&["1/4294967296", "1/4294967297"], &["18446744073709551615", "1/2"]];
        for texts in overflowing {
            let error = factors(weights(texts).into_iter()).unwrap_err();
            assert!(matches!(error, Error::Option { option: "weight", .. }), "{error}");
        }
    }

    #[test]
    fn overflow_is_an_error() {
        let pipeline = Pipeline::new(PreTokenizer::Bytes);
        let words = Arc::new(WordCounts::from_pairs(pipeline, [("a", u64::MAX / 2)]).unwrap());
        let mixed = |weight: &str| {
            let parts = [(Part::Counts(words.clone(), None), weight.parse().unwrap())];
            mix(&parts, 0, &mut Progress::silent())
        };
        assert_eq!(mixed("2").unwrap().0.get(b"a"), Some(u64::MAX - 1));
        assert!(matches!(mixed("3"), Err(Error::CountOverflow { .. })));
    }
}
