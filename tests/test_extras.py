"""Packages that may be missing: found, asked for, or named in one line."""

from __future__ import annotations

import sys

import pytest

from nnpu.extras import MissingExtraError, find_lightgbm, need_lightgbm


def test_without_lightgbm_none_is_found_and_who_needs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert find_lightgbm() is None
    with pytest.raises(MissingExtraError, match="BoostedPU needs LightGBM"):
        need_lightgbm("BoostedPU")
