"""`python -m sentitok.cli` is `sentitok`."""

from . import main

main()
