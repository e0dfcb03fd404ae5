"""Figures: what all of them look like (`canvas.py`), and those of tokenizers (`tokenizers.py`).

Not imported by `import sentitok`: they need matplotlib, which the extra `plot` installs.
"""
