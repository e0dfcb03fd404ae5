//! Functions over the syntax tree of `fancy-regex`.

use fancy_regex::{Assertion, Expr};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use crate::text::unicode::properties::spell_out;

type Outcome<T = ()> = Result<T, String>;

/// The number of groups.
pub(super) fn count_groups(expr: &Expr) -> usize {
    usize::from(matches!(expr, Expr::Group(_))) + expr.children_iter().map(count_groups).sum::<usize>()
}

/// The groups that backreferences name, from 0.
pub(super) fn collect_referred(expr: &Expr, referred: &mut Vec<usize>) {
    if let Expr::Backref { group, .. } = expr {
        referred.extend(group.checked_sub(1));
    }
    expr.children_iter().for_each(|child| collect_referred(child, referred));
}

/// The minimum and the maximum number of characters that an expression matches.
pub(super) fn lengths(expr: &Expr) -> (usize, usize) {
    match expr {
        Expr::Any { .. } | Expr::Delegate { .. } => (1, 1),
        Expr::Literal { val, .. } => {
            let n = val.chars().count();
            (n, n)
        }
        Expr::Concat(parts) => parts
            .iter()
            .map(lengths)
            .fold((0, 0), |sum, part| (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1))),
        Expr::Alt(parts) => parts
            .iter()
            .map(lengths)
            .fold((usize::MAX, 0), |all, part| (all.0.min(part.0), all.1.max(part.1))),
        Expr::Group(inner) => lengths(inner),
        Expr::AtomicGroup(inner) => lengths(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (least, most) = lengths(child);
            (least.saturating_mul(*lo), most.saturating_mul(*hi))
        }
        Expr::Backref { .. } => (0, usize::MAX),
        _ => (0, 0),
    }
}

/// The characters that a leaf matches.
pub(super) fn class_of(leaf: &str, folded: bool) -> Outcome<ClassUnicode> {
    let parse = |leaf: &str| {
        let parsed = regex_syntax::ParserBuilder::new().case_insensitive(folded).build().parse(leaf);
        parsed.map_err(|error| error.to_string())
    };
    // Parses the original leaf first, so that errors show it and not its translation.
    parse(leaf)?;
    let hir = parse(&spell_out(leaf)?)?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class.clone()),
        HirKind::Class(Class::Bytes(class)) => {
            class.to_unicode_class().ok_or_else(|| format!("{leaf} names bytes that are not text"))
        }
        HirKind::Literal(literal) => {
            match std::str::from_utf8(&literal.0).map(|text| text.chars().collect::<Vec<_>>()) {
                Ok(chars) if chars.len() == 1 => {
                    Ok(ClassUnicode::new(chars.into_iter().map(|c| ClassUnicodeRange::new(c, c))))
                }
                _ => Err(format!("{leaf} is not one character")),
            }
        }
        _ => Err(format!("{leaf} is not one character")),
    }
}

/// Refuses assertions that the engine does not support.
pub(super) fn check_assertion(assertion: Assertion) -> Outcome {
    match assertion {
        Assertion::StartText
        | Assertion::EndText
        | Assertion::StartLine { crlf: false }
        | Assertion::EndLine { crlf: false }
        | Assertion::WordBoundary
        | Assertion::NotWordBoundary => Ok(()),
        other => Err(format!("{other:?} is not supported; write it with look-around")),
    }
}
