"""Heads: from the states of a backbone (B, T, D) to what a task needs.

One file a head; none knows ids, texts, losses over labels or a backbone's make.
"""
