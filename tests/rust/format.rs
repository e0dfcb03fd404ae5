//! Files of tokenizers: files of tokenizers 0.23.3, refused files, and that
//! nothing a file holds makes us panic.

mod ranks;
mod tekken;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sentitok::formats::verify::Report;
use sentitok::formats::{FileKind, Format, tiktoken};
use sentitok::tokenizer::added_tokens::Specials;
use sentitok::{EncodeOptions, Error, PreTokenizer, Tokenizer};
use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tokenizer_json")
}

fn names() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().to_str().unwrap().strip_suffix(".expected.json").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 8);
    names
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

/// Checks ids and texts against what tokenizers gave.
fn check(name: &str, tokenizer: &Tokenizer) {
    let expected = std::fs::read_to_string(fixtures().join(format!("{name}.expected.json"))).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&expected).unwrap();
    let all = EncodeOptions { specials: Specials::All, ..EncodeOptions::default() };
    for row in rows {
        let text = row["text"].as_str().unwrap();
        let found = tokenizer.encode(text.as_bytes(), all).unwrap().ids;
        assert_eq!(found, ids(&row["ids"]), "{name}: {text:?}");
        let plain = EncodeOptions { add_special_tokens: false, ..all };
        let found = tokenizer.encode(text.as_bytes(), plain).unwrap().ids;
        assert_eq!(found, ids(&row["plain_ids"]), "{name}, plain: {text:?}");
        let pair = tokenizer.encode_pair(text.as_bytes(), b"the film", all).unwrap();
        assert_eq!(pair.ids, ids(&row["pair_ids"]), "{name}, pair: {text:?}");
        assert_eq!(pair.type_ids, ids(&row["pair_type_ids"]), "{name}, pair: {text:?}");
        assert_eq!(
            tokenizer.decode(&found, false).unwrap(),
            row["decoded"].as_str().unwrap(),
            "{name}: {text:?}"
        );
    }
}

#[test]
fn files_of_tokenizers_do_what_they_do_there() {
    for name in names() {
        let tokenizer = Tokenizer::from_file(fixtures().join(format!("{name}.json"))).unwrap();
        check(&name, &tokenizer);
        // Our own file: everything comes back, and so does the fingerprint.
        let bytes = tokenizer.to_bytes().unwrap();
        let again = Tokenizer::from_bytes(&bytes).unwrap();
        check(&name, &again);
        assert_eq!(again.to_bytes().unwrap(), bytes, "{name}");
        assert_eq!(again.fingerprint().unwrap(), tokenizer.fingerprint().unwrap());
    }
}

#[test]
fn files_are_written_as_tokenizers_writes_them() {
    let dir = tempfile::tempdir().unwrap();
    for name in names() {
        let file = fixtures().join(format!("{name}.json"));
        let tokenizer = Tokenizer::from_file(&file).unwrap();
        let path = dir.path().join("new/tokenizer.json");
        assert_eq!(tokenizer.save(&path, None).unwrap().files, std::slice::from_ref(&path));
        let written = std::fs::read_to_string(&path).unwrap();
        // These two name the template by a kind that is written as the general one.
        if !["roberta", "suffix"].contains(&name.as_str()) {
            assert_eq!(written, std::fs::read_to_string(&file).unwrap(), "{name}");
        }
        let again = Tokenizer::from_file(&path).unwrap();
        check(&name, &again);
        assert_eq!(again.to_bytes().unwrap(), tokenizer.to_bytes().unwrap(), "{name}");
    }
}

