"""``python -m nnpu_paper`` is ``nnpu-paper``."""

from nnpu_paper.cli import main

if __name__ == "__main__":
    main()
