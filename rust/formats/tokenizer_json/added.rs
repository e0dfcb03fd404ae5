//! Reads and writes the added tokens and the post-processor of tokenizer.json.
//!
//! tokenizers ignores the ids of added tokens in the file: a token that is not in the vocabulary
//! gets the next free id. This reader does the same. To keep different ids, the writer puts such
//! tokens into the vocabulary.

use serde_json::{Map, Value, json};

use super::model::Tokens;
use super::node::Node;
use crate::error::Result;
use crate::models::bpe::Unit;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::template::{Part, Template, TrimOffsets};
use crate::vocab::TokenId;

const POST_PROCESSORS: &[&str] =
    &["ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing", "Sequence"];

/// Reads the added tokens with the ids of the file.
pub(super) fn tokens(node: &Node<'_>) -> Result<Vec<AddedToken>> {
    let mut tokens: Vec<AddedToken> = Vec::new();
    let mut seen = std::collections::HashMap::new();
    for node in node.elements()? {
        let flag = |key| node.require(key)?.bool();
        let token = AddedToken {
            content: node.require("content")?.str()?.to_owned(),
            id: node.require("id")?.u32()?,
            special: flag("special")?,
            single_word: flag("single_word")?,
            lstrip: flag("lstrip")?,
            rstrip: flag("rstrip")?,
            normalized: flag("normalized")?,
        };
        // tokenizers skips empty tokens. If two tokens have the same text, the rules of the last
        // one count.
        if token.content.is_empty() {
            continue;
        }
        match seen.insert(token.content.clone(), tokens.len()) {
            Some(first) => {
                seen.insert(token.content.clone(), first);
                tokens[first] = AddedToken { id: tokens[first].id, ..token };
            }
            None => tokens.push(token),
        }
    }
    Ok(tokens)
}

/// Gives tokens the ids that tokenizers assigns.
pub(super) fn assign_ids(
    node: &Node<'_>,
    added: &mut [AddedToken],
    tokens: &Tokens,
    unit: Unit,
) -> Result<()> {
    let mut next = NextId::new(tokens.len());
    for token in added {
        let id = next.take(tokens.id(&token.content, unit));
        token.id = TokenId::try_from(id).map_err(|_| node.error("no id is left for it"))?;
    }
    Ok(())
}

/// Refuses rules that look at the neighbours of a token if the normalizer ends in ByteLevel: they
/// would see bytes as characters, and a space as a letter.
pub(super) fn check_spelled(node: &Node<'_>, added: &[AddedToken]) -> Result<()> {
    let looks = |token: &&AddedToken| token.normalized && (token.single_word || token.lstrip || token.rstrip);
    match added.iter().find(looks) {
        Some(token) => Err(node.error(format!(
            "{:?} is normalized and has single_word, lstrip or rstrip, which behind a ByteLevel normalizer \
             is not supported; set normalized to false",
            token.content
        ))),
        None => Ok(()),
    }
}

/// Assigns ids to added tokens as tokenizers does, in the order of the file.
pub(super) struct NextId {
    next: u64,
}

impl NextId {
    pub(super) fn new(vocab_len: usize) -> Self {
        Self { next: vocab_len as u64 }
    }

    /// The id of the next token; `known` is its id in the vocabulary, if any.
    pub(super) fn take(&mut self, known: Option<TokenId>) -> u64 {
        if let Some(id) = known {
            return id.into();
        }
        self.next += 1;
        self.next - 1
    }
}

/// An added token as JSON.
pub(super) fn token_json(token: &AddedToken) -> Value {
    json!({
        "id": token.id,
        "content": token.content,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    })
}

/// Reads a post-processor.
pub(super) fn template(node: &Node<'_>) -> Result<Template> {
    let mut template = Template::default();
    let mut is_set = false;
    template_steps(node, &mut template, &mut is_set)?;
    template.check()?;
    Ok(template)
}

