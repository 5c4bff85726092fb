"""`PUClassifier`: any torch module, trained by Algorithm 1, behind scikit-learn's interface."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nnpu.extras import needing

with needing("torch", extra="torch", owner="PUClassifier"):
    import torch
    from torch import nn

from nnpu.ambient import plain_torch
from nnpu.data.moments import feature_scale
from nnpu.data.rows import as_rows
from nnpu.estimators import threshold_choice
from nnpu.estimators._collapse import collapse, collapse_message
from nnpu.estimators._own_module import keep_linear, needs_argument, probe
from nnpu.estimators._weights import arrays_of, weights_for
from nnpu.estimators.base import BasePUClassifier
from nnpu.estimators.untrusted import check_history
from nnpu.losses import get_loss
from nnpu.models import TabularNet
from nnpu.objective import Objective
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_count,
    check_number,
    shown,
)
from nnpu.risk import get_risk
from nnpu.training import DEFAULT_TRAINING, Training, TrainingSample, predict_scores, train
from nnpu.training.distributed import local_device
from nnpu.training.optimizers import check_optimizer
from nnpu.training.seeds import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor
    from torch.optim import Optimizer

    from nnpu.data.rows import Rows
    from nnpu.estimators.labels import Labels
    from nnpu.risk import AnyLoss, Risk

__all__ = ["PUClassifier"]

_OWNER = "PUClassifier"
_ATTEMPTS = 3  # trainings, if the first ones collapse
_TRYOUT = 100  # steps below which a training is a try-out that may fail
_ENOUGH = 5_000  # rows of P and of U that a collapse is looked for in
_FEW = 100  # positives below which the default network stays linear
_FEATURES_ON_TRUST = 2**20  # that a module of the user's own is made for, whatever its weights


class PUClassifier(BasePUClassifier):
    """A classifier from labelled positives and unlabelled data: nnPU with a neural network.

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The class prior π_p: the share of positives among the unlabelled rows (two-sample) or
        among all rows (one-sample). "auto" estimates it; see ``prior_estimate_``.
    module : torch.nn.Module, callable or None, default=None
        The network, with output of shape (n,) or (n, 1). An instance is copied and trained from
        the weights it has; a callable is called, with the number of features if it needs an
        argument. None is `nnpu.models.TabularNet`, which standardises the features itself; a
        module of one's own gets them as they are, as float32.
    risk : str or Risk, default="nnpu"
        What is minimised; see `nnpu.PULoss`.
    loss : str, Loss or callable, default="sigmoid"
        A name of Table 1 or any function of the margin.
    beta, gamma : float, default=0.0, 1.0
        Algorithm 1's tolerance, and its discount of the step size where r < −β.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        "two-sample": the positives were collected separately from the unlabelled rows.
        "one-sample": all rows are one sample, and some of its positives got a label.
    optimizer : str or callable, default="adam"
        "adam", "adamw", "adagrad", "rmsprop", "sgd", or a torch optimiser class.
    lr : float, default=3e-3
        Step size η.
    weight_decay : float or "auto", default="auto"
        ℓ2 regularisation. "auto" is 2e-3; with fewer than 100 positives and no module of one's own
        it is 0.2 / n_p, and the network keeps to its linear path.
    batch_size, epochs : int or "auto", default="auto"
        "auto" goes by the number of rows: batches of 256 (fewer where there are fewer than 1,024
        rows, up to 1,024 from 100,000 rows on), and 1,000 steps (one per row, but at least 500,
        where there are fewer rows), but at least 20 epochs (5 above 100,000 rows).
    device : str, default="auto"
        Where to train; "auto" takes a CUDA device if there is one. The processes of a torchrun
        train together, each on a device of its own.
    random_state : int, RandomState or None, default=None
        Decides weights, batches and held-out rows: the same seed on the same machine gives the
        same bits.
    verbose : int, default=0
        1 shows progress.
    training : Training or None, default=None
        Schedule, averaging, validation, early stopping, checkpoints; see
        `nnpu.training.Training`. None is `DEFAULT_TRAINING`: a cosine schedule after a warm-up
        of a fifth of the steps under the logistic loss. Rows set aside for validation also
        calibrate the probabilities, which near one half may then disagree with `predict`.

    Attributes
    ----------
    classes_, prior_, prior_estimate_, n_features_in_, feature_names_in_
        As in `BasePUClassifier`.
    module_ : torch.nn.Module
        The trained network.
    history_ : list of dict
        One row per epoch: the training risk (``train_risk``; ``train_zero_one`` for the zero-one
        loss), its parts ``train_positive`` and ``train_negative``, the share of steps that were
        ``corrected``, and the same of held-out rows (``valid_…``) if there are any.

    Notes
    -----
    Sparse columns are not centred, since that would fill them up. The same numbers as a sparse and
    as a dense matrix therefore give two networks, whose scores differ.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import PUClassifier
    >>> rng = np.random.default_rng(0)
    >>> x_p = rng.normal(2, 1, (100, 2))                                 # positives
    >>> x_u = np.r_[rng.normal(2, 1, (150, 2)), rng.normal(-2, 1, (350, 2))]  # 30 % positive
    >>> X, s = np.r_[x_p, x_u], np.r_[np.ones(100), np.zeros(500)]
    >>> clf = PUClassifier(prior=0.3, epochs=20, random_state=0).fit(X, s)
    >>> clf.predict([[2, 2], [-2, -2]])
    array([1., 0.])
    """

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        module: nn.Module | Callable[..., nn.Module] | None = None,
        risk: str | Risk = "nnpu",
        loss: AnyLoss = "sigmoid",
        beta: float = 0.0,
        gamma: float = 1.0,
        sampling: str = "two-sample",
        optimizer: str | Callable[..., Optimizer] = "adam",
        lr: float = 3e-3,
        weight_decay: float | str = "auto",
        batch_size: int | str = "auto",
        epochs: int | str = "auto",
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        training: Training | None = None,
    ) -> None:
        self.prior = prior
        self.module = module
        self.risk = risk
        self.loss = loss
        self.beta = beta
        self.gamma = gamma
        self.sampling = sampling
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.training = training

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        get_risk(self.risk, owner=_OWNER)
        get_loss(self.loss, owner=_OWNER)
        check_number("beta", self.beta, _OWNER, low=0)
        check_number("gamma", self.gamma, _OWNER, low=0, high=1)
        check_optimizer(self.optimizer, _OWNER)
        check_number("lr", self.lr, _OWNER, low=0, include_low=False)
        if self.weight_decay != "auto":
            check_number("weight_decay", self.weight_decay, _OWNER, low=0)
        if not isinstance(self.verbose, bool):
            check_count("verbose", self.verbose, _OWNER, low=0)
        for name in ("batch_size", "epochs"):
            if getattr(self, name) != "auto":
                check_count(name, getattr(self, name), _OWNER)
        if not (self.module is None or isinstance(self.module, nn.Module) or callable(self.module)):
            raise ParameterError(
                f"The 'module' parameter of {_OWNER} must be a torch.nn.Module, a callable that "
                f"makes one, or None. Got {shown(self.module)} instead."
            )
        if not isinstance(self.training, Training | None):
            raise ParameterError(
                f"The 'training' parameter of {_OWNER} must be a Training or None. "
                f"Got {shown(self.training)} instead."
            )
        find_device(self.device)

    def _unlabelled_is_negative(self) -> bool:
        return get_risk(self.risk).unlabelled_is_negative

    def _ignores_negatives(self) -> str:
        risk = get_risk(self.risk)
        return "" if -1 in risk.reads else f"risk={risk.name!r}; risk='nnpnu' uses them."

    def _allows_any_shape(self) -> bool:
        return self.module is not None

    def _may_centre(self) -> bool:
        return self.module is None  # a module of one's own gets features as they are

    def _takes_rows(self) -> bool:
        return True

    @plain_torch()
    def _prepare(self, X: Any, codes: Labels, seed: int) -> None:
        rows = as_rows(X)
        self.module_ = self._build(rows, int(X.shape[1]), seed)
        probe(self.module_, rows, _OWNER)

    def _build(self, rows: Rows | None, n_features: int, seed: int) -> nn.Module:
        if isinstance(self.module, nn.Module):
            module = copy.deepcopy(self.module)
        else:
            with seeded(seed):
                if self.module is None:
                    module = TabularNet(*feature_scale(as_rows(rows)))
                else:
                    module = self.module(*[n_features] * needs_argument(self.module))
        if not isinstance(module, nn.Module):
            raise ParameterError(
                f"The 'module' parameter of {_OWNER} must be a torch.nn.Module, a callable that "
                f"makes one, or None. It made {shown(module)} instead."
            )
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise ParameterError(
                f"The 'module' parameter of {_OWNER} must have parameters to train. Got "
                f"{type(module).__name__} without any."
            )
        return module.to(find_device(self.device))

    def _fit_scores(self, X: Any, codes: Labels, seed: int) -> None:
        """Train; a network that collapsed is trained again, and what came of it is said."""
        sample = TrainingSample(as_rows(X), torch.from_numpy(codes))
        options = self.training or DEFAULT_TRAINING
        self._train(sample, seed, self.lr, options)
        first = fault = self._fault(sample)
        for attempt in range(1, _ATTEMPTS):
            if fault:
                self.module_ = self._build(sample.rows, int(X.shape[1]), seed + attempt)
                retry = replace(options, checkpoint=None)
                self._train(sample, seed + attempt, self.lr / 3**attempt, retry)
                fault = self._fault(sample)
        if first:
            warnings.warn(collapse_message(first, fault), UserWarning, stacklevel=4)
        if options.validation_fraction > 0:
            self._calibrate_on(sample.split(options.validation_fraction, seed)[1])

    def _train(self, sample: TrainingSample, seed: int, lr: float, options: Training) -> None:
        objective = Objective(
            self.prior_,
            risk=self.risk,
            loss=self.loss,
            beta=self.beta,
            gamma=self.gamma,
            sampling=self.sampling,
            shares=sample.shares,
        )
        batch_size, epochs = budget(len(sample), self.batch_size, self.epochs)
        n_p, decay = len(sample.groups[0]), self.weight_decay
        few = self.module is None and decay == "auto" and n_p < _FEW
        if few and isinstance(self.module_, TabularNet):
            keep_linear(self.module_)
        if isinstance(decay, str):
            decay = 2e-3 * _FEW / max(n_p, 1) if few else 2e-3
        self.module_, self.history_ = train(
            self.module_,
            sample,
            objective,
            epochs=epochs,
            batch_size=batch_size,
            optimizer=self.optimizer,
            lr=lr,
            weight_decay=decay,
            seed=seed,
            options=options,
            verbose=self.verbose,
        )

    def _fault(self, sample: TrainingSample) -> str:
        size, epochs = budget(len(sample), self.batch_size, self.epochs)
        if epochs * -(-len(sample) // size) < _TRYOUT:
            return ""
        some = (group[:: max(1, len(group) // _ENOUGH)] for group in sample.groups[:2])
        return collapse(*(predict_scores(self.module_, sample.rows, index=i).numpy() for i in some))

    def _calibrate_on(self, held_out: TrainingSample) -> None:
        """Calibrate on the rows that the training set aside, if they can."""
        scores = predict_scores(self.module_, held_out.rows, index=held_out.index).numpy()
        codes = held_out.s[held_out.index].numpy()
        try:
            self.calibration_ = threshold_choice.calibration(self, scores, codes)
        except (InputError, ParameterError) as error:
            warnings.warn(
                f"The held-out rows could not calibrate the probabilities: {error}",
                UserWarning,
                stacklevel=4,
            )

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return predict_scores(self.module_, as_rows(X)).numpy()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        fitted["history"] = self.history_
        fitted["own_module"] = self.module is not None
        return tensors | arrays_of(self.module_), fitted

    @plain_torch()
    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        if fitted["own_module"] and module is None:
            raise InputError(
                "The model was fitted with a module of the user's own, whose code is not stored: "
                "pass it again, nnpu.load(folder, module=...)."
            )
        self.module = module
        network, weights = self._empty_network(tensors)
        network.load_state_dict(weights)
        self.module_ = network.to(find_device(self.device)).eval()
        self.history_ = check_history(fitted["history"])

    def _empty_network(
        self, arrays: dict[str, NDArray[Any]]
    ) -> tuple[nn.Module, dict[str, Tensor]]:
        """The network for stored weights, and these, if they are such.

        Sizes are compared before the network is made, with those of a network for no features: a
        stranger's numbers allocate nothing.
        """
        n_features = self.n_features_in_
        if self.module is not None:
            if n_features > max(_FEATURES_ON_TRUST, sum(array.size for array in arrays.values())):
                raise InputError(f"There are not weights enough for {n_features} features.")
            network = self._build(None, n_features, 0)
            return network, weights_for(network.state_dict(), arrays)
        shape = arrays["standardise.mean"].shape
        if shape != (n_features,):
            raise InputError(f"The weights are for {shape} features, not for {n_features}.")
        smallest = TabularNet(torch.zeros(0), torch.ones(0)).state_dict()
        expected = {  # expanded tensors take no memory
            name: weight.new_zeros(1).expand(n_features, *weight.shape[1:])
            if weight.shape[0] == 0
            else weight
            for name, weight in smallest.items()
        }
        weights = weights_for(expected, arrays)
        # Two tensors: buffers that share one would both hold what is loaded last.
        return TabularNet(torch.zeros(n_features), torch.ones(n_features)), weights


def budget(n_rows: int, batch_size: int | str, epochs: int | str) -> tuple[int, int]:
    """Return the batch size and the number of epochs for so many rows.

    >>> budget(100, "auto", "auto"), budget(7_000, "auto", "auto"), budget(10**6, "auto", "auto")
    ((32, 125), (256, 35), (1024, 5))
    """
    small, large = min(max(n_rows // 4, 32), 256), min(n_rows // 400, 1024)
    size = max(small, large) if isinstance(batch_size, str) else batch_size
    steps_per_epoch = -(-n_rows // size)
    auto = min(max(n_rows, 500), 1_000) // steps_per_epoch
    least = 20 if n_rows <= 100_000 else 5
    return size, max(auto, least) if isinstance(epochs, str) else epochs


def find_device(device: str | torch.device) -> torch.device:
    """Return the torch device of that name; "auto" is CUDA if there is any, else the CPU."""
    if device == "auto":
        return local_device()
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ParameterError(
            f"The 'device' parameter of {_OWNER} must be 'auto' or a device that torch finds "
            f"here, such as 'cpu'. Got {shown(device)} instead ({str(error).splitlines()[0]})."
        ) from error
