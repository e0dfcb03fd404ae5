//! Throughput.

fn main() {}
