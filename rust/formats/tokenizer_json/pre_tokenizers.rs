//! Reads and writes the pre-tokenizers of tokenizer.json: splitters, an optional ByteLevel, and
//! splitters after it, which see spelled bytes.
//!
//! Patterns are read in the dialect of Oniguruma, which tokenizers runs, and written only if they
//! mean the same there. Both directions are in one file, because each must invert the other.

use std::num::NonZeroUsize;

use serde_json::{Value, json};

use super::node::Node;
use super::normalizers::metaspace;
use super::write::not_representable;
use crate::error::{Error, Result};
use crate::models::bpe::Unit;
use crate::pre_tokenizer::{Behavior, Delimiter, Marked, PreTokenizer, Prepend, Split, SplitPattern};
use crate::text::SPACE_MARK;
use crate::text::pattern::dialect;

/// The length that tokenizers assumes for a FixedLength without one: 5.
const FIXED_LENGTH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

const SUPPORTED: &[&str] = &[
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
];

/// Reads a pre-tokenizer and the unit of the model. In a BPE model the unit is bytes if there is a
/// ByteLevel, or if the normalizer ends in one (`is_spelled`). Other models (`is_bpe` is false)
/// have no byte tokens, so there a ByteLevel rewrites the text.
pub(super) fn read(node: Option<&Node<'_>>, is_spelled: bool, is_bpe: bool) -> Result<(PreTokenizer, Unit)> {
    let mut nodes = Vec::new();
    if let Some(node) = node {
        flatten(node, &mut nodes)?;
    }
    if !is_bpe {
        let level = PreTokenizer::ByteLevel { add_prefix_space: false, use_regex: false };
        let steps = nodes.iter().map(|node| match node.kind()? {
            "ByteLevel" => spelling(node),
            _ => splitter(node),
        });
        let steps = is_spelled.then_some(Ok(level)).into_iter().chain(steps).collect::<Result<Vec<_>>>()?;
        return Ok((in_a_row(steps, &nodes)?, Unit::Chars));
    }
    let mut unit = if is_spelled { Unit::Bytes } else { Unit::Chars };
    // Splitters that see text, and splitters that see bytes spelled as characters.
    let (mut steps, mut after_byte_level) = (Vec::new(), Vec::new());
    for node in &nodes {
        match (node.kind()?, unit) {
            ("ByteLevel", Unit::Bytes) => {
                return Err(node.error("a second ByteLevel, which would spell bytes twice, is not supported"));
            }
            ("ByteLevel", Unit::Chars) => {
                steps.extend(byte_level(node)?);
                unit = Unit::Bytes;
            }
            (_, Unit::Bytes) => after_byte_level.push(splitter(node)?),
            (_, Unit::Chars) => steps.push(splitter(node)?),
        }
    }
    if !after_byte_level.is_empty() {
        steps.push(PreTokenizer::byte_spelled(after_byte_level).map_err(|error| at_last(error, &nodes))?);
    }
    Ok((in_a_row(steps, &nodes)?, unit))
}

