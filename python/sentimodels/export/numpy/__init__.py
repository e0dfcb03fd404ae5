"""Classifiers that answer without PyTorch: weights, vocabulary, and a reader for numpy and sentitok.

`folder.py` writes and checks a folder; `classifier.py` is the reader, which is copied into it. The reader is
part of the folder, not of the package sentitok: sentitok has nothing to do with classifiers, the folder was
checked with this very reader, and its owner can read and change it.
"""
