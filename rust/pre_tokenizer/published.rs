//! Names and published patterns of the hand-written splitters.
//!
//! Two tables: the name of each splitter, and the patterns found in public files with their
//! splitters. A pattern is recognised only in exactly one of these spellings; a test checks that
//! each splits as its splitter does.

use super::users::meant;
use super::{Digits, PreTokenizer, Prepend, SplitPattern, SuperwordPieces};
use crate::error::{Error, Result};
use crate::text::pattern::dialect;

const fn cl100k(digits: Digits, possessive: bool) -> PreTokenizer {
    PreTokenizer::Cl100k { digits, possessive }
}

const fn superwords(pieces: SuperwordPieces) -> PreTokenizer {
    PreTokenizer::Superwords { pieces }
}

const fn metaspace(prepend: Prepend, split: bool) -> PreTokenizer {
    PreTokenizer::Metaspace { prepend, split }
}

/// All named pre-tokenizers.
static NAMED: [(&str, PreTokenizer); 34] = [
    ("gpt2", PreTokenizer::Gpt2 { add_prefix_space: false }),
    ("gpt2-prefix-space", PreTokenizer::Gpt2 { add_prefix_space: true }),
    ("cl100k", cl100k(Digits::Three, false)),
    ("cl100k-2digit", cl100k(Digits::Two, false)),
    ("cl100k-1digit", cl100k(Digits::One, false)),
    ("cl100k-possessive", cl100k(Digits::Three, true)),
    ("cl100k-possessive-2digit", cl100k(Digits::Two, true)),
    ("cl100k-possessive-1digit", cl100k(Digits::One, true)),
    ("o200k", PreTokenizer::O200k),
    ("tekken", PreTokenizer::Tekken),
    ("gpt2-superwords", superwords(SuperwordPieces::Gpt2)),
    ("cl100k-superwords", superwords(SuperwordPieces::Cl100k)),
    ("cl100k-1digit-superwords", superwords(SuperwordPieces::Cl100k1Digit)),
    ("o200k-superwords", superwords(SuperwordPieces::O200k)),
    ("tekken-superwords", superwords(SuperwordPieces::Tekken)),
    ("gpt2-superwords-across-lines", superwords(SuperwordPieces::Gpt2AcrossLines)),
    ("cl100k-superwords-across-lines", superwords(SuperwordPieces::Cl100kAcrossLines)),
    ("cl100k-1digit-superwords-across-lines", superwords(SuperwordPieces::Cl100k1DigitAcrossLines)),
    ("o200k-superwords-across-lines", superwords(SuperwordPieces::O200kAcrossLines)),
    ("tekken-superwords-across-lines", superwords(SuperwordPieces::TekkenAcrossLines)),
    ("whitespace", PreTokenizer::Whitespace),
    ("whitespace-split", PreTokenizer::WhitespaceSplit),
    ("bert", PreTokenizer::Bert),
    ("google-bert", PreTokenizer::GoogleBert),
    ("metaspace", metaspace(Prepend::Always, true)),
    ("metaspace-first", metaspace(Prepend::First, true)),
    ("metaspace-never", metaspace(Prepend::Never, true)),
    ("metaspace-unsplit", metaspace(Prepend::Always, false)),
    ("metaspace-first-unsplit", metaspace(Prepend::First, false)),
    ("metaspace-never-unsplit", metaspace(Prepend::Never, false)),
    ("metaspace-words", PreTokenizer::MetaspaceWords),
    ("unicode-scripts", PreTokenizer::UnicodeScripts),
    ("bytes", PreTokenizer::Bytes),
    // Aliases come last, so that `name` returns the first name of a value.
    ("r50k", PreTokenizer::Gpt2 { add_prefix_space: false }),
];

/// The spelling of cl100k in tiktoken 0.14. Oniguruma would read `{1,3}+` as a repeated group.
const TIKTOKEN_CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";

