//! Reading: every format, compression, policy and shard, against the bytes
//! they were made from.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::With;
use sentitok::Error;
use sentitok::corpus::{
    Block, Document, FileOptions, FileSource, Format, InvalidUtf8, IterSource, Shard, Source, Tally,
};

type Documents = Vec<Vec<u8>>;

fn read(source: &mut dyn Source) -> Result<(Documents, Tally), Error> {
    let (mut block, mut tally, mut documents) = (Block::default(), Tally::default(), Vec::new());
    while source.fill(&mut block)? {
        block.for_each_document(&mut tally, |document| {
            documents.push(document.as_bytes().to_vec());
            Ok(())
        })?;
    }
    assert_eq!(tally.documents, documents.len() as u64);
    assert_eq!(tally.bytes, documents.iter().map(|document| document.len() as u64).sum::<u64>());
    Ok((documents, tally))
}

fn read_files<P: AsRef<Path>>(paths: &[P], options: FileOptions) -> Result<(Documents, Tally), Error> {
    read(&mut FileSource::new(paths, options)?)
}

fn options(format: &str) -> FileOptions {
    FileOptions::default().with(|it| it.format = Some(format.parse().unwrap()))
}

fn write(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn strings(documents: &[&str]) -> Documents {
    documents.iter().map(|document| document.as_bytes().to_vec()).collect()
}

#[test]
fn formats_give_their_documents() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("lines", "lines", "a\nb\n", &["a\n", "b\n"]),
        ("lines: no last line end", "lines", "a\nb", &["a\n", "b"]),
        ("lines: CRLF and lone CR stay", "lines", "a\r\nb\rc\r\n", &["a\r\n", "b\rc\r\n"]),
        ("lines: blank lines are documents", "lines", "\n\na\n", &["\n", "\n", "a\n"]),
        ("lines: NEL and LS end nothing", "lines", "a\u{85}b\u{2028}c\n", &["a\u{85}b\u{2028}c\n"]),
        ("lines: empty", "lines", "", &[]),
        ("lines: BOM is taken off", "lines", "\u{feff}a\n\u{feff}b\n", &["a\n", "\u{feff}b\n"]),
        ("text", "text", "a\n\nb\n", &["a\n\nb\n"]),
        ("text: BOM", "text", "\u{feff}a", &["a"]),
        ("text: shorter than a magic", "text", "a", &["a"]),
        ("text: empty", "text", "", &[]),
        ("jsonl", "jsonl", "{\"text\":\"a\\nb\"}\n{\"text\":\"\"}\n", &["a\nb", ""]),
        ("jsonl: CRLF, blank lines", "jsonl:t", "{\"t\":\"a\"}\r\n\r\n  \n{\"t\":\"b\"}", &["a", "b"]),
        ("jsonl: BOM", "jsonl:t", "\u{feff}{\"t\":\"a\"}\n", &["a"]),
        ("csv", "csv:b", "a,b\n1,x\n2,\"y,\"\"z\"\"\n\"\n", &["x", "y,\"z\"\n"]),
        ("csv: CRLF, BOM, empty field", "csv:a", "\u{feff}a,b\r\n1,x\r\n,\r\n", &["1", ""]),
        ("csv: header only", "csv:a", "a,b\n", &[]),
        ("tsv", "tsv:b", "a\tb\n1\tx, y\n", &["x, y"]),
    ];
    for (name, format, content, expected) in cases {
        let path = write(dir.path(), "x", content.as_bytes());
        for block_bytes in [1, 7, 1 << 20] {
            let options = options(format).with(|it| it.block_bytes = block_bytes);
            let (documents, tally) = read_files(&[&path], options).unwrap();
            assert_eq!(documents, strings(expected), "{name}, blocks of {block_bytes}");
            let marks = u64::from(content.starts_with('\u{feff}'));
            assert_eq!(tally.byte_order_marks, marks, "{name}, blocks of {block_bytes}");
        }
    }
}

