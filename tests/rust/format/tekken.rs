//! tekken.json: files that are read, files that are refused, and that they come back as they were.

use sentitok::tokenizer::added_tokens::Specials;
use sentitok::{EncodeOptions, Error, Tokenizer};
use serde_json::{Value, json};

/// A small file: the bytes, `ab` and `abab`, three special tokens of four.
pub fn small() -> Value {
    let token = |(rank, bytes): (usize, Vec<u8>)| json!({"rank": rank, "token_bytes": base64(&bytes), "token_str": String::from_utf8(bytes).ok()});
    let tokens = (0..=255u8).map(|byte| vec![byte]).chain([b"ab".to_vec(), b"abab".to_vec(), b"cd".to_vec()]);
    let special = |(rank, text): (usize, &str)| json!({"rank": rank, "token_str": text, "is_control": true});
    json!({
        "config": {
            "pattern": r"\p{L}+|\s+|.", "num_vocab_tokens": 259, "default_vocab_size": 262,
            "default_num_special_tokens": 4, "version": "v7",
        },
        "vocab": tokens.enumerate().map(token).collect::<Vec<_>>(),
        "special_tokens": (["<unk>", "<s>", "[INST]"].into_iter().enumerate().map(special).collect::<Vec<_>>()),
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn load(file: &Value) -> Result<Tokenizer, Error> {
    Tokenizer::from_bytes(file.to_string().as_bytes())
}

#[test]
fn ids_are_ranks_after_the_special_tokens() {
    let tokenizer = load(&small()).unwrap();
    let all = EncodeOptions { specials: Specials::All, ..EncodeOptions::default() };
    let ids = |text: &str, options| tokenizer.encode(text.as_bytes(), options).unwrap().ids;
    assert_eq!(ids("abab", all), [4 + 257]);
    assert_eq!(ids("[INST]ab", all), [2, 4 + 256]);
    assert_eq!(ids("<SPECIAL_3>", all), [3]);
    // The rank 258 is cut off: 262 ids less 4 special tokens.
    assert_eq!(ids("cd", all), [4 + u32::from(b'c'), 4 + u32::from(b'd')]);
    assert_eq!(ids("[INST]", EncodeOptions::default()).len(), 6);
    assert_eq!(tokenizer.decode(&[1, 260, 3], true).unwrap(), "ab");
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tekken.json");
    let tokenizer = load(&small()).unwrap();
    assert_eq!(tokenizer.save(&path, None).unwrap().left_out.len(), 1);
    let again = Tokenizer::from_file(&path).unwrap();
    assert_eq!(again.to_bytes().unwrap(), tokenizer.to_bytes().unwrap());
    assert_eq!(Tokenizer::from_file(dir.path()).unwrap().to_bytes().unwrap(), tokenizer.to_bytes().unwrap());
    // By way of tokenizer.json, whose tokenizer has a list of merges.
    tokenizer.save(dir.path().join("tokenizer.json"), None).unwrap();
    let by_merges = Tokenizer::from_file(dir.path().join("tokenizer.json")).unwrap();
    by_merges.save(dir.path().join("again/tekken.json"), None).unwrap();
    assert_eq!(std::fs::read(dir.path().join("again/tekken.json")).unwrap(), std::fs::read(&path).unwrap());
}

#[test]
fn files_that_name_no_special_tokens_have_those_of_mistral() {
    let mut file = small();
    file.as_object_mut().unwrap().remove("special_tokens");
    file["config"]["default_num_special_tokens"] = json!(22);
    file["config"]["default_vocab_size"] = json!(22 + 257);
    let tokenizer = load(&file).unwrap();
    let names: Vec<_> = tokenizer.added_tokens().iter().map(|token| token.content.as_str()).collect();
    assert_eq!(names.len(), 22);
    assert_eq!((names[3], names[19], names[21]), ("[INST]", "[TOOL_CONTENT]", "<SPECIAL_21>"));
}

#[test]
fn errors_name_the_field() {
    let cases: [(&str, Value, &[&str]); 21] = [
        ("/config", json!(["a"]), &["$.config", "expected an object"]),
        ("/config/pattern", json!(null), &["$.config", "\"pattern\" is missing"]),
        ("/config/pattern", json!("("), &["$.config.pattern", "does not compile"]),
        ("/config/default_vocab_size", json!("262"), &["$.config.default_vocab_size", "whole number"]),
        ("/config/default_vocab_size", json!(3), &["$.config.default_vocab_size", "less than the 4"]),
        (
            "/config/default_vocab_size",
            json!(300),
            &["$.config.default_vocab_size", "296 ranks", "at most 263"],
        ),
        ("/config/default_vocab_size", json!(259), &["$.vocab", "0xFF"]),
        ("/config/default_num_special_tokens", json!(2), &["$.config.default_vocab_size", "260 ranks"]),
        ("/config/default_num_special_tokens", json!(-1), &["$.config.default_num_special_tokens"]),
        (
            "/config/default_num_special_tokens",
            json!(4_000_000_000u32),
            &["default_num_special_tokens", "100000"],
        ),
        ("/vocab", json!({}), &["$.vocab", "an array of tokens"]),
        ("/vocab", json!([]), &["$.config.default_vocab_size", "$.vocab has 0"]),
        ("/vocab/7/rank", json!(8), &["$.vocab[7].rank", "8 in the place of 7"]),
        ("/vocab/7/token_bytes", json!("%"), &["$.vocab[7].token_bytes", "base64"]),
        ("/vocab/7/token_bytes", json!(""), &["$.vocab[7].token_bytes", "without bytes"]),
        ("/vocab/257/token_bytes", json!("YWI="), &["$.vocab", "\"ab\""]),
        ("/vocab/7", json!({"rank": 7}), &["$.vocab[7]", "token_bytes"]),
        ("/special_tokens", json!(null), &["$.config.default_num_special_tokens", "20 special"]),
        ("/special_tokens/1/rank", json!(2), &["$.special_tokens[1].rank", "2 in the place of 1"]),
        ("/special_tokens/1/token_str", json!(""), &["$.special_tokens[1].token_str", "without text"]),
        ("/special_tokens/1/token_str", json!("<unk>"), &["\"<unk>\"", "twice"]),
    ];
    for (path, value, expected) in cases {
        let mut file = small();
        *file.pointer_mut(path).unwrap() = value;
        let message = load(&file).err().unwrap_or_else(|| panic!("{path}")).to_string();
        assert!(
            expected.iter().all(|part| message.contains(part)),
            "{path}: {message:?} lacks one of {expected:?}"
        );
    }
    let mut file = small();
    file["config"]["version"] = json!("v11");
    file.as_object_mut().unwrap().remove("special_tokens");
    let message = load(&file).err().unwrap().to_string();
    assert!(message.contains("$.config.version") && message.contains("special_tokens"), "{message}");
    for field in ["config", "vocab"] {
        let mut file = small();
        file.as_object_mut().unwrap().remove(field);
        let message = load(&file).err().unwrap().to_string();
        assert!(message.contains(&format!("$.{field}")) && message.contains("Mistral"), "{message}");
    }
}

#[test]
fn tokenizers_whose_ids_would_change_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |tokenizer: &Tokenizer| {
        let error = tokenizer.save(dir.path().join("tekken.json"), None).unwrap_err();
        assert!(matches!(error, Error::NotRepresentable { .. }), "{error}");
        error.to_string()
    };
    let fixture = |name: &str| Tokenizer::from_file(super::fixtures().join(name)).unwrap();
    for (name, expected) in
        [("gpt2.json", "0x00"), ("llama2.json", "characters"), ("llama3.json", "the first ids")]
    {
        let message = refused(&fixture(name));
        assert!(message.contains(expected), "{name}: {message}");
    }
}
