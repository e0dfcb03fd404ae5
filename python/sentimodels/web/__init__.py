"""What runs answer on the page: probabilities, effects of tokens, continued texts."""

from .models import load_models
from .routes import routes

__all__ = ["load_models", "routes"]
