//! The dialect of patterns: the classes of Oniguruma, the engine of tokenizers.
//!
//! `\w`, `\d`, `\s`, `\h`, `\b`, the POSIX brackets and properties mean what they mean in
//! tokenizers 0.23.3, wherever a pattern comes from. [`translate`] spells them for our engines;
//! [`crate::text::unicode::properties`] contains the properties of Unicode 16. In Oniguruma a
//! superscript such as `²` is a word character outside of brackets but not inside, and the same
//! holds here.
//!
//! In a pattern of tokenizer.json `^` and `$` match at the ends of lines; [`from_oniguruma`] spells
//! them so that they mean the same in both dialects. [`check`] refuses other patterns that would
//! compile here and split differently. Exception: case-insensitive matches of one character by two
//! (`(?i)ß`) are not checked.

mod lines;

use self::lines::LINE_END;
pub(crate) use self::lines::from_oniguruma;
use crate::error::{Error, Result};

/// The maximum number of classes. Real patterns have fewer, and classes take memory before the
/// program is built.
const MAX_CLASSES: usize = 1 << 10;
/// The maximum length of a pattern. Real patterns are shorter.
const MAX_BYTES: usize = 64 << 10;

/// The word characters, for use inside a bracket.
const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";
/// The characters that are word characters only outside of brackets.
const SUPERSCRIPTS: &str = "²³¹¼½¾";

/// The POSIX classes by name, for use inside a bracket.
const POSIX: [(&str, &str); 14] = [
    ("alnum", r"\p{Alphabetic}\p{Nd}"),
    ("alpha", r"\p{Alphabetic}"),
    ("ascii", r"\x00-\x7F"),
    ("blank", r"\p{Zs}\t"),
    ("cntrl", r"\p{Cc}"),
    ("digit", r"\p{Nd}"),
    ("graph", r"[^\s\p{Cc}\p{Cn}]"),
    ("lower", r"\p{Lowercase}"),
    ("print", r"[^\s\p{Cc}\p{Cn}]\p{Zs}"),
    ("punct", r"\p{P}\p{S}"),
    ("space", r"\s"),
    ("upper", r"\p{Uppercase}"),
    ("word", WORD),
    ("xdigit", "0-9A-Fa-f"),
];

/// Whether `\b` and `\w` treat a character as a word character.
pub(super) fn is_word(c: char) -> bool {
    use crate::text::unicode::{flag::WORD, flags};
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    // The frozen table follows regex engines, which include joiners and exclude superscripts.
    SUPERSCRIPTS.contains(c) || flags(c) & WORD != 0 && !matches!(c, '\u{200C}' | '\u{200D}')
}

/// A pattern in the syntax of our engines.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// Whether it has `\b` or `\B`, which the linear engine defines by different word characters.
    pub(super) looks_around: bool,
    /// The positions of `^` and `$`, if requested.
    anchors: Vec<usize>,
}

/// Translates the classes of a pattern for our engines. `Err` says why that is impossible.
pub(super) fn translate(pattern: &str) -> std::result::Result<Translated, &'static str> {
    Scanner::new(pattern, false)?.run()
}

/// Refuses a pattern that means something else in Oniguruma.
pub(crate) fn check(pattern: &str) -> Result<()> {
    match Scanner::new(pattern, true).and_then(Scanner::run) {
        Ok(_) => Ok(()),
        Err(reason) => Err(refused(pattern, reason)),
    }
}

fn refused(pattern: &str, reason: &str) -> Error {
    Error::Pattern { pattern: pattern.to_owned(), reason: reason.to_owned() }
}

type Outcome = std::result::Result<(), &'static str>;

/// One pass over a pattern.
struct Scanner<'a> {
    rest: &'a str,
    /// The length of the pattern in bytes.
    len: usize,
    out: String,
    /// Whether to refuse what tokenizers reads differently.
    is_strict: bool,
    /// The number of open brackets.
    depth: u32,
    classes: usize,
    looks_around: bool,
    /// Whether the flag `i` occurs anywhere. (Properties outside of brackets are not folded.)
    folds: bool,
    /// The positions of `^` and `$`, if they are collected instead of refused.
    anchors: Option<Vec<usize>>,
}

impl<'a> Scanner<'a> {
    fn new(pattern: &'a str, is_strict: bool) -> std::result::Result<Self, &'static str> {
        if pattern.len() > MAX_BYTES {
            return Err("it has more than 64 KiB; no compiled pattern may take more than 1 MiB");
        }
        let folds = flags_of(pattern).any(|flags| flags.contains('i'));
        if pattern.contains('#') && flags_of(pattern).any(|flags| flags.contains('x')) {
            return Err("comments under (?x) are not supported; leave them out");
        }
        Ok(Self {
            rest: pattern,
            len: pattern.len(),
            out: String::with_capacity(pattern.len()),
            is_strict,
            depth: 0,
            classes: 0,
            looks_around: false,
            folds,
            anchors: None,
        })
    }

    fn run(mut self) -> std::result::Result<Translated, &'static str> {
        while let Some(c) = self.rest.chars().next() {
            match (c, self.depth) {
                ('\\', _) => self.escape()?,
                ('[', _) => self.open()?,
                (']', 1..) => {
                    self.depth -= 1;
                    self.take(1);
                }
                (_, 1..) => self.inside(c)?,
                (_, 0) => self.outside(c)?,
            }
        }
        Ok(Translated {
            pattern: self.out,
            looks_around: self.looks_around,
            anchors: self.anchors.unwrap_or_default(),
        })
    }

