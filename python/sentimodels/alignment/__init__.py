"""Language models that follow a reward or preferences: what they are trained on, and what they are worth.

It stands above language models, which it trains, and classifiers, whose answers are rewards. Losses are
`alignment/ppo_loss.py` and `alignment/dpo.py`.
"""
