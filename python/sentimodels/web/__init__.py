"""What runs answer on the page: probabilities, effects of tokens, texts that go on."""

from .models import load_models
from .routes import routes

__all__ = ["load_models", "routes"]
