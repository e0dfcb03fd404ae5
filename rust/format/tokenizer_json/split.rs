//! Pre-tokenizers of tokenizer.json: splitters, then perhaps ByteLevel.
//!
//! Both directions side by side, because each must undo the other. A pattern is
//! read in Oniguruma's dialect, the one tokenizers runs, and written only if it
//! means the same there.

use serde_json::{Value, json};

use super::node::Node;
use super::stages::prepend_scheme;
use crate::bpe::Unit;
use crate::error::{Error, Result};
use crate::pattern::dialect;
use crate::pre_tokenizer::{PreTokenizer, Prepend, SplitPattern};

const SUPPORTED: &[&str] = &[
    "ByteLevel",
    "Split",
    "Digits",
    "Whitespace",
    "WhitespaceSplit",
    "BertPreTokenizer",
    "Metaspace",
    "Sequence",
];

/// Reads a pre-tokenizer; the unit is bytes if it ends in a ByteLevel.
pub(super) fn read(node: Option<&Node<'_>>) -> Result<(PreTokenizer, Unit)> {
    let mut steps = Vec::new();
    if let Some(node) = node {
        flatten(node, &mut steps)?;
    }
    let byte_level = match steps.last() {
        Some(last) if last.kind()? == "ByteLevel" => steps.pop(),
        _ => None,
    };
    let splitter = splitters(&steps)?;
    let Some(byte_level) = byte_level else {
        return Ok((splitter.unwrap_or(PreTokenizer::Bytes), Unit::Chars));
    };
    let add_prefix_space = byte_level.require("add_prefix_space")?.bool()?;
    byte_level.require("trim_offsets")?.bool()?;
    let use_regex = byte_level.flag("use_regex", true)?;
    let pre_tokenizer = match (splitter, use_regex, add_prefix_space) {
        (None, true, _) => PreTokenizer::Gpt2 { add_prefix_space },
        (Some(splitter), false, false) => splitter,
        (None, false, false) => PreTokenizer::Bytes,
        (_, false, true) => {
            return Err(
                byte_level.error("add_prefix_space without use_regex is not supported in this release")
            );
        }
        (Some(splitter), true, false) => {
            let gpt2 = PreTokenizer::Gpt2 { add_prefix_space };
            let mut steps = match splitter {
                PreTokenizer::Sequence { steps } => steps,
                only => vec![only],
            };
            steps.push(gpt2);
            PreTokenizer::sequence(steps).map_err(|error| byte_level.error(error.to_string()))?
        }
        (Some(_), true, true) => {
            return Err(byte_level.error("add_prefix_space after another splitter is not supported"));
        }
    };
    Ok((pre_tokenizer, Unit::Bytes))
}

fn flatten<'a>(node: &Node<'a>, steps: &mut Vec<Node<'a>>) -> Result<()> {
    if node.kind()? == "Sequence" {
        return node.require("pretokenizers")?.elements()?.iter().try_for_each(|step| flatten(step, steps));
    }
    steps.push(node.clone());
    Ok(())
}

