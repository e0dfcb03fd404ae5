"""How any model is trained for any task: the loop, optimisers, rates, averages, saved state, processes.

None of these knows an architecture or a task: `trainer.py` says what the loop asks of one.
"""
