"""Classifiers as ONNX graphs, with all that turns texts into their inputs.

`folder.py` writes and checks a folder, `graph.py` makes of a model what ONNX can hold, `reader.py` turns
texts into inputs and logits into answers, without torch.
"""

from .reader import OnnxReader

__all__ = ["OnnxReader"]
