//! One integration binary.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod pre_tokenizer;
#[cfg(test)]
mod word_counts;
