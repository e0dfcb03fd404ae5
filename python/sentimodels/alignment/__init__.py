"""Trains language models on a reward or on preferences, and scores their answers.

It builds on language models, which it trains, and classifiers, whose answers are rewards. Losses are in
`alignment/ppo_loss.py` and `alignment/dpo.py`.
"""
