"""The convolutional network of `ImagePU`, and random changes of whole batches of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import update_bn

from nnpu.estimators.network import scale_of_moments
from nnpu.parameters import InputError, ParameterError, check_choice, shown

if TYPE_CHECKING:
    from nnpu.data.rows import Rows

__all__ = [
    "AUGMENTATIONS",
    "Augment",
    "ConvNet",
    "Upright",
    "augmentation",
    "channel_scale",
    "moves",
    "refresh",
    "views",
]

#: A function of a batch (n, c, h, w) that returns one of the same shape.
Augment = Callable[[Tensor], Tensor]

#: What `augment` can name, besides "auto".
AUGMENTATIONS = ("crop", "flip", "shift")

_WIDTH = 16  # channels of the residual network before its first halving
_STATISTICS = 10_000  # images that mean and scale of the channels are taken from


def shift(images: Tensor, most: int) -> Tensor:
    """Move each image by up to `most` pixels along both axes; the border is repeated.

    Examples
    --------
    >>> shift(torch.ones(2, 1, 5, 5), 2).sum()
    tensor(50.)
    """
    n, _, height, width = images.shape
    padded = functional.pad(images, (most,) * 4, mode="replicate")
    views = padded.unfold(2, height, 1).unfold(3, width, 1)  # (n, c, 2 most + 1, …, h, w)
    down, right = torch.randint(2 * most + 1, (2, n))
    return views[torch.arange(n), :, down, right]


def views(images: Tensor) -> Iterator[Tensor]:
    """Yield images as they are, and moved by one pixel up, down, left and right.

    Examples
    --------
    >>> [view[0, 0, 1].tolist() for view in views(torch.arange(9.0).view(1, 1, 3, 3))][3:]
    [[3.0, 3.0, 4.0], [4.0, 5.0, 5.0]]
    """
    yield images
    _, _, height, width = images.shape
    padded = functional.pad(images, (1,) * 4, mode="replicate")
    for down, right in ((0, 1), (2, 1), (1, 0), (1, 2)):
        yield padded[:, :, down : down + height, right : right + width]


def flip(images: Tensor) -> Tensor:
    """Mirror about half of the images, left to right."""
    mirrored = torch.rand(len(images)) < 0.5
    return images.flip(3).where(mirrored[:, None, None, None], images)


def augmentation(augment: Any, height: int, width: int, owner: str) -> Augment | None:
    """Return what `augment` stands for on images of this size.

    "auto" and "shift" move by up to two pixels (one below 16 pixels a side), "crop" by up to an
    eighth of the smaller side, as cropping from a padded image does, and "flip" mirrors left to
    right; several names are done one after another.
    """
    if augment is None:
        return None
    if callable(augment):
        own: Augment = augment
        return own
    names = ["shift"] if augment == "auto" else [augment] if isinstance(augment, str) else augment
    if not isinstance(names, Sequence) or not names:
        raise ParameterError(
            f"The 'augment' parameter of {owner} must be 'auto', a name or a list of names among "
            f"{list(AUGMENTATIONS)}, a callable, or None. Got {shown(augment)} instead."
        )
    for name in names:
        check_choice("augment", name, owner, AUGMENTATIONS, also="'auto', a callable, None")
    side = min(height, width)
    moves = {"shift": 2 if side >= 16 else 1, "crop": max(1, side // 8)}

    def change(images: Tensor) -> Tensor:
        for name in names:
            images = flip(images) if name == "flip" else shift(images, moves[name])
        return images

    return change


def moves(augment: Any) -> bool:
    """Return whether an `augment` parameter moves images.

    >>> moves("auto"), moves(["flip", "crop"]), moves("flip"), moves(None)
    (True, True, False, False)
    """
    if augment is None or callable(augment):
        return False
    names = [augment] if isinstance(augment, str) else augment
    return not {"auto", "shift", "crop"}.isdisjoint(names)


def channel_scale(rows: Rows) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each channel, from up to 10,000 images."""
    step = max(1, len(rows) // _STATISTICS)
    sums, count = torch.zeros(2, rows.shape[1], dtype=torch.float64), 0
    for index in torch.arange(0, len(rows), step).split(1_000):
        images = rows.take(index)
        assert isinstance(images, Tensor)
        values = images.double()
        sums += torch.stack([values.sum((0, 2, 3)), (values**2).sum((0, 2, 3))])
        count += values[:, 0].numel()
    mean, square = sums / count
    return mean.float(), scale_of_moments(mean, square).float()


class ConvNet(nn.Module):
    """Convolutions of 16, 32, 64, … channels with batch norm, and a linear layer.

    The resolution is halved until the smaller side has three to five pixels: early, by strides,
    where that saves most, and the last time by pooling. In training every batch is changed at
    random first. Where training moves images, a prediction is the mean over five views.

    Parameters
    ----------
    shape : (channels, height, width)
        Of one image.
    mean, scale : Tensor of shape (channels,), optional
        Statistics of the training images; see `channel_scale`.
    augment : callable or None
        See `augmentation`.
    averaged : bool
        Whether predictions are means over `views`.
    residual : bool
        The larger network, for whoever has an hour: two more convolutions after each halving, whose
        output is added to their input.

    Examples
    --------
    >>> ConvNet((3, 32, 32))(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1])
    """

    mean: Tensor
    scale: Tensor

    def __init__(
        self,
        shape: tuple[int, int, int],
        mean: Tensor | None = None,
        scale: Tensor | None = None,
        augment: Augment | None = None,
        averaged: bool = False,
        residual: bool = False,
    ) -> None:
        super().__init__()
        channels, height, width = shape
        mean = torch.zeros(channels) if mean is None else mean
        scale = torch.ones(channels) if scale is None else scale
        self.register_buffer("mean", mean.view(-1, 1, 1))
        self.register_buffer("scale", scale.view(-1, 1, 1))
        self.augment, self.averaged, self.residual = augment, averaged, residual
        layers = _residual_layers if residual else _layers
        self.layers = nn.Sequential(*layers(channels, height, width))
        self.layers.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor) -> Tensor:
        """Return the scores of a batch, shape (n, 1)."""
        if self.training:
            return self._scores(self.changed(images))
        if not self.averaged:
            return self._scores(images)
        return torch.stack([self._scores(view) for view in views(images)]).mean(0)

    def changed(self, images: Tensor) -> Tensor:
        """Return a batch as training sees it, changed at random."""
        if self.augment is None:
            return images
        changed = self.augment(images)
        if not isinstance(changed, Tensor) or changed.shape != images.shape:
            came = tuple(changed.shape) if isinstance(changed, Tensor) else shown(changed)
            raise InputError(
                "The 'augment' parameter of ImagePU must be a callable that keeps the shape "
                f"of a batch, {tuple(images.shape)}. It returned {came} instead."
            )
        return changed.to(images)

    def features(self, images: Tensor) -> Tensor:
        """Return what the last layer sees of a batch, shape (n, k)."""
        images = ((images - self.mean) / self.scale).contiguous(memory_format=torch.channels_last)
        features: Tensor = self.layers[:-1](images)
        return features

    def start_from(self, other: ConvNet) -> None:
        """Copy the weights of another network of the same kind, except those of the last layer."""
        self.layers[:-1].load_state_dict(other.layers[:-1].state_dict())

    def _scores(self, images: Tensor) -> Tensor:
        scores: Tensor = self.layers[-1](self.features(images))
        return scores


