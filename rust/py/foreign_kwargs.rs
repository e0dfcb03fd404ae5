//! The names of arguments and attributes in other libraries, and their replacements here.
//!
//! Calls accept any further keyword argument only to refuse it, so that users of transformers,
//! tokenizers or SentencePiece read the equivalent. This does not change the effect of a call.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::batch::PyEncodingBatch;
use super::encoding::PyEncoding;
use super::tokenizer::PyTokenizer;
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
    ("vocab", "it is vocab_size="),
    ("vocabulary_size", "it is vocab_size="),
    ("size", "it is vocab_size="),
    ("num_merges", "vocab_size= is the number of tokens: those of the alphabet, special tokens and merges"),
    ("add", "vocab_size= is the number of all tokens, with those of a base"),
    ("add_tokens", "special tokens are special_tokens="),
    ("new_tokens", "special tokens are special_tokens="),
    ("special", "it is special_tokens="),
    ("specials", "it is special_tokens="),
    ("user_defined", "it is user_defined_symbols="),
    ("min_freq", "it is min_frequency="),
    ("text", "texts in memory are texts="),
    ("file", "files are source=, a path or a list of paths"),
    ("path", "files are source=, a path or a list of paths"),
    ("paths", "files are source=, a path or a list of paths"),
    ("corpus", "files are source=, and texts in memory texts="),
    ("out", "save what training gives, as in tokenizer.save(\"tokenizer.json\")"),
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

/// Attributes of a tokenizer.
const OF_TOKENIZERS: &[Row] = &[
    // tokenizers
    ("get_vocab", "it is vocab()"),
    ("get_vocab_size", "it is vocab_size, or n_tokens without gaps between ids"),
    ("encode_batch_fast", "it is encode_batch(texts)"),
    ("enable_padding", PAD_LATER),
    ("no_padding", PAD_LATER),
    ("padding", PAD_LATER),
    ("pad", PAD_LATER),
    ("enable_truncation", TRUNCATE),
    ("no_truncation", TRUNCATE),
    ("truncation", TRUNCATE),
    ("add_tokens", ADD),
    ("add_special_tokens", ADD),
    ("get_added_tokens_decoder", "it is added_tokens"),
    ("to_str", "to_bytes() gives the file, and save(path) writes it"),
    ("from_str", "Tokenizer.from_bytes(data) reads a file that is in memory"),
    ("train", TRAINED),
    ("train_from_iterator", TRAINED),
    ("train_new_from_iterator", TRAINED),
    ("model", "info() describes it"),
    ("decoder", "info() describes it"),
    ("post_processor", "info() describes it"),
    // tiktoken
    ("encode_ordinary", "it is encode(text), which reads special tokens as text by default"),
    ("encode_ordinary_batch", "it is encode_batch(texts)"),
    ("encode_to_numpy", "it is encode(text).ids"),
    ("encode_single_token", "it is token_to_id(token)"),
    ("decode_single_token_bytes", "it is id_to_bytes(id)"),
    ("decode_tokens_bytes", "it is [tokenizer.id_to_bytes(id) for id in ids]"),
    ("decode_bytes_batch", "it is [tokenizer.decode_bytes(ids) for ids in rows]"),
    ("decode_with_offsets", "offsets are encode(text).offsets()"),
    ("token_byte_values", "it is [tokenizer.id_to_bytes(id) for id in range(tokenizer.vocab_size)]"),
    ("n_vocab", "it is vocab_size"),
    ("max_token_value", "it is vocab_size - 1"),
    ("eot_token", "it is token_to_id(\"<|endoftext|>\")"),
    ("special_tokens_set", SPECIALS),
    // SentencePiece
    ("encode_as_ids", "it is encode(text).ids"),
    ("encode_as_pieces", "it is encode(text).tokens"),
    ("decode_ids", "it is decode(ids)"),
    ("decode_pieces", "decode takes ids: decode([tokenizer.token_to_id(token) for token in tokens])"),
    ("piece_to_id", "it is token_to_id(token)"),
    ("id_to_piece", "it is id_to_token(id)"),
    ("piece_size", "it is vocab_size"),
    ("get_piece_size", "it is vocab_size"),
    ("nbest_encode", "it is n_best(text, n)"),
    ("nbest_encode_as_ids", "it is n_best(text, n)"),
    ("sample_encode", "it is sample(text, alpha, seed)"),
    ("sample_encode_as_ids", "it is sample(text, alpha, seed)"),
    ("calculate_entropy", "it is entropy(text, alpha)"),
    ("normalize", "it is normalizer.normalize(text), if there is a normalizer"),
    ("serialized_model_proto", "it is to_sentencepiece()"),
    ("bos_id", "it is token_to_id(\"<s>\")"),
    ("eos_id", "it is token_to_id(\"</s>\")"),
    ("unk_id", "it is token_to_id(\"<unk>\")"),
    ("pad_id", "it is token_to_id(\"<pad>\")"),
    ("load", LOADED),
    ("load_from_file", LOADED),
    // transformers
    ("tokenize", "it is encode(text).tokens"),
    ("call", "it is encode(text), and encode_batch(texts) for several"),
    ("encode_plus", "it is encode(text, pair)"),
    ("batch_encode", "it is encode_batch(texts)"),
    ("batch_encode_plus", "it is encode_batch(texts)"),
    ("batch_decode", "it is decode_batch(rows)"),
    ("convert_tokens_to_ids", "it is token_to_id(token)"),
    ("convert_ids_to_tokens", "it is id_to_token(id)"),
    ("convert_tokens_to_string", "decode(ids) takes ids"),
    ("all_special_tokens", SPECIALS),
    ("all_special_ids", "it is [token.id for token in tokenizer.added_tokens if token.special]"),
    ("special_tokens_map", "it is settings.special_tokens"),
    ("special_tokens", "roles are settings.special_tokens, and all are in added_tokens"),
    ("get_added_vocab", "it is {token.content: token.id for token in tokenizer.added_tokens}"),
    ("bos_token", ROLE),
    ("eos_token", ROLE),
    ("unk_token", ROLE),
    ("sep_token", ROLE),
    ("pad_token", ROLE),
    ("cls_token", ROLE),
    ("mask_token", ROLE),
    ("bos_token_id", ROLE_ID),
    ("eos_token_id", ROLE_ID),
    ("unk_token_id", ROLE_ID),
    ("sep_token_id", ROLE_ID),
    ("pad_token_id", ROLE_ID),
    ("cls_token_id", ROLE_ID),
    ("mask_token_id", ROLE_ID),
    ("chat_template", "it is settings.chat_template"),
    ("model_max_length", "it is settings.config.get(\"model_max_length\")"),
    ("save_vocabulary", "it is save(path)"),
    ("push_to_hub", "save_pretrained(folder) writes what \"hf upload\" takes"),
];