#[test]
fn a_directory_of_a_model() {
    let dir = tempfile::tempdir().unwrap();
    let tokenizer = Tokenizer::from_file(fixtures().join("llama2.json")).unwrap();
    assert_eq!(tokenizer.save(dir.path(), None).unwrap().files.len(), 3);
    check("llama2", &Tokenizer::from_file(dir.path()).unwrap());
    let read =
        |name| -> Value { serde_json::from_slice(&std::fs::read(dir.path().join(name)).unwrap()).unwrap() };
    let map = json!({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"});
    assert_eq!(read("special_tokens_map.json"), map);
    let config = read("tokenizer_config.json");
    assert_eq!(
        (&config["bos_token"], &config["tokenizer_class"]),
        (&map["bos_token"], &json!("PreTrainedTokenizerFast"))
    );
    let text = std::fs::read_to_string(dir.path().join("tokenizer_config.json")).unwrap();
    assert!(text.contains("\"model_max_length\": 1000000000000000019884624838656"), "{text}");
}

#[test]
fn the_two_files_of_gpt2() {
    let dir = tempfile::tempdir().unwrap();
    let tokenizer = Tokenizer::from_file(fixtures().join("gpt2.json")).unwrap();
    let saved = tokenizer.save(dir.path(), Some(Format::Gpt2)).unwrap();
    assert_eq!(saved.left_out, Vec::<String>::new());
    let again = Tokenizer::from_file(dir.path()).unwrap();
    check("gpt2", &again);
    assert_eq!(again.to_bytes().unwrap(), tokenizer.to_bytes().unwrap());
    for (name, expected) in [
        ("llama3", "splits differently"),
        ("llama2", "not made of all 256 bytes"),
        ("roberta", "splits differently"),
    ] {
        let tokenizer = Tokenizer::from_file(fixtures().join(format!("{name}.json"))).unwrap();
        let error = tokenizer.save(dir.path(), Some(Format::Gpt2)).unwrap_err();
        assert!(
            matches!(error, Error::NotRepresentable { .. }) && error.to_string().contains(expected),
            "{error}"
        );
    }
}

/// A small tokenizer.json with one change.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    });
    change(&mut file);
    file.to_string()
}

fn added(content: &str, id: u32) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
           "normalized": false, "special": true})
}