#[test]
fn bad_files_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("jsonl:t", b"{\"t\":\"a\"}\n\n{\"t\":1}\n", &["line 3 (byte 11)", "expected a string", "\"t\""]),
        ("jsonl:t", b"{\"u\":\"a\",\"v\":1}\n", &["no field \"t\"", "\"u\", \"v\"", "line 1 (byte 0)"]),
        ("jsonl:t", b"{\"t\":\"a\"}\n{\"t\":\"b\n", &["line 2 (byte 10)"]),
        ("jsonl:t", b"{\"t\":\"a\"}\n{\"t\":\"\xff\"}\n", &["invalid UTF-8", "line 2"]),
        ("jsonl:t", b"{\"t\":\"\\ud83d\"}\n", &["invalid UTF-8", "line 1"]),
        ("csv:t", b"a,b\n1,2\n", &["no column \"t\"", "\"a\", \"b\""]),
        ("csv:t", b"", &["no column \"t\""]),
        ("csv:a", b"a,b\n1,2\n3,4,5\n", &["row of 3 fields", "line 3"]),
        ("csv:a", b"a,b\n1,2\n\xff,4\n", &["invalid UTF-8", "line 3", "byte 8"]),
        ("lines", b"ab\ncd\n\xc3\n", &["invalid UTF-8 at byte 6 (line 3)"]),
        ("lines", b"ab\ncd\xe2\x82", &["invalid UTF-8 at byte 5 (line 2)"]),
        ("text", b"\xef\xbb\xbfab\n\xffcd", &["invalid UTF-8 at byte 6 (line 2)"]),
        ("lines", b"\xff\xfea\0", &["UTF-16LE", "iconv -f UTF-16 "]),
        ("text", b"\xfe\xff\0a", &["UTF-16BE", "iconv"]),
        ("jsonl", b"\xff\xfe\0\0", &["UTF-32LE", "iconv -f UTF-32 "]),
    ];
    for (format, content, parts) in cases {
        let path = write(dir.path(), "x", content);
        for block_bytes in [1, 5, 1 << 20] {
            let options = options(format).with(|it| it.block_bytes = block_bytes);
            let error = read_files(&[&path], options).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()), "{error}");
            for part in *parts {
                assert!(error.contains(part), "{part:?} is not in {error:?}");
            }
        }
    }
    let error = read_files(&[dir.path()], FileOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::Io { .. }) && error.to_string().contains("is a directory"), "{error}");
    let error = read_files(&[dir.path().join("none")], FileOptions::default()).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("none")), "{error}");
    let table = write(dir.path(), "x.csv", b"a\n");
    let error = read_files(&[table], FileOptions::default()).unwrap_err().to_string();
    assert!(error.contains("csv:text"), "{error}");
}

#[test]
fn invalid_bytes_follow_the_policy() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "x", b"ok\na\xff\xf0\x9fb\n\xe2\x82\nend\xc3");
    let cases: &[(InvalidUtf8, &[&[u8]], u64, u64)] = &[
        (
            InvalidUtf8::Replace,
            &[b"ok\n", "a\u{fffd}\u{fffd}b\n".as_bytes(), "\u{fffd}\n".as_bytes(), "end\u{fffd}".as_bytes()],
            4,
            6,
        ),
        (InvalidUtf8::Bytes, &[b"ok\n", b"a\xff\xf0\x9fb\n", b"\xe2\x82\n", b"end\xc3"], 0, 6),
    ];
    for &(invalid_utf8, expected, replaced, invalid_bytes) in cases {
        for block_bytes in [1, 4, 1 << 20] {
            let options = options("lines").with(|it| {
                it.invalid_utf8 = invalid_utf8;
                it.block_bytes = block_bytes;
            });
            let (documents, tally) = read_files(&[&path], options).unwrap();
            assert_eq!(documents, expected, "{invalid_utf8:?}");
            assert_eq!((tally.replaced, tally.invalid_bytes), (replaced, invalid_bytes));
        }
    }
    let mut source = IterSource::from_documents([&b"ab"[..], b"\xe2\x82", b"\xac"], InvalidUtf8::Error);
    let error = read(&mut source).unwrap_err().to_string();
    assert!(error.contains("<iterable>, document 2: invalid UTF-8 at byte 0"), "{error}");
    let mut source = IterSource::from_documents([&b"\xe2\x82"[..], b"\xac"], InvalidUtf8::Bytes);
    let (documents, _) = read(&mut source).unwrap();
    assert_eq!(documents, [&b"\xe2\x82"[..], b"\xac"]);
}

