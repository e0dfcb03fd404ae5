//! Reading in parts: however a file of any bytes is cut, the parts in order have its documents; and a
//! file behind a URL has those of the same local file.
#![no_main]

use std::io::{Error, Result};
use std::path::Path;
use std::sync::{Mutex, Once};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use sentitok::Progress;
use sentitok::corpus::{
    Block, ByteRange, Bytes, FileOptions, FileSource, InvalidUtf8, OpeningFile, RemoteFile, RemoteFiles,
    Source, Tally, cut_file, set_remote_files,
};

const FORMATS: [&str; 6] = ["lines", "text", "jsonl:t", "csv:t", "tsv:t", "csv:a"];
const URL: &str = "memory://file";

/// What the URL holds.
static CONTENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Memory;

/// Gives each block only when it is asked for again, and few bytes at a time.
struct Slow {
    content: Vec<u8>,
    asked: bool,
}

impl RemoteFiles for Memory {
    fn open(&self, _: &str, _: usize) -> Result<Box<dyn OpeningFile>> {
        let content = CONTENT.lock().map_err(|_| Error::other("a test panicked"))?.clone();
        Ok(Box::new(Slow { content, asked: false }))
    }

    fn sizes(&self, urls: &[&str]) -> Result<Vec<Option<u64>>> {
        let size = CONTENT.lock().map_err(|_| Error::other("a test panicked"))?.len() as u64;
        Ok(vec![Some(size); urls.len()])
    }
}

impl OpeningFile for Slow {
    fn opened(self: Box<Self>) -> Result<Box<dyn RemoteFile>> {
        Ok(self)
    }
}

impl RemoteFile for Slow {
    fn size(&self) -> Option<u64> {
        Some(self.content.len() as u64)
    }

    fn mark(&self) -> &str {
        "1"
    }

    fn read_at(&mut self, offset: u64, length: usize, until: u64, _: Duration) -> Result<Option<Bytes>> {
        assert!(offset + length as u64 <= until, "nothing is read behind the end");
        self.asked = !self.asked;
        if self.asked {
            return Ok(None);
        }
        let start = (offset as usize).min(self.content.len());
        let end = start.saturating_add(length.min(7)).min(self.content.len());
        Ok(Some(Box::new(self.content[start..end].to_vec())))
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The documents of a part of a file; `None` if it cannot be read.
fn documents(path: &Path, format: &str, range: Option<ByteRange>) -> Option<Vec<Vec<u8>>> {
    let mut options = FileOptions::default();
    options.format = format.parse().ok();
    options.invalid_utf8 = InvalidUtf8::Replace;
    options.byte_range = range;
    options.block_bytes = 16;
    let mut source = FileSource::new([path], options).ok()?;
    let (mut block, mut tally, mut found) = (Block::default(), Tally::default(), Vec::new());
    while source.fill(&mut block).ok()? {
        let take = |document: sentitok::corpus::Document<'_>| {
            found.push(document.as_bytes().to_vec());
            Ok(())
        };
        block.for_each_document(&mut tally, take).ok()?;
    }
    Some(found)
}

/// The documents of parts that begin at these offsets.
fn in_parts(path: &Path, format: &str, starts: &[u64], aligned: bool) -> Option<Vec<Vec<u8>>> {
    let ends = starts.iter().skip(1).copied().chain([u64::MAX]);
    let mut all = Vec::new();
    for (start, stop) in starts.iter().copied().zip(ends) {
        let mut range = ByteRange::new(start, stop).ok()?;
        range.aligned = aligned;
        all.extend(documents(path, format, Some(range))?);
    }
    Some(all)
}

fuzz_target!(|data: &[u8]| {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| set_remote_files(Box::new(Memory)));
    let [choice, part_bytes, cut, other_cut, content @ ..] = data else { return };
    let format = FORMATS[usize::from(*choice) % FORMATS.len()];
    let path = std::env::temp_dir().join(format!("sentitok-fuzz-{}", std::process::id()));
    std::fs::write(&path, content).expect("a temporary file");
    *CONTENT.lock().expect("no test panicked") = content.to_vec();
    let url = Path::new(URL);
    let whole = documents(&path, format, None);
    assert_eq!(documents(url, format, None), whole, "{format}, remote");
    let Some(whole) = whole else { return };

    let planned = format.parse().ok().and_then(|format| {
        let bytes = u64::from(*part_bytes).max(1);
        let cuts = cut_file(&path, Some(&format), bytes, &mut Progress::silent()).ok()?;
        let remote = cut_file(url, Some(&format), bytes, &mut Progress::silent()).ok()?;
        assert_eq!(cuts, remote, "the cuts of a remote file");
        Some(cuts)
    });
    let planned = planned.expect("a file that can be read can be cut");
    let mut anywhere = vec![0, u64::from(*cut), u64::from(*other_cut)];
    anywhere.sort_unstable();
    for place in [&path, url] {
        assert_eq!(in_parts(place, format, &planned, true).as_ref(), Some(&whole), "{format}, {planned:?}");
        assert_eq!(
            in_parts(place, format, &anywhere, false).as_ref(),
            Some(&whole),
            "{format}, {anywhere:?}"
        );
    }
});
