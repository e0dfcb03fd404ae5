//! Counting: any number of threads, shards and spills gives the same bytes.

use std::collections::BTreeMap;

use crate::With;
use proptest::prelude::*;
use sentitok::corpus::word_counts::{CountOptions, count, count_to_file, merge_files, read_header};
use sentitok::corpus::{FileOptions, FileSource, InvalidUtf8, IterSource, Shard, Source};
use sentitok::{Error, Pipeline, PreTokenizer, Progress, WordCounts};

fn pipeline() -> Pipeline {
    Pipeline::new(PreTokenizer::Bytes)
}

fn other_pipeline() -> Pipeline {
    let prepend = sentitok::normalizer::Normalizer::Prepend { prepend: "_".into() };
    Pipeline { normalizer: Some(prepend), ..pipeline() }
}

fn with_threads(threads: usize) -> CountOptions {
    CountOptions::default().with(|it| it.threads = Some(threads))
}

fn count_with(source: &mut dyn Source, options: &CountOptions) -> WordCounts {
    count(source, &pipeline(), options, &mut Progress::silent()).unwrap()
}

/// Many lines, short and long, with repeats; each line is one piece.
fn text(n_lines: u64) -> String {
    let mut state = 1u64;
    (0..n_lines)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let kind = (state >> 33) % 5000;
            "añ€x".repeat((kind % 13) as usize) + &format!("{kind:x}\n")
        })
        .collect()
}

/// The definition: every piece of every document, in a sorted map.
fn slow(documents: &[&str]) -> BTreeMap<Vec<u8>, u64> {
    let mut counts = BTreeMap::new();
    for document in documents {
        pipeline()
            .for_each_piece(document, |piece| {
                *counts.entry(piece.to_vec()).or_default() += 1;
                Ok(())
            })
            .unwrap();
    }
    counts
}

#[test]
fn threads_spills_and_sources_agree() {
    let text = text(40_000);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.txt");
    std::fs::write(&path, &text).unwrap();
    let expected: Vec<(Vec<u8>, u64)> = slow(&lines).into_iter().collect();
    let mut bytes: Option<Vec<u8>> = None;
    for threads in [1, 2, 3, 7] {
        for max_memory in [None, Some(1)] {
            for from_file in [true, false] {
                let options = with_threads(threads).with(|it| it.max_memory = max_memory);
                let block_bytes = 10_000;
                let words = if from_file {
                    let options_ = FileOptions::default().with(|it| it.block_bytes = block_bytes);
                    count_with(&mut FileSource::new([&path], options_).unwrap(), &options)
                } else {
                    let source = IterSource::from_documents(lines.clone(), InvalidUtf8::Error);
                    count_with(&mut source.with_block_bytes(block_bytes), &options)
                };
                let pairs: Vec<_> = words.iter().map(|(piece, count)| (piece.to_vec(), count)).collect();
                assert!(pairs == expected, "{threads} {max_memory:?} {from_file}");
                assert_eq!(words.totals().documents, 40_000);
                assert_eq!(words.totals().bytes, text.len() as u64);
                assert_eq!(words.piece_bytes(), text.len() as u128);
                let got = words.to_bytes().unwrap();
                assert!(*bytes.get_or_insert(got.clone()) == got, "{threads} {max_memory:?} {from_file}");
            }
        }
    }
    let output = dir.path().join("x.counts");
    let options = with_threads(2).with(|it| it.max_memory = Some(1));
    let mut source = FileSource::new([&path], FileOptions::default()).unwrap();
    count_to_file(&mut source, &pipeline(), &options, &output, &mut Progress::silent()).unwrap();
    assert!(bytes.as_deref() == Some(&std::fs::read(&output).unwrap()));
    assert_eq!(WordCounts::load(&output).unwrap().to_bytes().unwrap(), bytes.unwrap());
}

#[test]
fn much_spilling_changes_nothing() {
    // Distinct pieces of many kilobytes: every few of them fill the least table.
    let documents: Vec<String> =
        (0..4000).map(|i| format!("{}{}", i % 1500, "y".repeat(6000 - i % 7))).collect();
    let options = with_threads(2).with(|it| it.max_memory = Some(1));
    let spilled = count_with(&mut IterSource::from_documents(&documents, InvalidUtf8::Error), &options);
    let whole = count_with(&mut IterSource::from_documents(&documents, InvalidUtf8::Error), &with_threads(1));
    assert!(spilled == whole);
}

