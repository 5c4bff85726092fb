"""``python -m nnpu`` is ``nnpu``."""

from nnpu.cli import main

main()
