"""What one step of training is made of: losses, optimisers, rates, averages, saved state.

Not for the loop (`trainer.py`). None of these knows an architecture.
"""
