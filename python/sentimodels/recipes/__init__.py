"""A recipe for each kind of run: which data it reads, what it trains, how it is judged."""
