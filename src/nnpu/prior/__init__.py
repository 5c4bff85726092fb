"""Class-prior estimation: positives and unlabelled data in, a share with a range out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnpu.extras import lazy_names

if TYPE_CHECKING:
    from nnpu.prior.curve import RatioCurve
    from nnpu.prior.estimate import PriorEstimate, estimate_prior
    from nnpu.prior.methods import METHODS
    from nnpu.prior.scar import ScarTest, scar_test
    from nnpu.prior.scores import out_of_fold_scores

__all__ = [
    "METHODS",
    "PriorEstimate",
    "RatioCurve",
    "ScarTest",
    "estimate_prior",
    "out_of_fold_scores",
    "scar_test",
]

__getattr__ = lazy_names(
    __name__,
    curve="RatioCurve",
    estimate="estimate_prior PriorEstimate",
    methods="METHODS",
    scar="ScarTest scar_test",
    scores="out_of_fold_scores",
)
