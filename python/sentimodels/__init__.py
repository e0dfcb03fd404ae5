"""Classifiers and language models on top of `sentitok`; the extra `models` installs what they need.

This version of the package holds the name and the command `senti`, no models.
"""
