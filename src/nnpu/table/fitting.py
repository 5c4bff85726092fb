"""The models that `TablePU` knows by name, and how one is fitted to the rows not set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from nnpu import estimators
from nnpu.estimators.base import BasePUClassifier
from nnpu.parameters import ParameterError, check_choice, shown
from nnpu.table._messages import UNTESTED
from nnpu.table.leaks import column_owners
from nnpu.table.table_answers import answers_of, fit_with_answers, population
from nnpu.table.table_prior import label_line, labels_at_random

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nnpu.data.streams import Batch
    from nnpu.review import KnownRows
    from nnpu.table.columns import ColumnPlan
    from nnpu.table.partitions import SampleOfTable

__all__ = [
    "MODELS",
    "features_for",
    "fit_classifier",
    "known_answers",
    "name_drivers",
    "named_model",
    "prepared",
    "takes_raw",
    "takes_words",
    "trains_in_epochs",
]

_CLASSES = {
    "biased": "BiasedLabelPU",
    "ensemble": "EnsemblePU",
    "images": "ImagePU",
    "linear": "LinearPU",
    "network": "PUClassifier",
    "trees": "BoostedPU",
}
MODELS = ("ensemble", "network", "trees", "linear", "biased")  # of tables; "images" is one too


def named_model(name: str, **options: Any) -> BasePUClassifier:
    """Return a fresh classifier by its name.

    Parameters
    ----------
    name : {"ensemble", "network", "trees", "linear", "biased", "images"}
        Which.
    **options
        Parameters of its class, such as ``epochs`` of the network.

    Examples
    --------
    >>> named_model("linear")
    LinearPU()
    """
    if name != "images":
        check_choice("model", name, "TablePU", MODELS)
    classifier: BasePUClassifier = getattr(estimators, _CLASSES[name])(**options)
    return classifier


def trains_in_epochs(model: Any, images: str | None) -> bool:
    """Return whether a model watches rows that were set aside while it trains, as networks do."""
    if not isinstance(model, BasePUClassifier):
        return images is not None or model == "network"
    return model._trains_in_epochs


def takes_raw(classifier: BasePUClassifier) -> bool:
    """Return whether a model takes gaps and categories as they are, as trees do."""
    return classifier._takes_codes


def takes_words(model: Any) -> bool:
    """Return whether a model takes words beside numbers and codes."""
    if isinstance(model, BasePUClassifier):
        return model._takes_words
    return model in (None, "ensemble")


def features_for(
    classifier: BasePUClassifier, plan: ColumnPlan, batch: Batch, watch: Any = None
) -> Any:
    """Return the features of some rows in the view that the model takes.

    Parameters
    ----------
    classifier, plan, batch
        The model, the plan of its columns, the rows.
    watch : TrainingRows or DriftWatch, optional
        As in `ColumnPlan.transform`.
    """
    if plan.has_images:
        return plan.files(batch)
    return plan.raw(batch, watch) if takes_raw(classifier) else plan.transform(batch, watch)


def name_drivers(
    classifier: BasePUClassifier, names: Sequence[str], plan: ColumnPlan, features: Any
) -> None:
    """Tell `BiasedLabelPU` which features come from the columns that decided who got a label."""
    if not names:
        return
    owners = column_owners(plan, features.shape[1])
    for name in names:
        if name not in owners:
            raise ParameterError(
                "The 'labelled_by' parameter of TablePU must name columns that are features. "
                f"Got {shown(name)} instead; they are {', '.join(map(repr, dict.fromkeys(owners)))}"
                "."
            )
    classifier.set_params(propensity=[i for i, name in enumerate(owners) if name in names])


def prepared(
    model: Any,
    *,
    prior: Any,
    labelled_by: Sequence[str] = (),
    sampling: str,
    seed: int,
    verbose: int,
    s: NDArray[np.int8],
    categories: Sequence[int] = (),
    n_dense: int = 0,
    images: bool = False,
) -> BasePUClassifier:
    """Return a copy of the model with the parameters that the table's job decides."""
    if model is None:
        model = "images" if images else "biased" if labelled_by else "ensemble"
    if isinstance(model, str):
        model = named_model(model)
    if not isinstance(model, BasePUClassifier):
        raise ParameterError(
            f"The 'model' parameter of TablePU must be one of {', '.join(MODELS)}, or a classifier "
            f"of nnpu. Got {shown(model)} instead."
        )
    if images != model._takes_images:
        raise ParameterError(
            "The 'images' parameter of TablePU must name a column of files if, and only if, the "
            f"model is ImagePU. Got the model {shown(model)} instead."
        )
    if model._one_sample_only and sampling != "one-sample":
        raise ParameterError(
            "The 'model' parameter of TablePU cannot be 'biased' for two samples: which of the "
            "positives were labelled is a question about one sample. Got "
            f"sampling={sampling!r}."
        )
    classifier: BasePUClassifier = clone(model)
    classifier._called_by = "TablePU"
    wanted = {
        "prior": prior,
        "sampling": sampling,
        "random_state": seed,
        "verbose": verbose,
        "categories": tuple(categories),
        "n_dense": n_dense,
    }
    if getattr(classifier, "risk", "") == "nnpu" and (s == -1).any():
        wanted["risk"] = "nnpnu"  # the risk that uses known negatives
    return classifier._adapt(**wanted)


