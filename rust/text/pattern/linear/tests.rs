//! One search and another find the same, and neither reads without bound.

use proptest::prelude::*;

use super::*;

/// The matches of one search, by places or as they are counted; `None` where it gives up.
fn matches(
    linear: &Linear,
    text: &str,
    free: usize,
    budget: Option<&StepBudget>,
) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    linear.dfas.with_caches(|caches| {
        let mut search = Search::new(&linear.dfas, caches, text, budget);
        search.free = free;
        let done = search.run(&mut |range| -> Result<(), ()> {
            found.push(range);
            Ok(())
        });
        matches!(done, Ok(Ok(true))).then_some(())
    })?;
    Some(found)
}

proptest! {
    #[test]
    fn place_by_place_the_same_is_found_as_in_one_search(
        pattern in r"(\\A|\\z|\(\?m\)\^|\(\?m\)\$| \{2,\}|[a-cé中]|\\w|\\s|[^\\w\\s]|\.|b\*|\||[a-b]\+|[é中]\{1,3\}|\(a\|bc\)\?){1,6}",
        text in "[ab cé中\n\r.]{0,40}",
    ) {
        let Ok(linear) = Linear::new(&pattern) else { return Ok(()) };
        let whole = matches(&unaware_of_edges(&pattern), &text, 0, Some(&StepBudget::of(1 << 20)));
        prop_assert_eq!(matches(&linear, &text, usize::MAX, None), whole.clone(), "{}", pattern);
        if linear.dfas.firsts.get().is_some_and(|firsts| !firsts.are_in(&text)) {
            prop_assert_eq!(whole, Some(vec![]), "{}", pattern);
        }
    }
}

/// A pattern that is looked for from place to place, wherever it matches.
fn unaware_of_edges(pattern: &str) -> Linear {
    let mut linear = Linear::new(pattern).unwrap();
    Arc::get_mut(&mut linear.dfas).unwrap().at_edges = false;
    linear
}

proptest! {
    #[test]
    fn at_the_edges_the_same_is_found_as_from_place_to_place(
        first in "(\\\\A)?(a|b\\*|a\\*\\?|[ab]\\+|\\[\\^ \\]\\+é|\\(a\\|ab\\)|)",
        last in "(\\[a \\]\\+|b\\*|b\\*\\?|é|\\(b\\|ab\\)|\\.\\*a|)\\\\z",
        order in any::<bool>(),
        text in "[ab é]{0,9}",
    ) {
        let pattern = if order { format!(r"\A{first}|{last}") } else { format!(r"{last}|\A{first}") };
        let Ok(linear) = Linear::new(&pattern) else { return Ok(()) };
        prop_assert!(linear.dfas.at_edges, "{}", pattern);
        let expected = matches(&unaware_of_edges(&pattern), &text, 0, Some(&StepBudget::of(1 << 20)));
        prop_assert_eq!(matches(&linear, &text, usize::MAX, None), expected.clone(), "{} {}", pattern, text);
        prop_assert_eq!(matches(&linear, &text, 0, Some(&StepBudget::of(1 << 20))), expected, "{}", pattern);
    }
}

#[test]
fn two_bytes_that_all_matches_begin_with_are_looked_for_together() {
    for (pattern, text, expected) in [
        (" {2,}", "a b  c   d ", vec![3..5, 6..9]),
        ("ab|abc", "aabcab", vec![1..3, 4..6]),
        ("(?m)a$", "ab a\nba", vec![3..4, 6..7]),
        ("é+", "éab\u{ea}éé", vec![0..2, 6..10]),
        ("aa", "aaaaa", vec![0..2, 2..4]),
    ] {
        let linear = Linear::new(pattern).unwrap();
        assert_eq!(matches(&linear, text, usize::MAX, None), Some(expected), "{pattern}");
    }
}

/// Places where matches begin in vain do not make a text read again and again.
#[test]
fn what_is_read_in_vain_is_bounded() {
    let linear = Linear::new(r"[a-z]+@| ").unwrap();
    let text = "a".repeat(1 << 16) + " ";
    let free = FREE_LOOKS * text.len() + FREE_BYTES;
    let end = text.len();
    let found = matches(&linear, &text, free, None).unwrap();
    assert!(found.iter().eq([&(end - 1..end)]), "{found:?}");
}

#[test]
fn as_many_caches_rest_as_there_are_processors() {
    let linear = Linear::new(r"\w+|\s+").unwrap();
    let search = || {
        let mut n = 0;
        let done = linear.for_each_match("one two", &StepBudget::of(7), |_| -> Result<(), ()> {
            n += 1;
            Ok(())
        });
        assert!(matches!(done, Ok(Ok(()))));
        assert_eq!(n, 3);
    };
    // Threads that live for one call, one after the other and at once.
    for _ in 0..20 {
        std::thread::scope(|scope| drop(scope.spawn(search)));
    }
    std::thread::scope(|scope| (0..20).for_each(|_| drop(scope.spawn(search))));
    let Dfas { pool, owner, .. } = &*linear.dfas;
    let n = std::iter::from_fn(|| pool.take(*owner)).count();
    assert!((1..=parallel::default_threads()).contains(&n), "{n}");
}