/// Patterns and the names of their splitters. A splitter is written to files as its first pattern,
/// which means the same to tiktoken's engine and to that of tokenizers (Oniguruma).
#[rustfmt::skip]
static PATTERNS: [(&str, &str); 25] = [
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("gpt2", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("gpt2", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"),
    ("cl100k", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("cl100k", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    ("cl100k-2digit", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("cl100k-2digit", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
    ("cl100k-1digit", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("cl100k-possessive", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"),
    ("cl100k-possessive", TIKTOKEN_CL100K),
    ("cl100k-possessive-2digit", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"),
    ("cl100k-possessive-1digit", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"),
    ("o200k", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("tekken", r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("gpt2-superwords", r"(?:'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}]))++| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("cl100k-superwords", r"(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}]|[\r\n]))++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("cl100k-1digit-superwords", r"(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}]|[\r\n]))++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("o200k-superwords", r"(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}]|[\r\n]))++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("tekken-superwords", r"(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}]|[\r\n]))++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("gpt2-superwords-across-lines", r"(?:'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])|(?! \S)(?:\s+(?!\S)|\s+))++| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("cl100k-superwords-across-lines", r"(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])[\r\n]*+|(?! [^\s\p{L}\p{N}])(?:\s*[\r\n]+|\s+(?!\S)|\s+))++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("cl100k-1digit-superwords-across-lines", r"(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])[\r\n]*+|(?! [^\s\p{L}\p{N}])(?:\s*[\r\n]+|\s+(?!\S)|\s+))++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("o200k-superwords-across-lines", r"(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])[\r\n]*+(?!/)|(?! [^\s\p{L}\p{N}])(?:\s*[\r\n]+|\s+(?!\S)|\s+))++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    ("tekken-superwords-across-lines", r"(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*| ?[^\s\p{L}\p{N}](?![^\s\p{L}\p{N}])[\r\n]*+(?!/)|(?! [^\s\p{L}\p{N}])(?:\s*[\r\n]+|\s+(?!\S)|\s+))++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
];

impl PreTokenizer {
    /// The names that [`PreTokenizer::from_name`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// The pre-tokenizer with this name.
    ///
    /// # Errors
    /// [`Error::Option`], which lists the names, for an unknown name.
    pub fn from_name(name: &str) -> Result<Self> {
        let named = NAMED.iter().find(|(known, _)| *known == name);
        named.map(|(_, pre_tokenizer)| pre_tokenizer.clone()).ok_or_else(|| Error::Option {
            option: "pre_tokenizer",
            value: name.to_owned(),
            reason: format!(
                "no such name{}; there are {}",
                meant(name),
                Self::names().collect::<Vec<_>>().join(", ")
            ),
        })
    }

    /// The name. Custom patterns, and pre-tokenizers that only files define, return the name of
    /// their kind.
    pub fn name(&self) -> &'static str {
        if let Some((name, _)) = NAMED.iter().find(|(_, known)| known == self) {
            return name;
        }
        match self {
            Self::Sequence { .. } | Self::Within { .. } => "sequence",
            Self::Split(_) => "split",
            Self::Marked(_) => "metaspace-marked",
            Self::FixedLength { .. } => "fixed-length",
            Self::PrefixSpace => "prefix-space",
            Self::ByteLevel { .. } => "byte-level",
            Self::ByteSpelled { .. } => "byte-spelled",
            // All other variants are in `NAMED`.
            _ => "regex",
        }
    }

    /// The pattern whose matches, with the stretches between them, are the pieces.
    ///
    /// It means the same to tiktoken and to tokenizers. `None` if a pattern cannot say it all, for
    /// example when white space is dropped.
    pub fn pattern(&self) -> Option<&str> {
        if let Self::Regex(pattern) = self {
            return Some(pattern.pattern());
        }
        // The pattern does not include the prefix space.
        let name = if matches!(self, Self::Gpt2 { .. }) { "gpt2" } else { self.name() };
        PATTERNS.iter().find(|(known, _)| *known == name).map(|(_, pattern)| *pattern)
    }

    /// Public patterns, each with the name of the equivalent splitter.
    pub fn published_patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
        PATTERNS.iter().copied()
    }

    /// The splitter of a published pattern, or else a [`PreTokenizer::Regex`] without look-around.
    ///
    /// `\w`, `\d`, `\s`, `\h`, `\b`, `[[:alpha:]]` and properties mean what they mean in tokenizers
    /// 0.23.3. `^` and `$` match at the ends of the text, as in tiktoken; in tokenizer.json they
    /// match at lines, so use [`PreTokenizer::from_oniguruma_pattern`] there.
    ///
    /// # Errors
    /// [`Error::Pattern`] if the linear-time engine cannot compile the pattern.
    pub fn from_pattern(pattern: &str) -> Result<Self> {
        match PATTERNS.iter().find(|(_, known)| *known == pattern) {
            Some((name, _)) => Self::from_name(name),
            None => Ok(Self::Regex(SplitPattern::new(pattern, false)?)),
        }
    }

    /// As [`PreTokenizer::from_pattern`], for a pattern in Oniguruma's dialect, which
    /// tokenizer.json uses.
    ///
    /// # Errors
    /// [`Error::Pattern`] also if Oniguruma reads a part of the pattern differently, such as
    /// `{1,3}+`: a repeated group in Oniguruma, a possessive quantifier in tiktoken.
    pub fn from_oniguruma_pattern(pattern: &str) -> Result<Self> {
        let is_published = PATTERNS.iter().any(|(_, known)| *known == pattern);
        if !is_published || pattern == TIKTOKEN_CL100K {
            return Self::from_pattern(&dialect::from_oniguruma(pattern)?);
        }
        Self::from_pattern(pattern)
    }
}
