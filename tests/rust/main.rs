//! One integration binary.

// Helpers of tests are tests too; clippy exempts only functions marked so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus;
mod word_counts;
