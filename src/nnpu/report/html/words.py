"""How numbers are written on a page."""

from __future__ import annotations

import math

__all__ = ["floor_percent", "interval_words", "number", "percent", "plain_math"]

# What the panels of this package use of matplotlib's mathematical text.
_SYMBOLS = {
    r"\widetilde{R}": "R̃",
    r"\widehat{R}": "R̂",
    r"\widetilde{g}": "g̃",
    r"\alpha": "α",
    r"\beta": "β",
    r"\pi": "π",
    r"\propto": "∝",
    r"\sqrt": "√",
    r"\,": " ",
    r"\{": "(",
    r"\}": ")",
    "^2": "²",
    "^*": "*",
}


def plain_math(text: str) -> str:
    r"""Write the mathematical text of a picture without marks, for a page that has no such thing.

    >>> plain_math(r"at $|\widetilde{R}_{pu} - R|$ and $\propto 2\pi/\sqrt{n_p}$")
    'at |R̃_pu - R| and ∝ 2π/√n_p'
    """
    parts = text.split("$")
    for odd in range(1, len(parts), 2):
        for mark, symbol in _SYMBOLS.items():
            parts[odd] = parts[odd].replace(mark, symbol)
        parts[odd] = parts[odd].translate({ord("{"): None, ord("}"): None})
    return "".join(parts)


def number(value: float, digits: int = 3) -> str:
    """Write a number of an axis or a sentence, short.

    >>> number(0.25), number(-3.0), number(12000.0), number(1e-05), number(float("nan"))
    ('0.25', '−3', '12,000', '1e−5', '–')
    >>> number(-0.12344, digits=4)
    '−0.1234'
    """
    if not math.isfinite(value):
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        text = f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e")
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return text.replace("-", "−")


def percent(value: float) -> str:
    """Write a share inside of [0, 1]: what lies beyond means nothing.

    >>> percent(0.7491), percent(-0.02), percent(1.3), percent(float("inf"))
    ('74.9 %', '0.0 %', '100.0 %', '–')
    """
    return f"{_hundredths(value)} %" if math.isfinite(value) else "–"


def floor_percent(value: float) -> str:
    """Write what a probability is above, never as much as 100 %.

    >>> floor_percent(0.99996), floor_percent(0.7499), floor_percent(0.0)
    ('99.9 %', '74.9 %', '0.0 %')
    """
    return f"{min(math.floor(1000 * value + 1e-9), 999) / 10:.1f} %"


def interval_words(low: float, high: float) -> str:
    """Write an interval of a share, as far as it lies inside of [0, 1].

    >>> interval_words(0.66, 0.835), interval_words(-0.1, 1.07)
    ('66.0 to 83.5 %', '0.0 to 100.0 %')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"{_hundredths(low)} to {_hundredths(high)} %"


def _hundredths(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"
