"""The same model as transformers writes it: names and shapes of tensors, and its settings.

One file for each layout, a row of `LAYOUTS` each; `folder.py` reads and writes the files.
"""
