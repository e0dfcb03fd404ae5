//! Which patterns are refused, and how classes are spelled.

use super::*;

#[test]
fn differences_from_oniguruma_are_refused() {
    for (pattern, expected) in [
        (r"\p{N}{1,3}+", Some("{..}+")),
        (r"\p{L}+|\x{41}+|a{2}|[$^]|\$|\^", None),
        (r"\s+$", Some("$")),
        (r"^a", Some("^")),
        (r"[^\s]", None),
        (r"(?m)a", Some("(?m)")),
        (r"(?im-x:a)", Some("(?m)")),
        (r"(?i:m)", None),
        (r"[[:alpha:]]", None),
        (r"[[:foo:]]", Some("[:name:]")),
        (r"[a-z--b]", Some("--")),
        (r"[[a-z]&&[^b]]{3}", None),
        ("\\", None),
        (r"[\]$]", None),
        (r"[]$]", None),
        (r"[^]$]$", Some("$")),
        (r"a{2}?", Some("{n}?")),
        (r"a{,2}", Some("{0,n}")),
        (r"a{2,3}?", None),
        (r"(?s).", Some("flag")),
        (r"(?x) a", Some("(?x)")),
        (r"(?P<a>b)", Some("(?P")),
        (r"\pL", Some("braces")),
        (r"\p{Script=Greek}", Some("alone")),
        (r"\Za", Some("escape")),
        (r"\xE9", Some("bytes")),
        (r"[\R]", Some("escape")),
        (r"\bfoo\b", None),
    ] {
        let found = check(pattern).err().map(|error| error.to_string());
        assert_eq!(found.is_some(), expected.is_some(), "{pattern}: {found:?}");
        assert!(found.as_deref().unwrap_or("").contains(expected.unwrap_or("")), "{pattern}: {found:?}");
    }
}

#[test]
fn classes_are_spelled_out() {
    for (pattern, expected) in [
        (r"\h", "[0-9A-Fa-f]".to_owned()),
        (r"[\h]", "[[0-9A-Fa-f]]".to_owned()),
        (r"[^[:^blank:]x]", r"[^[^\p{Zs}\t]x]".to_owned()),
        (r"\p{^alnum}", r"[^\p{Alphabetic}\p{Nd}]".to_owned()),
        (r"\P{^L}\p{Punct}", r"\p{L}[\p{P}]".to_owned()),
        (r"(?i)\p{Lu}[\p{Lu}]", r"(?i)(?-i:\p{Lu})[\p{Lu}]".to_owned()),
        (r"\\w[]\w]", format!(r"\\w[\][{WORD}]]")),
        (r"\w", format!("[{WORD}{SUPERSCRIPTS}]")),
        ("a(?#\\w[)b", "ab".to_owned()),
        ("[\\b\\e]", r"[\x08\x1B]".to_owned()),
    ] {
        assert_eq!(translate(pattern).unwrap().pattern, expected, "{pattern}");
    }
    assert!(translate(&r"\w".repeat(1025)).is_err() && translate(&"a".repeat(70_000)).is_err());
}
