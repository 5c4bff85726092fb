"""`EnsemblePU`: the classifier that puts members of different kinds together."""

from __future__ import annotations

import sys
import warnings
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from nnpu.calibration import ScoreCalibration
from nnpu.data.vectors import as_array
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.estimators.ensemble import stored as state
from nnpu.estimators.ensemble.inputs import (
    Dense,
    Levels,
    check_matrix,
    find_categories,
    fit_columns,
    fit_dense,
    levels_of,
    usable,
)
from nnpu.estimators.ensemble.member_scorers import Scorer, View
from nnpu.estimators.ensemble.members import BOOSTED, MEMBERS, PIXELS, excluded
from nnpu.estimators.ensemble.sparse_members import joined
from nnpu.estimators.ensemble.task import MANY_COLUMNS, Member, Task
from nnpu.estimators.ensemble.trials import (
    Folds,
    MemberTrial,
    make_folds,
    one_hold_out,
    refit,
    try_member,
)
from nnpu.estimators.ensemble.weights import (
    Mixture,
    answers_count,
    audited_prior,
    calibrated,
    corrected,
    find_cut,
    fit_mixture,
    p_against_u,
    signed_weights,
)
from nnpu.estimators.out_of_fold import MOST_ROWS, OutOfFold, align
from nnpu.estimators.threads import count_jobs, in_threads, one_blas_thread
from nnpu.parameters import InputError, ParameterError, check_choice, check_count, shown
from nnpu.terminal import status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.ensemble.task import LargerTable
    from nnpu.estimators.labels import Labels
    from nnpu.review import KnownRows

__all__ = ["EnsemblePU"]

_OWNER = "EnsemblePU"


class _Work(NamedTuple):
    """What the members are tried on, and what became of those that were tried."""

    task: Task
    folds: Folds
    trials: list[MemberTrial]


