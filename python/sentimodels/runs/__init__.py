"""A run from its configuration to its directory: tables, training, seeds, ensembles, reports."""
