"""`python -m sentimodels.cli` is `senti`."""

from . import main

main()
