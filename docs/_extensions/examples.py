"""How the gallery takes the examples: where they draw, and which of them can be run."""

import re
import tempfile
from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

from nnpu.data import DATASETS, load
from nnpu.parameters import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"
# An example writes its pictures into the folder that is its first argument.
PICTURES = Path(tempfile.mkdtemp(prefix="nnpu-gallery-"))


def arguments(gallery_conf, script_vars):
    """Return the arguments that an example is run with."""
    return [str(PICTURES)]


def take_pictures(block, block_vars, gallery_conf):
    """Move what a block has drawn to where its page looks for it."""
    moved = []
    for picture in sorted(PICTURES.glob("*.png")):
        target = next(block_vars["image_path_iterator"])
        Path(target).write_bytes(picture.read_bytes())
        picture.unlink()
        moved.append(target)
    return figure_rst(moved, gallery_conf["src_dir"])


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
            f"{' and '.join(missing)} was not there.\n\n{source[0]}"
        )


def setup(app):
    """Register the note."""
    app.connect("source-read", say_what_was_not_run)
    return {"parallel_read_safe": True}
