//! Temporary files that a killed writer left: whose they are, and their end.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::pipeline::hex;

/// How a temporary name begins.
const PREFIX: &str = ".sentitok-";
/// Random letters and digits at the end of a temporary name.
pub(super) const SUFFIX_CHARS: usize = 6;
/// Names are at most 255 bytes; a longer target is named by its hash.
const MOST_NAME_BYTES: usize = 200;

/// How the temporary name of a target begins, up to its random end.
pub(super) fn prefix_of(target: &OsStr) -> OsString {
    let mut prefix = OsString::from(PREFIX);
    prefix.push(short(target));
    prefix.push("-");
    prefix
}

/// A name that a temporary name has room for.
pub(super) fn short(target: &OsStr) -> OsString {
    match target.as_encoded_bytes() {
        bytes if bytes.len() <= MOST_NAME_BYTES => target.to_owned(),
        bytes => hex(&Sha256::digest(bytes)).into(),
    }
}

/// The target that a temporary name is for, as shortened by [`short`].
fn target_of(name: &OsStr) -> Option<&OsStr> {
    let name = name.to_str()?.strip_prefix(PREFIX)?;
    let (target, end) = name.rsplit_once('-')?;
    let is_random = end.len() == SUFFIX_CHARS && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_random && !target.is_empty()).then_some(OsStr::new(target))
}

/// Removes temporary files of dead writers of the targets that `is_ours` names.
///
/// What cannot be listed, locked or removed stays: this is tidying, not the work.
pub(crate) fn remove_leftovers(dir: &Path, is_ours: impl Fn(&OsStr) -> bool) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = target_of(&name).is_some_and(&is_ours);
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Held until the name is gone, so that nobody begins to write there.
        if let Ok(file) = File::options().read(true).write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            // Another process removed it: the same result.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::{self, AtomicFile};

    #[test]
    fn names_tell_their_target() {
        let long = "x".repeat(250);
        for target in ["a", "a-b", "shard-00000.bin", ".x", "naïve.json", long.as_str()] {
            let mut name = prefix_of(OsStr::new(target));
            name.push("aB3dE6");
            assert!(name.len() <= 255, "{target}");
            assert_eq!(target_of(&name), Some(short(OsStr::new(target)).as_os_str()), "{target}");
        }
        for name in [
            "a",
            ".sentitok-",
            ".sentitok-abcdef",
            ".sentitok-a-abc",
            ".sentitok-a-abcde_",
            ".sentitok--abcdef",
        ] {
            assert_eq!(target_of(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn only_what_nobody_writes_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let path = dir.path().join("a.json");
        // A living writer of the same file, then what dead ones left, and strangers' files.
        let mut living = AtomicFile::create(&path).unwrap();
        living.write(b"first").unwrap();
        let living_name = names();
        let strangers =
            [".sentitok-b.json-abcdef", ".sentitok-xyzxyz", ".sentitok-a.json-abc", "a.json-abcdef"];
        for name in [".sentitok-a.json-000000", ".sentitok-a.json-abcdef"].iter().chain(&strangers) {
            fs::write(dir.path().join(name), b"half").unwrap();
        }
        atomic::write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let mut expected: Vec<OsString> = strangers.iter().map(OsString::from).collect();
        expected.extend(living_name);
        expected.push("a.json".into());
        expected.sort();
        assert_eq!(names(), expected);
        living.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(!names().iter().any(|name| name == ".sentitok-a.json-000000"));
    }

    #[test]
    fn many_writers_of_one_name_do_not_disturb_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        atomic::write(path, &[writer; 100]).unwrap();
                    }
                });
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 100 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