class EnsemblePU(BasePUClassifier):
    """Linear models, kernels and trees together, from labelled positives and unlabelled data.

    Members of different kinds are fitted in folds. Their out-of-fold scores estimate the prior (if
    it is not given), weigh the members, calibrate the probabilities and choose the cut. Then each
    member that counts is fitted to all rows. No member is best everywhere; together they are near
    the best (``docs/lab/leaderboard.md``).

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The class prior π_p: the share of positives among the unlabelled rows (two-sample) or
        among all rows (one-sample). "auto" estimates it; see ``prior_estimate_``.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        "two-sample": the positives were collected separately from the unlabelled rows.
        "one-sample": all rows are one sample, and some of its positives got a label.
    categories : "auto" or list of int, default="auto"
        The columns that hold codes of categories, 0, 1, …, which have no order. "auto" takes the
        columns of a frame that are words or categories.
    n_dense : int, default=0
        Of a sparse matrix: how many of its first columns are numbers and codes, as an array has
        them, with NaN where a value is missing. The others are words or the like. Members for
        arrays take the first columns, members for sparse rows take all.
    members : "auto" or list of str, default="auto"
        Which members to fit, by the names in ``members_``. "auto" goes by the data; a member that
        would not earn its cost is left out, and ``members_`` says why.
    n_folds : "auto" or int, default="auto"
        "auto": five folds up to 30,000 rows, then a single hold-out of a third (three folds with
        fewer than 5,000 labelled rows).
    random_state : int, RandomState or None, default=None
        Decides folds and members: the same seed on the same machine gives the same bits.
    n_jobs : int or None, default=None
        Threads of the trees; None means one for each processor that is free. Results do not depend
        on it.
    verbose : int, default=0
        1 shows what is being fitted, on a line that changes; 2 prints a line per member.

    Attributes
    ----------
    classes_, sampling_, prior_, prior_estimate_, calibration_, threshold_, n_features_in_,
    feature_names_in_
        As in `BasePUClassifier`. The probabilities are calibrated, and the threshold is the most
        accurate one, both by out-of-fold scores.
    members_ : list of dict
        A row per member: ``name``, ``weight``, ``auc`` (out of fold, P against U; None if it was
        not tried or failed), ``aside`` (the same on rows that `TablePU` set aside), and
        ``reason``, why it was left out (empty if it was not).
    seconds_ : dict
        What each member that was tried took. A model folder does not keep it: the same fit gives
        the same bytes.
    aside_ : float or None
        The AUC of all members together on these rows.
    out_of_fold_ : OutOfFold or None
        A score of each row by members that were not fitted to it; None above 30,000 rows, and in
        a classifier from a folder.
    levels_ : dict
        The levels of each column of words.

    Notes
    -----
    X may be an array of numbers, with NaN where a value is missing; a SciPy sparse matrix; or a
    frame (pandas, polars) whose columns of words are taken as categories. Numbers are centred in
    double precision first.

    Scores of rows that it was fitted to are too sure; judge other rows.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import EnsemblePU
    >>> rng = np.random.default_rng(0)
    >>> x_p = rng.normal(2, 1, (100, 2))                                 # positives
    >>> x_u = np.r_[rng.normal(2, 1, (150, 2)), rng.normal(-2, 1, (350, 2))]  # 30 % positive
    >>> X, s = np.r_[x_p, x_u], np.r_[np.ones(100), np.zeros(500)]
    >>> clf = EnsemblePU(prior=0.3, random_state=0).fit(X, s)
    >>> clf.predict([[2, 2], [-2, -2]])
    array([1., 0.])
    """

    _takes_codes = True
    _takes_words = True
    _negatives_are_population = True
    _mixture: Mixture  # how the scores of the members become one log-odds

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        sampling: str = "two-sample",
        categories: Any = "auto",
        n_dense: int = 0,
        members: Any = "auto",
        n_folds: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.sampling = sampling
        self.categories = categories
        self.n_dense = n_dense
        self.members = members
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, groups: Any = None, answers: KnownRows | None = None) -> Self:
        """Fit from labelled positives and unlabelled rows, and from a person's answers to some.

        Parameters
        ----------
        X, y, groups
            As in `BasePUClassifier.fit`.
        answers : KnownRows, optional
            Of `nnpu.review.known_rows`, with rows that count in `X`, in which answered rows stay
            unlabelled. Their classes are added to the risk of every member, the more answers the
            more they count, and calibrate. ``prior="auto"`` takes the audited prior.
        """
        # Matrices are small here: a second thread would mostly wait, and take its core.
        with one_blas_thread():
            return self._fit(X, y, groups, answers=answers)

    def fit_sample(self, X: Any, y: Any, table: LargerTable) -> Self:
        """Fit to a sample of a larger table, whose boosted trees are grown from all of its rows.

        Parameters
        ----------
        X, y
            As in `fit`: rows drawn at random.
        table : LargerTable
            Which of them weigh the members, and what grows the trees.
        """
        with one_blas_thread():
            return self._fit(X, y, None, table=table)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        self._asked()
        check_count("n_dense", self.n_dense, _OWNER, low=0)
        if self.n_folds != "auto":
            check_count("n_folds", self.n_folds, _OWNER, low=2)
        if self.n_jobs is not None and self.n_jobs != -1:
            check_count("n_jobs", self.n_jobs, _OWNER)
        if not isinstance(self.verbose, bool):
            check_count("verbose", self.verbose, _OWNER, low=0)

    def _asked(self) -> list[str] | None:
        """Return the members that the user asked for; None if the choice is left to the data."""
        if isinstance(self.members, str) and self.members == "auto":
            return None
        if isinstance(self.members, str) or not len(self.members):
            raise ParameterError(
                f"The 'members' parameter of {_OWNER} must be 'auto' or a list of names. "
                f"Got {shown(self.members)} instead."
            )
        return [check_choice("members", name, _OWNER, MEMBERS) for name in self.members]

    def _allows_missing(self) -> bool:
        return True

    def _validate(self, X: Any, s: Any = "no_validation") -> Any:
        """Return a matrix of numbers and codes; words become codes."""
        X, s = usable(X, _OWNER), as_array(s)
        fitting = not isinstance(s, str)
        if fitting:
            self.levels_: Levels = levels_of(X)
        matrix = check_matrix(X, self.levels_, _OWNER, self.n_dense)
        named = X if hasattr(X, "columns") else matrix
        validate_data(self, named, reset=fitting, skip_check_array=True)
        if not fitting:
            return matrix
        if s is None:
            raise ValueError(f"{_OWNER} requires y to be passed, but the target y is None.")
        s = column_or_1d(s, warn=True)
        assert_all_finite(s, input_name="y")
        check_consistent_length(matrix, s)
        return matrix, s

    def _prepare(self, data: FitData) -> _Work:
        """Score P against U out of fold, by the members that need no prior."""
        X, codes = data.x, data.codes
        self.categories_ = find_categories(self.categories, self.levels_, X.shape[1], _OWNER)
        n_dense = self._n_dense(X)
        if any(i >= n_dense for i in self.categories_):
            raise InputError(
                "A sparse matrix has no category columns: use one-hot columns instead."
            )
        self.columns_ = fit_columns(X, self.categories_, _OWNER, n_dense)
        used = self._used(codes)
        x, words = self.columns_.parts(X if len(used) == len(codes) else X[used], n_dense)
        s = (codes[used] == 1).astype(np.int8)
        self.design_: Dense | None = None
        if not sp.issparse(x):
            self.design_ = fit_dense(x, np.array(self.categories_, dtype=np.int32))
        if data.table is None:
            n_folds = None if isinstance(self.n_folds, str) else self.n_folds
            groups = None if data.groups is None else data.groups[used]
            equal = X[used] if words is not None else x
            folds = make_folds(equal, s, data.seed, n_folds, groups)
        else:
            folds = one_hold_out(data.table.held_out[used])
        jobs = count_jobs(self.n_jobs)
        view = View(x, self.design_, words)
        task = Task(view, s, self.categories_, self.sampling, data.seed, jobs, int(s.sum()))
        if data.table is not None:
            task = replace(task, size=data.table.n_p, table_rows=data.table.n)
        if data.answers is not None:
            signed = signed_weights(data.answers, codes)[used]
            eta = answers_count(int(np.count_nonzero(signed[s == 0])))
            task = replace(task, answers=signed, eta=eta)
        work = _Work(task, folds, [])
        reasons = excluded(task, self._asked())
        for member in MEMBERS.values():
            if reason := reasons.get(member.name, ""):
                work.trials.append(MemberTrial(member, reason=reason))
            elif not member.needs_prior:
                work.trials.append(self._try(member, task, folds))
        return work

    def _used(self, codes: Labels) -> NDArray[np.intp]:
        """Return the rows of P and of the population: known negatives of two samples are not."""
        return np.flatnonzero((codes >= 0) | (self.sampling == "one-sample"))

    def _try(self, member: Member, task: Task, folds: Folds) -> MemberTrial:
        """Score the held-out rows by one member, and say what came of it."""
        trial = try_member(member, task, folds)
        if trial.reason:
            words = f"The member {member.name!r} of {_OWNER} is not used: it {trial.reason}."
            warnings.warn(words, UserWarning, stacklevel=2)
        found = trial.reason or f"AUC of P against U {trial.auc or 0:.3f}"
        self._say(f"{member.name}: {found}, {trial.seconds:.1f} s out of fold")
        return trial

    def _say(self, text: str) -> None:
        if self.verbose > 1:
            print(text, file=sys.stderr, flush=True)
        elif self.verbose:
            status(f"{text} ...")

    def _find_prior(self, data: FitData, work: _Work) -> float:
        if self.prior != "auto" or data.answers is None or data.answers.prior is None:
            return super()._find_prior(data, work)
        self.prior_estimate_ = audited_prior(data.answers, data.codes, self.sampling)
        return self.prior_estimate_.value

    def _prior_samples(self, data: FitData, work: _Work) -> tuple[Any, Any, Any]:
        """Out-of-fold scores: the mean of the members' that need no prior.

        Words and what may be pixels are scored anew: classes may lie further apart in them.
        """
        X, codes = data.x, data.codes
        if self.n_dense and sp.issparse(X):
            rows = joined(X, self.n_dense, self.categories_)[0]
            return super()._prior_samples(replace(data, x=rows), work)
        if X.shape[1] > (MANY_COLUMNS if sp.issparse(X) else PIXELS):
            return super()._prior_samples(data, work)
        used = codes if self.sampling == "one-sample" else codes[codes >= 0]
        kept = used[work.folds.held_out]  # known negatives are not part of U
        usable = [trial.scores for trial in work.trials if not trial.reason]
        if not usable:
            raise InputError("No member tells labelled from unlabelled rows: give the prior.")
        mean = np.mean([(one - one.mean()) / one.std() for one in usable], axis=0)
        return mean[kept == 1], mean[kept == 0], None

    def _fit_scores(self, data: FitData, work: _Work) -> None:
        """Try the other members, weigh and calibrate all of them, then fit them to all rows."""
        folds, trials = work.folds, list(work.trials)
        task = replace(work.task, prior=self.prior_)
        known = {trial.member.name for trial in trials}
        if data.table is not None and "boosted-kl" not in known and not task.sparse:
            self._say("boosted-kl: fitted to the rows of the workers")
            task = replace(task, grown=BOOSTED.grown(data.table, task, self.columns_))
        trials += [
            self._try(member, task, folds)
            for member in MEMBERS.values()
            if member.name not in known
        ]
        used = [trial for trial in trials if not trial.reason]
        if not used:
            raise InputError("No member of EnsemblePU could be fitted: no column tells rows apart.")
        s = task.s[folds.held_out]
        scores = np.array([trial.scores for trial in used])
        self._mixture = self._mix(used, scores, s)
        log_odds = self._mixture.log_odds(self._mixture.by_member(scores))
        self._calibrate_and_cut(log_odds, s)
        self.out_of_fold_ = self._out_of_fold(used, folds, s, log_odds, data.codes)
        if task.answers is not None:
            self.calibration_, self.threshold_ = corrected(
                self.calibration_, log_odds, task.answers[folds.held_out]
            )
        self.scorers_: list[Scorer] = [
            self._fitted_to_all(trial, weight, task)
            for trial, weight in zip(used, self._mixture.weights, strict=True)
        ]
        status("")
        self._describe(trials)

    def _mix(
        self, used: list[MemberTrial], scores: NDArray[np.float64], s: NDArray[np.int8]
    ) -> Mixture:
        members = [trial.member for trial in used]
        beside = bool(self.n_dense)
        return fit_mixture(members, scores, s, self.prior_, self.sampling, words_beside=beside)

    def _fitted_to_all(self, trial: MemberTrial, weight: float, task: Task) -> Scorer:
        if weight == 0:  # no score needs it: what the first fold fitted shows what it says
            return trial.first[trial.setting]
        self._say(f"{trial.member.name}: fitted to all rows")
        return refit(trial, task)

    def _describe(self, trials: list[MemberTrial]) -> None:
        """Note what became of each member, in the order of `MEMBERS`."""
        total = self._mixture.weights.sum()
        shares = dict(
            zip(self._mixture.names, (self._mixture.weights / total).tolist(), strict=True)
        )
        order = list(MEMBERS)
        tried = sorted(trials, key=lambda trial: order.index(trial.member.name))
        self.members_: list[dict[str, Any]] = [
            {
                "name": trial.member.name,
                "weight": shares.get(trial.member.name, 0.0),
                "auc": trial.auc,
                "aside": None,
                "reason": trial.reason,
            }
            for trial in tried
        ]
        self.aside_: float | None = None
        self.seconds_ = {trial.member.name: trial.seconds for trial in tried if trial.seconds}

    def _out_of_fold(
        self,
        used: list[MemberTrial],
        folds: Folds,
        s: NDArray[np.int8],
        log_odds: NDArray[np.float64],
        codes: Labels,
    ) -> OutOfFold | None:
        """Score each fold by what was chosen, calibrated and weighed without it.

        That the weights of a fold rest on members that were fitted to it is all that is left of
        the fold in its own scores; None for a large table, which has rows to set aside.
        """
        if len(codes) > MOST_ROWS or len(folds.parts) < 2:
            return None
        part = folds.part_of_held_out
        found = np.empty(len(s))
        for number in range(len(folds.parts)):
            settings = [trial.setting_without(number) for trial in used]
            scores = np.array([trial.every[i] for trial, i in zip(used, settings, strict=True)])
            rest, here = part != number, part == number
            mixture = self._mix(used, scores[:, rest], s[rest])
            found[here] = mixture.log_odds(mixture.by_member(scores[:, here]))
            if number == 0:
                first = copy(self)
                first.scorers_ = [t.first[i] for t, i in zip(used, settings, strict=True)]
                first._mixture = mixture
        inside = self._used(codes)[folds.held_out]
        scores, fold = np.full(len(codes), np.nan), np.full(len(codes), -1, dtype=np.intp)
        scores[inside] = align(found, part, s, log_odds[s == 0] - self._cut)
        fold[inside] = part
        return OutOfFold(scores, fold, first)

    def _calibrate_and_cut(self, log_odds: NDArray[np.float64], s: NDArray[np.int8]) -> None:
        """Calibrate the mixture and let scores be 0 at the cut; say so if nothing was learned."""
        slope, intercept = calibrated(log_odds, s, self.prior_, self.sampling)
        self._cut = -intercept / slope  # where the probability is one half
        if self.prior_estimate_ is not None and self.sampling == "one-sample":
            self._cut = find_cut(log_odds, s, self.prior_, self.prior_estimate_)
        self.calibration_ = ScoreCalibration(slope, intercept + slope * self._cut)
        if p_against_u(log_odds, s) <= 0.5:
            warnings.warn(
                "Out of fold, labelled rows score no higher than unlabelled ones: nothing was "
                "learned that holds for new rows. There are too few positives, or the columns do "
                "not tell the classes apart.",
                UserWarning,
                stacklevel=2,
            )

    def _scores(self, X: Any) -> NDArray[np.float32]:
        parts = in_threads(self._block_scores, X, self.n_jobs)
        return np.concatenate([np.zeros(0, np.float32), *parts])

    def _block_scores(self, X: Any) -> NDArray[np.float32]:
        by_member = self._by_member(X, least=0.0)
        return (self._mixture.log_odds(by_member) - self._cut).astype(np.float32)

    def _by_member(self, X: Any, least: float = -1.0) -> NDArray[np.float64]:
        """Return the calibrated log-odds of members that weigh more than that, (n_members, n)."""
        x, words = self.columns_.parts(X, self._n_dense(X))
        view = View(x, self.design_, words)
        left_out = np.zeros(len(view))
        scores = [
            one.scores(view) if weight > least else left_out
            for one, weight in zip(self.scorers_, self._mixture.weights, strict=True)
        ]
        return self._mixture.by_member(np.array(scores))

    def _n_dense(self, X: Any) -> int:
        """Return how many of the columns are numbers and codes as in an array."""
        return self.n_dense if sp.issparse(X) else int(X.shape[1])

    def member_scores(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Return what each member says of the rows `X`: its calibrated log-odds."""
        check_is_fitted(self)
        return dict(zip(self._mixture.names, self._by_member(self._validate(X)), strict=True))

    def _note_unseen(self, X: Any, s: Labels, judge: Self) -> None:
        """Note how each member, and all together, rank rows that `judge` was not fitted to."""
        scores, of_p = judge.member_scores(X), (s == 1).astype(np.int8)
        for row in self.members_:
            if row["name"] in scores:
                row["aside"] = p_against_u(scores[row["name"]], of_p)
        together = judge._mixture.log_odds(np.array(list(scores.values())))
        self.aside_ = p_against_u(together, of_p)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        mine, plain = state.pack(self)
        return tensors | mine, fitted | plain

    def _restore(self, tensors: dict[str, Any], fitted: dict[str, Any], module: Any) -> None:
        super()._restore(tensors, fitted, module)
        state.unpack(self, tensors, fitted)
