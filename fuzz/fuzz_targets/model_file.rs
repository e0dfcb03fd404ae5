//! SentencePiece's `.model`: any bytes end in an error or in a tokenizer that
//! encodes, and that is read back from the file it is written to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sentitok::formats::{sentencepiece, sentencepiece_tokenizer};
use sentitok::{EncodeOptions, Tokenizer};

fuzz_target!(|data: &[u8]| {
    if let Ok(file) = sentencepiece::read(data) {
        assert_eq!(sentencepiece::read(&file.write()).ok(), Some(file));
    }
    let Ok(parts) = sentencepiece_tokenizer::read(data) else { return };
    let Ok(tokenizer) = Tokenizer::new(parts) else { return };
    for text in [&b"the \xE2\x96\x81 text \xFF <s>"[..], data.get(..200).unwrap_or(data)] {
        if let Ok(encoding) = tokenizer.encode(text, EncodeOptions::default()) {
            let text = tokenizer.decode(&encoding.ids, false);
            assert!(text.is_ok(), "ids of ours are known");
        }
    }
    if let Ok(written) = sentencepiece_tokenizer::write(&tokenizer) {
        let parts = sentencepiece_tokenizer::read(&written.bytes).expect("the written file is read");
        let back = Tokenizer::new(parts).expect("and is a tokenizer");
        assert_eq!(back.vocab_size(), tokenizer.vocab_size());
    }
});
