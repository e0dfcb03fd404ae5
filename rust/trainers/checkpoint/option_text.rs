//! `OptionText`: the value of an option as users type it, for [`Checkpoint`](super::Checkpoint).

use serde::Serialize;

use crate::corpus::word_counts::SampleSize;
use crate::corpus::{ByteRange, Format, InvalidUtf8, Shard};
use crate::normalizer::Normalizer;
use crate::pre_tokenizer::PreTokenizer;
use crate::trainers::bpe::{Alphabet, PieceKind, PieceOptions, TieBreak, Unit};
use crate::trainers::superwords::SuperwordRule;
use crate::trainers::unigram::Method;
use crate::trainers::wordpiece::Score;

/// Options by name.
pub(crate) type Options<'a> = Vec<(&'static str, &'a dyn OptionText)>;

/// The value of an option as users type it. Different values of an option have different texts.
pub(crate) trait OptionText {
    /// The text, which a checkpoint stores and compares.
    fn option_text(&self) -> String;
}

/// For values that have a name, and for numbers.
macro_rules! by_text {
    ($($kind:ty => |$value:ident| $text:expr),+ $(,)?) => {
        $(impl OptionText for $kind {
            fn option_text(&self) -> String {
                let $value = self;
                $text.into()
            }
        })+
    };
}

by_text! {
    bool => |on| on.to_string(),
    u32 => |number| number.to_string(),
    u64 => |number| number.to_string(),
    usize => |number| number.to_string(),
    // A share of 1.0 is not the number 1.
    f64 => |number| format!("{number:?}"),
    // A name; text of the user is a `String`.
    &'static str => |name| *name,
    String => |text| serde_json::Value::from(text.as_str()).to_string(),
    // Characters are given as one string.
    Vec<char> => |chars| chars.iter().collect::<String>().option_text(),
    Shard => |shard| { let (index, count) = shard.place(); format!("{index}/{count}") },
    InvalidUtf8 => |policy| policy.name(),
    Score => |score| score.to_string(),
    Unit => |unit| match unit {
        Unit::Bytes => "bytes",
        Unit::Chars => "chars",
    },
    TieBreak => |order| match order {
        TieBreak::HuggingFace => "huggingface",
        TieBreak::Bytes => "bytes",
        TieBreak::SentencePiece => "sentencepiece",
        TieBreak::Text => "text",
    },
    Method => |method| match method {
        Method::Full => "full",
        Method::SentencePiece => "sentencepiece",
    },
    SuperwordRule => |rule| match rule {
        SuperwordRule::Sentences => "sentences",
        SuperwordRule::Lines => "lines",
        SuperwordRule::Documents => "documents",
    },
    PieceKind => |kind| match kind {
        PieceKind::Normal => "normal",
        PieceKind::Unknown => "unknown",
        PieceKind::Control => "control",
        PieceKind::UserDefined => "user_defined",
        PieceKind::Unused => "unused",
        PieceKind::Byte => "byte",
    },
    Alphabet => |alphabet| match alphabet {
        Alphabet::Seen => "none".to_owned(),
        Alphabet::ByteLevel => "bytes".to_owned(),
        Alphabet::Chars(chars) => chars.option_text(),
    },
    Format => |format| match format {
        Format::Text => "text".to_owned(),
        Format::Lines => "lines".to_owned(),
        Format::Jsonl { field } => format!("jsonl:{field}"),
        Format::Csv { column } => format!("csv:{column}"),
        Format::Tsv { column } => format!("tsv:{column}"),
    },
    SampleSize => |size| match size {
        SampleSize::Bytes(bytes) => bytes.option_text(),
        SampleSize::Share(share) => share.option_text(),
    },
    ByteRange => |range| {
        let ByteRange { start, stop, aligned, versions } = range;
        let files: Vec<_> = versions.iter().map(|file| format!("{} bytes, {}", file.size, file.mark)).collect();
        let aligned = if *aligned { " between documents" } else { "" };
        format!("bytes {start} to {stop}{aligned} of files {files:?}")
    },
    Normalizer => |stage| json(stage),
    PreTokenizer => |stage| json(stage),
    Vec<String> => |texts| {
        format!("[{}]", texts.iter().map(OptionText::option_text).collect::<Vec<_>>().join(", "))
    },
}

impl<T: OptionText> OptionText for Option<T> {
    fn option_text(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), OptionText::option_text)
    }
}

/// A stage of a pipeline as files have it. [`shown`] gives its name.
fn json(stage: &impl Serialize) -> String {
    serde_json::to_string(stage).unwrap_or_else(|error| error.to_string())
}

/// Values by text.
impl<T: OptionText> OptionText for Vec<(String, T)> {
    fn option_text(&self) -> String {
        let named = |(text, value): &(String, T)| format!("{}: {}", text.option_text(), value.option_text());
        format!("{{{}}}", self.iter().map(named).collect::<Vec<_>>().join(", "))
    }
}

/// The options that shape pieces, by name.
pub(crate) fn piece_options(pieces: &PieceOptions) -> Options<'_> {
    let PieceOptions {
        special_tokens,
        special_ids,
        byte_fallback,
        character_coverage,
        required_chars,
        max_piece_length,
        split_by_unicode_script,
        split_by_number,
        split_by_whitespace,
        split_digits,
        treat_whitespace_as_suffix,
        allow_whitespace_only_pieces,
    } = pieces;
    vec![
        ("special_tokens", special_tokens),
        ("special_ids", special_ids),
        ("byte_fallback", byte_fallback),
        ("character_coverage", character_coverage),
        ("required_chars", required_chars),
        ("max_piece_length", max_piece_length),
        ("split_by_unicode_script", split_by_unicode_script),
        ("split_by_number", split_by_number),
        ("split_by_whitespace", split_by_whitespace),
        ("split_digits", split_digits),
        ("treat_whitespace_as_suffix", treat_whitespace_as_suffix),
        ("allow_whitespace_only_pieces", allow_whitespace_only_pieces),
    ]
}

/// A stored option as an error shows it: a stage of the pipeline by its name, if it has one.
pub(super) fn shown(option: &str, text: &str) -> String {
    let name = match option {
        "normalizer" => serde_json::from_str(text).ok().and_then(|stage: Normalizer| stage.name()),
        "pre_tokenizer" => {
            let stage: Option<PreTokenizer> = serde_json::from_str(text).ok();
            let name = stage.as_ref().map(PreTokenizer::name);
            // Other stages of the kind have the same name.
            name.filter(|name| PreTokenizer::from_name(name).ok() == stage).map(str::to_owned)
        }
        _ => None,
    };
    name.unwrap_or_else(|| text.to_owned())
}
