"""Slow, obvious definitions that the fast paths are held against: the specification."""
