//! Token shards: every layout, any number of threads, killed and resumed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::With;
use sentitok::corpus::{InvalidUtf8, IterSource};
use sentitok::dataset::{DatasetOptions, Layout, Manifest, Summary, encode_files};
use sentitok::formats::tiktoken;
use sentitok::{EncodeOptions, Error, PreTokenizer, Progress, Result, Tokenizer};

/// A tokenizer of the 256 bytes, so that ids are bytes, and one special token.
fn tokenizer(special: u32) -> Tokenizer {
    use base64::Engine;
    let line = |byte: u8| format!("{} {byte}\n", base64::engine::general_purpose::STANDARD.encode([byte]));
    let ranks: String = (0..=255u8).map(line).collect();
    let specials = [("<|end|>".to_owned(), special)];
    tiktoken::read(ranks.as_bytes(), PreTokenizer::Bytes, &specials).and_then(Tokenizer::new).unwrap()
}

fn documents() -> Vec<String> {
    (0..500)
        .map(|n| "ab é\n".repeat(n % 7) + &n.to_string())
        .map(|text| if text.len() == 2 { String::new() } else { text })
        .collect()
}

fn options(layout: Layout) -> DatasetOptions<'static> {
    DatasetOptions::default().with(|it| {
        it.layout = layout;
        it.shard_tokens = 1000;
    })
}

fn run(
    dir: &Path,
    tokenizer: &Tokenizer,
    options: &DatasetOptions<'_>,
    stop_after: Option<usize>,
) -> Result<Summary> {
    let mut left = stop_after;
    let documents = documents();
    let mut documents = documents.into_iter();
    let mut source = IterSource::new("<test>", InvalidUtf8::Error, |sink| {
        for document in documents.by_ref() {
            if left == Some(0) {
                return Err(Error::Cancelled);
            }
            left = left.map(|left| left - 1);
            if !sink.push(document.as_bytes())? {
                return Ok(true);
            }
        }
        Ok(false)
    })
    .with_block_bytes(100);
    encode_files(&mut source, tokenizer, dir, options, &mut Progress::silent())
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

fn i64s(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap())).collect()
}

#[test]
fn shards_hold_the_documents() {
    let dir = tempfile::tempdir().unwrap();
    let summary = run(dir.path(), &tokenizer(256), &options(Layout::Sentitok), None).unwrap();
    let Manifest { shards, documents: n, tokens, dtype, complete, .. } = &summary.manifest;
    assert_eq!((*n, dtype.as_str(), *complete, summary.tally.documents), (500, "uint16", true, 500));
    assert!(shards.len() > 3);
    let files = files(dir.path());
    assert_eq!(files.len(), 2 * shards.len() + 1);
    let mut found = Vec::new();
    for shard in shards {
        let ids: Vec<u8> = files[&shard.file]
            .chunks(2)
            .map(|two| u16::from_le_bytes(two.try_into().unwrap()) as u8)
            .collect();
        let index = &files[shard.index.as_ref().unwrap()];
        assert!(index.starts_with(b"\x93NUMPY\x01\x00") && index[127] == b'\n');
        let ends = i64s(&index[128..]);
        let header = format!("'shape': ({},)", ends.len());
        assert!(String::from_utf8_lossy(&index[10..128]).contains(&header));
        assert_eq!((ends.len() as u64, ids.len() as u64), (shard.documents, shard.tokens));
        assert_eq!(shard.first_document, found.len() as u64);
        let mut start = 0;
        for end in ends {
            found.push(String::from_utf8(ids[start..end as usize].to_vec()).unwrap());
            start = end as usize;
        }
        assert!(shard.tokens <= 1000);
    }
    assert_eq!(found, documents());
    assert_eq!(*tokens as usize, documents().concat().len());
}

