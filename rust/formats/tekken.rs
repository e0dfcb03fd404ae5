//! `tekken.json` of Mistral: ranks, pattern and special tokens in one file.
//!
//! The first `default_num_special_tokens` ids are special tokens; unnamed ones are called
//! `<SPECIAL_i>`. The token of rank r has the id r plus their number. Entries with ranks from
//! `default_vocab_size - default_num_special_tokens` on are in the file but not in the tokenizer.
//!
//! Source: mistral-common 1.13, `tokens/tokenizers/tekken.py`.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tiktoken;
use super::tokenizer_json::entries::Place;
use super::tokenizer_json::node::Node;
use crate::error::{Error, Result};
use crate::memory;
use crate::models::bpe::{Bpe, BpeOptions, MergeOrder};
use crate::pipeline::Pipeline;
use crate::text::byte_level;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Template;
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::{TokenId, Vocab};

/// The format's name in messages.
const NAME: &str = "tekken.json";

/// The maximum number of special tokens. Mistral's files have 1,000.
const MAX_SPECIALS: usize = 100_000;

/// The version that is written. It names a chat format of mistral-common and does not affect ids.
const VERSION: &str = "v3";

/// The last version whose files may omit `special_tokens`, and the tokens that are then assumed.
const LAST_WITHOUT_SPECIALS: u32 = 7;
#[rustfmt::skip]
const UNNAMED_SPECIALS: [&str; 20] = [
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]",
    "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
];

/// Whether a JSON object, or the beginning of one, is a tekken.json. Decided by the first key that
/// occurs in only one of tekken.json and tokenizer.json.
pub(super) fn is_tekken(bytes: &[u8]) -> bool {
    struct Keys<'a>(&'a mut bool);
    impl<'de> Visitor<'de> for Keys<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                match &*key {
                    "config" | "vocab" | "special_tokens" => {
                        *self.0 = true;
                        break;
                    }
                    "model" | "added_tokens" | "pre_tokenizer" => break,
                    _ => map.next_value::<IgnoredAny>().map(drop)?,
                }
            }
            Ok(())
        }
    }
    let mut is_tekken = false;
    // Stops with an error at the deciding key or at the end of the bytes, so the result is ignored.
    drop(serde_json::Deserializer::from_slice(bytes).deserialize_map(Keys(&mut is_tekken)));
    is_tekken
}

/// The parts of a file that decide ids.
#[derive(Default)]
struct File<'a> {
    config: Option<Value>,
    vocab: Option<Vec<Entry<'a>>>,
    special_tokens: Option<Value>,
}

/// A token.
#[derive(Deserialize)]
struct Entry<'a> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
}

/// Deserializes the object and tracks the position for errors.
struct FileSeed<'p>(&'p Place);

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = File<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut file = File::default();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            self.0.set(&format!("$.{key}"));
            match &*key {
                "config" => file.config = Some(map.next_value()?),
                "vocab" => file.vocab = Some(map.next_value_seed(EntriesSeed(self.0))?),
                "special_tokens" => file.special_tokens = Some(map.next_value()?),
                _ => map.next_value::<IgnoredAny>().map(drop)?,
            }
            self.0.set("$");
        }
        Ok(file)
    }
}

struct EntriesSeed<'p>(&'p Place);

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = Vec<Entry<'de>>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = Vec<Entry<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of tokens")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        self.0.at(0);
        while let Some(entry) = seq.next_element()? {
            memory::push(&mut entries, entry).map_err(A::Error::custom)?;
            self.0.at(entries.len());
        }
        Ok(entries)
    }
}

