//! One integration binary.

#[cfg(test)]
mod pre_tokenizer;
