"""Panels of Section 4: each statement's bound and its simulation on the same axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nnpu.report import Curve, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rows = Sequence[Mapping[str, Any]]

__all__ = ["PICTURES", "theory_panels"]

#: The pictures by their file names, with their titles.
PICTURES = {
    "lemma1": "Lemma 1: how often r is negative",
    "theorem2_bias": "Theorem 2: the bias",
    "theorem2_deviation": "Theorem 2: the deviation",
    "theorem2_rate": "Theorem 2: the rate",
    "theorem3": "Theorem 3: the mean squared error",
    "theorem4": "Theorem 4: the estimation error",
    "section2": "Section 2: when PU beats PN",
}
_COLOURS = ("blue", "orange", "green", "red", "purple", "sky", "grey")


def theory_panels(tables: Mapping[str, Rows]) -> dict[str, list[Panel]]:
    """Return the panels of each picture by its file name, from the tables of the experiment.

    Parameters
    ----------
    tables : mapping of str to rows
        ``lemma1``, ``lemma1_curve``, ``theorem2_bias``, ``theorem2_decay``, ``theorem2_curve``,
        ``theorem2_rate``, ``theorem3_beta``, ``theorem3_non_symmetric``, ``theorem4``,
        ``section2``.
    """
    return {
        "lemma1": _lemma_1(tables["lemma1_curve"], tables["lemma1"]),
        "theorem2_bias": _bias(tables["theorem2_decay"], tables["theorem2_bias"]),
        "theorem2_deviation": _deviation(tables["theorem2_curve"]),
        "theorem2_rate": _rate(tables["theorem2_rate"]),
        "theorem3": _mse(tables["theorem3_beta"], tables["theorem3_non_symmetric"]),
        "theorem4": _function_class(tables["theorem4"]),
        "section2": _criterion(tables["section2"]),
    }


def _select(rows: Rows, **equal: object) -> Rows:
    return [row for row in rows if all(row[key] == value for key, value in equal.items())]


def _curve(rows: Rows, x: str, y: str, label: str, colour: str, style: Any = "solid") -> Curve:
    return Curve(label, [row[x] for row in rows], [row[y] for row in rows], None, colour, style)


def _scatter(rows: Rows, simulated: str, bound: str, title: str, floor: float, what: str) -> Panel:
    """All points of the grid against a bound; above the diagonal the bound is broken."""
    seen = [
        {"x": max(row[bound], floor), "y": row[simulated], "above": row[simulated] > row[bound]}
        for row in rows
        if row[simulated] > 0
    ]
    above, below = _select(seen, above=True), _select(seen, above=False)
    top = max(row["x"] for row in seen)
    curves = [
        _curve(below, "x", "y", f"below the bound ({len(below)})", "blue", "points"),
        Curve("bound = simulation", [floor, top], [floor, top], None, "black", "dotted"),
    ]
    if above:
        curves.insert(1, _curve(above, "x", "y", f"above it ({len(above)})", "red", "points"))
    label = f"bound (less than {floor:g} is drawn there)"
    return Panel(title, label, what, curves, log_x=True, log_y=True)


def _lemma_1(curve: Rows, rows: Rows) -> list[Panel]:
    panels = []
    for prior in (0.5, 0.9):
        part = _select(curve, prior=prior)
        seen = [row for row in part if row["count"] > 0]
        panels.append(
            Panel(
                f"Lemma 1: class prior {prior}, $n_u$ = 1000",
                "$n_p$",
                "probability of r < 0",
                [
                    _curve(part, "n_p", "bound", "bound, corrected", "blue"),
                    _curve(part, "n_p", "printed", "bound, as printed", "red", "dashed"),
                    _curve(seen, "n_p", "frequency", "simulated", "black", "points"),
                ],
                log_x=True,
                log_y=True,
                y_range=(1e-6, 2.0),
            )
        )
    what = "simulated probability of r < 0"
    return [
        *panels,
        _scatter(rows, "frequency", "bound", "Every point: corrected", 1e-4, what),
        _scatter(rows, "frequency", "printed", "Every point: as printed", 1e-4, what),
    ]


def _bias(decay: Rows, rows: Rows) -> list[Panel]:
    panels = []
    for prior in sorted({row["prior"] for row in decay}):
        part = _select(decay, prior=prior)
        panels.append(
            Panel(
                f"Theorem 2, bias: class prior {prior}, $n_u = 10\\,n_p$",
                r"$1 / (\pi^2/n_p + 1/n_u)$",
                "bias",
                [
                    _curve(part, "size", "bound", "bound, corrected", "blue"),
                    _curve(part, "size", "moment", "moment bound", "green"),
                    _curve(part, "size", "printed", "bound, as printed", "red", "dashed"),
                    _curve(part, "size", "bias", "exact", "black", "points"),
                ],
                log_y=True,
            )
        )
    return [
        *panels,
        _scatter(rows, "bias", "bound", "Every point: corrected", 1e-7, "simulated bias"),
        _scatter(rows, "bias", "printed", "Every point: as printed", 1e-7, "simulated bias"),
    ]


def _deviation(rows: Rows) -> list[Panel]:
    panels = []
    for prior in (0.1, 0.5, 0.9):
        part = _select(rows, prior=prior, delta=0.05)
        panels.append(
            Panel(
                f"Theorem 2, deviation: class prior {prior}, $n_u$ = 1000",
                "$n_p$",
                r"$|\widetilde{R}_{pu} - R|$ at 95 %",
                [
                    _curve(part, "n_p", "width_9", "Eq. (9), corrected", "blue"),
                    _curve(part, "n_p", "width_10", r"Eq. (10), no $\alpha$", "sky", "dashed"),
                    _curve(part, "n_p", "width_sharp", "sharp form", "green"),
                    _curve(part, "n_p", "quantile", "simulated quantile", "black", "points"),
                ],
                log_x=True,
                log_y=True,
            )
        )
    return panels


def _rate(rows: Rows) -> list[Panel]:
    curves = []
    priors = sorted({row["prior"] for row in rows})
    for prior, colour in zip(priors, _COLOURS, strict=False):
        part = _select(rows, prior=prior)
        scale = part[-1]["rmse"] / part[-1]["rate"]
        x = [row["n_p"] for row in part]
        curves += [
            Curve(
                f"prior {prior}: simulated",
                x,
                [row["rmse"] for row in part],
                None,
                colour,
                "points",
            ),
            Curve("", x, [scale * row["rate"] for row in part], None, colour, "dotted"),
        ]
    return [
        Panel(
            r"Theorem 2, rate: dotted lines $\propto 2\pi/\sqrt{n_p} + 1/\sqrt{n_u}$",
            r"$n_p$  ($n_u = 10\,n_p$)",
            "root mean squared error",
            curves,
            log_x=True,
            log_y=True,
        )
    ]


def _mse(beta_rows: Rows, rows: Rows) -> list[Panel]:
    panels = []
    bound = r"$3\beta^2\,$Pr$\{\widetilde{R}_{pu}-\widehat{R}_{pu}>\beta\}$"
    for setting, title in (
        ("corrected (d)", "Theorem 3: condition (d), corrected, is met"),
        ("printed (d) alone", "Theorem 3: only the printed (d) is met"),
    ):
        part = _select(beta_rows, setting=setting)
        panels.append(
            Panel(
                title,
                r"$\beta$",
                r"MSE$(\widehat{R}_{pu})$ - MSE$(\widetilde{R}_{pu})$",
                [
                    _curve(part, "beta", "bound", bound, "blue"),
                    _curve(part, "beta", "reduction", "exact reduction", "black", "dashed"),
                ],
            )
        )
    curves = []
    losses = list(dict.fromkeys(row["loss"] for row in rows))
    for loss, colour in zip(losses, _COLOURS, strict=False):
        part = _select(rows, loss=loss)
        ratio = [row["mse_nnpu"] / row["mse_upu"] for row in part]
        style: Any = "solid" if part[0]["symmetric"] else "dashed"
        curves.append(Curve(loss, [row["n_p"] for row in part], ratio, None, colour, style))
    panels.append(
        Panel(
            "Scores of P 0 or 10 (dashed: not symmetric)",
            f"$n_p$  (prior {rows[0]['prior']}, $n_u$ = {rows[0]['n_u']})",
            r"MSE$(\widetilde{R}_{pu})$ / MSE$(\widehat{R}_{pu})$",
            curves,
            log_x=True,
        )
    )
    return panels


def _function_class(rows: Rows) -> list[Panel]:
    panels = []
    for kind, title, what in (
        ("deviation", "Lemma 5", r"sup $|\widetilde{R}_{pu} - R|$ at 95 %"),
        ("error", "Theorem 4", r"$R(\widetilde{g}_{pu}) - R(g^*)$ at 95 %"),
    ):
        for prior in (0.5, 0.9):
            part = _select(rows, prior=prior)
            seen = [row for row in part if row[f"{kind}_quantile"] > 0]
            panels.append(
                Panel(
                    f"{title}: class prior {prior}, $n_u = 10\\,n_p$",
                    "$n_p$",
                    what,
                    [
                        _curve(part, "n_p", f"{kind}_bound", "the paper's bound", "blue"),
                        _curve(part, "n_p", f"{kind}_free", r"without $\alpha$", "green"),
                        _curve(seen, "n_p", f"{kind}_quantile", "simulated", "black", "points"),
                    ],
                    log_x=True,
                    log_y=True,
                )
            )
    return panels


def _criterion(rows: Rows) -> list[Panel]:
    panels = []
    for prior in sorted({row["prior"] for row in rows}):
        part = _select(rows, prior=prior)
        seen = [row for row in part if row["error_pn"] > 0]
        even = part[0]["break_even"]
        level = sum(row["error_pu"] for row in part) / len(part)
        panels.append(
            Panel(
                f"Section 2: prior {prior}, $n_p$ = {part[0]['n_p']}, $n_u$ = {part[0]['n_u']}",
                f"negatives for PN  (break-even at {even:.0f})",
                "mean estimation error",
                [
                    _curve(seen, "n_n", "error_pn", "PN", "orange"),
                    _curve(part, "n_n", "error_pu", "nnPU", "blue"),
                ],
                log_x=True,
                log_y=True,
                marks=[(even, level)],
            )
        )
    return panels