/// Compresses in as many members as there are parts.
fn compress(kind: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        match kind {
            "gz" => {
                let mut encoder = flate2::write::GzEncoder::new(&mut all, flate2::Compression::default());
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap();
            }
            "bz2" => {
                let mut encoder = bzip2::write::BzEncoder::new(&mut all, bzip2::Compression::default());
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap();
            }
            _ => panic!("{kind}"),
        }
    }
    all
}

/// Kinds that every build reads; unit tests of `rust/corpus/compression.rs` read the kinds of the feature.
const KINDS: &[&str] = &["gz", "bz2"];

#[test]
fn compressed_files_are_read_by_content() {
    let dir = tempfile::tempdir().unwrap();
    let long: String = (0..30_000).map(|i| format!("line {i} {}\n", i * 7919 % 1013)).collect();
    let (first, second) = long.split_at(100_003);
    for kind in KINDS {
        for (format, parts, expected) in [
            ("lines", vec![first, second], strings(&long.split_inclusive('\n').collect::<Vec<_>>())),
            ("text", vec![first, second], strings(&[&long])),
            ("jsonl:t", vec!["{\"t\":\"a\"}\n{\"t\"", ":\"b\"}"], strings(&["a", "b"])),
            ("csv:t", vec!["u,t\n1,a\n", "2,b"], strings(&["a", "b"])),
            ("lines", vec!["\u{feff}a"], strings(&["a"])),
            ("lines", vec!["a\n", "", "b\n"], strings(&["a\n", "b\n"])),
            ("lines", vec![""], strings(&[])),
        ] {
            let parts: Vec<&[u8]> = parts.into_iter().map(str::as_bytes).collect();
            let content = compress(kind, &parts);
            for name in ["x".to_owned(), format!("x.{kind}"), "x.gz".to_owned()] {
                let path = write(dir.path(), &name, &content);
                let (documents, _) = read_files(&[path], options(format)).unwrap();
                assert_eq!(documents.len(), expected.len(), "{kind} {format} {name}");
                assert!(documents == expected, "{kind} {format} {name}");
            }
        }
    }
}

#[test]
fn damaged_members_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let one = compress(kind, &[b"some text\n"]);
        let two = compress(kind, &[b"some text\n", b"more text\n"]);
        // A cut exactly between members is not damage; anywhere else it is.
        for cut in (0..two.len()).filter(|&cut| cut != one.len()) {
            let path = write(dir.path(), &format!("x.{kind}"), &two[..cut]);
            let error = read_files(&[&path], options("lines")).map(|(documents, _)| documents);
            let error = error.expect_err(&format!("{kind} cut at {cut} of {}", two.len())).to_string();
            assert!(error.starts_with(&path.display().to_string()), "{error}");
        }
    }
    let path = write(dir.path(), "text.gz", b"not compressed at all");
    let error = read_files(&[path], options("lines")).unwrap_err().to_string();
    assert!(error.contains("promises gzip"), "{error}");
}

#[cfg(not(feature = "compression"))]
#[test]
fn a_missing_feature_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for magic in [&b"\x28\xb5\x2f\xfd123456"[..], b"\xfd7zXZ\x00123456"] {
        let path = write(dir.path(), "x", magic);
        let error = read_files(&[path], options("lines")).unwrap_err().to_string();
        assert!(error.contains("feature `compression`"), "{error}");
    }
}

