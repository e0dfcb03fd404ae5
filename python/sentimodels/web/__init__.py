"""Answers of runs on the page: probabilities, effects of tokens, continued texts."""

from .models import is_classifier, load_models
from .routes import routes

__all__ = ["is_classifier", "load_models", "routes"]
