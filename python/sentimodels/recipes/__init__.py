"""What a run of each kind needs to say: which data it reads, what it trains, how it is judged."""