#[test]
fn shards_are_the_whole_once() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..200).map(|i| format!("{}\n", "x".repeat(i * 37 % 50))).collect();
    let mut paths = vec![
        write(dir.path(), "a.txt", lines.as_bytes()),
        write(dir.path(), "b.txt", b""),
        write(dir.path(), "c.txt", format!("\u{feff}{}", lines.trim_end()).as_bytes()),
        write(dir.path(), "d.txt.gz", &compress("gz", &[lines.as_bytes()])),
        write(dir.path(), "e.txt", b"\n"),
    ];
    for i in 0..20 {
        paths.push(write(dir.path(), &format!("f{i}.txt"), format!("{i}").as_bytes()));
    }
    let json: String = (0..50).map(|i| format!("{{\"text\":\"{i}\"}}\n")).collect();
    paths.push(write(dir.path(), "g.jsonl", json.as_bytes()));
    let (mut whole, tally) = read_files(&paths, FileOptions::default()).unwrap();
    whole.sort();
    for n in [1, 2, 3, 7, 100] {
        let (mut parts, mut marks) = (Vec::new(), 0);
        for i in 0..n {
            let shard = Some(Shard::new(i, n).unwrap());
            let options = FileOptions::default().with(|it| {
                it.shard = shard;
                it.block_bytes = 64;
            });
            let (documents, tally) = read_files(&paths, options).unwrap();
            marks += tally.byte_order_marks;
            parts.extend(documents);
        }
        parts.sort();
        assert!(parts == whole, "{n} shards: {} and {} documents", parts.len(), whole.len());
        assert_eq!(marks, tally.byte_order_marks, "{n}");
    }
    let documents: Vec<String> = (0..20).map(|i| i.to_string()).collect();
    let shard = Some(Shard::new(2, 7).unwrap());
    let mut source = IterSource::from_documents(documents, InvalidUtf8::Error).with_shard(shard);
    assert_eq!(read(&mut source).unwrap().0, strings(&["2", "9", "16"]));
}

#[test]
fn a_shard_names_the_line_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "x.txt", b"1\n2\n3\n4\n5\n6\n\xff\n8\n");
    let shard = Some(Shard::new(1, 2).unwrap());
    let error =
        read_files(&[path], FileOptions::default().with(|it| it.shard = shard)).unwrap_err().to_string();
    assert!(error.contains("at byte 12 (line 7)"), "{error}");
}

#[test]
fn a_line_may_be_longer_than_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let content = format!("short\n{}\nlast", "é".repeat(3 << 20));
    let path = write(dir.path(), "x", content.as_bytes());
    let (documents, _) = read_files(&[path], options("lines")).unwrap();
    assert_eq!(documents.concat(), content.as_bytes());
    assert_eq!(documents.len(), 3);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_and_can_be_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    let status = std::process::Command::new("mkfifo").arg(&path).status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo is not there");
        return;
    }
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.write_all(&compress("gz", &[b"a\nb\n"])).unwrap();
        });
        let (documents, _) = read_files(&[&path], FileOptions::default()).unwrap();
        assert_eq!(documents, strings(&["a\n", "b\n"]));
        writer.join().unwrap();

        // A writer that says nothing: the reader would wait for ever.
        let mut source = FileSource::new([&path], FileOptions::default()).unwrap();
        let meter = source.meter();
        let keep = scope.spawn(|| std::fs::OpenOptions::new().write(true).open(&path).unwrap());
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            meter.stop();
        });
        assert!(matches!(source.fill(&mut Block::default()), Err(Error::Cancelled)));
        drop(keep.join());
    });
    let options = FileOptions::default().with(|it| it.shard = Some(Shard::new(0, 2).unwrap()));
    assert!(FileSource::new([path], options).is_err());
}

#[test]
fn document_kinds_are_told_apart() {
    let (mut block, mut tally) = (Block::default(), Tally::default());
    let mut source = IterSource::from_documents([&b"a"[..], b"\xff"], InvalidUtf8::Bytes);
    assert!(source.fill(&mut block).unwrap());
    let mut kinds = Vec::new();
    block
        .for_each_document(&mut tally, |document| {
            kinds.push(matches!(document, Document::Text(_)));
            Ok(())
        })
        .unwrap();
    assert_eq!(kinds, [true, false]);
    assert_eq!(Format::of_path(Path::new("a.txt")).unwrap(), Format::Lines);
}
