//! Whether a pattern matches at the edges of a text alone, as `\A +| +\z` does.
//!
//! Such a pattern needs no search from place to place: a match begins where the text does, or
//! it ends where the text ends, and is found from there.

use regex_syntax::hir::{Hir, HirKind, Look};

/// Whether each match begins where a text does or ends where it does, seen from what stands first
/// and last in each alternative.
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
    fn only_what_is_bound_to_an_edge_is() {
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
