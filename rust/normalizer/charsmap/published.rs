//! SentencePiece's named rule sets, compiled: `published/*.bin`.
//!
//! The rules are exactly those of SentencePiece 0.2.3; only their layout in the trie differs. Building
//! them from Unicode data takes up to a second, so the crate holds the result, and a test of `rules`
//! builds it again.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::Charsmap;
use crate::error::{Error, Result};

/// A named set of rules.
pub(super) struct Published {
    pub name: &'static str,
    /// The map, as a file stores it.
    pub bytes: &'static [u8],
    /// The first 32 bits of the SHA-256 of the map: of these bytes, and as SentencePiece 0.2.3 ships it.
    digests: [u32; 2],
}

pub(super) static PUBLISHED: [Published; 4] = [
    Published {
        name: "nmt_nfkc",
        bytes: include_bytes!("published/nmt_nfkc.bin"),
        digests: [0x34d0_03f3, 0x1e2c_7b43],
    },
    Published {
        name: "nfkc",
        bytes: include_bytes!("published/nfkc.bin"),
        digests: [0xf531_6460, 0x7e46_d9e0],
    },
    Published {
        name: "nmt_nfkc_cf",
        bytes: include_bytes!("published/nmt_nfkc_cf.bin"),
        digests: [0x9923_a093, 0x2c03_512e],
    },
    Published {
        name: "nfkc_cf",
        bytes: include_bytes!("published/nfkc_cf.bin"),
        digests: [0x521f_b1de, 0xd8df_ef3d],
    },
];
/// The name of the empty set of rules.
const IDENTITY: &str = "identity";

impl Charsmap {
    /// The names that [`Charsmap::published`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PUBLISHED.iter().map(|known| known.name).chain([IDENTITY])
    }

    /// The rules with this name; checked once.
    ///
    /// # Errors
    /// [`Error::Option`], which lists the names, for an unknown name.
    pub fn published(name: &str) -> Result<Self> {
        static PARSED: [OnceLock<Charsmap>; 4] = [const { OnceLock::new() }; 4];
        if name == IDENTITY {
            return Ok(Self::default());
        }
        let Some(at) = PUBLISHED.iter().position(|known| known.name == name) else {
            return Err(Error::Option {
                option: "rules",
                value: name.to_owned(),
                reason: format!("SentencePiece's rules are {}", Self::names().collect::<Vec<_>>().join(", ")),
            });
        };
        if let Some(charsmap) = PARSED[at].get() {
            return Ok(charsmap.clone());
        }
        let charsmap = Self::new(PUBLISHED[at].bytes.to_vec())?;
        Ok(PARSED[at].get_or_init(|| charsmap).clone())
    }

    /// The name of these rules, if they are a published set.
    pub fn name(&self) -> Option<&'static str> {
        let digest = Sha256::digest(self.bytes());
        let digest = digest.first_chunk::<4>().map(|first| u32::from_be_bytes(*first));
        let known =
            PUBLISHED.iter().find(|known| digest.is_some_and(|digest| known.digests.contains(&digest)));
        if self.is_empty() { Some(IDENTITY) } else { known.map(|known| known.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in Charsmap::names() {
            assert_eq!(Charsmap::published(name).unwrap().name(), Some(name), "{name}: {:08x}", digest(name));
        }
        assert!(Charsmap::published("nmt").unwrap_err().to_string().contains("nmt_nfkc, nfkc"));
    }

    fn digest(name: &str) -> u32 {
        let digest = Sha256::digest(Charsmap::published(name).unwrap().bytes());
        u32::from_be_bytes(*digest.first_chunk().unwrap())
    }

    #[test]
    fn published_rules_rewrite() {
        let map = Charsmap::published("nmt_nfkc_cf").unwrap();
        for (text, expected) in [
            ("Ａ", Some((3, "a"))),
            ("Ａ\u{301}b", Some((5, "á"))),
            ("㋿", Some((3, "令和"))),
            ("\u{1}", Some((1, ""))),
            ("\u{61C}", Some((2, " "))),
            ("～", None),
            ("각", None),
            ("a", None),
        ] {
            assert_eq!(map.longest(text.as_bytes()), expected, "{text:?}");
        }
    }
}