#[test]
fn megatron_and_nano_gpt_and_text() {
    let dir = tempfile::tempdir().unwrap();
    let (megatron, nano, text) = (dir.path().join("m"), dir.path().join("n"), dir.path().join("t"));
    let one = options(Layout::Megatron).with(|it| {
        it.shard_tokens = u64::MAX;
        it.separator = Some(256);
    });
    run(&megatron, &tokenizer(256), &one, None).unwrap();
    let index = &files(&megatron)["shard-00000.idx"];
    let n = 500;
    assert_eq!(&index[..9], b"MMIDIDX\0\0");
    assert_eq!(i64s(&index[9..17]), [1]);
    assert_eq!(index[17], 8);
    assert_eq!(i64s(&index[18..34]), [n, n + 1]);
    assert_eq!(index.len() as i64, 34 + 20 * n + 8);
    let lens: Vec<i64> = index[34..34 + 4 * n as usize]
        .chunks(4)
        .map(|four| i64::from(i32::from_le_bytes(four.try_into().unwrap())))
        .collect();
    assert_eq!(lens, documents().iter().map(|text| text.len() as i64 + 1).collect::<Vec<_>>());
    let places = i64s(&index[34 + 4 * n as usize..34 + 12 * n as usize]);
    assert_eq!((places[0], places[7]), (0, 2 * lens[..7].iter().sum::<i64>()));
    assert_eq!(i64s(&index[34 + 12 * n as usize..]), (0..=n).collect::<Vec<_>>());
    // A larger vocabulary is signed and wide.
    let wide = dir.path().join("w");
    let manifest = run(&wide, &tokenizer(65_499), &options(Layout::Megatron), None).unwrap().manifest;
    assert_eq!((manifest.dtype.as_str(), files(&wide)["shard-00000.idx"][17]), ("int32", 4));

    let nano_options = one.clone().with(|it| {
        it.layout = Layout::NanoGpt;
        it.shard_tokens = 1000;
    });
    let manifest = run(&nano, &tokenizer(256), &nano_options, None).unwrap().manifest;
    let nano_files = files(&nano);
    assert_eq!(nano_files.keys().collect::<Vec<_>>(), ["manifest.json", "tokens.bin"]);
    assert_eq!(nano_files["tokens.bin"], files(&megatron)["shard-00000.bin"]);
    assert_eq!((manifest.shards.len(), manifest.shards[0].bytes), (1, nano_files["tokens.bin"].len() as u64));

    run(&text, &tokenizer(256), &options(Layout::Text).with(|it| it.shard_tokens = u64::MAX), None).unwrap();
    let lines = String::from_utf8(files(&text)["shard-00000.txt"].clone()).unwrap();
    assert_eq!(lines.lines().count(), 500);
    assert_eq!(lines.lines().nth(1), Some("97 98 32 195 169 10 49"));
}

#[test]
fn a_killed_run_ends_with_the_same_bytes() {
    for layout in Layout::NAMES.map(|(_, layout)| layout) {
        let separator = (layout == Layout::NanoGpt).then_some(256);
        let wanted = tempfile::tempdir().unwrap();
        let base = options(layout).with(|it| it.separator = separator);
        run(wanted.path(), &tokenizer(256), &base, None).unwrap();
        for threads in [1, 2, 3, 7] {
            let dir = tempfile::tempdir().unwrap();
            let encode = EncodeOptions { threads: Some(threads), ..base.encode };
            let options = base.clone().with(|it| it.encode = encode);
            let mut resumed = Vec::new();
            for stop_after in [Some(3), Some(250), Some(499), None] {
                match run(dir.path(), &tokenizer(256), &options, stop_after) {
                    Ok(summary) => resumed.push(summary.resumed_documents),
                    Err(error) => assert!(matches!(error, Error::Cancelled), "{error}"),
                }
            }
            assert_eq!(files(dir.path()), files(wanted.path()), "{layout:?}, {threads} threads");
            // Once more: nothing is left to do.
            let summary = run(dir.path(), &tokenizer(256), &options, None).unwrap();
            assert_eq!((summary.resumed_documents, summary.tally.documents), (500, 0));
            assert_eq!(files(dir.path()), files(wanted.path()));
        }
    }
}

