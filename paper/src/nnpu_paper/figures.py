"""Figures 1 to 4: which settings each shows, and what the paper says of it, claim by claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu_paper.claims import Claim
from nnpu_paper.experiments import FIGURE_1, FIGURE_2, FIGURE_3

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from nnpu_paper.experiments import Setting

    Rows = Sequence[Mapping[str, Any]]

__all__ = [
    "FIGURES",
    "Curves",
    "Figure",
    "judge_figure_1",
    "judge_figure_2",
    "judge_figure_3",
    "judge_figure_4",
]

_LAST = 10  # "at the end" is the mean of the last ten epochs: a single epoch swings
_BEGINNING = 0.2  # "at the beginning" is the first fifth of the epochs


class Curves:
    """The curves of one setting, as arrays of shape (samplings, epochs)."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], setting: str) -> None:
        values: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
        for row in rows:
            if row["setting"] == setting:
                key = str(row["method"]), str(row["curve"])
                place = int(row["sampling"]), int(row["epoch"])
                values.setdefault(key, {})[place] = float(row["value"])
        self._values = {key: _as_array(cells) for key, cells in values.items()}

    def of(self, method: str, curve: str) -> NDArray[np.float64]:
        """Return all samplings of a curve, shape (samplings, epochs)."""
        return self._values[method, curve]

    def mean(self, method: str, curve: str) -> NDArray[np.float64]:
        """Return the mean over the samplings, shape (epochs,)."""
        mean: NDArray[np.float64] = self.of(method, curve).mean(axis=0)
        return mean

    def end(self, method: str, curve: str) -> float:
        """Return the mean of the last epochs."""
        return float(self.mean(method, curve)[-_LAST:].mean())

    def start(self, method: str, curve: str) -> float:
        """Return the mean of the first epochs."""
        mean = self.mean(method, curve)
        return float(mean[: max(1, int(_BEGINNING * len(mean)))].mean())


def _as_array(cells: Mapping[tuple[int, int], float]) -> NDArray[np.float64]:
    samplings, epochs = sorted({i for i, _ in cells}), sorted({j for _, j in cells})
    return np.array([[cells[i, j] for j in epochs] for i in samplings])


def judge_figure_1(linear: Curves, mlp: Curves) -> list[Claim]:
    """Return the claims of Sections 2 and 3 about Figure 1."""
    train = {m: mlp.end(m, "train_risk") for m in ("PN", "uPU", "nnPU")}
    test = {m: mlp.end(m, "test_risk") for m in ("PN", "uPU", "nnPU")}
    best_upu = float(mlp.mean("uPU", "test_risk").min())
    first_pn, first_upu = (mlp.mean(m, "train_risk")[0] for m in ("PN", "uPU"))
    corrected = float(linear.of("nnPU", "corrected").max())
    same = all(
        np.array_equal(linear.of("nnPU", curve), linear.of("uPU", curve))
        for curve in ("test_risk", "test_zero_one", "train_positive", "train_negative")
    )
    return [
        Claim(
            "On the linear model nnPU is identical to uPU.",
            "Figure 1 (a)",
            corrected == 0 and same,
            f"share of corrected steps at most {corrected:.4f}; curves "
            f"{'equal' if same else 'differ'} bit for bit",
        ),
        Claim(
            "PU learning can outperform PN learning on the linear model.",
            "Section 2, Figure 1 (a)",
            linear.end("uPU", "test_risk") < linear.end("PN", "test_risk"),
            _pair("test risk", linear, "test_risk", "uPU", "PN"),
        ),
        Claim(
            "MLP, training: the risks of uPU and PN both decrease, and uPU is faster.",
            "Section 3.1 (A)",
            train["uPU"] < first_upu
            and train["PN"] < first_pn
            and mlp.start("uPU", "train_risk") < mlp.start("PN", "train_risk"),
            f"PN {first_pn:.3f} to {train['PN']:.3f}, uPU {first_upu:.3f} to {train['uPU']:.3f}; "
            + _pair("first fifth", mlp, "train_risk", "uPU", "PN", start=True),
        ),
        Claim(
            "MLP, training: the risk of uPU goes negative.",
            "Section 3.2",
            bool(mlp.mean("uPU", "train_risk").min() < 0),
            f"lowest mean training risk of uPU {mlp.mean('uPU', 'train_risk').min():.3f}",
        ),
        Claim(
            "MLP, test: the risk of PN decreases, that of uPU does not.",
            "Section 3.1 (B)",
            test["PN"] < mlp.mean("PN", "test_risk")[0] and test["uPU"] > best_upu,
            f"PN {mlp.mean('PN', 'test_risk')[0]:.3f} to {test['PN']:.3f}; uPU rises from its best "
            f"{best_upu:.3f} to {test['uPU']:.3f}",
        ),
        Claim(
            "MLP, test: uPU is lower than PN at the beginning and higher at the end.",
            "Section 3.1 (B)",
            mlp.start("uPU", "test_risk") < mlp.start("PN", "test_risk")
            and test["uPU"] > test["PN"],
            _pair("beginning", mlp, "test_risk", "uPU", "PN", start=True)
            + "; "
            + _pair("end", mlp, "test_risk", "uPU", "PN"),
        ),
        Claim(
            "MLP, training: nnPU ends closer to PN than to uPU.",
            "Section 3.2 (A)",
            abs(train["nnPU"] - train["PN"]) < abs(train["nnPU"] - train["uPU"]),
            ", ".join(f"{name} {value:.3f}" for name, value in train.items()),
        ),
        Claim(
            "MLP, test: nnPU does not go up with uPU and has the lowest risk at the end.",
            "Section 3.2 (B), (C)",
            test["nnPU"] == min(test.values()),
            ", ".join(f"{name} {value:.3f}" for name, value in test.items()),
        ),
    ]


