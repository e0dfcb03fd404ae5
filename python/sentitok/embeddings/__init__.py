"""Embeddings of a model under another tokenizer: `transplant`."""

from .methods import METHODS
from .transplanting import NewTensor, Transplant, transplant

__all__ = ["METHODS", "NewTensor", "Transplant", "transplant"]
