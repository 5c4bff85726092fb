"""Model folders of tables: what is kept beside the classifier, and loading as a `TablePU`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nnpu.estimators import loading
from nnpu.estimators.evaluation import RankedRow, Ranking, evaluate, labelled_share, unlabelled_cut
from nnpu.estimators.plain import PlainList
from nnpu.hidden import AuditedHidden
from nnpu.parameters import InputError, ParameterError, check_number
from nnpu.prior import ScarTest
from nnpu.table.columns.column_plan import plan_from_json
from nnpu.table.fitting import takes_raw
from nnpu.table.reading import check_parameters
from nnpu.table.table_answers import audited_from_json
from nnpu.table.table_explain import Explained
from nnpu.table.table_pu import TablePU

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import nn

    from nnpu.estimators.base import BasePUClassifier

__all__ = [
    "PLAIN",
    "load",
    "load_table",
    "stored",
]

PLAIN = (  # parameters that JSON can say as they are
    *("images", "sampling", "pos_label", "id", "groups", "time", "holdout", "label_bias"),
    *("sep", "decimal", "encoding", "sheet", "random_state"),
)


def stored(model: TablePU) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values and the arrays that a folder keeps of a fitted model."""

    def plain(value: Any) -> Any:
        return value.item() if isinstance(value, np.generic) else value

    table = {
        "columns": model.columns_.to_json(),
        "parameters": {name: plain(getattr(model, name)) for name in PLAIN}
        | {"drop": list(model.drop), "keep": list(model.keep)},
        "kept_together": model.groups_,
        "leaks": list(model.leaks_),
        "label": model.label_,
        "pos_label": model.pos_label_,
        "rows": [model.n_labelled_, model.n_unlabelled_],
        "labelled_share": model.labelled_share_,
        "explained": list(model.explained_),
    }
    if (test := model.classifier_.scar_test_) is not None:
        table["labels"] = asdict(test)
    arrays = dict(model.columns_.arrays())
    if model.fit_keys_ is not None:
        arrays["fit_keys"] = model.fit_keys_.view(np.int64)
    if model.labelled_keys_ is not None:
        arrays["labelled_keys"] = model.labelled_keys_.view(np.int64)
    if model.compared_ is not None:
        rows = sparse.csr_array(model.compared_, dtype=np.float64)
        arrays |= {"compared.columns": rows.indices.astype(np.int32), "compared.ends": rows.indptr}
        arrays |= {"compared.gaps": np.isnan(rows.data), "compared": np.nan_to_num(rows.data)}
    if model.holdout_ is not None:
        arrays |= {"s": model.holdout_.s.astype(np.int8), "scores": model.holdout_.scores}
        if model.holdout_.fold is not None and model.row_keys_ is not None:
            arrays["fold"] = model.holdout_.fold.astype(np.int16)
            arrays["row_keys"] = model.row_keys_.view(np.int64)
        if isinstance(model.holdout_.hidden, AuditedHidden):
            table["answers"] = model.holdout_.hidden.answers.to_json()
        if model.holdout_.plain is not None:
            table["plain"] = model.holdout_.plain.to_json()
        if model.holdout_.ranking is not None:
            table["ranking"] = model.holdout_.ranking.to_json()
    return table, arrays


def load(
    folder: str | os.PathLike[str], module: nn.Module | Callable[..., nn.Module] | None = None
) -> TablePU | BasePUClassifier:
    """Read a model folder: what ``nnpu fit`` or `TablePU.save` wrote, or a bare classifier.

    Parameters
    ----------
    folder : path-like
        The folder.
    module : torch.nn.Module or callable, optional
        The network, if the classifier was fitted with one of your own: code is not stored.

    Returns
    -------
    TablePU or classifier
        Fitted, with the parameters it had. A parameter that was a Python object (a loss function,
        an optimiser class, a callback) has its default again.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from nnpu import LinearPU, load
    >>> X, s = np.array([[2.0], [2.5], [2.2], [-1.0], [-2.0]]), [1, 1, 0, 0, 0]
    >>> clf = LinearPU(prior=0.4).fit(X, s)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     same = load(clf.save(f"{folder}/model"))
    >>> bool(np.all(same.decision_function(X) == clf.decision_function(X)))
    True
    """
    classifier, table, arrays = loading.load(folder, module)
    if table is None:
        return classifier
    try:
        return _table_model(classifier, table, arrays)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise InputError(f"{folder}: {error}") from error
        raise InputError(f"{folder} does not describe a table: {str(error)[:300]}") from error


def load_table(folder: str | os.PathLike[str]) -> TablePU:
    """Read a model folder that knows its table, as ``nnpu fit`` writes them."""
    model = load(folder)
    if not isinstance(model, TablePU):
        raise InputError(
            f"{folder} was not written by nnpu fit: it does not say how a table becomes features; "
            "load it in Python, nnpu.load(folder)."
        )
    return model


