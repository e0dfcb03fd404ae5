//! Names of models and encodings, with the pre-tokenizer of each.
//!
//! Only for error messages: people type these names where the name of a pre-tokenizer or a file is
//! expected, and the message says what to type. For families whose models use different
//! pre-tokenizers the message points to their files.

use crate::text::spelling::{begins_with, did_you_mean};

use super::PreTokenizer;

/// The prefix of a name, in letters and digits, and the pre-tokenizer; `None` if the files say how
/// text is cut. The longest matching prefix counts.
static USERS: [(&str, Option<&str>); 34] = [
    ("p50k", Some("r50k")),
    ("codex", Some("r50k")),
    ("codedavinci", Some("r50k")),
    ("davinci", Some("r50k")),
    ("textdavinci", Some("r50k")),
    ("gpt3", Some("r50k")),
    ("gptj", Some("gpt2")),
    ("gptneo", Some("gpt2")),
    ("pythia", Some("gpt2")),
    ("roberta", Some("gpt2")),
    ("whisper", Some("gpt2")),
    ("gpt35", Some("cl100k")),
    ("gpt4", Some("cl100k")),
    ("textembedding", Some("cl100k")),
    ("llama3", Some("cl100k")),
    ("qwen", Some("cl100k-1digit")),
    ("gpt41", Some("o200k")),
    ("gpt45", Some("o200k")),
    ("gpt4o", Some("o200k")),
    ("gpt5", Some("o200k")),
    ("gptoss", Some("o200k")),
    ("chatgpt", Some("o200k")),
    ("o1", Some("o200k")),
    ("o3", Some("o200k")),
    ("o4mini", Some("o200k")),
    ("mistralnemo", Some("tekken")),
    ("distilbert", Some("bert")),
    ("electra", Some("bert")),
    ("llama", None),
    ("mistral", None),
    ("gemma", None),
    ("deepseek", None),
    ("t5", None),
    ("xlm", None),
];

/// The pre-tokenizer of the model or encoding with this name.
fn cut_by(name: &str) -> Option<Option<&'static str>> {
    let fits = USERS.iter().filter(|(user, _)| begins_with(name, user));
    fits.max_by_key(|(user, _)| user.len()).map(|(_, known)| *known)
}

/// A hint for an unknown name, to be appended to the message; may be empty.
pub(super) fn meant(name: &str) -> String {
    match cut_by(name) {
        Some(Some(known)) => format!(" (did you mean {known}? It cuts text as {name} does)"),
        Some(None) => {
            " (the files of its models say how text is cut: load its tokenizer.json or tokenizer.model)"
                .to_owned()
        }
        None => did_you_mean(name, PreTokenizer::names()),
    }
}

/// Whether this is, or begins like, the common name of a vocabulary.
pub(crate) fn is_vocabulary(name: &str) -> bool {
    const OTHERS: [&str; 6] = ["cl100k", "o200k", "r50k", "gpt2", "bert", "tekken"];
    cut_by(name).is_some() || OTHERS.iter().any(|known| begins_with(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_lead_to_pre_tokenizer_names() {
        for (name, expected) in [
            ("p50k_base", "did you mean r50k?"),
            ("p50k_edit", "did you mean r50k?"),
            ("r50k_base", "did you mean r50k?"),
            ("cl100k_base", "did you mean cl100k?"),
            ("o200k_base", "did you mean o200k?"),
            ("o200k_harmony", "did you mean o200k?"),
            ("llama3", "did you mean cl100k?"),
            ("Llama-3.1-8B", "did you mean cl100k?"),
            ("llama-2", "load its tokenizer.json or tokenizer.model"),
            ("gpt-4o-mini", "did you mean o200k?"),
            ("gpt-4-turbo", "did you mean cl100k?"),
            ("gpt-3.5-turbo", "did you mean cl100k?"),
            ("text-davinci-003", "did you mean r50k?"),
            ("Qwen2.5", "did you mean cl100k-1digit?"),
            ("gpt-2", "did you mean gpt2?"),
            ("whitspace", "did you mean whitespace?"),
        ] {
            let found = meant(name);
            assert!(found.contains(expected), "{name}: {found}");
        }
        assert_eq!((meant("zzz"), meant(&"gpt4".repeat(1000))), (String::new(), String::new()));
    }

    #[test]
    fn table_names_existing_pre_tokenizers() {
        for (user, known) in USERS {
            assert!(known.is_none_or(|known| PreTokenizer::from_name(known).is_ok()), "{user}");
            assert!(begins_with(user, user) && PreTokenizer::from_name(user).is_err(), "{user}");
            assert!(is_vocabulary(user));
        }
        assert!(is_vocabulary("cl100k_base") && !is_vocabulary("norun"));
    }
}