/// Reads a file.
///
/// # Errors
/// [`Error::Format`], which names the wrong field.
pub(super) fn read(text: &str) -> Result<Parts> {
    let place = Place::default();
    place.set("$");
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let file = deserializer
        .deserialize_map(FileSeed(&place))
        .and_then(|file| deserializer.end().map(|()| file))
        .map_err(|error| place.error(&error))?;
    let missing = |field: &str| {
        Error::format(
            format!("$.{field}"),
            format!("the field is missing; a {NAME} of Mistral has config, vocab and special_tokens"),
        )
    };
    let config = file.config.ok_or_else(|| missing("config"))?;
    let config = Node::top("config", &config);
    let entries = file.vocab.ok_or_else(|| missing("vocab"))?;
    let pattern = config.require("pattern")?;
    let pre_tokenizer =
        tiktoken::of_pattern(pattern.str()?).map_err(|error| pattern.error(error.to_string()))?;
    let n_specials = config.require("default_num_special_tokens")?;
    let n = n_specials.u32()? as usize;
    if n > MAX_SPECIALS {
        return Err(n_specials.error(format!("{n} special tokens; at most {MAX_SPECIALS} are read")));
    }
    let size = config.require("default_vocab_size")?;
    let Some(n_ranks) = (size.u32()? as usize).checked_sub(n) else {
        return Err(size.error(format!("{} is less than the {n} special tokens", size.u32()?)));
    };
    if n_ranks > entries.len() {
        return Err(size.error(format!(
            "{} ids, less {n} special tokens, are {n_ranks} ranks, and $.vocab has {}; give at most {}",
            size.u32()?,
            entries.len(),
            entries.len() + n
        )));
    }
    let named = match file.special_tokens.as_ref().filter(|value| !value.is_null()) {
        Some(value) => named_specials(&Node::top("special_tokens", value))?,
        None => unnamed_specials(&config)?,
    };
    if named.len() > n {
        return Err(n_specials
            .error(format!("{n}, and there are {} special tokens; give at least that", named.len())));
    }
    let fillers = (named.len()..n).map(|i| format!("<SPECIAL_{i}>"));
    let added = named.into_iter().chain(fillers).zip(0..);
    Ok(Parts {
        pipeline: Pipeline::new(pre_tokenizer),
        model: std::sync::Arc::new(
            Bpe::new(ranks(&entries[..n_ranks], n)?, MergeOrder::Ranks, BpeOptions::default())?.into(),
        ),
        added: added.map(|(content, id)| AddedToken::special(content, id)).collect(),
        template: Template::default(),
        decoder: Decoder::Bytes,
        defaults: CallDefaults::default(),
    })
}

/// The vocabulary of entries whose ids begin at `first`.
fn ranks(entries: &[Entry<'_>], first: usize) -> Result<Vocab> {
    let (mut slab, mut ends) = (memory::reserved(entries.len() * 8)?, memory::reserved(entries.len())?);
    for (rank, entry) in entries.iter().enumerate() {
        let wrong = |field: &str, reason: String| Error::format(format!("$.vocab[{rank}].{field}"), reason);
        if entry.rank != rank as u64 {
            return Err(wrong("rank", format!("{} in the place of {rank}; ranks are in order", entry.rank)));
        }
        let start = slab.len();
        STANDARD.decode_vec(entry.token_bytes.as_bytes(), &mut slab).map_err(|error| {
            wrong("token_bytes", format!("{:?} is not base64: {error}", entry.token_bytes))
        })?;
        if slab.len() == start {
            return Err(wrong("token_bytes", "a token without bytes".into()));
        }
        ends.push(slab.len());
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let tokens = starts.zip(&ends).map(|(start, &end)| &slab[start..end]);
    let vocab = Vocab::from_pairs(tokens.zip(first as TokenId..).collect()).map_err(|error| match error {
        Error::Format { reason, .. } => Error::format("$.vocab", reason),
        other => other,
    })?;
    tiktoken::has_all_bytes(&vocab, "$.vocab")?;
    Ok(vocab)
}

/// The special tokens that a file names; they must be in order of rank.
fn named_specials(list: &Node<'_>) -> Result<Vec<String>> {
    let name = |(at, token): (usize, Node<'_>)| {
        let rank = token.require("rank")?;
        if rank.u32()? as usize != at {
            return Err(rank.error(format!("{} in the place of {at}; ranks are in order", rank.u32()?)));
        }
        let text = token.require("token_str")?;
        match text.str()? {
            "" => Err(text.error("a special token without text")),
            content => Ok(content.to_owned()),
        }
    };
    list.elements()?.into_iter().enumerate().map(name).collect()
}

/// The special tokens of a file that names none.
fn unnamed_specials(config: &Node<'_>) -> Result<Vec<String>> {
    let version = config.require("version")?;
    let number = version.str()?.strip_prefix('v').and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(0..=LAST_WITHOUT_SPECIALS) => Ok(UNNAMED_SPECIALS.map(str::to_owned).into()),
        _ => Err(version.error(format!(
            "{:?}: special_tokens is missing, and only versions v1 to v{LAST_WITHOUT_SPECIALS} say what they are \
             without it; add the special tokens to the file",
            version.str()?
        ))),
    }
}

#[derive(Serialize)]
struct WrittenFile<'a> {
    config: WrittenConfig<'a>,
    vocab: Vec<WrittenToken<'a>>,
    special_tokens: Vec<WrittenSpecial<'a>>,
}

