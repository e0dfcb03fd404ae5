//! Whether a pattern only matches at the ends of a text, as `\A +| +\z` does. Such a pattern is
//! searched for only at the start and backward from the end.

use regex_syntax::hir::{Hir, HirKind, Look};

/// Whether every match begins at the start of a text or ends at its end, judged by the first and
/// last part of each alternative.
pub(super) fn are_all(hir: &Hir) -> bool {
    let is_at_edge = |branch: &Hir| {
        let looks = branch.properties();
        looks.look_set_prefix().contains(Look::Start) || looks.look_set_suffix().contains(Look::End)
    };
    match hir.kind() {
        HirKind::Alternation(branches) => branches.iter().all(is_at_edge),
        _ => is_at_edge(hir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_anchored_patterns_are_at_edges() {
        for (pattern, expected) in [
            (r"\A +| +\z", true),
            (r"^ +|[ ▁]+$", true),
            (r"\Aa|\Ab", true),
            (r"a*\z", true),
            (r"(?m)^ +| +$", false),
            (r"\A +| +", false),
            (r"\A?a", false),
            (r"(?:\A|a)b", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(are_all(&regex_syntax::parse(pattern).unwrap()), expected, "{pattern}");
        }
    }
}
