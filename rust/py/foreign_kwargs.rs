//! The names of arguments and attributes in other libraries, and their replacements here.
//!
//! Calls accept any further keyword argument only to refuse it, so that users of transformers,
//! tokenizers or SentencePiece read the equivalent. This does not change the effect of a call.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::batch::PyEncodingBatch;
use super::encoding::PyEncoding;
use crate::error::shown;

/// A name in another library, and its replacement here.
type Row = (&'static str, &'static str);

/// Arguments of calls that encode.
pub(super) const ENCODE: &[Row] = &[
    ("padding", "pad what encode_batch gives, by .pad() or .to_torch()"),
    ("pad_to_max_length", "pad what encode_batch gives, by .pad(length=...) or .to_torch(length=...)"),
    ("pad_to_multiple_of", "pad what encode_batch gives, by .pad(multiple_of=...)"),
    ("padding_side", "pad what encode_batch gives, by .pad(side=...)"),
    ("return_tensors", "encode_batch(...).to_torch() gives tensors, and .pad() arrays"),
    ("max_length", "the most ids of a row are max_tokens="),
    ("stride", "windows_batch(texts, size, stride) gives windows"),
    ("return_overflowing_tokens", "windows_batch(texts, size, stride) gives windows"),
    ("return_offsets_mapping", "encode_batch(..., offsets=True).offsets() gives offsets, and so does encode"),
    (
        "return_attention_mask",
        "the mask is the second array of .pad(), and \"attention_mask\" of .to_torch()",
    ),
    ("return_token_type_ids", "they are .type_ids, and \"token_type_ids\" of .to_torch(type_ids=True)"),
    ("return_special_tokens_mask", "it is .special_tokens_mask"),
    ("return_length", "lengths are numpy.diff(batch.row_offsets)"),
    ("text_pair", "a second text is pair= of encode, and second texts are pairs= of encode_batch"),
    ("is_pretokenized", "it is is_split_into_words="),
    ("split_special_tokens", "specials=\"none\" is that, and the default"),
    ("allowed_special", "it is specials="),
    ("disallowed_special", "specials=\"raise\" refuses special tokens in a text"),
    ("num_threads", "it is threads="),
    ("out_type", "ids are .ids, and pieces are .tokens"),
    ("enable_sampling", "tokenizer.sample(text, alpha, seed) draws"),
    ("nbest_size", "tokenizer.n_best(text, n) gives the best"),
];

/// Arguments of calls that pad.
pub(super) const PAD: &[Row] = &[
    ("pad_to_multiple_of", "it is multiple_of="),
    ("max_length", "it is length="),
    ("padding", "the length is length=, by default that of the longest row"),
    ("padding_side", "it is side="),
    ("direction", "it is side="),
    ("pad_token", "give its id, as in pad_id=tokenizer.token_to_id(\"<pad>\")"),
    ("return_tensors", "to_torch() gives tensors"),
    ("device", "move the tensors: {name: tensor.to(device) for name, tensor in batch.to_torch().items()}"),
    ("dtype", "tensors are int64; pad(dtype=...) gives arrays of int32 or uint32"),
    ("token_type_ids", "to_torch(type_ids=True) gives them"),
    ("return_token_type_ids", "to_torch(type_ids=True) gives them"),
];

/// Arguments of `from_pretrained`.
pub(super) const FROM_PRETRAINED: &[Row] = &[
    ("use_fast", "leave it out: there is one kind"),
    ("token", "huggingface_hub fetches with the token of HF_TOKEN, or of \"hf auth login\""),
    ("use_auth_token", "huggingface_hub fetches with the token of HF_TOKEN, or of \"hf auth login\""),
    ("local_files_only", "leave it out: nothing is fetched unless download=True"),
    ("force_download", "download=True fetches files that are not in the cache"),
    ("trust_remote_code", "leave it out: no code of a folder is run"),
    ("padding_side", "give it to pad, as in batch.pad(side=\"left\")"),
    ("truncation_side", "give it to encode_batch"),
    ("model_max_length", "give it to encode_batch, as in max_tokens=512"),
    (
        "pad_token",
        "change the settings: tokenizer.with_settings(tokenizer.settings.replace(pad_token=\"<pad>\"))",
    ),
    (
        "eos_token",
        "change the settings: tokenizer.with_settings(tokenizer.settings.replace(eos_token=\"</s>\"))",
    ),
];

