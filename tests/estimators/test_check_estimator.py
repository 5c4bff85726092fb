"""scikit-learn's own checks: all of them, none expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from nnpu import PUClassifier, TablePU

pytestmark = [
    # An array-API namespace is optional, and scikit-learn's own warnings are not ours to judge.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


@parametrize_with_checks([PUClassifier(prior=0.2, epochs=30)])
def test_a_short_training_passes_every_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:No unlabelled row looks like a positive")
@pytest.mark.filterwarnings("ignore:The network collapsed")  # the checks' labels are random
@pytest.mark.parametrize("classifier", [PUClassifier(prior=0.2), PUClassifier()], ids=str)
def test_the_constructors_of_the_contract_pass_every_check(classifier):
    results = check_estimator(classifier, on_fail=None)
    assert len(results) >= 56
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []
    assert [r["check_name"] for r in results if r["status"] == "skipped"] in (
        [],
        ["check_array_api_input"],
    )


#: What scikit-learn's checks ask of arrays and labels that a table does not have, and why.
NOT_FOR_TABLES = {
    "check_fit_score_takes_y": "the labels are called s",
    "check_n_features_in_after_fitting": "its message says how many columns there are, and were",
    "check_complex_data": "its message names the column",
    "check_dtype_object": "a frame says which of its columns are words",
    "check_estimators_empty_data_messages": "its message speaks of rows and labels",
    "check_estimator_sparse_tag": "a sparse matrix is a column of a table",
    "check_estimator_sparse_array": "a sparse matrix is a column of a table",
    "check_estimator_sparse_matrix": "a sparse matrix is a column of a table",
    "check_classifier_data_not_an_array": "a list has no columns",
    "check_classifiers_classes": "words need pos_label, so that the wrong class is never taken",
    "check_classifiers_train": "a list has no columns",
    "check_classifiers_regression_target": "its message says which cell is no label",
    "check_supervised_y_2d": "a column of labels is taken as it is",
    "check_fit2d_1sample": "its message counts labelled and unlabelled rows",
    "check_fit2d_predict1d": "its message says that a table has two dimensions",
    "check_transformer_data_not_an_array": "a table, an array or a path is needed",
    "check_requires_y_none": "its message says what labels are",
}


@pytest.mark.filterwarnings("ignore")
def test_a_table_passes_every_check_that_is_not_about_bare_arrays():
    """The checks label rows 0 and 1, or 1 and 2; for the latter TablePU wants `pos_label`."""
    failed = []
    for pos_label in (None, 2):
        how = {"model": "linear", "holdout": 0.0, "sampling": "two-sample", "pos_label": pos_label}
        results = check_estimator(TablePU(0.2, **how), on_fail=None)
        failed.append({r["check_name"] for r in results if r["status"] == "failed"})
    assert failed[0] & failed[1] <= set(NOT_FOR_TABLES)
    assert len({r["check_name"] for r in results} - (failed[0] & failed[1])) >= 35
