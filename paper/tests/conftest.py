"""The settings of the library's suite: no network, an empty cache, the same examples each time."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "library_conftest", Path(__file__).parents[2] / "tests/conftest.py"
)
_library = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_library)

cache, files_below, full_disk = _library.cache, _library.files_below, _library.full_disk
