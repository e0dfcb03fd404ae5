"""What runs answer on the page: probabilities, effects of tokens, texts that go on.

Not for the page, its tokens and its limits: those are `sentitok.web`'s, which knows no runs.
"""

from .models import load_models
from .routes import routes

__all__ = ["load_models", "routes"]
