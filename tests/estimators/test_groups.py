"""`groups=`: rows of one patient are never in two folds, so that nobody is recognised."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.neighbors import KNeighborsClassifier

from nnpu import BoostedPU, EnsemblePU, LinearPU, PUWrapper, TablePU
from nnpu.estimators import base
from nnpu.estimators.ensemble.trials import make_folds
from nnpu.parameters import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:Out of fold, labelled rows score no higher")


@pytest.fixture(scope="module")
def visits():
    """200 patients with 5 visits each; half of the visits of half of the patients are labelled.

    The features are a patient's own numbers and say nothing about the class.
    """
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(200), 5)
    x = rng.normal(size=(200, 4))[patient] + 0.01 * rng.normal(size=(1000, 4))
    s = (patient < 100) & (rng.random(1000) < 0.5)
    return x, s.astype(int), patient


def test_out_of_fold_scores_of_the_ensemble_recognise_no_patient(visits):
    x, s, patient = visits
    clf = EnsemblePU(0.5, members=["extra-trees"], random_state=0, n_jobs=1)
    apart = clf.fit(x, s).members_
    together = clf.fit(x, s, groups=patient).members_
    found, honest = (max(row["auc"] or 0 for row in rows) for rows in (apart, together))
    assert found > 0.7
    assert abs(honest - 0.5) < 0.1


def test_folds_of_the_ensemble_keep_patients_whole(visits):
    x, s, patient = visits
    for fitted, rest in make_folds(x, s.astype(np.int8), 0, None, patient).parts:
        assert not set(patient[fitted]) & set(patient[rest])


@pytest.mark.parametrize(
    "clf", [LinearPU(random_state=0), BoostedPU(random_state=0)], ids=["linear", "boosted"]
)
def test_groups_of_p_and_u_reach_the_estimate_of_the_prior(visits, clf, monkeypatch):
    x, s, patient = visits
    seen = {}

    def estimate(x_p, x_u, *, groups, **others):
        seen["groups"] = groups
        return real(x_p, x_u, groups=groups, **others)

    real = base.estimate_prior
    monkeypatch.setattr(base, "estimate_prior", estimate)
    clf.fit(x, s, groups=[f"patient {i}" for i in patient])
    names = np.unique([f"patient {i}" for i in range(200)])
    for numbers, of in zip(seen["groups"], (patient[s == 1], patient[s == 0]), strict=True):
        assert [f"patient {i}" for i in of] == names[numbers].tolist()


def test_wrapped_estimator_recognises_no_patient(visits):
    x, s, patient = visits
    clf = PUWrapper(KNeighborsClassifier(5), random_state=0)
    found = {
        name: clf.fit(x, s, groups=of).prior_estimate_
        for name, of in {"apart": None, "together": patient}.items()
    }
    assert "do not separate labelled from unlabelled" in found["together"].message
    assert "do not separate labelled from unlabelled" not in found["apart"].message


def test_table_gives_its_groups_to_the_folds(visits):
    x, s, patient = visits
    table = pa.table({f"x{i}": x[:, i] for i in range(4)} | {"who": patient, "s": s})
    model = EnsemblePU(members=["extra-trees"], random_state=0)
    job = TablePU(0.5, model=model, groups="who").fit(table, "s")
    assert max(row["auc"] or 0 for row in job.classifier_.members_) < 0.6
    assert (
        "do not separate labelled from unlabelled"
        in TablePU(groups="who").estimate_prior(table, "s").estimate.message
    )


def test_groups_of_another_length_are_refused(visits):
    x, s, patient = visits
    with pytest.raises(ParameterError, match=r"'groups' parameter of LinearPU.fit .* 1000 in all"):
        LinearPU(0.5).fit(x, s, groups=patient[:-1])


def test_images_have_no_groups():
    from nnpu import ImagePU

    images = np.zeros((20, 8, 8), np.uint8)
    with pytest.raises(ParameterError, match="'groups' parameter of ImagePU"):
        ImagePU(0.5).fit(images, np.repeat([1, 0], 10), groups=np.arange(20))