/// The sequence of these steps, which were read from `nodes`.
fn in_a_row(steps: Vec<PreTokenizer>, nodes: &[Node<'_>]) -> Result<PreTokenizer> {
    match steps.is_empty() {
        true => Ok(PreTokenizer::Bytes),
        false if steps == WORDS => Ok(PreTokenizer::MetaspaceWords),
        false => PreTokenizer::sequence(steps).map_err(|error| at_last(error, nodes)),
    }
}

fn at_last(error: Error, nodes: &[Node<'_>]) -> Error {
    match nodes.last() {
        Some(node) => node.error(error.to_string()),
        None => error,
    }
}

/// The steps that are equivalent to [`PreTokenizer::MetaspaceWords`].
static WORDS: [PreTokenizer; 2] =
    [PreTokenizer::WhitespaceSplit, PreTokenizer::Metaspace { prepend: Prepend::Always, split: true }];

fn flatten<'a>(node: &Node<'a>, steps: &mut Vec<Node<'a>>) -> Result<()> {
    if node.kind()? == "Sequence" {
        return node.require("pretokenizers")?.elements()?.iter().try_for_each(|step| flatten(step, steps));
    }
    steps.push(node.clone());
    Ok(())
}

/// The step of a ByteLevel before it spells bytes as characters.
fn byte_level(node: &Node<'_>) -> Result<Option<PreTokenizer>> {
    let (add_prefix_space, use_regex) = byte_level_options(node)?;
    Ok(match use_regex {
        true => Some(PreTokenizer::Gpt2 { add_prefix_space }),
        false => add_prefix_space.then_some(PreTokenizer::PrefixSpace),
    })
}

/// A ByteLevel that rewrites text.
fn spelling(node: &Node<'_>) -> Result<PreTokenizer> {
    let (add_prefix_space, use_regex) = byte_level_options(node)?;
    Ok(PreTokenizer::ByteLevel { add_prefix_space, use_regex })
}

/// The options of a ByteLevel: whether it inserts a space before the text, and whether it cuts
/// GPT-2's pieces.
fn byte_level_options(node: &Node<'_>) -> Result<(bool, bool)> {
    node.require("trim_offsets")?.bool()?;
    Ok((node.require("add_prefix_space")?.bool()?, node.flag("use_regex", true)?))
}

fn splitter(node: &Node<'_>) -> Result<PreTokenizer> {
    let at = |delimiter, behavior| PreTokenizer::Split(Split { delimiter, behavior, invert: false });
    Ok(match node.kind()? {
        "Split" => split(node)?,
        "Punctuation" => at(Delimiter::Punctuation, behavior(node, Some(Behavior::Isolated))?),
        "Digits" => {
            let is_single = node.flag("individual_digits", false)?;
            at(Delimiter::Number, if is_single { Behavior::Isolated } else { Behavior::Contiguous })
        }
        "CharDelimiterSplit" => {
            let character = node.require("delimiter")?.char()?;
            at(Delimiter::Character { character }, Behavior::Removed)
        }
        "FixedLength" => {
            let length = match node.get("length")? {
                None => FIXED_LENGTH,
                Some(length) => NonZeroUsize::new(length.u32()? as usize)
                    .ok_or_else(|| length.expected("a number of characters from 1"))?,
            };
            PreTokenizer::FixedLength { length }
        }
        "UnicodeScripts" => PreTokenizer::UnicodeScripts,
        "Whitespace" => PreTokenizer::Whitespace,
        "WhitespaceSplit" => PreTokenizer::WhitespaceSplit,
        "BertPreTokenizer" => PreTokenizer::Bert,
        "Metaspace" => {
            let (mark, prepend) = metaspace(node)?;
            let split = node.flag("split", true)?;
            match mark {
                SPACE_MARK => PreTokenizer::Metaspace { prepend, split },
                mark => PreTokenizer::Marked(Marked { mark, prepend, split }),
            }
        }
        other => return Err(node.unsupported(other, SUPPORTED)),
    })
}

fn behavior(node: &Node<'_>, default: Option<Behavior>) -> Result<Behavior> {
    let Some(behavior) = node.get("behavior")? else {
        return default.ok_or_else(|| node.error("the field \"behavior\" is missing"));
    };
    let named = behavior.str()?;
    let known = Behavior::NAMES.iter().find(|(name, _)| *name == named);
    known.map(|(_, behavior)| *behavior).ok_or_else(|| {
        behavior.expected(&format!("one of {}", Behavior::NAMES.map(|(name, _)| name).join(", ")))
    })
}

fn split(node: &Node<'_>) -> Result<PreTokenizer> {
    let pattern = node.require("pattern")?;
    let (behavior, invert) = (behavior(node, None)?, node.require("invert")?.bool()?);
    let delimiter = match pattern.get("String")? {
        Some(literal) if !literal.str()?.is_empty() => Delimiter::Literal { text: literal.str()?.to_owned() },
        // An empty string is an empty pattern.
        _ => match from_regex(&pattern)? {
            PreTokenizer::Regex(pattern) if behavior != Behavior::Isolated => Delimiter::Pattern(pattern),
            pieces if behavior == Behavior::Isolated => return Ok(pieces),
            // Nothing is left between the matches of a published pattern.
            published if behavior == Behavior::Removed && invert => return Ok(published),
            published => {
                Delimiter::Pattern(SplitPattern::new(published.pattern().unwrap_or_default(), true)?)
            }
        },
    };
    Ok(PreTokenizer::Split(Split { delimiter, behavior, invert }))
}

/// Reads `{"Regex": …}`. Allows look-around, with a step limit, because files use it.
fn from_regex(node: &Node<'_>) -> Result<PreTokenizer> {
    let literal = node.get("String")?;
    let regex = match literal {
        Some(literal) => literal,
        None => node.get("Regex")?.ok_or_else(|| node.expected("{\"String\": …} or {\"Regex\": …}"))?,
    };
    let pattern = regex.str()?;
    PreTokenizer::from_oniguruma_pattern(pattern)
        .or_else(|error| {
            let pattern = dialect::from_oniguruma(pattern)?;
            let pattern = SplitPattern::new(&pattern, true).map_err(|_| error)?;
            Ok(PreTokenizer::Regex(pattern))
        })
        .map_err(|error: Error| regex.error(error.to_string()))
}

/// A pre-tokenizer as JSON.
pub(super) fn write(pre_tokenizer: &PreTokenizer, unit: Unit) -> Result<Value> {
    let (mut steps, mut after_byte_level) = (Vec::new(), Vec::new());
    flattened(pre_tokenizer, &mut steps, &mut after_byte_level);
    // ByteLevel can include the step before it.
    let own = match (unit, steps.last()) {
        (Unit::Chars, _) => None,
        (Unit::Bytes, Some(PreTokenizer::Gpt2 { add_prefix_space })) => Some((*add_prefix_space, true)),
        (Unit::Bytes, Some(PreTokenizer::PrefixSpace)) => Some((true, false)),
        (Unit::Bytes, _) => None,
    };
    if own.is_some() {
        steps.pop();
    }
    let mut written = steps.into_iter().map(splitter_json).collect::<Result<Vec<_>>>()?;
    if unit == Unit::Bytes {
        let (add_prefix_space, use_regex) = own.unwrap_or((false, false));
        written.push(byte_level_json(add_prefix_space, use_regex));
    }
    for step in after_byte_level {
        written.push(splitter_json(step)?);
    }
    Ok(match written.len() {
        0 => Value::Null,
        1 => written.remove(0),
        _ => json!({"type": "Sequence", "pretokenizers": written}),
    })
}

/// Collects the steps of a pre-tokenizer before and after ByteLevel.
fn flattened<'a>(
    pre_tokenizer: &'a PreTokenizer,
    steps: &mut Vec<&'a PreTokenizer>,
    after_byte_level: &mut Vec<&'a PreTokenizer>,
) {
    match pre_tokenizer {
        PreTokenizer::Bytes => {}
        PreTokenizer::MetaspaceWords => steps.extend(&WORDS),
        PreTokenizer::Sequence { steps: several } => {
            several.iter().for_each(|step| flattened(step, steps, after_byte_level));
        }
        PreTokenizer::Within { outer, inner } => {
            [outer, inner].into_iter().for_each(|part| flattened(part, steps, after_byte_level));
        }
        PreTokenizer::ByteSpelled { steps } => after_byte_level.extend(steps),
        splitter => steps.push(splitter),
    }
}