    /// Copies `len` bytes.
    fn take(&mut self, len: usize) {
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.out.push_str(taken);
        self.rest = rest;
    }

    /// Writes `new` and skips `len` bytes.
    fn replace(&mut self, len: usize, new: &str) {
        self.rest = self.rest.get(len..).unwrap_or("");
        self.out.push_str(new);
    }

    /// Counts a class and refuses too many.
    fn class(&mut self) -> Outcome {
        self.classes += 1;
        if self.classes > MAX_CLASSES {
            return Err("it has more than 1024 classes; no compiled pattern may take more than 1 MiB");
        }
        Ok(())
    }

    /// Refuses what tokenizers reads differently.
    fn strict(&self, reason: &'static str) -> Outcome {
        if self.is_strict { Err(reason) } else { Ok(()) }
    }

    fn open(&mut self) -> Outcome {
        if self.depth > 0
            && let Some(posix) = self.rest.strip_prefix("[:")
            && let Some(end) = posix.bytes().take(16).position(|byte| byte == b':')
            && posix.as_bytes().get(end + 1) == Some(&b']')
        {
            let len = end + 4;
            let (is_negated, name) = match posix[..end].strip_prefix('^') {
                Some(name) => (true, name),
                None => (false, &posix[..end]),
            };
            if let Some((_, inside)) = POSIX.iter().find(|(known, _)| *known == name) {
                self.class()?;
                self.replace(len, &bracketed(inside, is_negated));
                return Ok(());
            }
            self.strict("tokenizers knows no such [:name:]; write \\p{..}")?;
        }
        self.depth += 1;
        self.class()?;
        self.take(if self.rest.starts_with("[^") { 2 } else { 1 });
        // Directly after the opening bracket, `]` is an ordinary character.
        if self.rest.starts_with(']') {
            self.replace(1, r"\]");
        }
        Ok(())
    }

    fn inside(&mut self, c: char) -> Outcome {
        if self.rest.starts_with("--") || self.rest.starts_with("~~") {
            self.strict(
                "tokenizers knows no -- and ~~ between sets; escape the characters, or write [..&&[^..]]",
            )?;
            self.take(1);
        }
        self.take(c.len_utf8());
        Ok(())
    }

    fn outside(&mut self, c: char) -> Outcome {
        match c {
            '{' => return self.repeat(),
            '^' | '$' if self.anchors.is_some() => {
                let at = self.len - self.rest.len();
                self.anchors.as_mut().into_iter().for_each(|anchors| anchors.push(at));
            }
            '^' => self.strict("tokenizers reads ^ as the start of any line; write \\A or (?<=\\n)")?,
            '$' => self.strict("tokenizers reads $ as the end of any line; write \\z or (?m:$)")?,
            '(' if self.rest.starts_with(LINE_END) => {
                self.take(LINE_END.len());
                return Ok(());
            }
            '(' => {
                if let Some(comment) = self.rest.strip_prefix("(?#") {
                    let len = comment.find(')').map_or(self.rest.len(), |end| end + 4);
                    self.replace(len, "");
                    return Ok(());
                }
                self.group()?;
            }
            _ => {}
        }
        self.take(c.len_utf8());
        Ok(())
    }

    /// Reads a group and its flags.
    fn group(&self) -> Outcome {
        if self.rest.starts_with("(?P") {
            return self.strict("tokenizers knows no (?P..); write (?<name>..)");
        }
        let Some(flags) = flags_at(self.rest) else { return Ok(()) };
        if flags.contains('m') {
            return self.strict("tokenizers reads (?m) as ours reads (?s); write the characters as a class");
        }
        if flags.contains('x') {
            return self.strict("white space under (?x) is read otherwise by tokenizers; leave it out");
        }
        if flags.contains(|flag: char| !"i-".contains(flag)) {
            return self.strict("tokenizers knows no such flag; write it out, or use (?i)");
        }
        Ok(())
    }

    /// Reads a quantifier in braces.
    fn repeat(&mut self) -> Outcome {
        let len = self.rest.find('}').map_or(self.rest.len(), |at| at + 1);
        let inner = self.rest.get(1..len.saturating_sub(1)).unwrap_or("");
        let after = self.rest.get(len..).unwrap_or("");
        if after.starts_with('+') {
            self.strict("tokenizers reads {..}+ as a repeated group; write (?>..{..}) or leave out the +")?;
        }
        if after.starts_with('?') && !inner.contains(',') {
            self.strict(
                "tokenizers reads {n}? as what may be left out; write (?:..{n})? or leave out the ?",
            )?;
        }
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_quantifier = match inner.split_once(',') {
            None => is_number(inner),
            Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        };
        if !is_quantifier {
            self.strict(
                "tokenizers reads { as itself unless it begins {n}, {n,} or {n,m}; write \\{ or {0,n}",
            )?;
        }
        self.take(len);
        Ok(())
    }

