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
    "src/nnpu/torch_settings.py",
    "src/nnpu/estimators/network.py",
    "src/nnpu/estimators/image_network.py",
    "src/nnpu/estimators/image_rows.py",
    "src/nnpu/estimators/images.py",
    "src/nnpu/losses.py",
    "src/nnpu/models.py",
    "src/nnpu/objective.py",
    "src/nnpu/risk.py",
    "src/nnpu/training",
    # their tests, those that compare with them, and those whose model is a network
    "tests/cli/test_bad_files.py",
    "tests/cli/test_faults.py",
    "tests/cli/test_no_loss.py",
    "tests/cli/test_report.py",
    "tests/cli/test_report_browser.py",
    "tests/cli/test_table_commands.py",
    "tests/data/test_vectors.py",
    "tests/data/test_parquet.py",
    "tests/data/test_rows.py",
    "tests/test_torch_settings.py",
    "tests/estimators/test_check_estimator.py",
    "tests/estimators/test_classifier.py",
    "tests/estimators/test_collapse.py",
    "tests/estimators/test_concurrency.py",
    "tests/estimators/test_hostile.py",
    "tests/estimators/test_images.py",
    "tests/estimators/test_kinds.py",
    "tests/estimators/test_known_negatives.py",
    "tests/estimators/test_features.py",
    "tests/estimators/test_on_disk.py",
    "tests/estimators/test_threshold_choice.py",
    "tests/estimators/test_selection.py",
    "tests/estimators/test_loading.py",
    "tests/report/test_every_classifier.py",
    "tests/table/test_image_tables.py",
    "tests/test_bad_input.py",
    "tests/test_boosting.py",
    "tests/convex/test_solve.py",
    "tests/test_docs.py",
    "tests/test_export.py",
    "tests/test_losses.py",
    "tests/test_models.py",
    "tests/estimators/test_network.py",
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

# Single tests and examples in files that do without torch otherwise, by name or with a case.
TORCH_TESTS = frozenset(
    {
        "nnpu.data.disk_rows.ParquetRows",  # rows as mini-batches
        "nnpu.data.rows.as_rows",
        "nnpu.risk_kinds.ImbalancedRisk",
        "nnpu.risk_kinds.KLRisk",
        "nnpu.risk_kinds.NonNegativePNURisk",
        "nnpu.risk_kinds.PNURisk",
        "test_a_network_is_judged_by_rows_set_aside",
        "test_a_reader_that_is_left_early_does_not_abort_the_process",
        "test_a_table_model_of_0_1_0_keeps_its_predictions",  # a network
        "test_a_table_model_of_0_2_0_keeps_its_predictions[images]",
        "test_a_table_model_of_0_2_0_keeps_its_scores_and_uses_the_labels[images]",
        "test_a_table_model_of_0_2_0_keeps_its_predictions[network]",
        "test_a_table_model_of_0_2_0_keeps_its_scores_and_uses_the_labels[network]",
        "test_blocks_become_one_matrix_whose_arrays_stay_on_disk",
        "test_every_public_name_can_be_had_from_the_package",
        "test_every_target_reads_what_it_starts_from_and_parts_of_it[model]",
        "test_frames_tensors_and_networks_are_taken",
        "test_images_have_no_groups",
        "test_nothing_imports_what_only_posix_has",
        "test_tensors_and_arrays_agree",
        "test_the_graph_of_a_folder_scores_the_rows_of_a_table[network]",
        "test_there_are_at_most_16_parameters_and_they_share_names_with_the_network",
    }
)

# What needs a browser or the site's packages, which `make test` has.
ELSEWHERE = (
    "tests/review/test_page_browser.py",
    "tests/review/test_serve_browser.py",
    "tests/test_site.py",
)

# scikit-learn's own checks skip what needs a package that we do not use.
OTHERS_SKIPS = ("SCIPY_ARRAY_API",)


def pytest_configure(config: pytest.Config) -> None:
    if importlib.util.find_spec("torch") is not None:
        raise pytest.UsageError("make light is for an environment without torch; this one has it.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    inside = collection_path.relative_to(config.rootpath).as_posix()
    return True if inside in TORCH_ROOMS or inside in ELSEWHERE else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    with_torch = [item for item in items if {item.name, item.name.partition("[")[0]} & TORCH_TESTS]
    config.hook.pytest_deselected(items=with_torch)
    items[:] = [item for item in items if item not in with_torch]


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
