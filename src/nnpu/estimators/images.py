"""`ImagePU`: images in, scores out, with a convolutional network in two stages."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from nnpu.extras import needing

with needing("torch", extra="torch", owner="ImagePU"):
    import torch

from nnpu.calibration.soft_labels import positive_share
from nnpu.data.vectors import as_array
from nnpu.estimators import loading, threshold_choice
from nnpu.estimators._image_network import ImageNet, augmentation, channel_scale, moves
from nnpu.estimators._image_rows import ImageFormat, open_images
from nnpu.estimators._image_stages import (
    RUNS,
    TIMED,
    Stages,
    budget,
    read_plan,
    seconds_an_image,
    timed_budget,
)
from nnpu.estimators._weights import arrays_of, weights_for
from nnpu.estimators.base import BasePUClassifier
from nnpu.estimators.untrusted import check_history
from nnpu.files import write_text
from nnpu.parameters import (
    InputError,
    ParameterError,
    check_choice,
    check_count,
    check_number,
    shown,
)
from nnpu.prior import estimate_prior
from nnpu.training import predict_scores
from nnpu.training.checkpoint import check_checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from nnpu.data.rows import Rows
    from nnpu.estimators._image_stages import HeldOut, Plan
    from nnpu.estimators.labels import Labels

__all__ = ["ImagePU"]

_OWNER = "ImagePU"
_MOST_PIXELS = 2**26  # of an image that a model folder may ask for


class ImagePU(BasePUClassifier):
    """A classifier of images from labelled positives and unlabelled images.

    A small convolutional network is fitted by nnPU. Its scores become soft labels of the unlabelled
    images, with the prior as their mean, and a new network is fitted to those. No true label is
    needed for any of it.

    Parameters
    ----------
    prior : float or "auto", default="auto"
        The class prior π_p: the share of positives among the unlabelled images (two-sample) or
        among all images (one-sample). "auto" estimates it from scores of networks on images they
        were not fitted to; see ``prior_estimate_``.
    sampling : {"two-sample", "one-sample"}, default="two-sample"
        "two-sample": the positives were collected separately from the unlabelled images.
        "one-sample": all images are one sample, and some of its positives got a label.
    augment : str, list of str, callable or None, default="auto"
        How images are changed at random in training. "auto" moves them by up to two pixels;
        "crop" by up to an eighth of their side; "flip" mirrors them left to right. Several names
        are applied in turn. A callable takes a batch, a float tensor of shape (n, c, h, w) on the
        scale of the images, and returns one of the same shape. None changes nothing. Where images
        are moved by name, the score of an image is the mean over five views of it.
    epochs : int or "auto", default="auto"
        Passes of each network over its images. "auto" takes eight for nnPU and five for the
        network after it, and more where there are fewer than 24,000 images.
    minutes : float or None, default=None
        About how long the fit may take, in place of `epochs`. A few steps are timed, and the fit
        takes as many passes as there is time for: of a larger, residual network if that can do at
        least sixteen. The same seed gives the same bits only if the number of passes comes out the
        same; ``history_`` has a row for each.
    size : (int, int) or None, default=None
        Height and width to which image files are resized. None wants files of one size.
    checkpoint : path-like or None, default=None
        A folder for checkpoints. A fit that was stopped goes on from there when it is called again
        with the same images and parameters, and gives the same bits. It may hold nothing else, and
        disappears after the fit.
    random_state : int, RandomState or None, default=None
        The same seed on the same machine gives the same bits.
    verbose : int, default=0
        1 shows what an epoch costs and how long the rest will take, every few seconds.

    Attributes
    ----------
    classes_, prior_, prior_estimate_, n_features_in_
        As in `BasePUClassifier`.
    module_ : torch.nn.Module
        The last network.
    image_shape_ : (channels, height, width)
        Of the images.
    calibration_, threshold_
        From scores to probabilities, by a tenth of the images that no network was fitted to; and
        the cut of `predict`: where as many unlabelled images are positive as the prior says, or
        where the probability is one half if the prior is an estimate: few images have such a
        probability, so that a wrong estimate matters less. With a given prior, cut and probability
        may disagree; ``choose_threshold(at="half")`` makes them agree.
    history_ : list of dict
        One row per epoch: ``stage`` (0 positives against unlabelled images and 1 nnPU on halves,
        both for the prior; 2 nnPU; 3 soft labels), ``network``, and the training risk as in
        `PUClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from nnpu import ImagePU
    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(0, 60, (240, 8, 8), dtype=np.uint8)
    >>> images[:120, 2:6, 3:5] += 150                       # a bar in the first 120
    >>> s = np.r_[np.ones(60), np.zeros(180)]               # 60 of them are labelled
    >>> clf = ImagePU(prior=1 / 3, epochs=20, random_state=0).fit(images, s)
    >>> clf.predict(images[[100, 200]])
    array([1., 0.])
    """

    _format: ImageFormat

    def __init__(
        self,
        prior: float | str = "auto",
        *,
        sampling: str = "two-sample",
        augment: str | Sequence[str] | Callable[[Tensor], Tensor] | None = "auto",
        epochs: int | str = "auto",
        minutes: float | None = None,
        size: tuple[int, int] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.sampling = sampling
        self.augment = augment
        self.epochs = epochs
        self.minutes = minutes
        self.size = size
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def pixels(self, X: Any, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return some images to look at, as bytes of shape (k, height, width, channels).

        Parameters
        ----------
        X : images
            As in `predict`.
        rows : ndarray of int
            Which of them.
        """
        images = self._validate(X).take(torch.tensor(rows.tolist()))
        assert isinstance(images, torch.Tensor)
        low, high = (0.0, 255.0) if self._format.kind == "bytes" else self._format.limits()
        shown = ((images - low) / (high - low) * 255).round().clamp(0, 255).to(torch.uint8)
        return np.ascontiguousarray(shown.permute(0, 2, 3, 1).numpy())

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        augmentation(self.augment, 8, 8, _OWNER)
        if isinstance(self.epochs, str):
            check_choice("epochs", self.epochs, _OWNER, ["auto"], also="an int")
        else:
            check_count("epochs", self.epochs, _OWNER)
        if self.minutes is not None:
            check_number("minutes", self.minutes, _OWNER, low=0, high=100_000, include_low=False)
            if self.epochs != "auto":
                raise ParameterError(
                    f"The 'epochs' parameter of {_OWNER} must be 'auto' if 'minutes' is given. Got "
                    f"{shown(self.epochs)} instead."
                )
        if not isinstance(self.verbose, bool):
            check_count("verbose", self.verbose, _OWNER, low=0)
        if self.size is not None:
            if not isinstance(self.size, tuple | list) or len(self.size) != 2:
                raise ParameterError(
                    f"The 'size' parameter of {_OWNER} must be (height, width) or None. Got "
                    f"{shown(self.size)} instead."
                )
            for side in self.size:
                check_count("size", side, _OWNER)
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise ParameterError(
                f"The 'checkpoint' parameter of {_OWNER} must be a path or None. Got "
                f"{shown(self.checkpoint)} instead."
            )

    def _validate(self, X: Any, s: Any = "no_validation") -> Any:
        """Open the images; those of a prediction must be like those of the fit."""
        size = None if self.size is None else (int(self.size[0]), int(self.size[1]))
        if isinstance(s, str):
            return open_images(X, _OWNER, size=size, fitted=self._format)[0]
        rows, self._format = open_images(X, _OWNER, size=size)
        s = validate_data(self, y=as_array(s))
        check_consistent_length(rows, s)
        self.n_features_in_, self.image_shape_ = self._format.size, self._format.shape
        return rows, s

    def _prepare(self, X: Any, codes: Labels, seed: int) -> None:
        if self._groups is not None:
            raise ParameterError(
                f"The 'groups' parameter of {self._owner} must be None: images are not held out by "
                "groups."
            )
        if self.checkpoint is not None:
            check_checkpoints(self.checkpoint, RUNS, files=(TIMED,))
        _, height, width = self.image_shape_
        augment = augmentation(self.augment, height, width, _OWNER)
        shown_as = (self.image_shape_, *channel_scale(X), augment, moves(self.augment))
        plan, residual = self._plan(X, lambda larger: ImageNet(*shown_as, residual=larger))
        passes = plan.passes(auto=self.prior == "auto")
        self._stages = Stages(
            X,
            codes,
            lambda: ImageNet(*shown_as, residual=residual),
            plan,
            self.sampling,
            seed,
            self.checkpoint,
            passes if self.verbose else 0,
        )

    def _plan(self, rows: Rows, make: Callable[[bool], nn.Module]) -> tuple[Plan, bool]:
        """Return how long the networks are trained, and whether they are residual ones."""
        plan = budget(len(rows), self.epochs)
        if self.minutes is None:
            return plan, False
        kept = None if self.checkpoint is None else Path(self.checkpoint) / TIMED
        if kept is not None and kept.is_file():
            return read_plan(kept)  # resumed: the machine may be busier now than it was then
        costs = [seconds_an_image(make(larger), rows, plan.batch_size) for larger in (False, True)]
        auto = self.prior == "auto"
        plan, residual = timed_budget(len(rows), 60 * self.minutes, (costs[0], costs[1]), auto=auto)
        if self.verbose:
            kind = "larger, residual" if residual else "small"
            passes = f"{plan.first} and {plan.second} passes"
            print(f"{self.minutes:g} minutes: {passes} of the {kind} network", file=sys.stderr)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_text(kept, json.dumps({**plan._asdict(), "residual": residual}) + "\n")
        return plan, residual

    def _prior_samples(
        self, X: Any, codes: Labels, seed: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], None]:
        """Scores of P and U by networks of nnPU, under a prior from scores of P against U."""
        apart = self._stages.apart()
        rough = estimate_prior(*apart.samples, sampling=self.sampling, random_state=seed)
        return *self._stages.halves(float(np.clip(rough.value, 0.01, 0.99))).samples, None

    def _fit_scores(self, X: Any, codes: Labels, seed: int) -> None:
        stages, share = self._stages, positive_share(self.prior_, codes, self.sampling)
        self.module_ = stages.second(stages.first(self.prior_), share)
        self.history_ = stages.history
        self.threshold_ = self._cut(X, codes, share)
        if self._calibrate_on(stages.held_out(self.module_)) and self.prior_estimate_ is not None:
            self.threshold_ = -self.calibration_.intercept / self.calibration_.slope
        stages.finish()
        del self._stages

    def _cut(self, rows: Rows, codes: Labels, share: float) -> float:
        """Return the cut above which a share of the unlabelled images scores.

        All of them are counted: the share among a tenth of them is another by chance.
        """
        index = torch.from_numpy(np.flatnonzero(codes == 0))
        scores = predict_scores(self.module_, rows, index=index).numpy()
        cut = np.quantile(scores, 1 - share, method="higher")
        return float(np.nextafter(cut, np.float32(-np.inf)))

    def _calibrate_on(self, held_out: HeldOut) -> bool:
        """Calibrate on the images that were held out, if they can; return whether they could."""
        try:
            self.calibration_ = threshold_choice.calibration(self, held_out.scores, held_out.codes)
        except (InputError, ParameterError) as error:
            warnings.warn(
                f"The held-out images could not calibrate the probabilities: {error}",
                UserWarning,
                stacklevel=4,
            )
            return False
        return self.calibration_.slope > 0

    def _scores(self, X: Any) -> NDArray[np.float32]:
        return predict_scores(self.module_, X).numpy()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors, fitted = super()._state()
        fitted["history"] = self.history_
        fitted["images"] = vars(self._format)
        fitted["averaged"] = bool(self.module_.averaged)
        fitted["residual"] = bool(self.module_.residual)
        return tensors | arrays_of(self.module_), fitted

    def _restore(
        self, tensors: dict[str, NDArray[Any]], fitted: dict[str, Any], module: Any
    ) -> None:
        super()._restore(tensors, fitted, module)
        self._format = _stored_format(fitted["images"])
        if self._format.size != self.n_features_in_:
            raise InputError("The number of features is not that of the images.")
        self.image_shape_ = self._format.shape
        residual = fitted.get("residual") is True  # False before 0.3.0
        with torch.device("meta"):  # sizes are compared before anything is allocated
            expected = ImageNet(self.image_shape_, residual=residual).state_dict()
        weights = weights_for(expected, tensors)
        averaged = fitted["averaged"] is True
        network: nn.Module = ImageNet(self.image_shape_, averaged=averaged, residual=residual)
        network.load_state_dict(weights)
        self.module_ = network.eval()
        self.history_ = check_history(fitted["history"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _stored_format(stored: Any) -> ImageFormat:
    """Return the format of a model folder if it can be one."""
    found = ImageFormat(**stored)
    for name in ("channels", "height", "width"):
        check_count(name, getattr(found, name), "the model folder")
    if found.size > _MOST_PIXELS or not isinstance(found.signed, bool):
        raise ValueError("the format of the images cannot be that")
    check_choice("kind", found.kind, "the model folder", ["bytes", "floats"])
    loading.check_finite("low", found.low)
    loading.check_finite("high", found.high)
    return found