#[derive(Serialize)]
struct WrittenConfig<'a> {
    pattern: &'a str,
    num_vocab_tokens: usize,
    default_vocab_size: usize,
    default_num_special_tokens: usize,
    version: &'static str,
}

#[derive(Serialize)]
struct WrittenToken<'a> {
    rank: usize,
    token_bytes: String,
    token_str: Option<&'a str>,
}

#[derive(Serialize)]
struct WrittenSpecial<'a> {
    rank: usize,
    token_str: &'a str,
    is_control: bool,
}

/// A file, and the list of what it cannot store.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    pub(super) left_out: Vec<String>,
}

/// Writes a tokenizer.
///
/// # Errors
/// [`Error::NotRepresentable`] if the file would give different ids.
pub(super) fn write(tokenizer: &Tokenizer) -> Result<Written> {
    let refuse = |reason: String| Err(Error::NotRepresentable { format: NAME, reason });
    let vocab = tiktoken::ranks(tokenizer, NAME)?;
    let added = tokenizer.added_tokens();
    let n = added.len();
    if n > MAX_SPECIALS {
        return refuse(format!("it has {n} added tokens; at most {MAX_SPECIALS} are read"));
    }
    if let Some((place, token)) = added.iter().enumerate().find(|(place, token)| token.id as usize != *place)
    {
        return refuse(format!(
            "its special tokens have the first ids, without a gap, and {:?} has the id {}, not {place}",
            token.content, token.id
        ));
    }
    if let Some(token) = added.iter().find(|token| !token.special) {
        return refuse(format!(
            "the added token {:?} is not special, as all of them are there",
            token.content
        ));
    }
    let Some(pattern) = tokenizer.pipeline().pre_tokenizer.pattern() else {
        return refuse(format!(
            "its pre-tokenizer ({}) is not one pattern",
            tokenizer.pipeline().pre_tokenizer.name()
        ));
    };
    let mut tokens = Vec::with_capacity(vocab.len());
    for (rank, (id, bytes)) in vocab.iter().enumerate() {
        if id as usize != n + rank {
            return refuse(format!(
                "ids continue behind the {n} special tokens without a gap there, and {} is not a token",
                n + rank
            ));
        }
        if rank < 256 && bytes != [rank as u8] {
            return refuse(format!(
                "its first tokens are the 256 bytes in order, and the id {id} is {:?}, not the byte 0x{rank:02X}",
                byte_level::to_chars(bytes)
            ));
        }
        let token_bytes = STANDARD.encode(bytes);
        tokens.push(WrittenToken { rank, token_bytes, token_str: std::str::from_utf8(bytes).ok() });
    }
    let mut left_out = vec![format!(
        "config.version, the chat format of mistral-common, is not known here and written as {VERSION}: change it if \
         the model speaks another"
    )];
    let with_rules: Vec<_> =
        added.iter().filter(|token| token.single_word || token.lstrip || token.rstrip).collect();
    if let Some(token) = with_rules.first() {
        left_out.push(format!(
            "the rules of {} special token(s), such as {:?}, are left out (single_word, lstrip, rstrip)",
            with_rules.len(),
            token.content
        ));
    }
    if *tokenizer.template() != Template::default() {
        left_out.push("the special tokens around a text are left out".into());
    }
    let file = WrittenFile {
        config: WrittenConfig {
            pattern,
            num_vocab_tokens: tokens.len(),
            default_vocab_size: n + tokens.len(),
            default_num_special_tokens: n,
            version: VERSION,
        },
        vocab: tokens,
        special_tokens: added
            .iter()
            .enumerate()
            .map(|(rank, token)| WrittenSpecial { rank, token_str: &token.content, is_control: true })
            .collect(),
    };
    let mut bytes = serde_json::to_vec_pretty(&file).map_err(|error| Error::Internal(error.to_string()))?;
    bytes.push(b'\n');
    Ok(Written { bytes, left_out })
}