#[test]
fn long_documents_are_cut_without_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.txt");
    let mut content =
        "It's  a line,\r\n\n  and 1234 more… 漢字かな\u{301} don'T\t\n \n".repeat(60).into_bytes();
    content.extend(b"a\xff\xfe b\xe2\x82".repeat(9));
    content.extend("x".repeat(500).bytes());
    std::fs::write(&path, &content).unwrap();
    let spaced = PreTokenizer::Gpt2 { add_prefix_space: true };
    let named = ["gpt2", "cl100k", "o200k", "bert", "whitespace", "metaspace", "bytes"];
    let named = named.map(|name| PreTokenizer::from_name(name).unwrap());
    for pre_tokenizer in named.into_iter().chain([spaced]) {
        let pipeline = Pipeline::new(pre_tokenizer);
        for (format, invalid_utf8) in [
            ("text", InvalidUtf8::Replace),
            ("text", InvalidUtf8::Bytes),
            ("lines", InvalidUtf8::Replace),
            ("lines", InvalidUtf8::Bytes),
        ] {
            let count_in = |block_bytes: usize, threads: usize| {
                let format = Some(format.parse().unwrap());
                let options = FileOptions::default().with(|it| {
                    it.format = format;
                    it.invalid_utf8 = invalid_utf8;
                    it.block_bytes = block_bytes;
                });
                let mut source = FileSource::new([&path], options).unwrap();
                count(&mut source, &pipeline, &with_threads(threads), &mut Progress::silent()).unwrap()
            };
            let whole = count_in(1 << 20, 1);
            for block_bytes in [1, 2, 3, 7, 50, 333] {
                assert!(count_in(block_bytes, 2) == whole, "{pipeline:?} {format} {block_bytes}");
            }
        }
    }
}

#[test]
fn shards_merge_to_the_whole() {
    let text = text(5_000);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.txt");
    std::fs::write(&path, &text).unwrap();
    let mut whole: Option<Vec<u8>> = None;
    for n in [1, 2, 7, 150] {
        let mut parts = Vec::new();
        let mut sum = WordCounts::empty(pipeline());
        for i in 0..n {
            let shard = Some(Shard::new(i, n).unwrap());
            let options = FileOptions::default().with(|it| it.shard = shard);
            let words = count_with(&mut FileSource::new([&path], options).unwrap(), &with_threads(1));
            let part = dir.path().join(format!("{n}-{i}.counts"));
            words.save(&part).unwrap();
            sum = sum.add(&words).unwrap();
            parts.push(part);
        }
        let output = dir.path().join(format!("{n}.counts"));
        let header = merge_files(&parts, &output, 0, &mut Progress::silent()).unwrap();
        assert_eq!(header, read_header(&output).unwrap());
        let merged = std::fs::read(&output).unwrap();
        assert!(merged == sum.to_bytes().unwrap(), "{n}");
        assert!(*whole.get_or_insert(merged.clone()) == merged, "{n}");
    }
    assert_eq!(WordCounts::from_bytes(&whole.unwrap()).unwrap().totals().documents, 5_000);
}

#[test]
fn long_pieces_are_cut_between_characters() {
    type Case<'a> = (&'a [u8], usize, &'a [&'a [u8]], u64);
    let cases: &[Case] = &[
        (b"abcdefgh", 4, &[b"abcd", b"efgh"], 1),
        (b"abcd", 4, &[b"abcd"], 0),
        ("aé€😀b".as_bytes(), 4, &["aé".as_bytes(), "€".as_bytes(), "😀".as_bytes(), b"b"], 1),
        (b"\x80\x80\x80\x80\x80\x80", 4, &[b"\x80\x80", b"\x80\x80\x80\x80"], 1),
    ];
    for &(piece, max_piece_bytes, parts, cut) in cases {
        let options = with_threads(1).with(|it| it.max_piece_bytes = Some(max_piece_bytes));
        let words = count_with(&mut IterSource::from_documents([piece], InvalidUtf8::Bytes), &options);
        let mut expected = parts.to_vec();
        expected.sort();
        assert_eq!(words.iter().map(|pair| pair.0).collect::<Vec<_>>(), expected);
        assert_eq!((words.totals().pieces_cut, words.totals().pieces), (cut, parts.len() as u64));
    }
    let mut source = IterSource::from_documents(["a"], InvalidUtf8::Error);
    let options = with_threads(1).with(|it| it.max_piece_bytes = Some(3));
    let error = count(&mut source, &pipeline(), &options, &mut Progress::silent()).unwrap_err();
    assert!(matches!(error, Error::Option { option: "max_piece_bytes", .. }));
}

