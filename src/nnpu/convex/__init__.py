"""The convex cases of Section 2: a linear-odd loss and a model that is linear in its parameters.

By Eq. (5), ℓ(t, +1) − ℓ(t, −1) = −t, the unbiased risk of Eq. (2) is

    R̂_pu(g) = π mean_P [ℓ(g) − ℓ(−g)] + mean_U ℓ(−g) = −π mean_P g(x) + mean_U ℓ(−g(x)):

linear on P and convex on U. With g(x) = w·φ(x) + b and α/2 ‖w‖² the minimum is global, and how far
one is from it can be computed. `losses` holds ℓ(−g) and its derivatives, `features` holds φ,
`problem` the objective over blocks of rows, `solve` the solvers and their certificate.
"""

from nnpu.convex.basis import BASES, Features, fit_features
from nnpu.convex.problem import CONVEX_LOSSES, ConvexLoss, Problem
from nnpu.convex.solve import Certificate, Solution, solve_path

__all__ = [
    "BASES",
    "CONVEX_LOSSES",
    "Certificate",
    "ConvexLoss",
    "Features",
    "Problem",
    "Solution",
    "fit_features",
    "solve_path",
]