#[test]
fn errors_name_the_place_and_what_was_found() {
    type Change = Box<dyn FnOnce(&mut Value)>;
    let set = |path: &'static str, value: Value| -> Change {
        Box::new(move |file| *file.pointer_mut(path).unwrap() = value)
    };
    let insert = |path: &'static str, key: &'static str, value: Value| -> Change {
        Box::new(move |file| file.pointer_mut(path).unwrap()[key] = value)
    };
    let cases: Vec<(Change, &[&str])> = vec![
        (set("/version", json!("2.0")), &["2.0", "1.0"]),
        (set("/version", json!(1)), &["$.version", "expected a string, found 1"]),
        (insert("", "extra", json!(1)), &["$.extra", "not known"]),
        (set("/model", json!(null)), &["$.model", "expected a model"]),
        (set("/model/type", json!("Words")), &["$.model.type", "\"Words\"", "BPE"]),
        (set("/model/vocab", json!([])), &["$.model.vocab", "expected an object of tokens"]),
        (set("/model/vocab/ab", json!(-1)), &["$.model.vocab[\"ab\"]", "-1"]),
        (set("/model/vocab/ab", json!(1)), &["$.model.vocab", "id 1 occurs twice"]),
        (set("/model/vocab/ab", json!(4294967294u32)), &["$.model.vocab", "without a token"]),
        (set("/model/merges/0", json!("a c")), &["$.model.merges[0]", "\"c\"", "not in the vocabulary"]),
        (set("/model/merges/0", json!("ab")), &["$.model.merges[0]", "one space"]),
        (set("/model/merges/0", json!(["a"])), &["$.model.merges[0]", "two parts"]),
        (set("/model/merges/0", json!(["b", "a"])), &["$.model.merges[0]", "result"]),
        (insert("/model", "dropout", json!(2.0)), &["dropout", "0 to 1"]),
        (set("/normalizer", json!({"type": "X"})), &["$.normalizer", "\"X\"", "Prepend, Replace"]),
        (
            set("/normalizer", json!({"type": "Sequence", "normalizers": [{"type": "X"}]})),
            &["$.normalizer.normalizers[0]", "\"X\""],
        ),
        (set("/pre_tokenizer", json!({"type": "X"})), &["$.pre_tokenizer", "\"X\"", "Whitespace"]),
        (set("/pre_tokenizer", json!({"type": "ByteLevel"})), &["$.pre_tokenizer", "trim_offsets"]),
        (
            set("/pre_tokenizer", json!({"type": "ByteLevel", "trim_offsets": true})),
            &["$.pre_tokenizer", "add_prefix_space"],
        ),
        (
            set(
                "/pre_tokenizer",
                json!({"type": "Split", "pattern": {"Regex": "a{1,2}+"}, "behavior": "Isolated", "invert": false}),
            ),
            &["$.pre_tokenizer.pattern.Regex", "repeated group"],
        ),
        (
            set(
                "/pre_tokenizer",
                json!({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Gone", "invert": true}),
            ),
            &["$.pre_tokenizer.behavior", "Removed", "\"Gone\""],
        ),
        (set("/decoder", json!({"type": "CTC"})), &["$.decoder", "\"pad_token\""]),
        (set("/decoder", json!({"type": "X"})), &["$.decoder", "\"X\"", "ByteFallback"]),
        (set("/post_processor", json!({"type": "X"})), &["$.post_processor", "\"X\"", "TemplateProcessing"]),
        (
            set("/post_processor", json!({"type": "BertProcessing", "sep": ["a", 0], "cls": ["z", 99]})),
            &["$.post_processor", "99"],
        ),
        (set("/added_tokens", json!([{"id": 3}])), &["$.added_tokens[0]", "is missing"]),
        (set("/padding", json!({"strategy": "Longest"})), &["$.padding", "`Longest`", "`BatchLongest`"]),
        (
            set("/padding", json!({"strategy": "BatchLongest", "pad_id": -1})),
            &["$.padding", "`-1`", "expected u32", "write null"],
        ),
        (set("/truncation", json!({"max_length": 3})), &["$.truncation", "missing field `strategy`"]),
    ];
    for (change, expected) in cases {
        let error = Tokenizer::from_bytes(changed(change).as_bytes()).err().unwrap();
        let message = error.to_string();
        assert!(
            matches!(error, Error::Format { .. } | Error::Version { .. } | Error::Option { .. }),
            "{message}"
        );
        for part in expected {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    }
}

/// tokenizers and transformers refuse a byte order mark in JSON, or take it for a part of the first token; tiktoken
/// ignores it.
#[test]
fn byte_order_marks_and_other_encodings_are_named() {
    let mark = |text: &str| [b"\xEF\xBB\xBF", text.as_bytes()].concat();
    let utf16 = |text: &str, with_mark: bool| -> Vec<u8> {
        let units = with_mark.then_some(0xFEFF).into_iter().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let ranks: String = (0..=255u8).map(|byte| format!("{} {byte}\n", base64(byte))).collect();
    let level = |byte: u8| sentitok::text::byte_level::to_chars(&[byte]);
    let vocab: serde_json::Map<_, _> = (0..=255u8).map(|byte| (level(byte), json!(byte))).collect();
    let vocab_json = serde_json::to_string(&vocab).unwrap();
    let tekken = tekken::small().to_string();
    let merges = "#version: 0.2\n";
    let gpt2 = Tokenizer::from_gpt2(
        write("vocab.json", vocab_json.as_bytes()),
        write("merges.txt", merges.as_bytes()),
    );
    assert_eq!(gpt2.unwrap().vocab_size(), 256);
    let clean_up = sentitok::formats::bert_vocab::CleanUp::default();
    let bert = |name: &str, bytes: &[u8]| Tokenizer::from_bert_vocab(write(name, bytes), true, clean_up);
    let whole = changed(|_| {});
    let vocab_txt = "[PAD]\n[UNK]\na\n";
    let encoded = |encode: &dyn Fn(&str) -> Vec<u8>| {
        [
            Tokenizer::from_file(write("tokenizer.json", &encode(&whole))).err(),
            Tokenizer::from_bytes(&encode(&whole)).err(),
            Tokenizer::from_file(write("tekken.json", &encode(&tekken))).err(),
            Tokenizer::from_gpt2(
                write("marked.json", &encode(&vocab_json)),
                write("merges.txt", merges.as_bytes()),
            )
            .err(),
            Tokenizer::from_gpt2(
                write("vocab.json", vocab_json.as_bytes()),
                write("marked.txt", &encode(merges)),
            )
            .err(),
            bert("vocab.txt", &encode(vocab_txt)).err(),
        ]
        .map(|error| error.unwrap().to_string())
    };
    for message in encoded(&mark) {
        assert!(message.contains("byte order mark (EF BB BF)"), "{message}");
    }
    for with_mark in [true, false] {
        for message in encoded(&|text| utf16(text, with_mark)) {
            assert!(message.contains("UTF-16 (little-endian)"), "{message}");
        }
    }
    let read = |bytes: &[u8]| {
        let pattern = tiktoken::pre_tokenizer("gpt2").unwrap();
        Tokenizer::from_tiktoken(write("ranks.tiktoken", bytes), pattern, &[])
    };
    let plain = read(ranks.as_bytes()).unwrap();
    assert_eq!(read(&mark(&ranks)).unwrap().fingerprint().unwrap(), plain.fingerprint().unwrap());
    assert_eq!(FileKind::of(&mark(&ranks)), FileKind::Tiktoken);
    let message = read(&utf16(&ranks, true)).err().unwrap().to_string();
    assert!(message.contains("UTF-16 (little-endian)"), "{message}");
}

fn base64(byte: u8) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode([byte])
}

#[test]
fn other_files_are_named() {
    for (bytes, expected) in [
        (&b"IQ== 0\nIg== 1\n"[..], "from_tiktoken"),
        (b"{\"a\": 0}", "from_gpt2"),
        (b"{\"config\": {}}", "$.vocab"),
        (b"{\"type\": \"x\", \"version\": 1, \"vocab\": []}", "$.config"),
        (b"#version: 0.2\na b\n", "from_gpt2"),
        (b"#sentitok-counts 1 {}\n", "counts"),
        (b"[PAD]\n[UNK]\nthe\n", "WordPiece"),
        (b"\n\x0b\n\x05<unk>\x15\0\0\0\0\x18\x02", "SentencePiece"),
        (b"", "not a known format"),
        (b"\xff\xfe", "UTF-16"),
        (b"\xff\xfd", "not a known format"),
        (b"{\"a\xff\": {}}", "UTF-8"),
        (b"#sentitok-tokenizer 9 {}\n{}", "version 9"),
        (b"#sentitok-tokenizer 1 {}\n{}", "line 1"),
    ] {
        let message = Tokenizer::from_bytes(bytes).err().unwrap().to_string();
        assert!(message.contains(expected), "{message:?} lacks {expected:?}");
    }
    let message = Tokenizer::from_file("no/such/file").err().unwrap().to_string();
    assert!(message.contains("no/such/file"), "{message}");
}

#[test]
fn what_old_files_say_is_understood() {
    let old = changed(|file| {
        file["model"].as_object_mut().unwrap().remove("type");
        file["model"]["merges"] = json!(["#version: 0.2", "a b"]);
        file["pre_tokenizer"] =
            json!({"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": true});
        file.as_object_mut().unwrap().remove("version");
    });
    let tokenizer = Tokenizer::from_bytes(old.as_bytes()).unwrap();
    assert_eq!(tokenizer.pipeline().pre_tokenizer, PreTokenizer::from_name("metaspace").unwrap());
    assert_eq!(tokenizer.encode(b"ab", EncodeOptions::default()).unwrap().ids, [2]);
    // The last of two equal keys counts; surrogate escapes are characters.
    let text = changed(|_| {}).replace("\"a\":0", "\"a\":7,\"\\ud83d\\ude00\":5,\"a\":0");
    let tokenizer = Tokenizer::from_bytes(text.as_bytes()).unwrap();
    assert_eq!(tokenizer.encode("a😀".as_bytes(), EncodeOptions::default()).unwrap().ids, [0, 5]);
}

#[test]
fn an_added_token_with_a_blank_is_not_the_byte_level_token() {
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(fixtures().join("gpt2.json")).unwrap()).unwrap();
    let next = file["model"]["vocab"].as_object().unwrap().len() as u32;
    file["added_tokens"].as_array_mut().unwrap().push(added(" the", next));
    let tokenizer = Tokenizer::from_bytes(file.to_string().as_bytes()).unwrap();
    let all = EncodeOptions { specials: Specials::All, ..EncodeOptions::default() };
    assert_eq!(tokenizer.encode(b" the", all).unwrap().ids, [next]);
    assert_eq!(tokenizer.encode(b" the", EncodeOptions::default()).unwrap().ids.len(), 1);
    let written = sentitok::formats::tokenizer_json::write(&tokenizer).unwrap();
    let again: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(again["model"]["vocab"], file["model"]["vocab"]);
    assert_eq!(again["added_tokens"], file["added_tokens"]);
}

#[test]
fn verify_shows_the_first_difference() {
    let load = |name: &str| Tokenizer::from_file(fixtures().join(name)).unwrap();
    let mut report = Report::default();
    let plain = EncodeOptions { add_special_tokens: false, ..EncodeOptions::default() };
    report.compare(&load("gpt2.json"), &load("llama3.json"), &["", "low"], plain).unwrap();
    report.compare(&load("gpt2.json"), &load("llama3.json"), &["the 12345"], plain).unwrap();
    let first = report.first.as_ref().unwrap();
    assert_eq!((report.documents, report.is_equal(), first.at()), (3, false, 0));
}

proptest! {
    /// Files with bytes changed, cut or repeated are read or refused, never more.
    #[test]
    fn damaged_files_never_panic(
        number in 0usize..10,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..4, 0usize..40), 1..5),
        own: bool,
    ) {
        let mut bytes = match names().get(number) {
            Some(name) => std::fs::read(fixtures().join(format!("{name}.json"))).unwrap(),
            None => tekken::small().to_string().into_bytes(),
        };
        if own {
            bytes = Tokenizer::from_bytes(&bytes).unwrap().to_bytes().unwrap();
        }
        for (at, byte, kind, len) in edits {
            let at = at.index(bytes.len());
            let end = (at + len).min(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.drain(at..end)),
                2 => bytes.extend_from_within(at..end),
                _ => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
            if bytes.is_empty() {
                bytes.push(byte);
            }
        }
        if let Ok(tokenizer) = Tokenizer::from_bytes(&bytes) {
            let options = EncodeOptions { specials: Specials::All, ..EncodeOptions::default() };
            if let Ok(encoding) = tokenizer.encode("<s>the low 日本 x".as_bytes(), options) {
                let _ = tokenizer.decode(&encoding.ids, false);
            }
            let _ = sentitok::formats::tokenizer_json::write(&tokenizer);
            let _ = tokenizer.to_bytes();
            let _ = tiktoken::write(&tokenizer);
            let dir = tempfile::tempdir().unwrap();
            let _ = tokenizer.save(dir.path().join("tekken.json"), None);
        }
    }
}

