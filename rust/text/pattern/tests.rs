//! Compares the engines with `regex-automata` and `fancy-regex`, and runs them on texts made to
//! take long.

use proptest::prelude::*;

use super::linear::Linear;
use super::program::Program;
use super::{Pattern, StepBudget, Stop, backtrack};
use crate::error::Error;

/// Patterns over `a`, `b` and `é`, optionally with look-around.
fn patterns(looks_around: bool) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "[abé]",
        1 => Just(".".to_owned()),
        1 => Just("[ab]".to_owned()),
        1 => Just("[^a]".to_owned()),
        1 => Just("(?i:A)".to_owned()),
        1 => Just("(?i:ÉB)".to_owned()),
        1 => Just(String::new()),
        1 => Just(r"\A".to_owned()),
        1 => Just(r"(?m:$)".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        let several = prop::collection::vec(inner.clone(), 2..4);
        let plain = prop_oneof![
            several.clone().prop_map(|parts| parts.concat()),
            several.prop_map(|parts| format!("(?:{})", parts.join("|"))),
            // Not repeated: expressions that may be empty, because engines repeat them differently.
            ("[abé]", inner.clone(), r"[*+?]\??|\{1,2\}\??|\{2\}|\{1,\}")
                .prop_map(|(c, part, times)| format!("(?:{part}{c}){times}")),
        ];
        if !looks_around {
            return plain.boxed();
        }
        prop_oneof![
            3 => plain,
            1 => inner.clone().prop_map(|part| format!("(?={part})")),
            1 => inner.clone().prop_map(|part| format!("(?!{part})")),
            1 => inner.clone().prop_map(|part| format!("(?>{part})")),
            1 => "[abé]{0,3}".prop_map(|part| format!("(?<={part})")),
            1 => "[abé]{0,3}".prop_map(|part| format!("(?<!{part})")),
            1 => inner.clone().prop_map(|part| format!(r"({part})(?:a|\1)")),
            1 => Just(r"\b".to_owned()),
            1 => Just(r"\B".to_owned()),
        ]
        .boxed()
    })
}

/// The matches of a pattern; `None` if it gives up.
fn matches_of(
    walk: impl FnOnce(&mut dyn FnMut(std::ops::Range<usize>)) -> Result<Result<(), Error>, Stop>,
) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    match walk(&mut |range| found.push((range.start, range.end))) {
        Ok(Ok(())) => Some(found),
        Err(Stop::TooMuch) => None,
        Ok(Err(error)) => panic!("{error}"),
        Err(Stop::Engine(reason)) => panic!("{reason}"),
    }
}

fn linear(pattern: &str, text: &str) -> Option<Vec<(usize, usize)>> {
    let linear = Linear::new(pattern).unwrap();
    matches_of(|f| {
        linear.for_each_match(text, &StepBudget::of(text.len()), |found| {
            f(found);
            Ok(())
        })
    })
}

fn backtracking(program: &Program, text: &str) -> Option<Vec<(usize, usize)>> {
    matches_of(|f| {
        backtrack::for_each_match(program, text, &StepBudget::of(text.len()), |found| {
            f(found);
            Ok(())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn linear_engine_agrees_with_regex_automata(pattern in patterns(false), text in "[abéB\n]{0,12}") {
        let expected: Vec<_> = regex_automata::meta::Regex::new(&pattern)
            .unwrap()
            .find_iter(&text)
            .map(|found| (found.start(), found.end()))
            .collect();
        prop_assert_eq!(linear(&pattern, &text), Some(expected), "{}", pattern);
    }

    #[test]
    fn backtracking_engine_agrees_with_fancy_regex(pattern in patterns(true), text in "[abéB\n]{0,12}") {
        // fancy-regex refuses to repeat empty expressions.
        let Ok(regex) = fancy_regex::Regex::new(&pattern) else { return Ok(()) };
        let program = Program::new(&pattern).unwrap();
        let expected: Result<Vec<_>, _> =
            regex.find_iter(&text).map(|found| found.map(|found| (found.start(), found.end()))).collect();
        prop_assert_eq!(backtracking(&program, &text), Some(expected.unwrap()), "{}", pattern);
    }

    #[test]
    fn both_engines_agree(pattern in patterns(false), text in "[abéB\n]{0,12}") {
        let Ok(program) = Program::new(&pattern) else { return Ok(()) };
        prop_assert_eq!(linear(&pattern, &text), backtracking(&program, &text), "{}", pattern);
    }
}

/// Patterns that read far beyond each match, on texts long enough that counting begins.
#[test]
fn repeated_reading_is_linear_or_an_error() {
    for (pattern, unit, expected) in [
        ("a*b|a", "a", Some(1)),
        ("(?:aa)*b|a", "a", Some(1)),
        ("a*?b|a|c", "aaac", Some(1)),
        ("é*b|é", "é", Some(1)),
        ("(?:a{100})*b|a", "a", None),
        ("[ab]*c|[ab]", "ab", Some(1)),
        ("x", "a", Some(0)),
    ] {
        for n in [1000, 20_000, 100_000] {
            let text = unit.repeat(n / unit.len());
            // The engine counts its steps, so whatever it finds takes linear time.
            let found = linear(pattern, &text);
            match (&found, expected) {
                (Some(found), Some(0)) => assert!(found.is_empty()),
                (Some(found), _) => assert_eq!(found.len(), text.chars().count(), "{pattern} on {n}"),
                (None, expected) => assert!(expected.is_none() && n > 1000, "{pattern} on {n}"),
            }
        }
    }
}

#[test]
fn runaway_patterns_end_in_an_error() {
    let long = "a".repeat(100_000);
    for (pattern, text) in [
        (r"(?=a*a*a*a*a*b)x", &long[..]),
        (r"(?>a+)+b", &long),
        (r"(?:a|a)*(?!\w)b", &long[..40]),
        (r"(?=(a+)+c)x", &long[..100]),
        (r"(?<=a*b)c", &long),
        (r"(?=.*b)a", &long),
        (r"(a*)\1b(?=x)", &long[..5000]),
        (r"(?:(?=a*)a)*?(?<!a)c", &long),
    ] {
        let found = Pattern::new(pattern, true).unwrap().for_each_match(
            text,
            &StepBudget::of(text.len()),
            |_| Ok(()),
        );
        let error: Error = found.unwrap_err();
        assert!(error.to_string().contains("steps"), "{pattern}: {error}");
    }
    // Real patterns stay far below the budget.
    for pattern in [r"\s+(?!\S)|\s+", r"(?=\w)\w+(?<=a)", r"\b\w+\b|\W"] {
        for text in ["a ".repeat(100_000), " ".repeat(100_000), "a".repeat(200_000)] {
            let found: Result<(), Error> = Pattern::new(pattern, true).unwrap().for_each_match(
                &text,
                &StepBudget::of(text.len()),
                |_| Ok(()),
            );
            found.unwrap();
        }
    }
}

#[test]
fn size_of_compiled_patterns_is_bounded() {
    for pattern in [
        r"(?:(?:(?:a|b){1000}){1000}){1000}",
        r"(?:){1000000000}",
        r"(?:(?:){100000}){100000}",
        r"[\w-é]{30000}",
        &r"\w\d".repeat(500),
        &"(?:a|bc)".repeat(8000),
    ] {
        for look_around in [false, true] {
            // An empty expression needs no memory; all further ones are refused.
            if let Err(error) = Pattern::new(pattern, look_around) {
                assert!(error.to_string().len() < 2000, "{}", error.to_string().len());
            }
        }
    }
}