/// A ByteLevel step as JSON.
pub(super) fn byte_level_json(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({
        "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex,
    })
}

fn splitter_json(pre_tokenizer: &PreTokenizer) -> Result<Value> {
    let not_representable = |reason: String| Err(Error::NotRepresentable { format: super::NAME, reason });
    Ok(match pre_tokenizer {
        PreTokenizer::UnicodeScripts => json!({"type": "UnicodeScripts"}),
        PreTokenizer::Whitespace => json!({"type": "Whitespace"}),
        PreTokenizer::WhitespaceSplit => json!({"type": "WhitespaceSplit"}),
        PreTokenizer::Bert => json!({"type": "BertPreTokenizer"}),
        PreTokenizer::Metaspace { prepend, split } => metaspace_json(SPACE_MARK, *prepend, *split),
        PreTokenizer::Marked(Marked { mark, prepend, split }) => metaspace_json(*mark, *prepend, *split),
        PreTokenizer::ByteLevel { add_prefix_space, use_regex } => {
            byte_level_json(*add_prefix_space, *use_regex)
        }
        PreTokenizer::FixedLength { length } => json!({"type": "FixedLength", "length": length}),
        PreTokenizer::Split(split) => split_json(split)?,
        PreTokenizer::Gpt2 { add_prefix_space: true } | PreTokenizer::PrefixSpace => {
            return not_representable("a prefix space is added only with byte-level tokens".into());
        }
        other => {
            let Some(pattern) = other.pattern() else {
                return not_representable(format!("the pre-tokenizer {} has no pattern", other.name()));
            };
            if matches!(other, PreTokenizer::Regex(_))
                && let Err(error) = dialect::check(pattern)
            {
                return not_representable(error.to_string());
            }
            json!({
                "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false,
            })
        }
    })
}

fn metaspace_json(mark: char, prepend: Prepend, split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme(prepend), "split": split})
}

fn split_json(split: &Split) -> Result<Value> {
    let behavior = split.behavior.name();
    let general = |pattern: Value| json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": split.invert});
    Ok(match (&split.delimiter, split.behavior, split.invert) {
        (Delimiter::Punctuation, _, false) => json!({"type": "Punctuation", "behavior": behavior}),
        (Delimiter::Number, Behavior::Isolated | Behavior::Contiguous, false) => {
            json!({"type": "Digits", "individual_digits": split.behavior == Behavior::Isolated})
        }
        (Delimiter::Character { character }, Behavior::Removed, false) => {
            json!({"type": "CharDelimiterSplit", "delimiter": character})
        }
        (Delimiter::Character { character }, ..) => general(json!({"String": character})),
        (Delimiter::Literal { text }, ..) => general(json!({"String": text})),
        (Delimiter::Number, ..) => general(json!({"Regex": r"\p{N}"})),
        (Delimiter::Pattern(pattern), ..) => {
            dialect::check(pattern.pattern()).map_err(|error| not_representable(error.to_string()))?;
            general(json!({"Regex": pattern.pattern()}))
        }
        (Delimiter::Punctuation, _, true) => {
            return Err(not_representable("all but punctuation as a delimiter"));
        }
    })
}

/// The name of a `prepend_scheme`.
pub(super) fn scheme(prepend: Prepend) -> &'static str {
    match prepend {
        Prepend::Always => "always",
        Prepend::First => "first",
        Prepend::Never => "never",
    }
}