class Upright(nn.Module):
    """Teaches a network which way up images are, which needs no labels.

    Of every four images one stays as it is and the others are turned by one, two and three
    quarters. It returns the cross-entropy of telling the four apart, a loss for each image. A
    batch is cut to a square of three quarters of the smaller side, at random: half the cost.

    Parameters
    ----------
    network : ConvNet
        A residual one, which takes images of any size. Its last layer does not learn.

    Examples
    --------
    >>> Upright(ConvNet((3, 32, 32), residual=True))(torch.zeros(8, 3, 32, 32)).shape
    torch.Size([8])
    """

    def __init__(self, network: ConvNet) -> None:
        super().__init__()
        self.network = network
        self.turns = nn.Linear(network.layers[-1].in_features, 4)  # type: ignore[arg-type]

    def forward(self, images: Tensor) -> Tensor:
        """Return a loss for each image of a batch."""
        images = self.network.changed(images) if self.training else images
        side = max(5, min(images.shape[2:]) * 3 // 4)
        top, left = (int(torch.randint(length - side + 1, ())) for length in images.shape[2:])
        square = images[:, :, top : top + side, left : left + side]
        turns = torch.arange(len(images)) % 4
        turned = torch.empty_like(square)
        for number in range(4):
            turned[number::4] = square[number::4].rot90(number, (2, 3))
        answers = self.turns(self.network.features(turned))
        return functional.cross_entropy(answers, turns, reduction="none")


def _layers(channels: int, height: int, width: int) -> list[nn.Module]:
    halvings = max(1, (min(height, width) // 3).bit_length() - 1)
    blocks = max(3, halvings)
    layers: list[nn.Module] = []
    for number in range(blocks):
        out = min(16 << number, 128)
        last = number == blocks - 1
        stride = 2 if number < halvings - 1 else 1
        convolution = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
        height, width = -(-height // stride), -(-width // stride)
        if last:
            layers.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
        channels = out
    return [*layers, nn.Flatten(), nn.Linear(channels * height * width, 1)]


def _residual_layers(channels: int, height: int, width: int) -> list[nn.Module]:
    layers: list[nn.Module] = [_convolution(channels, _WIDTH)]
    channels, side = _WIDTH, min(height, width)
    while side >= 8:
        out = min(2 * channels, 8 * _WIDTH)
        layers += [_convolution(channels, out, 2), _Residual(out)]
        channels, side = out, -(-side // 2)
    return [*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(channels, 1)]


def _convolution(channels: int, out: int, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class _Residual(nn.Module):
    """Two convolutions, added to what they were given."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.added = nn.Sequential(*(_convolution(channels, channels) for _ in range(2)))

    def forward(self, images: Tensor) -> Tensor:
        added: Tensor = self.added(images)
        return images + added


def refresh(network: nn.Module, batches: Iterable[Tensor]) -> None:
    """Take the statistics of batch norm anew: averaged weights have none of their own."""
    with torch.no_grad():
        update_bn(batches, network)
    network.eval()
