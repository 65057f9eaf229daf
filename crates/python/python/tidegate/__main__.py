"""`python -m tidegate`: the command line."""

from . import main

main()
