"""What one step of training is made of: losses, optimisers, rates, averages, saved state.

None of these knows an architecture, and `trainer.py`, the loop, knows none either.
"""
