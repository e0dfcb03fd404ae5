"""The page: a text box, its tokens, and the JSON that the page asks for.

What answers more, such as the runs of `sentimodels`, brings its own models and routes. The extra `web`
installs what it needs (Starlette and uvicorn); the command line decides when anything listens.
"""

from .app import create_app
from .limits import Limits
from .models import Model, TokenizerModel, load_tokenizers, named
from .server import Application, bind, serve

__all__ = [
    "Application",
    "Limits",
    "Model",
    "TokenizerModel",
    "bind",
    "create_app",
    "load_tokenizers",
    "named",
    "serve",
]
