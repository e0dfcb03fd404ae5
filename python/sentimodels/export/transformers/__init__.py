"""The same model as transformers writes it: its settings, and names and shapes of its tensors.

One file for each layout, a row of `LAYOUTS` each; `folder.py` reads and writes the files.
"""

from .bert import BERT
from .gpt2 import GPT_2
from .layout import Layout

__all__ = ["BERT", "GPT_2", "LAYOUTS", "Layout"]

LAYOUTS = (GPT_2, BERT)