const PAD_LATER: &str = "pad what encode_batch gives, by .pad() or .to_torch()";
const TRUNCATE: &str = "it is an argument of calls: encode_batch(texts, max_tokens=512)";
const ADD: &str = "a tokenizer does not change: with_specials(tokens) gives one with more tokens";
const TRAINED: &str = "a tokenizer does not change: sentitok.train_bpe(...) gives a new one";
const LOADED: &str = "it is Tokenizer.from_file(path)";
const SPECIALS: &str = "it is [token.content for token in tokenizer.added_tokens if token.special]";
const ROLE: &str = "it is settings.special_tokens.get(\"eos_token\"), or the name of another role";
const ROLE_ID: &str =
    "it is token_to_id(settings.special_tokens[\"eos_token\"]), or the name of another role";

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

// Python calls `__getattr__` for missing attributes. A class that defines it looks up a method in about
// 8 ns more (28 ns without, by CPython 3.11); the shortest call of a tokenizer takes 100 ns.

#[pymethods]
impl PyTokenizer {
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        Err(no_attribute("Tokenizer", OF_TOKENIZERS, name))
    }
}

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
    if of != "Tokenizer" && OF_IDS.contains(&name) {
        remedy = format!(": ask the array of ids, {of}.ids", of = of.to_lowercase());
    }
    PyAttributeError::new_err(format!("'sentitok.{of}' object has no attribute '{}'{remedy}", shown(name)))
}

/// What to write instead of a name. Some libraries spell a name in two ways: `IdToPiece` is
/// `id_to_piece`.
fn meant(rows: &[Row], name: &str) -> Option<&'static str> {
    fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
        name.chars().filter(|&c| c != '_').map(|c| c.to_ascii_lowercase())
    }
    let exact = rows.iter().find(|(theirs, _)| *theirs == name);
    let found = exact.or_else(|| rows.iter().find(|(theirs, _)| letters(theirs).eq(letters(name))));
    found.map(|(_, remedy)| *remedy)
}
