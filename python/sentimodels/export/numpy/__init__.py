"""Classifiers that answer without PyTorch: weights, vocabulary, and a reader for numpy and sentitok.

`folder.py` writes and checks a folder; `classifier.py` is the reader, which is copied into it. The reader is
part of the folder, not of the package sentitok, so that a folder keeps answering as it did when it was
checked, whichever version of sentitok is installed later, and can be read and changed by its owner.
"""