#[test]
fn shards_of_a_killed_run_are_kept() {
    // Batches are large, so the run is killed through a special writer.
    let dir = tempfile::tempdir().unwrap();
    let (tokenizer, options) = (tokenizer(256), options(Layout::Sentitok));
    let mut writer = sentitok::dataset::DatasetWriter::create(dir.path(), &tokenizer, &options).unwrap();
    for text in &documents()[..300] {
        let ids: Vec<u32> = text.bytes().map(u32::from).collect();
        writer.push(&ids).unwrap();
    }
    drop(writer);
    let there = Manifest::load(dir.path()).unwrap().unwrap();
    assert!(!there.complete && there.shards.len() >= 2);
    let summary = run(dir.path(), &tokenizer, &options, None).unwrap();
    assert_eq!(summary.resumed_documents, there.documents);
    let wanted = tempfile::tempdir().unwrap();
    run(wanted.path(), &tokenizer, &options, None).unwrap();
    assert_eq!(files(dir.path()), files(wanted.path()));
}

#[test]
fn a_grown_nano_gpt_file_goes_on_where_the_manifest_says() {
    let (dir, wanted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tokenizer = tokenizer(256);
    let options = options(Layout::NanoGpt).with(|it| it.separator = Some(256));
    let mut writer = sentitok::dataset::DatasetWriter::create(dir.path(), &tokenizer, &options).unwrap();
    for text in &documents()[..300] {
        writer.push(&text.bytes().map(u32::from).collect::<Vec<_>>()).unwrap();
    }
    drop(writer);
    let summary = run(dir.path(), &tokenizer, &options, None).unwrap();
    assert!(summary.resumed_documents > 100);
    run(wanted.path(), &tokenizer, &options, None).unwrap();
    assert_eq!(files(dir.path()), files(wanted.path()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &tokenizer(256), &options(Layout::Sentitok), None).unwrap();
    let with = |change: &dyn Fn(&mut DatasetOptions<'static>)| {
        let mut options = options(Layout::Sentitok);
        change(&mut options);
        options
    };
    for (name, id, options, expected) in [
        ("another tokenizer", 257, with(&|_| {}), "tokenizer_sha256"),
        ("another layout", 256, with(&|o| o.layout = Layout::Text), "layout"),
        ("another separator", 256, with(&|o| o.separator = Some(7)), "separator"),
        ("another size", 256, with(&|o| o.shard_tokens = 7), "shard_tokens"),
        ("no size", 256, with(&|o| o.shard_tokens = 0), "at least one"),
        ("no separator", 256, with(&|o| o.layout = Layout::NanoGpt), "separator"),
        ("no such separator", 256, with(&|o| o.separator = Some(999)), "999"),
        (
            "too wide",
            65_536,
            with(&|o| {
                o.layout = Layout::NanoGpt;
                o.separator = Some(0);
            }),
            "16 bits",
        ),
    ] {
        let message = run(dir.path(), &tokenizer(id), &options, None).err().unwrap().to_string();
        assert!(message.contains(expected), "{name}: {message}");
    }
    // Starting over removes the earlier files.
    let over = with(&|o| {
        o.resume = false;
        o.shard_tokens = u64::MAX;
    });
    run(dir.path(), &tokenizer(257), &over, None).unwrap();
    assert_eq!(
        files(dir.path()).keys().collect::<Vec<_>>(),
        ["manifest.json", "shard-00000.bin", "shard-00000.idx.npy"]
    );
    std::fs::write(dir.path().join("manifest.json"), "{\"schema\": \"x\"}").unwrap();
    assert!(run(dir.path(), &tokenizer(257), &over, None).is_err());
}

#[test]
fn nothing_at_all_is_a_dataset_too() {
    for (_, layout) in Layout::NAMES {
        let dir = tempfile::tempdir().unwrap();
        let options = options(layout).with(|it| it.separator = Some(256));
        let mut source = IterSource::from_documents(Vec::<&str>::new(), InvalidUtf8::Error);
        let summary =
            encode_files(&mut source, &tokenizer(256), dir.path(), &options, &mut Progress::silent())
                .unwrap();
        assert!(summary.manifest.complete && summary.manifest.documents == 0);
    }
}
