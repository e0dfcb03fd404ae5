//! The files next to tokenizer.json in the directory of a model: tokenizer_config.json and
//! special_tokens_map.json.
//!
//! They assign roles to special tokens. Our tokenizers do not store roles, so the role follows from
//! the usual text of a token; a token with an unusual text is an additional special token.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;
use crate::tokenizer::encoding::Side;

/// The number that transformers writes for "no limit": int(1e30).
const NO_LIMIT: u128 = 1_000_000_000_000_000_019_884_624_838_656;

/// Roles in the order of transformers, with the usual texts of each.
const ROLES: [(&str, &[&str]); 7] = [
    (
        "bos_token",
        &["<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>", "<|begin▁of▁sentence|>"],
    ),
    ("eos_token", &["</s>", "<eos>", "[EOS]", "<|end_of_text|>", "<|endoftext|>", "<|end▁of▁sentence|>"]),
    ("unk_token", &["<unk>", "[UNK]", "<|unk|>"]),
    ("sep_token", &["[SEP]", "<sep>"]),
    ("pad_token", &["<pad>", "[PAD]", "<|pad|>", "<|padding|>"]),
    ("cls_token", &["[CLS]", "<cls>"]),
    ("mask_token", &["[MASK]", "<mask>", "<|mask|>"]),
];

#[derive(Serialize)]
struct Config {
    #[serde(flatten)]
    roles: Map<String, Value>,
    clean_up_tokenization_spaces: bool,
    model_max_length: u128,
    padding_side: &'static str,
    tokenizer_class: &'static str,
}

fn specials(tokenizer: &Tokenizer) -> impl Iterator<Item = &str> {
    tokenizer.added_tokens().iter().filter(|token| token.special).map(|token| token.content.as_str())
}

/// The roles of special tokens, as transformers names them, with their texts.
pub fn roles(tokenizer: &Tokenizer) -> Vec<(&'static str, &str)> {
    let text_of = |(role, texts): (_, &[&str])| {
        let of_model = tokenizer.model().unk_token().filter(|_| role == "unk_token");
        let text = of_model.or_else(|| specials(tokenizer).find(|content| texts.contains(content)));
        text.map(|text| (role, text))
    };
    ROLES.into_iter().filter_map(text_of).collect()
}

/// tokenizer_config.json, then special_tokens_map.json.
pub(super) fn write(tokenizer: &Tokenizer) -> Result<[Vec<u8>; 2]> {
    let found = roles(tokenizer);
    let mut roles: Map<_, _> =
        found.into_iter().map(|(role, text)| (role.to_owned(), Value::from(text))).collect();
    let others: Vec<_> = specials(tokenizer)
        .filter(|content| !roles.values().any(|role| role == content))
        .map(Value::from)
        .collect();
    if !others.is_empty() {
        roles.insert("additional_special_tokens".into(), Value::Array(others));
    }
    let config = Config {
        roles: roles.clone(),
        clean_up_tokenization_spaces: false,
        model_max_length: NO_LIMIT,
        padding_side: match tokenizer.call_defaults().padding.as_ref().map(|fill| fill.direction) {
            Some(Side::Left) => "left",
            Some(Side::Right) | None => "right",
        },
        // All versions of transformers know this class. Version 5 writes a name that version 4 and
        // llama.cpp cannot load.
        tokenizer_class: "PreTrainedTokenizerFast",
    };
    Ok([pretty(&config)?, pretty(&roles)?])
}

fn pretty(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| Error::Internal(error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}
