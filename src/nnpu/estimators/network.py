"""`PUClassifier`: any torch module, trained by Algorithm 1, behind scikit-learn's interface.

A user's own module is made and probed before the training. Features are standardised by one pass
over rows wherever they are kept. A fit that calls everything negative, or ranks like chance, is
noticed. The weights become arrays of a model folder.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nnpu.extras import needing

with needing("torch", extra="torch", owner="PUClassifier"):
    import torch
    from torch import Tensor, nn
    from torch.nn.parameter import is_lazy

from nnpu.data.rows import SparseBatch, as_rows
from nnpu.estimators.base import BasePUClassifier, FitData
from nnpu.losses import get_loss
from nnpu.models import TabularNet
from nnpu.objective import Objective
from nnpu.parameters import InputError, ParameterError, check_count, check_number, shown
from nnpu.prior.curve import auc
from nnpu.risk import get_risk
from nnpu.storage import check_history
from nnpu.torch_settings import one_thread, plain_torch
from nnpu.training import DEFAULT_TRAINING, Training, TrainingSample, predict_scores, train
from nnpu.training.distributed import local_device
from nnpu.training.history import evaluate
from nnpu.training.loop import forward
from nnpu.training.run_state import check_optimizer, seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from torch.optim import Optimizer

    from nnpu.data.rows import Rows
    from nnpu.estimators.labels import Labels
    from nnpu.risk import AnyLoss, Risk

__all__ = [
    "PUClassifier",
    "arrays_of",
    "collapse",
    "collapse_message",
    "feature_scale",
    "keep_linear",
    "needs_argument",
    "probe",
    "scale_of_moments",
    "weights_for",
]

_OWNER = "PUClassifier"
_ATTEMPTS = 3  # trainings, if the first ones collapse
_TRYOUT = 100  # steps below which a training is a try-out that may fail
_ENOUGH = 5_000  # rows of P and of U that a collapse is looked for in
_FEW = 100  # positives below which the default network stays linear
_SMALL = 1 << 26  # multiplications of a forward pass that take about a millisecond
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
        argument. None means `nnpu.models.TabularNet`, which standardises the features itself; a
        module of your own gets them as they are, as float32.
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
        ℓ2 regularisation. "auto" is 2e-3; with fewer than 100 positives and no module of your own
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
        `nnpu.training.Training`. None means `DEFAULT_TRAINING`: a cosine schedule after a warm-up
        of a fifth of the steps under the logistic loss. Rows set aside for validation also
        calibrate the probabilities, which near one half may then disagree with `predict`.

    Attributes
    ----------
    classes_, sampling_, prior_, prior_estimate_, n_features_in_, feature_names_in_
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

    _trains_in_epochs = True
    _traced_by_torch = True

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
        return self.module is None  # a module of your own gets features as they are

    def _takes_rows(self) -> bool:
        return True

    @plain_torch()
    def _prepare(self, data: FitData) -> None:
        rows = as_rows(data.x)
        self.module_ = self._build(rows, int(data.x.shape[1]), data.seed)
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

    def _fit_scores(self, data: FitData, work: None) -> None:
        """Train; a network that collapsed is trained again, with a warning about the outcome."""
        seed = data.seed
        sample = TrainingSample(as_rows(data.x), torch.from_numpy(data.codes))
        options = self.training or DEFAULT_TRAINING
        self._train(sample, seed, self.lr, options)
        first = fault = self._fault(sample)
        for attempt in range(1, _ATTEMPTS):
            if fault:
                self.module_ = self._build(sample.rows, int(data.x.shape[1]), seed + attempt)
                retry = replace(options, checkpoint=None)
                self._train(sample, seed + attempt, self.lr / 3**attempt, retry)
                fault = self._fault(sample)
        if first:
            warnings.warn(collapse_message(first, fault), UserWarning, stacklevel=4)
        if options.validation_fraction > 0:
            held_out = sample.split(options.validation_fraction, seed)[1]
            scores = predict_scores(self.module_, held_out.rows, index=held_out.index).numpy()
            self._calibrate_on(
                scores,
                held_out.s[held_out.index].numpy(),
                "The held-out rows could not calibrate the probabilities",
            )

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
        with ExitStack() as stack:
            if self._steps_are_small(batch_size):
                stack.enter_context(seeded(seed))  # one fit at a time, also for the threads
                stack.enter_context(one_thread())
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

    def _steps_are_small(self, batch_size: int) -> bool:
        """Return whether a step is too small for several threads.

        By its size and not by the load of the machine: the bits of a product may depend on the
        number of threads, and equal seeds give equal bits.
        """
        if not isinstance(self.module_, TabularNet):
            return False
        weights = sum(weight.numel() for weight in self.module_.parameters())
        return batch_size * weights <= _SMALL

    def _fault(self, sample: TrainingSample) -> str:
        size, epochs = budget(len(sample), self.batch_size, self.epochs)
        if epochs * -(-len(sample) // size) < _TRYOUT:
            return ""
        some = (group[:: max(1, len(group) // _ENOUGH)] for group in sample.groups[:2])
        return collapse(*(predict_scores(self.module_, sample.rows, index=i).numpy() for i in some))

    def _watching(self, X: Any, s: Labels) -> Self:
        """Measure the risk on rows that it is not fitted to, after every epoch."""
        rows, labels = as_rows(X), torch.from_numpy(s)

        def add(row: dict[str, float], module: torch.nn.Module) -> None:
            objective = Objective(self.prior_, risk=self.risk, sampling=self.sampling)
            risks = evaluate(objective, predict_scores(module, rows), labels)
            row |= {f"valid_{name}": value for name, value in risks.items()}

        training = self.training or DEFAULT_TRAINING
        if training.on_epoch_end is None:
            self.set_params(training=replace(training, on_epoch_end=add))
        return self

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
                "The model was fitted with a module of your own, whose code is not stored: pass "
                "it again, nnpu.load(folder, module=...)."
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
                raise InputError(f"There are too few weights for {n_features} features.")
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


def needs_argument(make: Callable[..., Any]) -> bool:
    """Return whether a callable has an argument without a default: the number of features."""
    return any(
        parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        for parameter in inspect.signature(make).parameters.values()
    )


def probe(module: nn.Module, rows: Rows, owner: str) -> None:
    """Pass two rows through the module, so a wrong shape shows before the training."""
    batch = rows.take(torch.arange(min(2, len(rows))))
    was_training = module.training
    try:
        with torch.no_grad():  # not inference mode: lazy modules make their weights here
            forward(module.eval(), batch)
    except InputError as error:
        raise InputError(f"The 'module' parameter of {owner}: {error}") from error
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        shape = tuple(batch.shape) if isinstance(batch, torch.Tensor) else "sparse"
        raise InputError(
            f"The 'module' parameter of {owner} must take a batch of shape {shape}. "
            f"It failed instead: {error}"
        ) from error
    module.train(was_training)


def keep_linear(network: TabularNet) -> None:
    """Let the training move the linear path alone; the rest stays at zero."""
    if network.skip is None:
        return
    for weight in network.rest[-1].parameters():
        torch.nn.init.zeros_(weight)
    for part in (network.first, network.rest):
        part.requires_grad_(requires_grad=False)


def arrays_of(module: nn.Module) -> dict[str, NDArray[Any]]:
    """Return the weights of a module; NumPy has no bfloat16, of which it gets the bits.

    >>> arrays_of(torch.nn.Linear(1, 1).bfloat16())["bias"].dtype
    dtype('uint16')
    """
    return {name: _array(weight) for name, weight in module.state_dict().items()}


def _array(weight: Tensor) -> NDArray[Any]:
    weight = weight.detach().cpu()
    return (weight.view(torch.uint16) if weight.dtype == torch.bfloat16 else weight).numpy()


def weights_for(
    expected: Mapping[str, Tensor], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Tensor]:
    """Return stored arrays as the weights of a module, or raise a ValueError if they are not.

    Names, shapes and types must be those expected. A parameter of the module that is still lazy is
    as good as any.

    Examples
    --------
    >>> import numpy as np
    >>> weights_for({"w": torch.zeros(1).expand(3)}, {"w": np.zeros(2, np.float32)})
    Traceback (most recent call last):
    ValueError: the weights 'w' must be float32 of shape (3,), not float32 of shape (2,)
    """
    for name in sorted(arrays.keys() ^ expected.keys()):
        fault = "missing" if name in expected else "not the model's"
        raise ValueError(f"the weights {name[:50]!r} are {fault}")
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for name, wanted in expected.items():
        if (wanted.dtype, weights[name].dtype) == (torch.bfloat16, torch.uint16):
            weights[name] = weights[name].view(torch.bfloat16)
            if not weights[name].isfinite().all():
                raise ValueError(f"the weights {name!r} are not all finite")
        if not is_lazy(wanted) and _kind(weights[name]) != _kind(wanted):
            raise ValueError(
                f"the weights {name!r} must be {_kind(wanted)}, not {_kind(weights[name])}"
            )
    return weights


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def collapse(scores_p: NDArray[Any], scores_u: NDArray[Any]) -> str:
    """Return what is wrong with the scores of rows that a model was fitted to; "" if nothing is.

    Parameters
    ----------
    scores_p, scores_u : ndarray
        Of labelled and of unlabelled rows.

    Examples
    --------
    >>> collapse(np.array([1.0, 2.0]), np.array([-1.0, 0.5, -2.0]))
    ''
    >>> collapse(np.array([-1.0, -0.5]), np.array([-3.0, -2.0]))
    'it calls no labelled row positive'
    >>> collapse(np.zeros(2), np.zeros(3))
    'all rows have the same score'
    """
    if not len(scores_p) or not len(scores_u):
        return ""
    scores = np.concatenate([scores_p, scores_u]).astype(np.float64)
    if not np.all(np.isfinite(scores)):
        return "its scores are not finite"
    if np.ptp(scores) == 0:
        return "all rows have the same score"
    area = auc(scores_p, scores_u)
    if area <= 0.5:  # on rows that it was fitted to
        return f"it ranks the labelled rows no higher than the others (AUC {area:.3f})"
    if not np.any(np.asarray(scores_p) > 0):
        return "it calls no labelled row positive"
    return ""


def collapse_message(first: str, last: str) -> str:
    """Return the warning about a fit that collapsed, and whether another training helped."""
    if not last:
        return (
            f"The first training of the network collapsed: {first}. A second training with another "
            "seed and a smaller step size worked; its network is used."
        )
    return (
        f"The network collapsed: {last}. Other seeds and smaller step sizes did not help. Do not "
        "use it as it is: try EnsemblePU or LinearPU, or check the prior. If only the cut is at "
        "fault, choose_threshold(at='prior') sets another."
    )


def feature_scale(rows: Rows) -> tuple[Tensor, Tensor]:
    """Return the mean and the standard deviation of every feature; a constant one has scale 1.

    Sparse rows are not centred: their mean is given as 0 and their scale is the root mean square.

    Examples
    --------
    >>> from nnpu.data.rows import as_rows
    >>> import numpy as np
    >>> feature_scale(as_rows(np.array([[1.0, 5.0], [3.0, 5.0]])))
    (tensor([2., 5.]), tensor([1., 1.]))
    """
    total: Tensor | None = None
    fit = (1 << 24) * len(rows) // max(1, rows.nbytes)  # into 16 MiB, of which float64 makes more
    step = min(8_192, max(1, fit))
    for start in range(0, len(rows), step):
        batch = rows.block(start, min(start + step, len(rows)))
        sums = _moments(batch)
        total = sums if total is None else total + sums
        centred = isinstance(batch, Tensor)
    assert total is not None
    mean, square = total / len(rows)
    if not centred:
        mean = torch.zeros_like(mean)
    return mean.float(), scale_of_moments(mean, square).float()


def scale_of_moments(mean: Tensor, square: Tensor) -> Tensor:
    """Return the standard deviations from the means of values and of squares; 1 for constants."""
    variance = (square - mean**2).clamp(min=0)
    # A variance below the rounding error of the two moments counts as zero.
    return torch.where(variance > 1e-12 * square, variance.sqrt(), 1.0)


def _moments(batch: Tensor | SparseBatch) -> Tensor:
    """Sums and sums of squares per feature in float64, shape (2, n_features)."""
    if isinstance(batch, SparseBatch):
        values = batch.values.double()
        sums = torch.zeros(2, batch.n_features, dtype=torch.float64)
        return sums.index_add(1, batch.indices, torch.stack([values, values**2]))
    x = batch.double()
    return torch.stack([x.sum(dim=0), (x**2).sum(dim=0)])
