"""``make light``: a pytest plugin for an environment without torch.

The torch rooms are listed here and nowhere else: modules and tests that torch is the subject of.
Everything else must import, and must not be skipped.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Files and folders that need torch, from the root of the repository.
TORCH_ROOMS = (
    # the library
    "src/nnpu/ambient.py",
    "src/nnpu/data/moments.py",
    "src/nnpu/estimators/_image_network.py",
    "src/nnpu/estimators/_image_rows.py",
    "src/nnpu/estimators/_image_stages.py",
    "src/nnpu/estimators/_own_module.py",
    "src/nnpu/estimators/_weights.py",
    "src/nnpu/estimators/images.py",
    "src/nnpu/estimators/network.py",
    "src/nnpu/losses.py",
    "src/nnpu/models.py",
    "src/nnpu/objective.py",
    "src/nnpu/risk",
    "src/nnpu/table/epoch_risk.py",
    "src/nnpu/training",
    # their tests, those that compare with them, and those whose model is a network
    "tests/cli/test_bad_files.py",
    "tests/cli/test_faults.py",
    "tests/cli/test_no_loss.py",
    "tests/cli/test_report.py",
    "tests/cli/test_report_browser.py",
    "tests/cli/test_table_commands.py",
    "tests/data/test_parquet.py",
    "tests/data/test_rows.py",
    "tests/estimators/test_ambient.py",
    "tests/estimators/test_check_estimator.py",
    "tests/estimators/test_classifier.py",
    "tests/estimators/test_collapse.py",
    "tests/estimators/test_concurrency.py",
    "tests/estimators/test_hostile.py",
    "tests/estimators/test_images.py",
    "tests/estimators/test_kinds.py",
    "tests/estimators/test_known_negatives.py",
    "tests/estimators/test_offset.py",
    "tests/estimators/test_on_disk.py",
    "tests/estimators/test_probabilities.py",
    "tests/estimators/test_selection.py",
    "tests/estimators/test_storage.py",
    "tests/report/test_every_classifier.py",
    "tests/table/test_image_tables.py",
    "tests/test_bad_input.py",
    "tests/test_boosting.py",
    "tests/test_convex.py",
    "tests/test_export.py",
    "tests/test_losses.py",
    "tests/test_models.py",
    "tests/test_network.py",
    "tests/test_nothing_lost.py",
    "tests/test_objective.py",
    "tests/test_properties.py",
    "tests/test_repeatable.py",
    "tests/test_risk.py",
    "tests/test_silent_answers.py",
    "tests/test_unlabelled.py",
    "tests/theory/test_estimation.py",
    "tests/training",
)

# Single tests and examples in files that do without torch otherwise; a parametrised test's
# cases are named one by one.
TORCH_TESTS = frozenset(
    {
        "test_frames_tensors_and_networks_are_taken",
        "test_images_have_no_groups",
        "test_tensors_and_arrays_agree",
        "test_there_are_at_most_16_parameters_and_they_share_names_with_the_network",
    }
)

# scikit-learn's own checks skip what needs a package that we do not use.
OTHERS_SKIPS = ("SCIPY_ARRAY_API",)


def pytest_configure(config: pytest.Config) -> None:
    if importlib.util.find_spec("torch") is not None:
        raise pytest.UsageError("make light is for an environment without torch; this one has it.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    inside = collection_path.relative_to(config.rootpath).as_posix()
    return True if inside in TORCH_ROOMS else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    with_torch = [item for item in items if item.name in TORCH_TESTS]
    config.hook.pytest_deselected(items=with_torch)
    items[:] = [item for item in items if item.name not in TORCH_TESTS]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    return _no_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    return _no_skip((yield))


def _no_skip(report: Any) -> Any:
    """Make a failure of a skip, unless it is another package's."""
    if report.skipped and not any(reason in str(report.longrepr) for reason in OTHERS_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"Skipped in make light: {report.longrepr}"
    return report
