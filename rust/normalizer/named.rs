//! Names of normalizers, for options and messages. Files write every step in full instead.

use super::{Bert, Charsmap, GoogleBert, Normalizer, SentencePiece, SentencePieceOptions};
use crate::error::{Error, Result};
use crate::text::spelling::did_you_mean;

const fn bert(lowercase: bool) -> Normalizer {
    Normalizer::Bert(Bert { clean_text: true, handle_chinese_chars: true, strip_accents: None, lowercase })
}

/// All named normalizers.
static NAMED: [(&str, Normalizer); 12] = [
    ("hf-bert", bert(true)),
    ("hf-bert-cased", bert(false)),
    ("google-bert", Normalizer::GoogleBert(GoogleBert { lowercase: true })),
    ("google-bert-cased", Normalizer::GoogleBert(GoogleBert { lowercase: false })),
    ("nfc", Normalizer::Nfc),
    ("nfd", Normalizer::Nfd),
    ("nfkc", Normalizer::Nfkc),
    ("nfkd", Normalizer::Nfkd),
    ("lowercase", Normalizer::Lowercase),
    ("strip-accents", Normalizer::StripAccents),
    ("strip", Normalizer::Strip { left: true, right: true }),
    ("nmt", Normalizer::Nmt),
];

/// Names with SentencePiece's rules: the normalizer, the rules, and whether extra spaces are
/// removed.
const SENTENCE_PIECE: [(&str, &str, bool); 6] = [
    ("sentencepiece", "identity", false),
    ("sentencepiece-collapse", "identity", true),
    ("sentencepiece-nmt-nfkc", "nmt_nfkc", true),
    ("sentencepiece-nfkc", "nfkc", true),
    ("sentencepiece-nmt-nfkc-cf", "nmt_nfkc_cf", true),
    ("sentencepiece-nfkc-cf", "nfkc_cf", true),
];

fn sentence_piece(rules: &str, remove_extra_whitespaces: bool) -> Result<Normalizer> {
    let charsmap = Charsmap::published(rules)?;
    let options =
        SentencePieceOptions { charsmap, remove_extra_whitespaces, ..SentencePieceOptions::default() };
    Ok(Normalizer::SentencePiece(Box::new(SentencePiece::new(options)?)))
}

impl Normalizer {
    /// The names that [`Normalizer::from_name`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name).chain(SENTENCE_PIECE.map(|known| known.0))
    }

    /// The normalizer with this name, or a sequence for several names joined by `+`.
    ///
    /// # Errors
    /// [`Error::Option`], which lists the names, for an unknown name.
    pub fn from_name(names: &str) -> Result<Self> {
        let mut steps = names.split('+').map(step).collect::<Result<Vec<_>>>()?;
        match (steps.pop(), steps.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                steps.extend(last);
                Ok(Self::Sequence { normalizers: steps })
            }
        }
    }

    /// The name of this normalizer, if it has one. A sequence of named steps joins their names with
    /// `+`.
    pub fn name(&self) -> Option<String> {
        if let Self::Sequence { normalizers } = self {
            let names: Option<Vec<String>> = normalizers.iter().map(Self::name).collect();
            return names.filter(|names| !names.is_empty()).map(|names| names.join("+"));
        }
        if let Self::SentencePiece(normalizer) = self {
            let options = normalizer.options();
            let rules = options.charsmap.name()?;
            let is = |known: &&(&str, &str, bool)| {
                (known.1, known.2) == (rules, options.remove_extra_whitespaces)
                    && sentence_piece(known.1, known.2).is_ok_and(|known| known == *self)
            };
            return SENTENCE_PIECE.iter().find(is).map(|known| known.0.to_owned());
        }
        NAMED.iter().find(|(_, known)| known == self).map(|(name, _)| (*name).to_owned())
    }
}

fn step(name: &str) -> Result<Normalizer> {
    if let Some((_, rules, collapses)) = SENTENCE_PIECE.iter().find(|known| known.0 == name) {
        return sentence_piece(rules, *collapses);
    }
    let named = NAMED.iter().find(|(known, _)| *known == name);
    named.map(|(_, normalizer)| normalizer.clone()).ok_or_else(|| Error::Option {
        option: "normalizer",
        value: name.to_owned(),
        reason: format!(
            "no such name{}; there are {}, and several with + between, as in nfkc+lowercase",
            of_sentencepiece(name).unwrap_or_else(|| did_you_mean(name, Normalizer::names())),
            Normalizer::names().collect::<Vec<_>>().join(", ")
        ),
    })
}

/// The advice for a name that is not ours but SentencePiece's.
fn of_sentencepiece(name: &str) -> Option<String> {
    let by_rules = |(_, rules, collapses): &&(&str, &str, bool)| *rules == name && *collapses;
    SENTENCE_PIECE
        .iter()
        .find(by_rules)
        .map(|known| format!(" (SentencePiece's rules of that name are {})", known.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in Normalizer::names().chain(["nfkc+lowercase", "strip+nfd+strip-accents"]) {
            assert_eq!(Normalizer::from_name(name).unwrap().name().as_deref(), Some(name));
        }
        assert!(Normalizer::from_name("nfkc+").unwrap_err().to_string().contains("hf-bert, "));
        assert_eq!(Normalizer::Prepend { prepend: "x".into() }.name(), None);
    }
}
