//! `.tiktoken`: reading, writing, and the proof that ranks give the same ids.

use proptest::prelude::*;
use sentitok::formats::tiktoken;
use sentitok::formats::verify::Report;
use sentitok::models::bpe::MergeOrder;
use sentitok::{EncodeOptions, PreTokenizer, Tokenizer};
use serde_json::{Value, json};

use super::{changed, fixtures};

fn ranks(extra: &[&str]) -> String {
    use base64::Engine;
    let tokens =
        (0..=255u8).map(|byte| vec![byte]).chain(extra.iter().map(|token| token.as_bytes().to_vec()));
    let line = |(rank, token): (usize, Vec<u8>)| {
        format!("{} {rank}\n", base64::engine::general_purpose::STANDARD.encode(token))
    };
    tokens.enumerate().map(line).collect()
}

#[test]
fn ranks_are_read_and_written() {
    let pattern = || tiktoken::pre_tokenizer("gpt2").unwrap();
    let file = ranks(&["ab", "abc", "bc", "xyz"]);
    let specials = [("<|end|>".to_owned(), 300)];
    let read = |file: &str, specials: &[(String, u32)]| {
        tiktoken::read(file.as_bytes(), pattern(), specials).and_then(Tokenizer::new)
    };
    let tokenizer = read(&file, &specials).unwrap();
    let encode = |text: &[u8]| tokenizer.encode(text, EncodeOptions::default()).unwrap().ids;
    assert_eq!(encode(b"xyz"), [259]);
    assert_eq!(encode(b"abc bc xyz"), [257, 32, 258, 32, 120, 121, 122]);
    assert_eq!(tiktoken::write(&tokenizer).unwrap(), file.as_bytes());
    assert_eq!(*tokenizer.model().bpe().unwrap().order(), MergeOrder::Ranks);
    for (name, text, expected) in [
        ("no rank", file.replace("IQ== 33", "IQ=="), "line 34"),
        ("bad base64", file.replace("IQ== 33", "I!== 33"), "line 34"),
        ("bad rank", file.replace("IQ== 33", "IQ== -3"), "line 34"),
        ("large rank", file.replace("IQ== 33", "IQ== 4294967295"), "line 34"),
        ("huge rank", file.replace("IQ== 33", "IQ== 4294967290"), "without a token"),
        ("no token", file.replace("IQ== 33", " 33"), "line 34"),
        ("twice", file.replace("IQ== 33", "Ig== 33"), "occurs twice"),
        ("missing byte", file.replace("IQ== 33\n", "\r\n"), "0x21"),
    ] {
        let message = read(&text, &[]).err().unwrap().to_string();
        assert!(message.contains(expected), "{name}: {message}");
    }
    let taken = [("<|end|>".to_owned(), 257)];
    assert!(read(&file, &taken).err().unwrap().to_string().contains("the rank of \"abc\""));
}

#[test]
fn ranks_are_written_only_where_they_give_the_same_ids() {
    let dir = tempfile::tempdir().unwrap();
    for (name, expected) in [
        ("gpt2", None),
        ("spaced_specials", None),
        ("llama3", None),
        ("llama2", Some("characters")),
        ("roberta", Some("rewrites")),
    ] {
        let tokenizer = Tokenizer::from_file(fixtures().join(format!("{name}.json"))).unwrap();
        let path = dir.path().join("a.tiktoken");
        match (tokenizer.save(&path, None), expected) {
            (Ok(_), None) => {
                let pre_tokenizer = tokenizer.pipeline().pre_tokenizer.clone();
                let again = Tokenizer::from_tiktoken(&path, pre_tokenizer, &[]).unwrap();
                let texts = ["the lower lowest newest", "It's 12345 straße 日本語 😀", "def f(x):\n\treturn"];
                let mut report = Report::default();
                let plain = EncodeOptions { add_special_tokens: false, ..EncodeOptions::default() };
                report.compare(&tokenizer, &again, &texts, plain).unwrap();
                assert!(report.is_equal() && report.documents == 3, "{name}: {report:?}");
            }
            (Err(error), Some(expected)) => assert!(error.to_string().contains(expected), "{name}: {error}"),
            (result, _) => panic!("{name}: {result:?}"),
        }
    }
}

proptest! {
    /// A list of merges in any order: where ranks are written, they give the same ids.
    #[test]
    fn written_ranks_are_proven(
        merges in proptest::collection::vec(("[abc]{1,3}", "[abc]{1,3}"), 0..12),
        ignore_merges: bool,
        texts in proptest::collection::vec("[abc]{0,40}", 6),
    ) {
        let mut vocab: serde_json::Map<String, Value> = (0..=255u32)
            .map(|id| (sentitok::text::byte_level::to_chars(&[id as u8]), json!(id)))
            .collect();
        let mut listed = Vec::new();
        for (left, right) in merges {
            let joined = format!("{left}{right}");
            for token in [left.clone(), right.clone(), joined] {
                let next = json!(vocab.len());
                vocab.entry(token).or_insert(next);
            }
            listed.push(json!([left, right]));
        }
        let file = changed(|file| {
            file["model"] = json!({"type": "BPE", "vocab": vocab, "merges": listed, "ignore_merges": ignore_merges});
            file["pre_tokenizer"] = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
        });
        let tokenizer = Tokenizer::from_bytes(file.as_bytes()).unwrap();
        if let Ok(ranks) = tiktoken::write(&tokenizer) {
            let again = tiktoken::read(&ranks, PreTokenizer::Bytes, &[]).and_then(Tokenizer::new).unwrap();
            let mut report = Report::default();
            report.compare(&tokenizer, &again, &texts, EncodeOptions::default()).unwrap();
            prop_assert!(report.is_equal(), "{:?}", report.first);
            // And back: ranks as a list of merges.
            let list = sentitok::formats::tokenizer_json::write(&again).unwrap();
            report.compare(&tokenizer, &Tokenizer::from_bytes(&list).unwrap(), &texts, EncodeOptions::default()).unwrap();
            prop_assert!(report.is_equal(), "{:?}", report.first);
        }
    }
}
