"""The members: how each is fitted to P and U, what it costs, and on which data it is worth it.

A member is fitted to rows that are 1 (labelled) or 0 (unlabelled). All but the one that descends a
PU risk tell P from U with both sides weighing the same: their scores are then log p_P/p_U, whatever
the prior. The strength of each goes by n_p, since the positives are what is scarce.
``docs/lab/defaults.md`` has the measurements behind the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from nnpu.boosting import kl_round
from nnpu.estimators.ensemble.inputs import fit_expansion
from nnpu.estimators.ensemble.member_scorers import (
    BoostedScorer,
    ForestScorer,
    KernelScorer,
    LinearScorer,
    Scorer,
    View,
    bumps,
)
from nnpu.estimators.ensemble.sparse_members import (
    SelfTrained,
    SparseLinear,
    Topics,
    for_lightgbm,
)
from nnpu.estimators.ensemble.task import MANY_COLUMNS, Member, ridge
from nnpu.estimators.ensemble.weights import p_against_u
from nnpu.estimators.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.inputs import Columns
    from nnpu.estimators.ensemble.task import LargerTable, Task

__all__ = [
    "BOOSTED",
    "MEMBERS",
    "PIXELS",
    "Member",
    "down_sampled",
    "excluded",
]

PIXELS = 50  # dense columns beyond which the prior is estimated by what tells pixels from others
_VERY_WIDE = 5_000  # dense columns beyond which a round of boosting takes as long as a forest
_FEW_POSITIVES = 20  # positives below which boosted trees find no split that they may make
_FEW_WORDS = 300  # for words: below, trees rank hidden positives worse (docs/lab/genuine.md)
_MANY = 2500  # positives from which one forest is enough: scoring takes as long as there are trees
_MANY_ROWS = 200_000  # beyond, the kernel's few centres add nothing and take half of the scoring


def excluded(task: Task, asked: list[str] | None) -> dict[str, str]:
    """Return why each member that is not to be fitted is left out.

    Parameters
    ----------
    task : Task
        The rows.
    asked : list of str or None
        The members that the user asked for; None leaves the choice to the data.
    """
    reasons: dict[str, str] = {}
    for name, member in MEMBERS.items():
        reason = member.impossible(task)
        if asked is None:
            reason = reason or member.too_costly(task)
        elif name not in asked:
            reason = "not requested"
        if reason:
            reasons[name] = reason
    return reasons


_FOR_THREADS = 50_000  # rows from which LightGBM uses more than one thread
_FEW = 2500  # positives up to which boosted trees are small
_MANY_NUMBERS = 32  # columns from which narrow kernels are tried
_FEW_FOR_LEAVES = 40  # positives from which the size of leaves is chosen
_OF_EACH = 2000  # rows of P, and of U, that a tree is grown from
_LARGE = 500  # of them from which trees are grown in threads: smaller ones wait for each other
_STEP = 10  # boosting rounds between two looks at the held-out loss


class _Linear(Member):
    """Ridge logistic regression on squares and products; λ = strength / n_p for a mean loss."""

    name = "products"
    most_rows = 20_000
    kind = "products"
    strengths = (1.0,)

    def too_costly(self, task: Task) -> str:
        return _too_wide(task)

    def settings(self, task: Task) -> int:
        return len(self.strengths)

    def fit(self, task: Task) -> list[Scorer]:
        task = task.at_most(self.most_rows)
        design = task.view.design
        dense = task.view.dense
        n_numeric = 0 if design is None else len(design.numeric)
        expansion = fit_expansion(dense, n_numeric, kind=self.kind)
        columns = expansion.transform(dense).astype(np.float64)
        fitted: list[Scorer] = []
        for strength in self.strengths:
            weights, intercept = ridge(columns, task, strength)
            fitted.append(LinearScorer(expansion, weights, intercept))
        return fitted


class _Splines(_Linear):
    """Ridge logistic regression on hinges at quantiles of each number."""

    name = "splines"
    kind = "splines"


class _Kernel(Member):
    """Ridge logistic regression on Gaussian bumps around some rows (Nyström's features).

    The settings are γ, in units of 1 / total variance, with a strength of the ridge. Narrow bumps
    are tried from 32 numbers on: they are much better on pixels and no better on most tables.
    """

    name = "kernel"
    most_rows = 20_000
    centres = 200
    grid = ((0.5, 0.3), (1.0, 0.3), (1.0, 0.03))

    def too_costly(self, task: Task) -> str:
        too_many = f"more than {_MANY_ROWS:,} rows" if task.rows > _MANY_ROWS else ""
        return _too_wide(task) or too_many

    def settings(self, task: Task) -> int:
        design = task.view.design
        return 1 if design is None or len(design.numeric) < _MANY_NUMBERS else len(self.grid)

    def fit(self, task: Task) -> list[Scorer]:
        grid = self.grid[: self.settings(task)]
        task = task.at_most(self.most_rows)
        rng = np.random.default_rng(task.seed)
        dense = task.view.dense
        p, u = np.flatnonzero(task.s == 1), np.flatnonzero(task.s == 0)
        p = rng.permutation(p)[: self.centres // 3]
        chosen = np.concatenate([p, rng.permutation(u)[: self.centres - len(p)]])
        centres = dense[chosen].astype(np.float64)
        size = max(float(dense.var(axis=0, dtype=np.float64).sum()), 1e-9)
        columns = {width: _bump_columns(dense, chosen, width / size) for width, _ in grid}
        fitted: list[Scorer] = []
        for width, strength in grid:
            features, root = columns[width]
            weights, intercept = ridge(features, task, strength)
            constants = np.array([intercept[0], width / size])
            fitted.append(KernelScorer(centres, root @ weights, constants))
        return fitted


def _too_wide(task: Task) -> str:
    """Say that there are too many dense columns for what makes several of each."""
    design = task.view.design
    wide = design is not None and design.size > MANY_COLUMNS
    return f"more than {MANY_COLUMNS} columns" if wide else ""


def _bump_columns(
    dense: NDArray[np.float32], chosen: NDArray[np.intp], gamma: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the features of all rows, and K^(-1/2): the ridge is then the kernel's norm."""
    values = bumps(dense, dense[chosen].astype(np.float64), gamma)
    size, axes = np.linalg.eigh(values[chosen])
    kept = size > 1e-6 * size.max()
    root = axes[:, kept] / np.sqrt(size[kept])
    return values @ root, root


class _Forest(Member):
    """Trees, each grown from as many rows of U as of P: down-sampled, as ecologists do.

    The settings are the least rows of a leaf; the best rank held-out rows best.
    """

    name = "forest"
    share = 3.0
    most_rows = 20_000
    trees = (200, 100, 40)  # of few positives, of some, of many: scoring takes time
    trees_in_folds = 40  # scores out of fold only choose, weigh and calibrate
    leaves = (1, 10)
    splitter = "best"

    def settings(self, task: Task) -> int:
        return len(self.leaves) if task.size >= _FEW_FOR_LEAVES else 1

    def fit(self, task: Task) -> list[Scorer]:
        leaves = self.leaves[: self.settings(task)]
        return [self._grow(task, leaf, self.trees_in_folds) for leaf in leaves]

    def fit_one(self, task: Task, setting: int) -> Scorer:
        n_trees = self.trees[int(np.searchsorted([_FEW // 10, _FEW], task.size, "right"))]
        return self._grow(task, self.leaves[setting], n_trees)

    def held_out_loss(
        self, scores: NDArray[np.float64], s: NDArray[np.int8], prior: float, sampling: str
    ) -> float:
        """Return minus the AUC of P against U: the log-odds of leaves of one row mean little."""
        return -p_against_u(scores, s)

    def _grow(self, task: Task, leaf: int, n_trees: int) -> Scorer:
        task = task.at_most(self.most_rows)
        return ForestScorer(down_sampled(task, n_trees, leaf=leaf, splitter=self.splitter))


class _ExtraTrees(_Forest):
    """The same with splits at random."""

    name = "extra-trees"
    share = 1.0
    trees = (100, 60, 40)
    splitter = "random"

    def too_costly(self, task: Task) -> str:
        return f"{_MANY:,} positives or more" if task.n_p >= _MANY else ""


def down_sampled(task: Task, n_trees: int, *, leaf: int, splitter: str) -> Forest:
    """Grow trees that tell P from U, each from a draw with replacement of both.

    They are trees of regression on s, whose splits are those of Gini's impurity: the variance of s
    is half of it. scikit-learn grows them in two thirds of the time of a classifier's.

    Parameters
    ----------
    task : Task
        Rows are drawn by the weights of `Task.weighted`.
    n_trees, leaf : int
        How many trees, and the least rows of a leaf.
    splitter : {"best", "random"}
        How a split is chosen among those of √d columns.
    """
    from joblib import Parallel, delayed
    from sklearn import config_context
    from sklearn.tree import DecisionTreeRegressor

    rows, s, weights = task.weighted()
    x, n = task.view.x[rows], min(task.n_p, _OF_EACH)
    # scikit-learn finds gaps only in what it checks, which takes as long as a small tree.
    check = not isinstance(x, np.ndarray) or bool(np.isnan(x).any())
    target = s.astype(np.float64)
    sides = [_sampler(np.flatnonzero(s == label), weights) for label in (1, 0)]

    def grown(generator: np.random.Generator) -> Any:
        drawn = np.concatenate([draw(generator, n) for draw in sides])
        tree = DecisionTreeRegressor(
            splitter=splitter,
            max_features="sqrt",
            min_samples_leaf=leaf,
            random_state=int(generator.integers(1 << 31)),
        )
        with config_context(skip_parameter_validation=True):
            return tree.fit(x[drawn], target[drawn], check_input=check)

    run = Parallel(task.n_jobs if n >= _LARGE else 1, prefer="threads")
    generators = np.random.default_rng(task.seed).spawn(n_trees)
    return Forest.from_sklearn(run(delayed(grown)(one) for one in generators))


def _sampler(
    rows: NDArray[np.intp], weights: NDArray[np.float64]
) -> Callable[[np.random.Generator, int], NDArray[np.intp]]:
    """Return a function that draws rows with replacement, by their weights."""
    total = np.cumsum(weights[rows])
    return lambda rng, n: rows[np.searchsorted(total, rng.random(n) * total[-1])]


class _Boosted(Member):
    """LightGBM; the number of rounds is a setting, so held-out rows stop it."""

    needs_dense = False
    needs_lightgbm = True
    most_rows = 300_000
    rate = 0.1
    ridge = 1.0
    least_weight = 1.0  # of a leaf, in the curvature of rows of P

    def too_costly(self, task: Task) -> str:
        if not task.sparse and task.view.x.shape[1] > _VERY_WIDE:
            return f"more than {_VERY_WIDE:,} columns"
        of_words = task.sparse and task.view.x.shape[1] > MANY_COLUMNS
        few = _FEW_WORDS if of_words else _FEW_POSITIVES
        return f"fewer than {few} positives" if task.n_p < few else ""

    def settings(self, task: Task) -> int:
        return self._rounds(task) // _STEP

    def _rounds(self, task: Task) -> int:
        return 80 if task.size < _FEW else 200

    def _leaves(self, task: Task) -> int:
        return 7 if task.size < _FEW else 15 if task.size < 10 * _FEW else 31

    def fit(self, task: Task) -> list[Scorer]:
        forest, start = self._train(task, self._rounds(task))
        return [
            BoostedScorer(forest.first(_STEP * (i + 1)), start) for i in range(self.settings(task))
        ]

    def fit_one(self, task: Task, setting: int) -> Scorer:
        return BoostedScorer(*self._train(task, _STEP * (setting + 1)))

    def _train(self, task: Task, rounds: int) -> tuple[Forest, NDArray[np.float64]]:
        import lightgbm

        # A PU risk of one sample needs its shares; to tell P from U takes as many P as there are.
        together = self.needs_prior and task.sampling == "one-sample"
        task = task.at_most(self.most_rows, together=together)
        options = self._options(task)
        index, labels, weights = self._rows(task)
        x = task.view.x[index]
        if not isinstance(x, np.ndarray):
            x = for_lightgbm(x)
        rows = lightgbm.Dataset(
            x,
            label=labels,
            weight=weights,
            params={name: value for name, value in options.items() if name != "objective"},
            categorical_feature=list(task.categories),
        )
        start = self._start(task)
        rows.construct()
        n_columns = task.view.x.shape[1]
        splits = any(rows.feature_num_bin(j) > 1 for j in range(n_columns))
        if start:
            rows.set_init_score(np.full(len(labels), start))
        text = ""
        if splits:  # LightGBM takes rows that no column tells apart for an error
            booster = lightgbm.train(options, rows, rounds)
            text = booster.model_to_string(num_iteration=-1)
        return Forest.from_text(text), np.array([start])

    def scores(self, fitted: list[Scorer], view: View) -> NDArray[np.float64]:
        """Add up the trees once, with a look after every step."""
        last = fitted[-1]
        assert isinstance(last, BoostedScorer)
        sums = last.forest.staged_scores(view.x, _STEP, len(fitted))
        return sums + float(last.start[0])

    def _start(self, task: Task) -> float:
        return 0.0

    def _rows(self, task: Task) -> tuple[Any, NDArray[np.int8], NDArray[np.float64] | None]:
        return task.weighted()

    def _objective(self, task: Task) -> Any:
        return "binary"

    def _options(self, task: Task) -> dict[str, Any]:
        return {
            "objective": self._objective(task),
            "learning_rate": self.rate,
            "num_leaves": self._leaves(task),
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": self.least_weight,
            "lambda_l2": self.ridge,
            "feature_fraction": 0.5 if isinstance(task.view.x, np.ndarray) else 1.0,
            "min_data_per_group": 20,
            # Threads that wait for each other cost more than they bring where rows are few.
            "num_threads": task.n_jobs if len(task.s) >= _FOR_THREADS else 1,
            "seed": task.seed,
            "deterministic": True,
            "feature_pre_filter": False,
            "force_row_wise": True,  # LightGBM would time both ways and take one
            "verbosity": -1,
        }


class _Contrast(_Boosted):
    """Small trees of P against U."""

    name = "small-trees"

    def too_costly(self, task: Task) -> str:
        return super().too_costly(task) if task.sparse else "for sparse data alone"


class _KL(_Boosted):
    """Trees that descend the KL risk, from the prior on."""

    name = "boosted-kl"
    needs_prior = True
    least_weight = 0.25

    def _start(self, task: Task) -> float:
        return float(logit(task.prior))

    def _rows(self, task: Task) -> tuple[Any, NDArray[np.int8], None]:
        return slice(None), task.s, None

    def _train(self, task: Task, rounds: int) -> tuple[Forest, NDArray[np.float64]]:
        if task.grown is None:
            return super()._train(task, rounds)
        return task.grown.first(rounds), np.array([self._start(task)])

    def grown(self, table: LargerTable, task: Task, columns: Columns) -> Forest:
        """Return the trees of all rounds, fitted to the table of which the task has a sample."""
        options = self._options(task) | {"n_estimators": self._rounds(task)}
        options["categorical_feature"] = list(task.categories)
        return table.grow(task.prior, columns, options, self._start(task))

    def _objective(self, task: Task) -> Any:
        rows, y, weight = task.answered()
        weight = task.eta * task.n_p / task.prior * weight
        scale = task.n_p / (task.prior * len(task.s))  # a row of P has the weight 1
        scale *= 1 - task.eta if len(rows) else 1.0

        def objective(scores: NDArray[Any], _: Any) -> tuple[NDArray[Any], NDArray[Any]]:
            gradient, hessian, _ = kl_round(
                scores, task.s, prior=task.prior, sampling=task.sampling, values=False
            )
            gradient *= scale
            hessian *= scale
            q = expit(scores[rows])
            gradient[rows] += weight * (q - y)
            hessian[rows] += weight * q * (1 - q)
            return gradient, hessian

        return objective


#: The member whose trees may be grown from rows that others hold.
BOOSTED = _KL()

#: The members by name, in the order in which they are fitted.
MEMBERS: dict[str, Member] = {
    member.name: member
    for member in (
        _Linear(),
        _Splines(),
        _Kernel(),
        SparseLinear(),
        Topics(),
        SelfTrained(),
        _Forest(),
        _ExtraTrees(),
        _Contrast(),
        BOOSTED,
    )
}
