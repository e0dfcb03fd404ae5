//! `Compression`: how a file is compressed, with the decoder.
//!
//! The content decides: the magic bytes of gzip, zstd and xz are not UTF-8 text, and those of bzip2
//! are unlikely text. If the suffix names a compression that the content does not have, that is an
//! error, so that a damaged file is not read as text. All members of a file are read; a truncated
//! member is an error.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Bzip2,
    Zstd,
    Xz,
}

impl Compression {
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        }
    }

    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_string_lossy().to_ascii_lowercase().as_str() {
            "gz" => Some(Self::Gzip),
            "bz2" => Some(Self::Bzip2),
            "zst" => Some(Self::Zstd),
            "xz" => Some(Self::Xz),
            _ => None,
        }
    }

    /// Recognises magic bytes. Sources: RFC 1952; bzip2's block magic, or its end magic for an
    /// empty file; RFC 8878 with its skippable frames; the .xz format, 2.1.1.1.
    pub fn of_magic(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Some(Self::Bzip2),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    /// The compression of a file that starts with `start`.
    pub fn of(path: &Path, start: &[u8]) -> Result<Option<Self>> {
        let found = Self::of_magic(start);
        match Self::of_path(path) {
            Some(promised) if found.is_none() => Err(Error::format(
                path.display().to_string(),
                format!(
                    "the name promises {} data, but the content is {}; rename the file or get it again",
                    promised.name(),
                    if start.is_empty() { "empty" } else { "not compressed, or damaged at its start" }
                ),
            )),
            _ => Ok(found),
        }
    }

    /// A reader of the decompressed data.
    pub fn decoder(self, path: &Path, input: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
        match self {
            Self::Gzip => Ok(Box::new(flate2::read::MultiGzDecoder::new(input))),
            Self::Bzip2 => Ok(Box::new(bzip2::read::MultiBzDecoder::new(input))),
            Self::Zstd | Self::Xz => self.c_decoder(path, input),
        }
    }

    #[cfg(feature = "compression")]
    fn c_decoder(self, path: &Path, input: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
        if self == Self::Xz {
            return Ok(Box::new(liblzma::read::XzDecoder::new_multi_decoder(input)));
        }
        match zstd::Decoder::new(input) {
            Ok(decoder) => Ok(Box::new(decoder)),
            Err(error) => Err(Error::io(path, error)),
        }
    }

    #[cfg(not(feature = "compression"))]
    fn c_decoder(self, path: &Path, _input: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
        Err(Error::format(
            path.display().to_string(),
            format!(
                "it is {0} data, and this build was made without the Cargo feature `compression`; build with it, or decompress the file first",
                self.name()
            ),
        ))
    }
}

#[cfg(feature = "compression")]
#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Compresses each part as a separate member.
    fn compress(kind: Compression, parts: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        for &part in parts {
            match kind {
                Compression::Zstd => all.extend(zstd::encode_all(part, 3).unwrap()),
                Compression::Xz => {
                    let mut encoder = liblzma::write::XzEncoder::new(&mut all, 6);
                    encoder.write_all(part).unwrap();
                    encoder.finish().unwrap();
                }
                Compression::Gzip | Compression::Bzip2 => unreachable!("read by every build"),
            }
        }
        all
    }

    fn read(kind: Compression, content: &[u8]) -> std::io::Result<Vec<u8>> {
        let path = Path::new("x");
        assert_eq!(Compression::of(path, content).unwrap(), Some(kind));
        let mut decoder = kind.decoder(path, Box::new(std::io::Cursor::new(content.to_vec()))).unwrap();
        let mut text = Vec::new();
        decoder.read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn every_member_is_read_and_truncation_is_an_error() {
        let long: String = (0..30_000).map(|i| format!("line {i} {}\n", i * 7919 % 1013)).collect();
        let (first, second) = long.as_bytes().split_at(100_003);
        for kind in [Compression::Zstd, Compression::Xz] {
            for parts in [&[first, second][..], &[first, b"", second], &[b"", first], &[b""]] {
                assert_eq!(read(kind, &compress(kind, parts)).unwrap(), parts.concat(), "{}", kind.name());
            }
            let (one, two) = (&b"some text\n"[..], &b"more text\n"[..]);
            let between = compress(kind, &[one]).len();
            let both = compress(kind, &[one, two]);
            // A cut exactly between members is not damage. Any other cut after the magic bytes is.
            for cut in 6..both.len() {
                let text = read(kind, &both[..cut]);
                assert_eq!(text.is_ok(), cut == between, "{} cut at {cut} of {}", kind.name(), both.len());
            }
        }
    }
}
