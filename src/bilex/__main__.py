"""``python -m bilex`` is the command line."""

from bilex.cli import main

main()
