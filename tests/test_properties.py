"""Anything in: a result without NaN, or an error of ours. Never another exception, or a warning.

hypothesis makes up arrays of any shape, type, order and content, labels, and parameters; where it
fails it gives the smallest example. The default tier tries a few of each, the slow one 6,000:

    pytest -m slow tests/test_properties.py

NaN in a tensor of scores is passed on by `losses`, `risk` and `PULoss`, as by torch's own losses;
all others refuse it.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from nnpu import (
    LinearPU,
    PUClassifier,
    PULoss,
    PUWrapper,
    calibration,
    data,
    estimate_prior,
    losses,
    metrics,
    models,
    risk,
    theory,
)
from nnpu.parameters import InputError, ParameterError, check_count, check_number, check_prior
from nnpu.training import Training

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = (InputError, ParameterError)
MAY_BE_INFINITE = ("pu_precision", "lee_liu_score")  # said so in their documentation
DTYPES = ("f2", "f4", "f8", ">f8", "i1", "i8", "u1", ">i4", "?")
SAMPLINGS = st.sampled_from(["two-sample", "one-sample"])
LOSSES = st.sampled_from([*losses.LOSSES])


def anything() -> st.SearchStrategy[Any]:
    """A value that no parameter may choke on."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.complex_numbers(),
        st.lists(st.floats(), max_size=2),
        st.just(10**400),
    )