def judge_figure_2(curves: Curves, title: str, *, better_than_pn: bool) -> list[Claim]:
    """Return the claims of Section 5 about one panel of Figure 2.

    `better_than_pn` is what the paper saw on MNIST, epsilon and CIFAR-10; on 20 Newsgroups it
    found the two comparable. Methods are taken as comparable if they are no farther apart than two
    standard errors of the paired difference over the samplings, or one point of error.
    """
    upu, nnpu, pn = (curves.end(m, "test_zero_one") for m in ("uPU", "nnPU", "PN"))
    best = float(curves.mean("uPU", "test_zero_one").min())
    ends = {m: curves.of(m, "test_zero_one")[:, -_LAST:].mean(axis=1) for m in ("nnPU", "PN")}
    difference = ends["nnPU"] - ends["PN"]
    error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else 0.0
    comparable = abs(nnpu - pn) <= max(2 * error, 0.01)
    if better_than_pn:
        versus = "nnPU outperforms PN given limited N data."
        held = nnpu < pn and not comparable
    else:
        versus = "nnPU is comparable to PN given limited N data."
        held = comparable
    return [
        Claim(
            f"{title}: uPU overfits the training data.",
            "Section 5, Figure 2",
            upu > best and bool(curves.mean("uPU", "train_risk").min() < 0),
            f"test error of uPU {best:.3f} at best, {upu:.3f} at the end; lowest training risk "
            f"{curves.mean('uPU', 'train_risk').min():.3f}",
        ),
        Claim(
            f"{title}: nnPU fixes this.",
            "Section 5, Figure 2",
            nnpu < upu,
            _pair("test error", curves, "test_zero_one", "nnPU", "uPU"),
        ),
        Claim(
            f"{title}: {versus}",
            "Section 5, Figure 2",
            held,
            _pair("test error", curves, "test_zero_one", "nnPU", "PN")
            + f"; standard error of the difference {error:.4f}",
        ),
    ]