#[test]
fn the_earliest_error_is_told() {
    let mut lines: Vec<&[u8]> = vec![b"fine\n"; 50_000];
    lines[31_000] = b"first \xff\n";
    lines[31_500] = b"second \xff\n";
    lines[49_000] = b"third \xff\n";
    for threads in [1, 2, 7] {
        let source = IterSource::from_documents(lines.clone(), InvalidUtf8::Error);
        let mut source = source.with_block_bytes(512);
        let error = count(&mut source, &pipeline(), &with_threads(threads), &mut Progress::silent());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("document 31001: invalid UTF-8 at byte 6"), "{threads}: {error}");
    }
}

#[test]
fn a_job_stops_when_asked() {
    let mut source = IterSource::new("<endless>", InvalidUtf8::Error, |sink| {
        while sink.push(b"again and again")? {}
        Ok(true)
    });
    let start = std::time::Instant::now();
    let mut asked = 0;
    let mut callback = |_, _, _| {
        asked += 1;
        asked < 3
    };
    let error = count(&mut source, &pipeline(), &with_threads(2), &mut Progress::new(&mut callback));
    assert!(matches!(error, Err(Error::Cancelled)));
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn counts_are_exact_up_to_2_64() {
    for (counts, expected) in [
        (vec![("a", 3_000_000_000), ("a", 3_000_000_000)], Some(6_000_000_000)),
        (vec![("a", (1 << 53) + 1), ("b", 2)], Some((1 << 53) + 1)),
        (vec![("a", u64::MAX - 1), ("a", 1)], Some(u64::MAX)),
        (vec![("a", u64::MAX), ("a", 1)], None),
        (vec![("a", u64::MAX), ("b", 1)], None),
        (vec![("a", 0), ("b", 1)], Some(0)),
    ] {
        let words = WordCounts::from_pairs(pipeline(), counts.clone());
        match expected {
            Some(expected) => {
                let words = words.unwrap();
                assert_eq!(words.get(b"a").unwrap_or(0), expected);
                assert_eq!(WordCounts::from_bytes(&words.to_bytes().unwrap()).unwrap(), words);
            }
            None => assert!(matches!(words, Err(Error::CountOverflow { .. })), "{counts:?}"),
        }
    }
    let most = WordCounts::from_pairs(pipeline(), [("a", u64::MAX)]).unwrap();
    assert!(matches!(most.add(&most), Err(Error::CountOverflow { .. })));
    assert!(WordCounts::from_pairs(pipeline(), [("", 1)]).is_err());
}

#[test]
fn other_pipelines_are_refused() {
    let left = WordCounts::from_pairs(pipeline(), [("a", 1)]).unwrap();
    let right = WordCounts::from_pairs(other_pipeline(), [("a", 1)]).unwrap();
    assert!(matches!(left.add(&right), Err(Error::PipelineMismatch { .. })));
    let dir = tempfile::tempdir().unwrap();
    let paths = ["left", "right"].map(|name| dir.path().join(name));
    left.save(&paths[0]).unwrap();
    right.save(&paths[1]).unwrap();
    let output = dir.path().join("out");
    let error = merge_files(&paths, &output, 0, &mut Progress::silent()).unwrap_err();
    assert!(matches!(error, Error::PipelineMismatch { .. }), "{error}");
    assert!(!output.exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file stays");
    assert!(merge_files::<&str>(&[], &output, 0, &mut Progress::silent()).is_err());
}

const FILE: &str = concat!(
    r##"#sentitok-counts 1 {"pipeline":{"normalizer":null,"pre_tokenizer":{"type":"Bytes"}},"##,
    r##""totals":{"documents":0,"bytes":0,"pieces":12,"pieces_cut":0,"skipped":0,"replaced":0,"##,
    r##""invalid_bytes":0,"byte_order_marks":0}}"##,
    "\nYQ== 5\nYWI= 6\n/w== 1\n"
);

#[test]
fn files_are_as_documented() {
    let pairs: [(&[u8], u64); 3] = [(b"\xff", 1), (b"ab", 6), (b"a", 5)];
    let words = WordCounts::from_pairs(pipeline(), pairs).unwrap();
    assert_eq!(String::from_utf8(words.to_bytes().unwrap()).unwrap(), FILE);
    assert_eq!(WordCounts::from_bytes(FILE.as_bytes()).unwrap(), words);
    for (what, from, to, expected) in [
        ("magic", "#sentitok", "#sentitik", "line 1: no count file"),
        ("version", "counts 1 ", "counts 2 ", "version 2"),
        ("header", "\"totals\"", "\"total\"", "line 1: bad header"),
        ("unsorted", "YQ== 5\nYWI= 6\n", "YWI= 6\nYQ== 5\n", "line 3: the piece is not greater"),
        ("twice", "YWI= 6", "YQ== 6", "line 3: the piece is not greater"),
        ("base64", "YWI=", "YWI", "line 3: the piece is not base64"),
        ("base64 with stray bits", "YWI=", "YWJ=", "line 3: the piece is not base64"),
        ("empty piece", "YQ== 5", " 5", "line 2: the piece is empty"),
        ("no count", "YQ== 5", "YQ==", "line 2: expected base64(piece)"),
        ("zero", "YQ== 5", "YQ== 0", "line 2: the count is \"0\""),
        ("leading zero", " 5", " 05", "line 2: the count is \"05\""),
        ("sign", " 5", " +5", "line 2: the count"),
        ("CRLF", " 5\n", " 5\r\n", "line 2: the count"),
        ("too large", " 5", " 18446744073709551616", "line 2: the count"),
        ("lost line", "YQ== 5\n", "", "the counts add up to 7, but the header says 12"),
        ("blank line", "YWI=", "\nYWI=", "line 3: expected base64(piece)"),
        ("cut short", "/w== 1\n", "/w== 1", "line 4: the line has no end"),
    ] {
        assert!(FILE.contains(from), "{what}");
        let error = WordCounts::from_bytes(FILE.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{what}: {error}");
    }
}

fn counts() -> impl Strategy<Value = WordCounts> {
    let piece = prop_oneof!["[ab]{1,3}", "[a-c]{14,18}", "\\PC{1,5}"];
    prop::collection::vec((piece, 1u64..1 << 60), 0..8)
        .prop_map(|pairs| WordCounts::from_pairs(pipeline(), pairs).unwrap())
}

proptest! {
    #[test]
    fn addition_is_associative_and_commutative(a in counts(), b in counts(), c in counts()) {
        if let (Ok(ab), Ok(bc)) = (a.add(&b), b.add(&c)) {
            prop_assert_eq!(&ab, &b.add(&a).unwrap());
            prop_assert_eq!(ab.add(&c).ok(), a.add(&bc).ok());
        }
    }

    #[test]
    fn files_come_back(a in counts()) {
        prop_assert_eq!(WordCounts::from_bytes(&a.to_bytes().unwrap()).unwrap(), a);
    }

    #[test]
    fn counting_is_what_it_says(documents in prop::collection::vec("[ab]{0,3}|[a-b]{14,17}|\\PC{0,9}", 0..40)) {
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let mut source = IterSource::from_documents(&documents, InvalidUtf8::Error);
        let words = count_with(&mut source, &with_threads(2));
        let expected: Vec<_> = slow(&documents).into_iter().collect();
        let pairs: Vec<_> = words.iter().map(|(piece, count)| (piece.to_vec(), count)).collect();
        prop_assert_eq!(pairs, expected);
        for (piece, count) in words.iter() {
            prop_assert_eq!(words.get(piece), Some(count));
        }
        prop_assert_eq!(words.get(b"never there"), None);
    }

    #[test]
    fn damaged_files_never_panic(at in 0..FILE.len(), byte: u8, cut in 0..=FILE.len()) {
        let mut bytes = FILE.as_bytes().to_vec();
        bytes[at] = byte;
        bytes.truncate(cut.max(at + 1));
        if let Ok(words) = WordCounts::from_bytes(&bytes) {
            // Accepted files must be files that could have been written.
            prop_assert_eq!(words.totals().pieces, words.iter().map(|pair| pair.1).sum::<u64>());
        }
    }
}