/// All splitters as one; `None` if there is none.
fn splitters(nodes: &[Node<'_>]) -> Result<Option<PreTokenizer>> {
    let mut steps = nodes.iter().map(splitter).collect::<Result<Vec<_>>>()?;
    match &steps[..] {
        [] => Ok(None),
        [
            PreTokenizer::WhitespaceSplit,
            PreTokenizer::Metaspace { prepend: Prepend::Always, split: true },
        ] => Ok(Some(PreTokenizer::MetaspaceWords)),
        [_] => Ok(steps.pop()),
        _ => PreTokenizer::sequence(steps).map(Some).map_err(|error| nodes[0].error(error.to_string())),
    }
}

fn splitter(node: &Node<'_>) -> Result<PreTokenizer> {
    match node.kind()? {
        "Split" => split(node),
        "Digits" => {
            let pattern = if node.flag("individual_digits", false)? { r"\p{N}" } else { r"\p{N}+" };
            Ok(PreTokenizer::Regex(SplitPattern::new(pattern, false)?))
        }
        "Whitespace" => Ok(PreTokenizer::Whitespace),
        "WhitespaceSplit" => Ok(PreTokenizer::WhitespaceSplit),
        "BertPreTokenizer" => Ok(PreTokenizer::Bert),
        "Metaspace" => {
            let prepend = match prepend_scheme(node)? {
                "always" => Prepend::Always,
                "first" => Prepend::First,
                _ => Prepend::Never,
            };
            Ok(PreTokenizer::Metaspace { prepend, split: node.flag("split", true)? })
        }
        "ByteLevel" => Err(node.error("ByteLevel before another splitter is not supported in this release")),
        other => Err(node.unsupported(other, SUPPORTED)),
    }
}

fn split(node: &Node<'_>) -> Result<PreTokenizer> {
    let pattern = node.require("pattern")?;
    let literal = pattern.get("String")?.map(|node| node.str()).transpose()?;
    let (behavior, invert) = (node.require("behavior")?, node.require("invert")?.bool()?);
    let unsupported = |what: &str| {
        Err(behavior.error(format!(
            "{what} is not supported in this release; supported: Isolated, Removed with invert for the published \
             patterns that leave nothing over, MergedWithPrevious and MergedWithNext for one character"
        )))
    };
    let pattern = match (behavior.str()?, literal) {
        ("Isolated", Some(literal)) => escape(literal),
        ("Isolated", None) => return from_regex(&pattern),
        ("Removed", None) if invert => {
            return match from_regex(&pattern)? {
                PreTokenizer::Regex(_) => unsupported("Removed with this pattern"),
                published => Ok(published),
            };
        }
        ("MergedWithPrevious", Some(literal)) if !invert && literal.chars().count() == 1 => {
            let c = escape(literal);
            format!("[^{c}]*{c}|[^{c}]+")
        }
        ("MergedWithNext", Some(literal)) if !invert && literal.chars().count() == 1 => {
            let c = escape(literal);
            format!("{c}[^{c}]*|[^{c}]+")
        }
        (other, _) => return unsupported(&format!("{other:?} (invert: {invert})")),
    };
    Ok(PreTokenizer::Regex(SplitPattern::new(&pattern, false)?))
}

/// Reads `{"Regex": …}`. A pattern that needs look-around gets it: the file
/// asks for it, and the step limit holds.
fn from_regex(node: &Node<'_>) -> Result<PreTokenizer> {
    let regex = node.get("Regex")?.ok_or_else(|| node.expected("{\"String\": …} or {\"Regex\": …}"))?;
    let pattern = regex.str()?;
    PreTokenizer::from_oniguruma_pattern(pattern)
        .or_else(|error| {
            dialect::check(pattern)?;
            let pattern = SplitPattern::new(pattern, true).map_err(|_| error)?;
            Ok(PreTokenizer::Regex(pattern))
        })
        .map_err(|error: Error| regex.error(error.to_string()))
}

/// A literal string as a pattern.
fn escape(literal: &str) -> String {
    let mut pattern = String::with_capacity(literal.len());
    for c in literal.chars() {
        if c.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A pre-tokenizer as JSON.
pub(super) fn write(pre_tokenizer: &PreTokenizer, unit: Unit) -> Result<Value> {
    if unit == Unit::Chars {
        return splitter_json(pre_tokenizer);
    }
    if let PreTokenizer::Gpt2 { add_prefix_space } = pre_tokenizer {
        return Ok(byte_level_json(*add_prefix_space, true));
    }
    let byte_level = byte_level_json(false, false);
    let mut steps = match pre_tokenizer {
        PreTokenizer::Bytes => return Ok(byte_level),
        PreTokenizer::Sequence { steps } => steps.iter().map(splitter_json).collect::<Result<Vec<_>>>()?,
        splitter => vec![splitter_json(splitter)?],
    };
    steps.push(byte_level);
    Ok(json!({"type": "Sequence", "pretokenizers": steps}))
}

/// A ByteLevel stage as JSON.
pub(super) fn byte_level_json(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({
        "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex,
    })
}

fn splitter_json(pre_tokenizer: &PreTokenizer) -> Result<Value> {
    let not_representable = |reason: String| Err(Error::NotRepresentable { format: super::NAME, reason });
    Ok(match pre_tokenizer {
        PreTokenizer::Bytes => Value::Null,
        PreTokenizer::Whitespace => json!({"type": "Whitespace"}),
        PreTokenizer::WhitespaceSplit => json!({"type": "WhitespaceSplit"}),
        PreTokenizer::Bert => json!({"type": "BertPreTokenizer"}),
        PreTokenizer::Metaspace { prepend, split } => json!({
            "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme(*prepend), "split": split,
        }),
        PreTokenizer::MetaspaceWords => json!({"type": "Sequence", "pretokenizers": [
            splitter_json(&PreTokenizer::WhitespaceSplit)?,
            splitter_json(&PreTokenizer::Metaspace { prepend: Prepend::Always, split: true })?,
        ]}),
        PreTokenizer::Sequence { steps } => json!({
            "type": "Sequence", "pretokenizers": steps.iter().map(splitter_json).collect::<Result<Vec<_>>>()?,
        }),
        PreTokenizer::Gpt2 { add_prefix_space: true } => {
            return not_representable("a prefix space is added only beside byte-level tokens".into());
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

/// The name of a `prepend_scheme`.
pub(super) fn scheme(prepend: Prepend) -> &'static str {
    match prepend {
        Prepend::Always => "always",
        Prepend::First => "first",
        Prepend::Never => "never",
    }
}