fn data() -> Option<PathBuf> {
    let data =
        std::env::var_os("SENTITOK_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    data.join("vocabs").is_dir().then_some(data)
}

#[test]
fn known_vocabularies_give_the_known_ids() {
    let Some(data) = data() else {
        eprintln!("skipped: no data at $SENTITOK_DATA");
        return;
    };
    let vocabs = data.join("vocabs");
    let ranks = |name: &str, pattern: &str| {
        let pattern = tiktoken::pre_tokenizer(pattern).unwrap();
        Tokenizer::from_tiktoken(vocabs.join(name), pattern, &[]).unwrap()
    };
    let input = std::fs::read_to_string(data.join("tokenizer-conformance/mixed_input.txt")).unwrap();
    for (expected, tokenizer) in [
        ("gpt2", Tokenizer::from_file(vocabs.join("gpt2/tokenizer.json")).unwrap()),
        (
            "gpt2",
            Tokenizer::from_gpt2(vocabs.join("gpt2/encoder.json"), vocabs.join("gpt2/vocab.bpe")).unwrap(),
        ),
        ("gpt2", ranks("gpt2/r50k_base.tiktoken", "gpt2")),
        ("cl100k_base", ranks("cl100k_base.tiktoken", "cl100k")),
        ("o200k_base", ranks("o200k_base.tiktoken", "o200k")),
    ] {
        let path = data.join(format!("tokenizer-conformance/mixed_tokens_{expected}.txt"));
        let lines = std::fs::read_to_string(path).unwrap();
        for (text, line) in input.lines().zip(lines.lines()) {
            let found = tokenizer.encode(text.as_bytes(), EncodeOptions::default()).unwrap().ids;
            let wanted: Vec<u32> = line.split(',').filter_map(|id| id.trim().parse().ok()).collect();
            assert_eq!(found, wanted, "{expected}: {text:?}");
        }
    }
}
