"""A run from its configuration to its directory: tables, training, seeds, ensembles, reports.

Not for the loop (`training/trainer.py`) nor for printing (`cli/`).
"""
