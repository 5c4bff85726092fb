"""The report of a fitted classifier, and of rows that judge it: which sections it has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nnpu import __version__
from nnpu.estimators.evaluation import (
    MEANINGS,
    NAMES,
    evaluate,
    labelled_share,
    list_sizes,
    prior_interval,
    unlabelled_cut,
)
from nnpu.hidden import unlabelled_probability
from nnpu.metrics import (
    possible_prior,
    reliability_table,
    score_table,
    threshold_grid,
    threshold_table,
)
from nnpu.report.charts import number
from nnpu.report.explorer import costs_section, explorer_section, scenarios_table
from nnpu.report.html import Page
from nnpu.report.panels import prior_panel
from nnpu.report.sections import (
    calibration_section,
    columns_section,
    drift_section,
    hidden_section,
    importance_section,
    labels_section,
    metrics_section,
    models_section,
    pictures_section,
    plain_section,
    prior_section,
    rows_section,
    scores_section,
    sound_history,
    training_section,
    verdict_section,
)
from nnpu.report.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from markupsafe import Markup
    from numpy.typing import NDArray

    from nnpu.estimators.base import BasePUClassifier
    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html import Section
    from nnpu.report.sections import ColumnFate

__all__ = ["ASSUMPTION", "model_page", "page"]

ASSUMPTION = (
    "No true label was used: the figures rely on the share of positives, and on labels that were "
    "given at random among the positives."
)
_AT_RANDOM = (
    "The probabilities hold if labels were given at random; if clear cases were labelled first, "
    "fewer of these rows are positive, as the ranges above say."
)
_CHOSEN, _INTERVAL = "as chosen", "its range"
_SAMPLING = {
    "one-sample": (
        "All rows are taken as one sample in which some of the positives are labelled "
        "(one-sample); the prior is the share of positives among all rows."
    ),
    "two-sample": (
        "The labelled rows are taken as collected separately from the unlabelled ones "
        "(two-sample); the prior is the share of positives among the unlabelled rows."
    ),
}


def page(clf: BasePUClassifier, X: Any, s: Any, *, title: str = "Report") -> Page:
    """Make the report of any classifier of this package.

    Parameters
    ----------
    clf : classifier
        Fitted.
    X : array-like
        Rows that it was not fitted to.
    s : array-like
        Their PU labels, as in ``fit``.
    title : str, default="Report"
        The heading.

    Returns
    -------
    Page
        It shows itself in a notebook; ``.save(path)`` writes one HTML file.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import LinearPU, report
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.5
    >>> X, s = rng.normal(2.0 * y, 1)[:, None], (y & (rng.random(400) < 0.5)).astype(int)
    >>> clf = LinearPU(0.5, sampling="one-sample").fit(X[::2], s[::2])
    >>> report.page(clf, X[1::2], s[1::2]).title
    'Report'
    """
    if hasattr(clf, "classifier_"):  # a table's: it knows how its rows become features
        found: Page = clf.report(clf.evaluate(X, s), title=title)
        return found
    scores, codes = clf._scored(X, s)
    images = X if clf._takes_images else None
    return model_page(clf, evaluate(clf, codes, scores, images=images), title=title, commands=False)


def model_page(
    classifier: BasePUClassifier,
    found: Evaluation | None,
    *,
    title: str,
    lead: str = "What the model learned, and how far to trust it.",
    learned: str = "",
    facts: Mapping[str, str | tuple[str, str]] | None = None,
    columns: Sequence[ColumnFate] = (),
    about_columns: str = "",
    importance: Sequence[tuple[str, float, float, float]] = (),
    why: Mapping[str, str] | None = None,
    suspects: Sequence[str] = (),
    drift: Sequence[str] = (),
    leaks: Sequence[str] = (),
    about_rows: str = ASSUMPTION,
    about_calibration: str = "",
    prior_counts: tuple[int, int] | None = None,
    labelled: float | None = None,
    commands: bool = True,
    footer: str = "",
) -> Page:
    """Return the report of a classifier and of rows that judge it.

    Parameters
    ----------
    classifier : BasePUClassifier
        Fitted.
    found : Evaluation or None
        What the rows say; None if no row could judge it.
    title, lead, footer : str
        Heading, first sentence, and how the page came about.
    learned : str
        What the model was fitted to, as a sentence.
    facts : mapping of str to str or (str, str), optional
        The figures to see first; by default the counts of the rows. The prior is added.
    columns : sequence of ColumnFate
        What was done with each column.
    about_columns : str
        Which rows its cells were counted in.
    importance : sequence of (name, value, low, high)
        How much each column matters.
    why : mapping of str to str, optional
        For the names of rows, which columns put them where they are.
    suspects : sequence of str
        Columns in which labelled rows differ most from the likeliest unlabelled ones.
    drift : sequence of str
        How these rows differ from those of the fit, a sentence each.
    leaks : sequence of str
        Columns that may give the label away.
    about_rows, about_calibration : str
        Which rows judged the model, and what they are to its calibration.
    prior_counts : (int, int), optional
        Labelled and unlabelled rows that the prior was estimated from.
    labelled : float, optional
        The share of the positives that is labelled; by default that of the rows that judged it.
    commands : bool
        Whether there is a model folder, which commands take: else advice names none.
    """
    shown = dict(facts if facts is not None else _counts(found))
    shown["Positive among unlabelled"] = _share_words(found)
    c = labelled
    if c is None:
        c = 0.0 if found is None else labelled_share(classifier, found.s)
    sections = [verdict_section(verdict(found, learned, leaks=leaks, commands=commands), shown)]
    if found is not None and not leaks:
        sizes = list_sizes(found.hidden)
        sections.append(hidden_section(found.hidden, sizes, audited=found.audited))
    if drift:
        sections.append(drift_section(drift))
    if found is not None:
        sections += _listed(classifier, found, c, why)
    if importance:
        sections.append(importance_section(importance))
    if found is not None and not leaks and (beside := found.plain_lines()):
        sections.append(plain_section(beside))
    sections += _compared(classifier)
    if found is None:
        sections.append(_prior(classifier, prior_counts))
    else:
        sections += _judged(classifier, found, c, about_rows, about_calibration, prior_counts)
    if classifier.scar_test_ is not None or suspects:
        message = "" if classifier.scar_test_ is None else classifier.scar_test_.message
        sections.append(labels_section(message, suspects))
    if columns:
        sections.append(columns_section(columns, [about_columns] if about_columns else []))
    if history := sound_history(getattr(classifier, "history_", None) or ()):
        sections.append(training_section(history, beta=getattr(classifier, "beta", 0.0)))
    made = f"nnpu {__version__}" + (f": {footer}" if footer else "")
    return Page(title, lead, sections, made)


def _listed(
    classifier: Any, found: Evaluation, labelled: float, why: Mapping[str, str] | None
) -> list[Section]:
    """The rows to look at first, and images."""
    calibration, cut = classifier.calibration_, unlabelled_cut(classifier, labelled)

    def probability(score: float) -> float:
        return float(unlabelled_probability(calibration([score]), labelled)[0])

    def of_labelled(score: float) -> float:
        return float(calibration([score])[0])

    sections = []
    if found.ranking is not None and found.ranking.top:
        remark = "" if found.audited or found.hidden.label_bias == 1 else _AT_RANDOM
        how: dict[str, Any] = {"labelled": of_labelled, "cut": cut, "remark": remark}
        sections.append(rows_section(found.ranking, probability, why, **how))
    if found.images is not None:
        sections.append(pictures_section(classifier, found, probability, cut))
    return sections


def _counts(found: Evaluation | None) -> dict[str, str | tuple[str, str]]:
    if found is None:
        return {}
    return {
        "Rows": f"{found.rows:,}",
        "Labelled": f"{found.labelled:,}",
        "Predicted positive": (f"{found.hidden.flagged:,}", f"of {found.hidden.rows:,} unlabelled"),
    }


def _share_words(found: Evaluation | None) -> str | tuple[str, str]:
    """The range of the share, and its middle; the share alone if it was given."""
    if found is None:
        return "not known"
    value, low, high = (100 * end for end in found.hidden.share)
    if low == high:
        return f"{value:.1f}\u00a0%", "by the share given"
    digits = 0 if high >= 10 else 1 if high >= 1 else 2
    guess = "audited" if found.audited else "best guess"
    words = f"{low:.{digits}f} to {high:.{digits}f}\u00a0%"
    return words, f"{guess} {value:.{digits}f}\u00a0%"


def _compared(classifier: Any) -> list[Section]:
    """The members of an ensemble, if it is one."""
    members = getattr(classifier, "members_", None)
    if not members:
        return []
    ordered = sorted(members, key=lambda member: -member["weight"])
    unseen = classifier.aside_ is not None  # a classifier without a table keeps no rows for this
    rows: list[list[str]] = [["all together", "", "", _share(classifier.aside_)]] if unseen else []
    unused: list[list[str]] = []
    for member in ordered:
        name, auc = str(member["name"]), [_share(member["auc"])]
        auc += [_share(member["aside"])] if unseen else []
        weight = f"{member['weight']:.2f}"
        if float(weight):
            rows.append([name, weight, *auc])
        else:
            unused.append([name, *auc, str(member["reason"]) or "adds nothing to the others"])
    words = (
        "The score is a weighted mean of these models. AUC says how well each tells labelled from "
        "unlabelled rows that it was not fitted to, and cannot reach 1, since some unlabelled rows "
        "are positive."
    )
    head = ["Model", "Weight", "AUC in folds"]
    if unseen:
        words += (
            " Unseen rows had no part in the weights either: they were set aside, or are one fold "
            "of those that judged the model."
        )
        head.append("AUC on unseen rows")
    return [models_section(head, rows, words, unused)]


def _share(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _judged(
    classifier: BasePUClassifier,
    found: Evaluation,
    labelled: float,
    about_rows: str,
    about_calibration: str,
    prior_counts: tuple[int, int] | None,
) -> list[Section]:
    s, scores = found.s, found.scores
    prior = possible_prior(classifier.prior_, s, sampling=classifier.sampling)
    how: dict[str, Any] = {"prior": prior, "sampling": classifier.sampling}
    bins = score_table(s, scores, **how)
    if found.hidden.contradicted:  # nothing below would hold
        return [scores_section(bins), _prior(classifier, prior_counts)]
    calibration = classifier.calibration_
    reliability = reliability_table(s, calibration(scores), **how)
    about = [f"{about_rows} {_SAMPLING[classifier.sampling]}", *found.contradictions()]
    thresholds = threshold_grid(s, scores, also=classifier.threshold_)
    priors = _priors(classifier, s)
    tables = {
        words: threshold_table(s, scores, thresholds, prior=prior, sampling=classifier.sampling)
        for words, prior in priors.items()
    }
    ends = [words for words in tables if words == _CHOSEN or _INTERVAL in words]
    named = {f"{words}: {prior:.3f}": tables[words] for words, prior in priors.items()}
    population = len(s) if classifier.sampling == "one-sample" else int((s == 0).sum())
    return [
        metrics_section(_metric_rows(found), about, known=found.prior_known),
        explorer_section(
            _over_priors([tables[words] for words in ends]),
            own=classifier.threshold_,
            population=population,
            probabilities=calibration(thresholds).tolist(),
            known=found.prior_known,
            score_range=(bins[0]["low"], bins[-1]["high"]),
            scenarios=named,
            remark=_two_cuts(classifier, labelled),
        ),
        costs_section({priors[words]: tables[words] for words in ends}, population=population),
        scores_section(bins),
        _prior(classifier, prior_counts, scenarios_table(named, classifier.threshold_)),
        calibration_section(
            reliability,
            slope=calibration.slope,
            intercept=calibration.intercept,
            remark=about_calibration,
        ),
    ]


def _two_cuts(classifier: BasePUClassifier, labelled: float) -> str:
    """Say which rows the explorer counts, and where those without a label are cut."""
    words = (
        "Labelled and unlabelled rows are counted together here, by their score alone, and the "
        "figures hold if labels were given at random."
    )
    cut = unlabelled_cut(classifier, labelled)
    if classifier.sampling == "two-sample":
        words = (
            "Flagged rows are counted among the unlabelled ones, and the figures hold if labels "
            "were given at random."
        )
    elif cut != classifier.threshold_:
        words += (
            " A row that is known to be unlabelled had its chance of a label, so it is less likely "
            f"to be positive: it takes a score above {number(cut)} to be predicted positive."
        )
    return words


def _metric_rows(found: Evaluation) -> list[tuple[str, float, float, float, str]]:
    rows = []
    for name, words in NAMES.items():
        values: tuple[float, ...] = found.metrics[name]
        if name != "lee_liu_score":  # the others are shares
            values = tuple(min(max(value, 0.0), 1.0) for value in values)
        value, low, high = values if found.is_defined(name) else (math.nan,) * 3
        rows.append((words, value, low, high, MEANINGS[name]))
    return rows


def _over_priors(tables: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """The first table, its ranges widened by what the metrics are at the prior's ends.

    As `nnpu.metrics.interval` does it: chance and the prior add in quadrature, at each end.
    """
    wider = []
    for first, *ends in zip(*tables, strict=True):
        row = dict(first)
        for name in ("precision", "recall", "f1"):
            for end in ends:
                away = end[name] - row[name]
                reach = math.hypot(away, (end[f"{name}_high"] - end[f"{name}_low"]) / 2)
                if away < 0:
                    row[f"{name}_low"] = min(row[f"{name}_low"], row[name] - reach)
                else:
                    row[f"{name}_high"] = max(row[f"{name}_high"], row[name] + reach)
        wider.append(row)
    return wider


def _priors(classifier: BasePUClassifier, s: NDArray[np.int8]) -> dict[str, float]:
    """The priors to look at, by the words for them: the chosen one first."""
    prior, sampling = classifier.prior_, classifier.sampling
    wanted = {"20 % lower": 0.8 * prior, "20 % higher": 1.2 * prior}
    if classifier.prior_estimate_ is not None:
        _, low, high = prior_interval(classifier)
        wanted |= {f"low end of {_INTERVAL}": low, f"high end of {_INTERVAL}": high}
    found = {_CHOSEN: prior}
    for words, value in wanted.items():
        if value <= 0:
            continue  # no metric takes a share of zero
        possible = possible_prior(value, s, sampling=sampling)
        short = "" if math.isclose(possible, value) else ", as far as these rows allow"
        found[words + short] = possible
    return found


def _prior(
    classifier: BasePUClassifier, counts: tuple[int, int] | None, scenarios: Markup | None = None
) -> Section:
    estimate = classifier.prior_estimate_
    if estimate is None:
        return prior_section(f"The prior, {classifier.prior_:g}, was given.", None, scenarios)
    if estimate.curve is None or counts is None:
        return prior_section(estimate.message, None, scenarios)
    return prior_section(estimate.message, prior_panel(estimate, *counts), scenarios)