def known_answers(
    answers: Any,
    known: Any,
    batch: Batch,
    plan: ColumnPlan,
    codes: NDArray[np.int8],
    sampling: str,
) -> KnownRows | None:
    """Return what the answers of a review give a fit; None without answers.

    Parameters
    ----------
    answers : None, path, list of paths or review
    known : path or list of paths
        As in `TablePU.fit`.
    batch, plan, codes, sampling
        The table, what becomes of its columns, its PU labels, and how they came about.
    """
    if answers is None:
        return None
    return answers_of(answers, population(batch, plan, codes, sampling), known)


def fit_classifier(
    classifier: BasePUClassifier,
    features: Any,
    codes: NDArray[np.int8],
    aside: NDArray[np.bool_],
    plan: ColumnPlan,
    groups: NDArray[np.intp] | None = None,
    answers: KnownRows | None = None,
    sample: SampleOfTable | None = None,
    *,
    say: Callable[[str], None],
) -> BasePUClassifier:
    """Fit a classifier and say what is done.

    Parameters
    ----------
    classifier : BasePUClassifier
        Not fitted yet.
    features, codes, aside, groups
        Of all rows: what the model takes, PU labels, which rows are set aside, and which belong
        together.
    plan : ColumnPlan
        The columns of the table.
    answers : KnownRows, optional
        What a review gave, by row numbers of the table.
    sample : SampleOfTable, optional
        The table on Dask of which these rows are a sample.
    say : callable
        Takes each line.
    """
    fitted = np.flatnonzero(~aside)
    if sample is None:
        say(f"Training: {type(classifier).__name__} on {len(fitted):,} rows ...")
    if aside.any() and classifier._trains_in_epochs:
        classifier = classifier._watching(features[aside], codes[aside])
    used = None if groups is None else groups[fitted]
    if sample is not None:
        sample.fit(classifier, features, say)
    elif answers is None:
        classifier.fit(features[fitted], codes[fitted], groups=used)
    else:
        rows = features[fitted], codes[fitted]
        say(fit_with_answers(classifier, *rows, answers, fitted, groups=used))
    classifier.scar_test_ = None
    if classifier.prior == "auto" and answers is None:
        say(UNTESTED)
    elif not plan.has_images:
        rows, origin = plan.as_one_matrix(features[fitted])
        owners = column_owners(plan, features.shape[1])
        classifier.scar_test_ = labels_at_random(
            rows,
            codes[fitted],
            owners if origin is None else [owners[column] for column in origin],
            prior=_least(classifier),
            sampling=classifier.sampling,
            seed=0,
            groups=used,
        )
        if classifier.scar_test_ is not None:
            say(label_line(classifier.scar_test_))
    return classifier


def _least(classifier: BasePUClassifier) -> float:
    """Return the smallest prior that the user allows: rows that contradict it contradict all.

    An estimate inside of given limits comes from the rows themselves and would test nothing.
    """
    given = classifier.prior
    return float(given[0]) if isinstance(given, tuple | list) else classifier.prior_
