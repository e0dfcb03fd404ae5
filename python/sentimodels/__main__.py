"""`python -m sentimodels` is `senti`; so `torchrun -m sentimodels train FILE` trains in several processes."""

from .cli import main

main()
