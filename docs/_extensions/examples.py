"""Which of the gallery's examples can be run, and what the others show instead."""

import re
from pathlib import Path

from nnpu.parameters import InputError
from nnpu_paper import DATASETS, load

EXAMPLES = Path(__file__).parents[2] / "examples"


def is_there(dataset):
    """Say whether a data set can be had without a download."""
    try:
        load(dataset, download=False)
    except InputError:
        return False
    return True


def lacking():
    """Return the examples that load a data set that is not there, each with what it lacks."""
    found = {}
    for example in sorted(EXAMPLES.glob("plot_*.py")):
        loaded = re.findall(r'load\(\s*"(\w+)"', example.read_text(encoding="utf-8"))
        missing = [name for name in DATASETS if name in loaded and not is_there(name)]
        if missing:
            found[example.stem] = missing
    return found


NOT_RUN = lacking()


def say_what_was_not_run(app, docname, source):
    """Put a note on the page of an example that was not run."""
    missing = NOT_RUN.get(docname.removeprefix("gallery/"))
    if missing:
        source[0] = (
            ".. note:: This example was not run when the site was built: the data set "
            f"{' and '.join(missing)} was not there. Its picture was drawn earlier.\n\n"
            f".. image:: /images/{docname.removeprefix('gallery/plot_')}.png\n"
            f"   :alt: What the example draws\n\n{source[0]}"
        )


def setup(app):
    """Register the note."""
    app.connect("source-read", say_what_was_not_run)
    return {"parallel_read_safe": True}