/// Arguments of calls that train.
pub(super) const TRAIN: &[Row] = &[
    ("input", "files are source=, a path or a list of paths"),
    ("files", "files are source=, a path or a list of paths"),
    ("sentence_iterator", "texts in memory are texts="),
    ("text_iterator", "texts in memory are texts="),
    ("iterator", "texts in memory are texts="),
    ("model_prefix", "save what training gives, as in tokenizer.save(\"name.model\")"),
    ("model_writer", "take the bytes of what training gives: tokenizer.to_sentencepiece()"),
    ("model_type", "train_bpe, train_unigram and train_wordpiece are one call each"),
    ("control_symbols", "they are special_tokens="),
    ("new_special_tokens", "they are special_tokens="),
    ("normalization_rule_name", "it is normalizer=, as in normalizer=\"sentencepiece-nmt-nfkc\""),
    ("add_dummy_prefix", "it is of Normalizer.sentencepiece(...), which goes to normalizer="),
    ("remove_extra_whitespaces", "it is of Normalizer.sentencepiece(...), which goes to normalizer="),
    ("input_sentence_size", "draw lines first, or train by sentitok.compat.sentencepiece, which draws them"),
    (
        "shuffle_input_sentence",
        "draw lines first, or train by sentitok.compat.sentencepiece, which draws them",
    ),
    ("unk_piece", "it is unk_token="),
    ("bos_piece", "it is bos_token="),
    ("eos_piece", "it is eos_token="),
    ("pad_piece", "it is one of special_tokens="),
    ("unk_id", "ids are special_ids=, as in special_ids={\"<unk>\": 0}"),
    ("bos_id", "ids are special_ids=, as in special_ids={\"<s>\": 1}; bos_token=None leaves it out"),
    ("eos_id", "ids are special_ids=, as in special_ids={\"</s>\": 2}; eos_token=None leaves it out"),
    ("pad_id", "ids are special_ids=, as in special_ids={\"<pad>\": 3}"),
    ("max_sentencepiece_length", "it is max_piece_length="),
    ("seed_sentencepiece_size", "it is seed_size="),
    ("num_sub_iterations", "it is sub_iterations="),
    ("num_threads", "it is threads="),
    ("show_progress", "progress= is a function that is called with the stage, the work done and all work"),
    ("wordpieces_prefix", "it is continuing_subword_prefix="),
    ("clean_text", "it is of the normalizer, which is normalizer="),
    ("strip_accents", "it is of the normalizer, which is normalizer="),
    ("handle_chinese_chars", "it is of the normalizer, which is normalizer="),
    ("trainer", "what a trainer has are arguments of this call"),
];

/// Attributes of a batch and of an encoding.
const OF_ENCODINGS: &[Row] = &[
    ("input_ids", "it is ids"),
    (
        "attention_mask",
        "encode_batch(...).pad() gives it along with the ids, and .to_torch() as \"attention_mask\"",
    ),
    ("token_type_ids", "it is type_ids"),
    ("offset_mapping", "it is offsets()"),
    ("overflowing", "tokenizer.windows_batch(texts, size, stride) gives windows"),
    ("pieces", "it is tokens"),
    ("to_list", "it is tolist()"),
    ("tolist", "it is to_list()"),
    ("words", "it is word_ids"),
    ("pad_to_multiple_of", "it is pad(multiple_of=...)"),
];

/// Attributes of arrays and lists that callers expect on an encoding, whose ids are an array.
#[rustfmt::skip]
const OF_IDS: &[&str] = &[
    "T", "all", "any", "append", "argmax", "astype", "copy", "count", "dtype", "extend", "flatten", "index",
    "item", "max", "mean", "min", "nbytes", "ndim", "numpy", "pop", "reshape", "shape", "size", "sort", "sum",
    "tobytes", "unsqueeze", "view",
];

/// Refuses arguments that a call does not have.
pub(super) fn refuse(
    call: &str,
    rows: &[Row],
    positional: Option<&Bound<'_, PyTuple>>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    if let Some(value) = positional.filter(|values| !values.is_empty()) {
        let value = value.get_item(0)?.repr()?.to_string();
        return Err(PyTypeError::new_err(format!(
            "{call}() takes one argument without a name; give {} one, as in vocab_size=8000",
            shown(&value)
        )));
    }
    let Some((name, _)) = named.and_then(|named| named.iter().next()) else { return Ok(()) };
    let name = name.to_string();
    let message = match meant(rows, &name) {
        Some(remedy) => format!("{call}() has no {name}=: {remedy}"),
        None => format!("{call}() got an unexpected keyword argument '{}'", shown(&name)),
    };
    Err(PyTypeError::new_err(message))
}

// Python calls `__getattr__` for missing attributes. A tokenizer does not define it, because it would double
// the time to look up a method.

#[pymethods]
impl PyEncoding {
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        Err(no_attribute("Encoding", OF_ENCODINGS, name))
    }
}

#[pymethods]
impl PyEncodingBatch {
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        Err(no_attribute("EncodingBatch", OF_ENCODINGS, name))
    }
}

/// The error for a missing attribute.
fn no_attribute(of: &str, rows: &[Row], name: &str) -> PyErr {
    let mut remedy = meant(rows, name).map_or_else(String::new, |remedy| format!(": {remedy}"));
    if OF_IDS.contains(&name) {
        remedy = format!(": ask the array of ids, {of}.ids", of = of.to_lowercase());
    }
    PyAttributeError::new_err(format!("'sentitok.{of}' object has no attribute '{}'{remedy}", shown(name)))
}

fn meant(rows: &[Row], name: &str) -> Option<&'static str> {
    rows.iter().find(|(theirs, _)| *theirs == name).map(|(_, remedy)| *remedy)
}
