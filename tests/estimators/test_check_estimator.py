"""scikit-learn's own checks: all of them, none expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from nnpu import PUClassifier

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
@pytest.mark.parametrize("classifier", [PUClassifier(prior=0.2), PUClassifier()], ids=str)
def test_the_constructors_of_the_contract_pass_every_check(classifier):
    results = check_estimator(classifier, on_fail=None)
    assert len(results) >= 56
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []
    assert [r["check_name"] for r in results if r["status"] == "skipped"] in (
        [],
        ["check_array_api_input"],
    )