def judge_figure_3(
    curves: Curves, methods: Mapping[float, str], dataset: str, title: str
) -> list[Claim]:
    """Return what Section 5 says of one panel of Figure 3, by the best mean test risks.

    `methods` names the method that was given π′ = factor · π, for each factor.
    """
    best = {f: float(curves.mean(m, "test_zero_one").min()) for f, m in methods.items()}
    last = {f: curves.end(m, "test_zero_one") for f, m in methods.items()}
    figures = "; ".join(
        f"{what} " + ", ".join(f"{f}π {errors[f]:.4f}" for f in errors)
        for what, errors in (("best mean test error", best), ("at the end", last))
    )
    source = "Section 5, Figure 3"
    claims = [
        Claim(
            f"{title}: under-misspecification hurts more than over-misspecification.",
            source,
            best[0.8] > best[1.2] and best[0.9] > best[1.1],
            figures,
        )
    ]
    if dataset == "mnist":
        held = best[0.8] > best[0.9] > best[1.0] < best[1.1] < best[1.2]
        text = "the more misspecification, the worse nnPU."
        claims.append(Claim(f"{title}: {text}", source, held, figures))
    if dataset == "epsilon":
        held = min(best, key=best.__getitem__) == 1.1
        claims.append(Claim(f"{title}: 1.1π is the best.", source, held, figures))
    if dataset == "20news":
        held = best[1.1] < best[1.0] < best[1.2]
        text = "π is superior to 1.2π but inferior to 1.1π."
        claims.append(Claim(f"{title}: {text}", source, held, figures))
    if dataset == "cifar10":
        held = min(best, key=best.__getitem__) == 1.2
        claims.append(Claim(f"{title}: 1.2π is the winner.", source, held, figures))
    return claims


def judge_figure_4(linear: Curves, mlp: Curves) -> list[Claim]:
    """Return what the appendix says of the zero-one curves beside the surrogate ones."""
    likeness, roughness = [], []
    for curves in (linear, mlp):
        for method in ("PN", "uPU", "nnPU"):
            sigmoid = curves.mean(method, "test_risk")
            zero_one = curves.mean(method, "test_zero_one")
            likeness.append(float(np.corrcoef(sigmoid, zero_one)[0, 1]))
            roughness.append(_roughness(zero_one) / max(_roughness(sigmoid), 1e-12))
    return [
        Claim(
            "The risk curves of the zero-one loss look quite similar to those of the sigmoid loss.",
            "Appendix A, Figure 4",
            float(np.median(likeness)) > 0.8,
            f"correlation of the six test curves: median {np.median(likeness):.3f}, "
            f"least {min(likeness):.3f}",
        ),
        Claim(
            "They are less smooth.",
            "Appendix A, Figure 4",
            float(np.median(roughness)) > 1,
            f"mean second difference, as a multiple: median {np.median(roughness):.1f}",
        ),
    ]


def _roughness(values: NDArray[np.float64]) -> float:
    return float(np.abs(np.diff(values, 2)).mean())


def _pair(what: str, curves: Curves, curve: str, a: str, b: str, *, start: bool = False) -> str:
    value = curves.start if start else curves.end
    return f"{what}: {a} {value(a, curve):.3f}, {b} {value(b, curve):.3f}"


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Parameters
    ----------
    settings : tuple of Setting
        One per panel, or per pair of panels.
    judge : callable
        From the table's rows and the settings that were run to the claims.
    losses : tuple of str
        The curves to draw: of the surrogate loss ("risk"), of the zero-one loss ("zero_one").
    training : bool
        Whether training risks are drawn.
    mark_best : bool
        Whether the best mean test risks are marked.
    """

    settings: tuple[Setting, ...]
    judge: Callable[[Rows, Sequence[Setting]], list[Claim]]
    losses: tuple[str, ...] = ("risk",)
    training: bool = True
    mark_best: bool = False


def _illustration(judge: Callable[[Curves, Curves], list[Claim]]) -> Any:
    def judge_rows(rows: Rows, settings: Sequence[Setting]) -> list[Claim]:
        return judge(*(Curves(rows, setting.name) for setting in settings))

    return judge_rows


def _figure_2(rows: Rows, settings: Sequence[Setting]) -> list[Claim]:
    claims = []
    for setting in settings:
        curves, better = Curves(rows, setting.name), setting.dataset != "20news"
        claims += judge_figure_2(curves, setting.title, better_than_pn=better)
    return claims


def _figure_3(rows: Rows, settings: Sequence[Setting]) -> list[Claim]:
    claims = []
    for setting in settings:
        names = {method.prior_factor: method.name for method in setting.methods}
        claims += judge_figure_3(Curves(rows, setting.name), names, setting.dataset, setting.title)
    return claims


FIGURES: Mapping[str, Figure] = {
    "figure1": Figure(FIGURE_1, _illustration(judge_figure_1)),
    "figure2": Figure(FIGURE_2, _figure_2, ("zero_one",)),
    "figure3": Figure(FIGURE_3, _figure_3, ("zero_one",), training=False, mark_best=True),
    "figure4": Figure(FIGURE_1, _illustration(judge_figure_4), ("risk", "zero_one")),
}