fn template_steps(node: &Node<'_>, template: &mut Template, is_set: &mut bool) -> Result<()> {
    let kind = node.kind()?;
    match kind {
        "ByteLevel" => {
            return set_trim_offsets(node, template);
        }
        "Sequence" => {
            let steps = node.require("processors")?.elements()?;
            return steps.iter().try_for_each(|step| template_steps(step, template, is_set));
        }
        "TemplateProcessing" => {
            let specials = node.require("special_tokens")?;
            template.single = parts(&node.require("single")?, &specials)?;
            template.pair = parts(&node.require("pair")?, &specials)?;
        }
        "BertProcessing" | "RobertaProcessing" => {
            let id = |key| {
                let pair = node.require(key)?;
                match &pair.elements()?[..] {
                    [token, id] if token.str().is_ok() => id.u32(),
                    _ => Err(pair.expected("a token and its id")),
                }
            };
            let (sep, cls) = (id("sep")?, id("cls")?);
            let special = |id, type_id| Part::Special { id, type_id };
            template.single = vec![special(cls, 0), Part::First { type_id: 0 }, special(sep, 0)];
            template.pair = template.single.clone();
            if kind == "BertProcessing" {
                template.pair.extend([Part::Second { type_id: 1 }, special(sep, 1)]);
            } else {
                template.pair.extend([special(sep, 0), Part::Second { type_id: 0 }, special(sep, 0)]);
                set_trim_offsets(node, template)?;
            }
        }
        other => return Err(node.unsupported(other, POST_PROCESSORS)),
    }
    if std::mem::replace(is_set, true) {
        return Err(node.error("a second template in a sequence is not supported"));
    }
    Ok(())
}

fn set_trim_offsets(node: &Node<'_>, template: &mut Template) -> Result<()> {
    let trims = trim_offsets(node)?;
    if trims != TrimOffsets::No && std::mem::replace(&mut template.trim_offsets, trims) != TrimOffsets::No {
        return Err(node.error("a second step with trim_offsets in a sequence is not supported"));
    }
    Ok(())
}

fn trim_offsets(node: &Node<'_>) -> Result<TrimOffsets> {
    // tokenizers takes both as true if they are missing.
    let flag = |key| node.get(key)?.map_or(Ok(true), |node| node.bool());
    let (trims, after_prefix) = (flag("trim_offsets")?, flag("add_prefix_space")?);
    Ok(match (trims, after_prefix) {
        (false, _) => TrimOffsets::No,
        (true, false) => TrimOffsets::Yes,
        (true, true) => TrimOffsets::AfterPrefixSpace,
    })
}

fn parts(node: &Node<'_>, specials: &Node<'_>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for node in node.elements()? {
        if let Some(sequence) = node.get("Sequence")? {
            let type_id = sequence.require("type_id")?.u32()?;
            parts.push(match sequence.require("id")?.str()? {
                "A" => Part::First { type_id },
                "B" => Part::Second { type_id },
                _ => return Err(sequence.expected("the sequence A or B")),
            });
        } else if let Some(special) = node.get("SpecialToken")? {
            let type_id = special.require("type_id")?.u32()?;
            // A name may represent several tokens.
            for id in specials.require(special.require("id")?.str()?)?.require("ids")?.elements()? {
                parts.push(Part::Special { id: id.u32()?, type_id });
            }
        } else {
            return Err(node.expected("a Sequence or a SpecialToken"));
        }
    }
    Ok(parts)
}

/// A template as JSON. `name` returns the text of a special token.
pub(super) fn template_json(template: &Template, name: impl Fn(TokenId) -> Result<String>) -> Result<Value> {
    let trims = match template.trim_offsets {
        TrimOffsets::No => None,
        TrimOffsets::Yes => Some(super::pre_tokenizers::byte_level_json(false, true)),
        TrimOffsets::AfterPrefixSpace => Some(super::pre_tokenizers::byte_level_json(true, true)),
    };
    let plain = Template::default();
    if template.single == plain.single && template.pair == plain.pair {
        return Ok(trims.unwrap_or(Value::Null));
    }
    let mut specials = std::collections::BTreeMap::new();
    let mut write = |parts: &[Part]| -> Result<Value> {
        let mut written = Vec::with_capacity(parts.len());
        for part in parts {
            written.push(match *part {
                Part::First { type_id } => json!({"Sequence": {"id": "A", "type_id": type_id}}),
                Part::Second { type_id } => json!({"Sequence": {"id": "B", "type_id": type_id}}),
                Part::Special { id, type_id } => {
                    let token = name(id)?;
                    let value = json!({"id": token, "ids": [id], "tokens": [token]});
                    specials.insert(token.clone(), value);
                    json!({"SpecialToken": {"id": token, "type_id": type_id}})
                }
            });
        }
        Ok(Value::Array(written))
    };
    let (single, pair) = (write(&template.single)?, write(&template.pair)?);
    let specials: Map<String, Value> = specials.into_iter().collect();
    let template = json!({
        "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials,
    });
    Ok(match trims {
        None => template,
        Some(trims) => json!({"type": "Sequence", "processors": [trims, template]}),
    })
}
