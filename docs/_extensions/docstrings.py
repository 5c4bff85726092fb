"""From docstrings as they are read in the code to what Sphinx expects."""

import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path

NAME = re.compile(r"(?<![`:\w\\])`([^`<>]+)`(?!`)")
DOCS = Path(__file__).parents[1]
PAGE = re.compile(r"(?:``)?docs/(?:lab/)?(\w+)\.md(?:``)?")
LITERAL = re.compile(r"(``.+?``|:\w[\w:]*:`.+?`)")


MODULES = {
    name: importlib.import_module(name)
    for name in re.findall(r"^   (nnpu[\w.]*)$", (DOCS / "reference.md").read_text("utf-8"), re.M)
}


def offered(module):
    """Return what a module offers, by name, other modules left out."""
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


def homes():
    """Return where each class and function stands: ``"Loss": "nnpu.losses.Loss"``.

    A name belongs to the first module of the reference that offers it.
    """
    found = {name: name for name in MODULES}
    for module in MODULES.values():
        for name, value in offered(module).items():
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(name, f"{module.__name__}.{name}")
    return found


def data():
    """Return the tables, tuples and objects that each module offers, and what is in them."""
    return {
        module.__name__: {
            name: ", ".join(map(str, value)) if isinstance(value, Mapping | tuple) else repr(value)
            for name, value in offered(module).items()
            if not (inspect.isclass(value) or inspect.isfunction(value))
        }
        for module in MODULES.values()
    }


HOMES = homes()


def as_link(match):
    """Make a name in backticks a link if it has a page, and code otherwise."""
    name = match[1]
    home = HOMES.get(name) or HOMES.get(name.rpartition(".")[2] if "nnpu." in name else None)
    return f":py:obj:`{name} <{home}>`" if home else f"``{name}``"


def page_link(match):
    """Make the name of a page a link, in whichever of the two books it is."""
    path = match[1] if (DOCS / f"{match[1]}.md").exists() else f"lab/{match[1]}"
    return f":doc:`/{path}`"


def prepare(app, what, name, obj, options, lines):
    """Turn names and pages into links; keep |x| from being read as a substitution."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            line = PAGE.sub(page_link, NAME.sub(as_link, line))
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app):
    """Work on what numpydoc has made of a docstring."""
    app.connect("autodoc-process-docstring", prepare, priority=600)
    return {"parallel_read_safe": True}