def mostly(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value that fits nine times in ten, else anything."""
    return st.integers(0, 9).flatmap(lambda n: anything() if n == 0 else right)


PRIORS = mostly(st.floats(1e-6, 1 - 1e-6))


@st.composite
def arrays(draw: Any, shape: Any) -> np.ndarray:
    """An array of any type, any order in memory, any content."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    tame = draw(st.booleans())
    elements = {"min_value": -100, "max_value": 100} if tame and dtype.kind == "f" else {}
    array = draw(hnp.arrays(dtype, shape, elements=elements or None))
    layout = draw(st.sampled_from(["C", "F", "reversed", "read-only"]))
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "reversed":
        array = array[::-1]
    elif layout == "read-only":
        array.flags.writeable = False
    return array


@st.composite
def samples(draw: Any) -> tuple[Any, Any]:
    """Features and labels: mostly as many of one as of the other, mostly of two values."""
    n = draw(st.integers(0, 25))
    shape = draw(st.sampled_from([(n, 2), (n, 1), (n, 3), (n,), (n, 0), (n, 2, 2)]))
    x = draw(arrays(shape))
    length = draw(mostly(st.just(n)).filter(lambda k: isinstance(k, int) and 0 <= k < 50))
    codes = draw(st.sampled_from([(0, 1), (-1, 0, 1), (1, 2), (1,), ("no", "yes"), (0.5, 1.5, 2)]))
    s = np.array(draw(st.lists(st.sampled_from(codes), min_size=length, max_size=length)))
    if draw(st.booleans()) and x.ndim == 2 and x.dtype.isnative and x.dtype.kind in "f" and x.size:
        return sparse.csr_array(x.astype(np.float64)), s
    return x, s


def numbers(result: Any) -> list[float]:
    """All numbers in a result."""
    if isinstance(result, torch.Tensor):
        return result.detach().double().flatten().tolist()
    if isinstance(result, np.ndarray):
        return [] if result.dtype.kind not in "fiub" else result.astype(float).flatten().tolist()
    if dataclasses.is_dataclass(result):
        return numbers(list(vars(result).values()))
    if isinstance(result, list | tuple):
        return [number for part in result for number in numbers(part)]
    return [result] if isinstance(result, float) else []


def check(call: Callable[[], Any], errors: tuple[type[Exception], ...] = OURS, *, infinite=False):
    """Call; the result has no NaN, or the error is one of those stated."""
    try:
        found = numbers(call())
    except errors:
        return
    assert not any(map(math.isnan, found))
    assert infinite or not any(map(math.isinf, found))


@given(st.data())
def metric_property(d):
    name = d.draw(st.sampled_from([*metrics.METRICS]))
    n = d.draw(st.integers(0, 12))
    s = d.draw(mostly(hnp.arrays(np.int8, n, elements=st.sampled_from([0, 1, -1]))))
    shape = d.draw(st.sampled_from([(n,), (n,), (n, 1), (n, 2), (n + 1,)]))
    binary = hnp.arrays(np.int8, shape, elements=st.integers(0, 1))
    values = d.draw(mostly(arrays(shape) if name == "pu_roc_auc" else binary))
    weights = d.draw(st.none() | mostly(arrays((n,))))
    options = {
        "prior": d.draw(PRIORS),
        "sampling": d.draw(mostly(SAMPLINGS)),
        "sample_weight": weights,
        "clip": d.draw(st.booleans()),
    }
    infinite = name in MAY_BE_INFINITE
    check(lambda: metrics.METRICS[name](s, values, **options), infinite=infinite)
    check(lambda: metrics.interval(name, s, values, **options), infinite=infinite)


@given(st.data())
def calibration_property(d):
    scores_p = d.draw(mostly(arrays((d.draw(st.integers(0, 8)),))))
    scores_u = d.draw(mostly(arrays((d.draw(st.integers(0, 12)),))))
    options = {"prior": d.draw(PRIORS), "sampling": d.draw(mostly(SAMPLINGS))}
    share = mostly(st.floats(0.01, 1))
    check(lambda: calibration.fit_calibration(scores_p, scores_u, **options))
    check(lambda: calibration.threshold_at_prior(scores_p, scores_u, **options))
    wanted = {d.draw(st.sampled_from(["precision", "recall"])): d.draw(share)}
    # The interval of a precision may be infinite, as the precision may.
    check(lambda: calibration.threshold_for(scores_p, scores_u, **options, **wanted), infinite=True)
    probabilities = d.draw(mostly(hnp.arrays(np.float64, 3, elements=st.floats(0, 1))))
    check(lambda: calibration.shift_prior(probabilities, options["prior"], d.draw(share)))
    check(
        lambda: calibration.posterior(
            probabilities, labelled_share=d.draw(share), sampling="two-sample", prior=0.3
        )
    )


@given(st.data())
def prior_property(d):
    method = d.draw(st.sampled_from(["bbe", "bbe", "elkan_noto", "pen_l1"]))
    scores_p = d.draw(mostly(arrays((d.draw(st.integers(0, 8)),))))
    scores_u = d.draw(mostly(arrays((d.draw(st.integers(0, 12)),))))
    options = {"sampling": d.draw(mostly(SAMPLINGS)), "random_state": d.draw(mostly(st.just(0)))}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No unlabelled row looks like a positive")
        check(lambda: estimate_prior(scores_p, scores_u, method=method, **options))


@given(st.data())
def prior_of_features_property(d):
    d_p, d_u = (d.draw(mostly(arrays((d.draw(st.integers(0, 8)), 2)))) for _ in range(2))
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No unlabelled row looks like a positive")
        check(lambda: estimate_prior(d_p, d_u, model=model, random_state=0))


@given(st.data())
def loss_property(d):
    n = d.draw(st.integers(0, 12))
    dtype = d.draw(st.sampled_from([torch.float32, torch.float64, torch.float16, torch.bfloat16]))
    values = d.draw(st.lists(st.floats(-1e4, 1e4), min_size=n, max_size=n))
    scores = torch.tensor(values, dtype=dtype, requires_grad=True)
    labels = torch.tensor(d.draw(st.lists(st.sampled_from([1, 0, -1]), min_size=n, max_size=n)))
    parameters = {
        "prior": d.draw(PRIORS),
        "risk": d.draw(mostly(st.sampled_from([*risk.RISKS]))),
        "loss": d.draw(mostly(LOSSES)),
        "beta": d.draw(mostly(st.floats(0, 10))),
        "gamma": d.draw(mostly(st.floats(0, 1))),
        "sampling": d.draw(mostly(SAMPLINGS)),
    }

    def value_and_gradient() -> Any:
        value = PULoss(**parameters)(scores, labels)
        if value.requires_grad:
            value.backward()
        return value, scores.grad

    check(value_and_gradient)


@given(st.data())
def risk_property(d):
    function = d.draw(
        st.sampled_from([risk.pn_risk, risk.upu_risk, risk.upu_risk_symmetric, risk.nnpu_risk])
    )
    some = st.lists(st.floats(-1e4, 1e4), max_size=5).map(torch.tensor)
    scores = [d.draw(mostly(some)) for _ in range(2)]
    check(lambda: function(*scores, d.draw(PRIORS), d.draw(mostly(LOSSES))))


COUNT = mostly(st.integers(1, 10**9) | st.floats(1, 1e12) | st.just(math.inf))
SHARE = mostly(st.floats(1e-6, 1 - 1e-6))
SIZE = mostly(st.floats(1e-6, 1e6))
ARGUMENTS: dict[str, dict[str, Any]] = {
    "negative_part_probability_bound": {"alpha": SHARE, "prior": SHARE, "n_p": COUNT, "n_u": COUNT},
    "bias_bound": {"alpha": SHARE, "prior": SHARE, "n_p": COUNT, "n_u": COUNT, "loss_bound": SIZE},
    "convergence_rate": {"prior": SHARE, "n_p": COUNT, "n_u": COUNT, "sharp": st.booleans()},
    "deviation_bound": {"delta": SHARE, "prior": SHARE, "n_p": COUNT, "n_u": COUNT, "alpha": SHARE},
    "deviation_confidence": {"delta": SHARE, "negative_part_probability": SHARE},
    "mse_reduction_bound": {"beta": SHARE, "probability": SHARE, "prior": SHARE},
    "mse_remainder": {"alpha": SHARE, "prior": SHARE, "n_u": COUNT, "loss_bound": SIZE},
    "mse_condition": {"risk_p_minus": SHARE, "risk_n_minus": SHARE, "prior": SHARE},
    "mse_reduction_integrand": {"upu_risk": SIZE, "r": SIZE, "risk": SIZE},
    "estimation_error_bound": {
        "rademacher_p": SIZE,
        "rademacher_u": SIZE,
        "delta": SHARE,
        "prior": SHARE,
        "n_p": COUNT,
        "n_u": COUNT,
        "lipschitz": SIZE,
    },
    "pu_beats_pn": {"prior": SHARE, "n_p": COUNT, "n_u": COUNT, "n_n": COUNT},
    "break_even_n_n": {"prior": SHARE, "n_p": COUNT, "n_u": COUNT},
    "section_5_n_n": {"prior": SHARE, "n_p": COUNT},
    "rademacher_linear": {"norm_bound": SIZE, "feature_bound": SIZE, "n": COUNT},
    "rademacher_finite": {"n_functions": COUNT, "score_bound": SIZE, "n": COUNT},
    "guaranteed_half_width": {"prior": SHARE, "n_p": COUNT, "n_u": COUNT, "delta": SHARE},
    "plan": {
        "prior": SHARE | st.tuples(SHARE, SHARE),
        "n_p": COUNT,
        "n_u": COUNT,
        "half_width": st.none() | SIZE,
        "cost_ratio": SIZE,
        "n_n": st.none() | COUNT,
    },
}


@given(st.data())
def theory_property(d):
    name = d.draw(st.sampled_from([*ARGUMENTS]))
    arguments = {key: d.draw(value) for key, value in ARGUMENTS[name].items()}
    # With infinite samples, and for shapes that do not fit each other, NumPy has the word.
    with np.errstate(all="ignore"):
        check(lambda: getattr(theory, name)(**arguments), (*OURS, ValueError), infinite=True)


@given(st.data())
def linear_property(d):
    x, s = d.draw(samples())
    parameters = {
        "prior": d.draw(PRIORS.filter(lambda prior: prior != "auto")),
        "loss": d.draw(mostly(st.sampled_from(["logistic", "squared", "double_hinge"]))),
        "alpha": d.draw(mostly(st.floats(1e-3, 10))),
        "sampling": d.draw(mostly(SAMPLINGS)),
        "basis": d.draw(st.sampled_from([None, None, "rff", "gaussian"])),
        "n_components": d.draw(mostly(st.integers(1, 5))),
    }

    def fit() -> Any:
        clf = LinearPU(**parameters, random_state=0).fit(x, s)
        return clf.coef_, clf.decision_function(x), clf.predict_proba(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".*known negatives are not used")
        check(fit, (*OURS, ValueError))


@given(st.data())
def network_property(d):
    x, s = d.draw(samples())
    parameters = {
        "prior": d.draw(PRIORS.filter(lambda prior: prior != "auto")),
        "risk": d.draw(mostly(st.sampled_from([*risk.RISKS]))),
        "loss": d.draw(mostly(st.sampled_from(["sigmoid", "logistic", "ramp"]))),
        "batch_size": d.draw(mostly(st.integers(1, 30))),
        "sampling": d.draw(mostly(SAMPLINGS)),
        "module": d.draw(st.sampled_from([None, None, models.linear])),
    }

    def fit() -> Any:
        training = Training()  # plain Algorithm 1
        clf = PUClassifier(**parameters, epochs=1, random_state=0, training=training).fit(x, s)
        return clf.predict_proba(x)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*known negatives are not used")
        check(fit, (*OURS, ValueError))


@given(st.data())
def wrapper_property(d):
    x, s = d.draw(samples())
    prior, sampling = d.draw(PRIORS.filter(lambda prior: prior != "auto")), d.draw(SAMPLINGS)
    inner = DecisionTreeClassifier(max_depth=2, random_state=0)

    def fit() -> Any:
        clf = PUWrapper(inner, prior, sampling=sampling, random_state=0).fit(x, s)
        return clf.predict_proba(x)

    with warnings.catch_warnings(), np.errstate(all="ignore"):  # the tree's own overflows
        warnings.filterwarnings("ignore", ".*known negatives are not used")
        check(fit, (*OURS, ValueError))


@given(st.data())
def sampling_property(d):
    n = d.draw(st.integers(0, 12))
    x = d.draw(arrays((n, 2)))
    y = d.draw(mostly(hnp.arrays(np.int8, n, elements=st.sampled_from([1, -1]))))
    n_p, n_u = d.draw(mostly(st.integers(1, 9))), d.draw(st.none() | mostly(st.integers(1, 9)))
    seed, prior = d.draw(mostly(st.integers(0, 9))), d.draw(st.none() | PRIORS)
    check(lambda: data.sample_pu((x, y), n_p, n_u, prior=prior, random_state=seed).index)
    check(lambda: data.sample_censored((x, y), n_p, n_u, random_state=seed).s)
    groups = d.draw(st.none() | mostly(hnp.arrays(np.int8, n)))
    folds = d.draw(mostly(st.integers(2, 4)))
    check(lambda: data.PUStratifiedKFold(folds, random_state=0).assign(y, groups))


@given(anything(), st.floats(), st.floats())
def parameter_property(value, low, high):
    check(lambda: check_prior(value, "X"))
    check(lambda: check_count("n", value, "X"))
    check(lambda: check_number("x", value, "X", low=low, high=high), infinite=True)


#: Each property and how many examples the slow tier tries.
PROPERTIES: dict[str, tuple[Callable[[], None], int]] = {
    "metrics": (metric_property, 1000),
    "calibration": (calibration_property, 600),
    "prior": (prior_property, 300),
    "prior of features": (prior_of_features_property, 200),
    "PULoss": (loss_property, 900),
    "risk": (risk_property, 500),
    "theory": (theory_property, 900),
    "LinearPU": (linear_property, 500),
    "PUClassifier": (network_property, 300),
    "PUWrapper": (wrapper_property, 300),
    "samples and folds": (sampling_property, 500),
    "parameters": (parameter_property, 500),
}


def search(name: str, examples: int) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    settings(max_examples=examples, suppress_health_check=slow)(PROPERTIES[name][0])()


@pytest.mark.parametrize("name", PROPERTIES)
def test_anything_gives_an_answer_or_an_error_of_ours(name):
    search(name, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPERTIES)
def test_thousands_of_things_give_an_answer_or_an_error_of_ours(name):
    search(name, PROPERTIES[name][1])


def test_the_slow_tier_tries_at_least_5000_examples():
    assert sum(examples for _, examples in PROPERTIES.values()) >= 5000