    fn escape(&mut self) -> Outcome {
        let Some(kind) = self.rest.get(1..).and_then(|rest| rest.chars().next()) else {
            self.take(1);
            return Ok(());
        };
        let is_inside = self.depth > 0;
        match kind {
            'w' | 'W' => {
                self.class()?;
                let word = if is_inside { WORD.to_owned() } else { format!("{WORD}{SUPERSCRIPTS}") };
                self.replace(2, &bracketed(&word, kind == 'W'));
            }
            'h' | 'H' => self.replace(2, &bracketed("0-9A-Fa-f", kind == 'H')),
            'd' | 'D' | 's' | 'S' => {
                self.class()?;
                self.take(2);
            }
            'p' | 'P' => self.property(kind == 'P')?,
            'b' if is_inside => self.replace(2, r"\x08"),
            'b' | 'B' if !is_inside => {
                if self.rest.get(2..).is_some_and(|rest| rest.starts_with('{')) {
                    return Err("boundaries with a name are not supported; write \\b or look-around");
                }
                self.looks_around = true;
                self.take(2);
            }
            '<' | '>' => return Err("\\< and \\> are not supported; write < and >, or \\b"),
            'e' => self.replace(2, r"\x1B"),
            'x' => {
                let high = |byte: &u8| !matches!(byte, b'{' | b'0'..=b'7');
                if self.rest.as_bytes().get(2).is_some_and(high) {
                    self.strict("tokenizers reads \\x80 and above as bytes; write \\x{..}")?;
                }
                self.take_braced(2);
            }
            'A' | 'z' | 'R' | '1'..='9' if !is_inside => self.take(2),
            'k' if !is_inside => self.take(2),
            'n' | 'r' | 't' | 'f' | 'v' | 'a' => self.take(2),
            'u' => self.take_braced(2),
            _ if kind.is_ascii_alphanumeric() => {
                self.strict("an escape that tokenizers reads otherwise; write the character, or \\x{..}")?;
                self.take_braced(2);
            }
            _ => self.take(1 + kind.len_utf8()),
        }
        Ok(())
    }

    /// Copies `len` bytes, and a brace expression after them.
    fn take_braced(&mut self, len: usize) {
        let braced =
            self.rest.get(len..).filter(|rest| rest.starts_with('{')).and_then(|rest| rest.find('}'));
        self.take(len + braced.map_or(0, |end| end + 1));
    }

    fn property(&mut self, mut is_negated: bool) -> Outcome {
        self.class()?;
        let name =
            self.rest.get(2..).and_then(|rest| rest.strip_prefix('{')).and_then(|rest| rest.split_once('}'));
        let Some((name, _)) = name else {
            self.strict("tokenizers reads \\p without braces as a letter; write \\p{..}")?;
            self.take(2);
            return Ok(());
        };
        let len = name.len() + 4;
        let name = match name.strip_prefix('^') {
            Some(name) => {
                is_negated = !is_negated;
                name
            }
            None => name,
        };
        if name.contains(['=', ':']) {
            self.strict("tokenizers knows no \\p{name=value}; write the value alone")?;
        }
        let plain: String =
            name.chars().filter(|c| !" -_".contains(*c)).map(|c| c.to_ascii_lowercase()).collect();
        let text = match (plain.as_str(), POSIX.iter().find(|(known, _)| *known == plain)) {
            ("word", _) if self.depth == 0 => bracketed(&format!("{WORD}{SUPERSCRIPTS}"), is_negated),
            // Oniguruma's `punct` is Unicode's property, without symbols.
            ("punct", _) => bracketed(r"\p{P}", is_negated),
            (_, Some((_, inside))) => bracketed(inside, is_negated),
            _ => format!("\\{}{{{name}}}", if is_negated { 'P' } else { 'p' }),
        };
        let text = if self.folds && self.depth == 0 { format!("(?-i:{text})") } else { text };
        self.replace(len, &text);
        Ok(())
    }
}

fn bracketed(inside: &str, is_negated: bool) -> String {
    format!("[{}{inside}]", if is_negated { "^" } else { "" })
}

/// The flags of a group such as `(?im-x:` at the start of `text`.
fn flags_at(text: &str) -> Option<&str> {
    let flags = text.strip_prefix("(?")?;
    let end = flags.find(|c: char| !c.is_ascii_alphabetic() && c != '-')?;
    let is_group = end > 0 && matches!(flags.as_bytes().get(end), Some(b':' | b')'));
    is_group.then(|| &flags[..end])
}

/// The flags of all groups from the start of `pattern`.
fn flags_of(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.match_indices("(?").filter_map(|(at, _)| flags_at(&pattern[at..]))
}

#[cfg(test)]
mod tests;