def _table_model(
    classifier: BasePUClassifier, table: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> TablePU:
    # Folders of version 0.1.0 have the columns alone.
    given = table.get("parameters", {"sampling": classifier.sampling})
    plain = {name: given[name] for name in (*PLAIN, "drop", "keep") if name in given}
    model = TablePU(classifier.prior_, model=classifier, **plain)
    check_parameters(model)
    model.classifier_, model.columns_ = classifier, plan_from_json(table["columns"], arrays)
    raw, images = takes_raw(classifier), model.columns_.has_images
    width = len(model.columns_.raw_names) if raw else model.columns_.width
    if images != classifier._takes_images:
        raise InputError("the columns are not those of the model; fit anew.")
    if width != classifier.n_features_in_ and not images:
        raise InputError(
            f"the columns make {width} features and the model takes "
            f"{classifier.n_features_in_}; fit anew."
        )
    label, word = table.get("label"), table.get("pos_label")
    model.label_ = label if isinstance(label, str) else None
    model.pos_label_ = word if isinstance(word, str) else None
    model.n_labelled_, model.n_unlabelled_ = (int(count) for count in table.get("rows", (0, 0)))
    model._adopt(classifier)
    counts = np.repeat([1, 0], [model.n_labelled_, model.n_unlabelled_])
    model.labelled_share_ = float(
        table.get("labelled_share", labelled_share(classifier, counts) if counts.size else 0.0)
    )
    if not 0 <= model.labelled_share_ < 1:
        raise InputError("the labelled share is not a share; fit anew.")
    if (labels := table.get("labels")) is not None:
        classifier.scar_test_ = _label_test(labels)
    together = table.get("kept_together", model.groups)  # folders of 0.2 have the parameter alone
    model.groups_ = together if isinstance(together, str) else None
    model.leaks_ = [str(name) for name in table.get("leaks", ())]
    # Folders of older versions have none.
    model.fit_keys_ = _keys(arrays["fit_keys"]) if "fit_keys" in arrays else None
    labelled = arrays.get("labelled_keys")
    model.labelled_keys_ = None if labelled is None else np.sort(_keys(labelled))
    model.compared_ = _compared(
        arrays, classifier.n_features_in_, beside=model.columns_.n_dense > 0
    )
    model.row_keys_ = None
    model.holdout_ = None
    explained = table.get("explained")  # folders of older versions have none
    model.explained_ = Explained() if explained is None else _explained(explained)
    if "scores" in arrays:
        try:
            found = evaluate(
                classifier,
                arrays["s"],
                arrays["scores"],
                label_bias=model.label_bias,
                labelled=model.labelled_share_,
                fold=arrays.get("fold"),
            )
            if "row_keys" in arrays and len(arrays["row_keys"]) == found.rows:
                model.row_keys_ = _keys(arrays["row_keys"])
            if (answers := table.get("answers")) is not None:
                cut = unlabelled_cut(classifier, model.labelled_share_)
                found = audited_from_json(found, answers, cut, model.label_bias)
            kept = table.get("ranking")  # the ids; folders of older versions have none
            ranking = found.ranking if kept is None else _ranking(kept)
            model.holdout_ = replace(found, ranking=ranking, plain=_plain(table.get("plain")))
        except ParameterError as error:
            raise InputError(str(error)) from error
    return model


def _keys(kept: NDArray[Any]) -> NDArray[np.uint64]:
    """Return keys that a folder keeps as numbers of a type that all its readers have."""
    return np.ascontiguousarray(kept, np.int64).view(np.uint64)


def _compared(arrays: dict[str, NDArray[Any]], width: int, *, beside: bool) -> Any:
    """Return the rows that scores are compared with; folders of 0.2 have none."""
    if "compared" not in arrays:
        return None
    try:
        gaps, columns, ends = (arrays[f"compared.{key}"] for key in ("gaps", "columns", "ends"))
        values = np.where(gaps, np.nan, arrays["compared"]).astype(np.float64)
        rows = sparse.csr_array((values, columns, ends), (len(ends) - 1, width))
        rows.check_format(full_check=True)
        if not rows.shape[0]:
            raise ValueError("no rows")
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"The stored rows cannot be understood: {error}") from error
    return rows if beside else rows.toarray()


def _label_test(plain: Any) -> ScarTest:
    """Return the test of the labels that a folder kept; `InputError` if it cannot be."""
    try:
        columns = tuple(str(name) for name in plain["columns"])
        return ScarTest(
            check_number("pvalue", plain["pvalue"], "load"), columns, str(plain["message"])
        )
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"The stored test of the labels cannot be understood: {error}") from error


def _explained(plain: Any) -> Explained:
    """Return what a folder kept of `Explained`; `InputError` if it cannot be."""
    try:
        rows = tuple(
            (str(name), float(v), float(low), float(high)) for name, v, low, high in plain[0]
        )
        why = {str(name): str(text) for name, text in dict(plain[1]).items()}
        suspects = plain[2] if len(plain) > 2 else ()  # folders of 0.2 have none
        return Explained(rows, why, tuple(str(name) for name in suspects))
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"The stored columns cannot be understood: {error}") from error


def _plain(kept: Any) -> PlainList | None:
    """Return the comparison that a folder kept; folders of 0.2 have none."""
    if kept is None:
        return None
    try:
        return PlainList.from_json(kept)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"The stored comparison cannot be understood: {error}") from error


def _ranking(plain: Any) -> Ranking:
    """Return what `Ranking.to_json` described; `InputError` if it cannot be."""
    try:
        parts = (
            tuple(RankedRow(str(name), float(score)) for name, score in plain[part])
            for part in Ranking._fields
        )
        return Ranking(*parts)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"The stored rows cannot be understood: {error}") from error
