"""Images as people have them, arrays, tensors or files, as rows of shape (channels, h, w)."""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nnpu.data.rows import DenseRows, Rows
from nnpu.data.vectors import as_array, check_finite
from nnpu.extras import need
from nnpu.parameters import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = [
    "ImageFormat",
    "equal_images",
    "open_images",
]

_CHANNELS = (1, 3, 4)  # grey, RGB, RGBA
_LEAST = 5  # pixels a side: an axis of 1, 3 or 4 is then always that of the channels
_MODES = {"1": "L", "L": "L", "P": "RGB", "RGB": "RGB", "RGBA": "RGBA"}  # as they are read
_SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}
_CHANCE = 0.001  # what is rarer is another scale
_DIM = 8  # a batch of dim images has a range that is smaller by less than this
_BLOCK = 1 << 24  # bytes of images looked at together
_KEPT = 1 << 29  # bytes of images from files that are kept in memory once they were read


@dataclass(frozen=True)
class ImageFormat:
    """What the images of a fit were like, and those of a prediction must be.

    ``kind`` is "bytes" (0 to 255) or "floats"; of floats ``low`` and ``high`` are the least and
    the greatest value, ``signed`` says that every image had a negative one, and ``negative`` is
    the share of the images that had (0 in folders written before it was kept).
    """

    channels: int
    height: int
    width: int
    kind: str
    low: float = 0.0
    high: float = 255.0
    signed: bool = False
    negative: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one image as the network gets it."""
        return self.channels, self.height, self.width

    @property
    def size(self) -> int:
        """The numbers in one image."""
        return math.prod(self.shape)

    def limits(self) -> tuple[float, float]:
        """The range that further floats must keep to: the usual one that those of fit fill.

        Where they take a fiftieth of it at most, they are on a scale of their own.
        """
        span = self.high - self.low
        for low, high in ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0)):
            if low <= self.low and self.high <= high and span > (high - low) / 50:
                return low, high
        margin = span / 2
        return self.low - margin, self.high + margin

    def check(self, other: ImageFormat, look: _Look, *, owner: str) -> None:
        """Raise an `InputError` unless images of the `other` format can be scored."""
        if other.shape != self.shape:
            raise InputError(
                f"{owner} was fitted to images of {_shape(self)}. Got {_shape(other)} instead; "
                "resize them as the training images were."
            )
        if other.kind != self.kind:
            raise InputError(
                f"{owner} was fitted to images of {self.kind}. Got {other.kind} instead; give the "
                "images in the type and on the scale of the training images."
            )
        if self.kind == "bytes":
            return
        low, high = self.limits()
        if other.low < low or other.high > high:
            raise _wrong_range(self, other, owner, f"outside [{low:g}, {high:g}]")
        chance = 0.0 if self.signed else (1 - self.negative) ** look.n  # of no image below 0
        if chance < _CHANCE and other.low >= 0:
            having = "each image" if self.signed else f"{100 * self.negative:.3g} % of the images"
            raise _wrong_range(self, other, owner, f"without one below 0, as {having} had")
        if (low, high) == (0.0, 255.0) and look.fractions and other.high <= 1:
            raise _wrong_range(self, other, owner, "all within [0, 1]")
        if look.graded and other.high - other.low < (self.high - self.low) / 200:
            raise _wrong_range(self, other, owner, "less than a 200th of that range")
        if look.graded and other.high - other.low < (self.high - self.low) / _DIM:
            warnings.warn(
                f"These images hold values from {other.low:g} to {other.high:g}, those of the fit "
                f"from {self.low:g} to {self.high:g}. If they are on another scale, their scores "
                "mean nothing: scale them as the training images were.",
                UserWarning,
                stacklevel=4,
            )


class _Look(NamedTuple):
    """What tells the scale of some images, beside their format."""

    n: int
    fractions: bool = False  # some value is not a whole number
    graded: bool = False  # some value lies between the least and the greatest


def _shape(image: ImageFormat) -> str:
    return f"{image.height} x {image.width} pixels and {image.channels} channel(s)"


def _wrong_range(fitted: ImageFormat, other: ImageFormat, owner: str, why: str) -> InputError:
    return InputError(
        f"{owner} was fitted to values from {fitted.low:g} to {fitted.high:g}. Got values from "
        f"{other.low:g} to {other.high:g} instead, {why}; scale the images as the training images "
        "were."
    )


class _ArrayRows(DenseRows):
    """Images in an array, in memory or mapped, of any of the three layouts."""

    def __init__(self, x: NDArray[Any], axis: int | None) -> None:
        super().__init__(x)
        self.axis = axis  # that of the channels

    @property
    def shape(self) -> tuple[int, ...]:
        n, *rest = self.x.shape
        if self.axis is None:
            return (n, 1, *rest)
        return (n, *rest) if self.axis == 1 else (n, rest[2], rest[0], rest[1])

    def take(self, indices: Tensor) -> Tensor:
        return self._ordered(super().take(indices))

    def block(self, start: int, stop: int) -> Tensor:
        return self.take(torch.arange(start, stop))

    def _ordered(self, images: Tensor) -> Tensor:
        if self.axis is None:
            return images.unsqueeze(1)
        return images if self.axis == 1 else images.permute(0, 3, 1, 2)


class _FileRows(Rows):
    """Images in files, which are read when they are taken, and kept if all of them have room."""

    def __init__(self, paths: Sequence[Path], mode: str, size: tuple[int, int], owner: str) -> None:
        self.paths, self.mode, self.size, self.owner = paths, mode, size, owner  # (w, h)
        n, channels, height, width = self.shape
        kept = n * channels * height * width <= _KEPT
        self._kept = np.empty((n, height, width, channels), np.uint8) if kept else None
        self._known = np.zeros(n, dtype=bool)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.paths), len(self.mode), self.size[1], self.size[0]

    @property
    def on_disk(self) -> bool:
        return True

    def take(self, indices: Tensor) -> Tensor:
        _, channels, height, width = self.shape
        batch = torch.empty(len(indices), height, width, channels)
        for place, number in enumerate(indices.tolist()):
            batch[place] = torch.from_numpy(self._pixels(number))
        return batch.permute(0, 3, 1, 2)

    def _pixels(self, number: int) -> NDArray[np.uint8]:
        if self._kept is not None and self._known[number]:
            kept: NDArray[np.uint8] = self._kept[number]
            return kept
        _, channels, height, width = self.shape
        pixels = np.array(self._read(self.paths[number])).reshape(height, width, channels)
        if self._kept is not None:
            self._kept[number], self._known[number] = pixels, True
        return pixels

    def _read(self, path: Path) -> Any:
        with _opened(path, self.owner) as image:
            try:
                pixels = image.convert(self.mode)
            except (OSError, SyntaxError, ValueError) as error:
                raise InputError(f"{path} is damaged: {error}") from error
            return pixels if pixels.size == self.size else pixels.resize(self.size)


def open_images(
    x: Any, owner: str, *, size: tuple[int, int] | None = None, fitted: ImageFormat | None = None
) -> tuple[Rows, ImageFormat]:
    """Return images as rows of shape (channels, height, width), and their format.

    Parameters
    ----------
    x : array, tensor, folder, or list of files
        See `ImagePU.fit`.
    owner : str
        Who asks, for messages.
    size : (height, width), optional
        To which files are resized; None wants all files of one size.
    fitted : ImageFormat, optional
        What the images must be like.
    """
    if isinstance(x, Rows):
        raise InputError(
            f"{owner} takes arrays, tensors, folders and lists of files. Got {type(x).__name__} "
            "instead."
        )
    paths = _paths(x)
    rows: Rows
    if paths is not None:
        rows, found = _open_files(paths, size, fitted, owner)
        look = _Look(len(rows))
    else:
        rows, found, look = _open_array(as_array(x), owner)
    if fitted is not None:
        fitted.check(found, look, owner=owner)
    return rows, found


def _paths(x: Any) -> list[Path] | None:
    """Return the files that are meant, if files are."""
    if isinstance(x, str | os.PathLike):
        folder = Path(x)
        if not folder.is_dir():
            raise InputError(
                f"{folder} is not a folder of images; pass one file as a list, [file]."
            )
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
        if not paths:
            raise InputError(f"{folder} holds no images ({', '.join(sorted(_SUFFIXES))}).")
        return paths
    if isinstance(x, np.ndarray) and x.dtype.kind not in "OUT":
        return None
    if hasattr(x, "detach") or not hasattr(x, "__len__"):
        return None
    values = list(x)
    if values and all(isinstance(value, str | os.PathLike) for value in values):
        return [Path(value) for value in values]
    return None


def _open_files(
    paths: list[Path], size: tuple[int, int] | None, fitted: ImageFormat | None, owner: str
) -> tuple[_FileRows, ImageFormat]:
    """Look at the header of every file, so a wrong one shows before any training."""
    if fitted is not None and size is not None:
        size = fitted.height, fitted.width
    first: tuple[str, tuple[int, int]] | None = None
    for path in paths:
        with _opened(path, owner) as image:
            mode = _MODES.get(image.mode)
            if mode is None:
                raise InputError(
                    f"{path} has pixels of mode {image.mode!r}; {owner} reads grey, RGB and RGBA "
                    "images of eight bits. Convert it first."
                )
            found = mode, (image.size if size is None else (size[1], size[0]))
        first = first or found
        if found[0] != first[0]:
            raise InputError(
                f"{path} is {found[0]} and {paths[0]} is {first[0]}: convert all images to one of "
                "the two."
            )
        if found[1] != first[1]:
            raise InputError(
                f"{path} has {found[1][1]} x {found[1][0]} pixels and {paths[0]} has "
                f"{first[1][1]} x {first[1][0]}: resize them, or pass size=(height, width) "
                "(--image-size in a command)."
            )
    assert first is not None
    rows = _FileRows(paths, *first, owner)
    _, channels, height, width = rows.shape
    _check_sides(height, width, rows.shape, owner)
    return rows, ImageFormat(channels, height, width, "bytes")


def _opened(path: Path, owner: str) -> Any:
    reader = need("PIL.Image", extra="images", owner=owner)
    try:
        return reader.open(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.") from error
    except (OSError, SyntaxError, ValueError, reader.DecompressionBombError) as error:
        raise InputError(f"{path} is not an image that can be read: {error}") from error


def _open_array(x: Any, owner: str) -> tuple[_ArrayRows, ImageFormat, _Look]:
    try:
        array = x if isinstance(x, np.ndarray) else np.asarray(x)
    except ValueError as error:
        raise InputError(f"{owner} needs images of one size ({error}).") from error
    if array.dtype.kind != "f" and array.dtype != np.uint8:
        raise InputError(
            f"{owner} takes images of bytes (uint8, 0 to 255) or floats. Got {array.dtype} "
            "instead; convert with .astype('uint8') if the values are 0 to 255."
        )
    rows = _ArrayRows(array, _channel_axis(array.shape, owner))
    n, channels, height, width = rows.shape
    if n == 0:
        raise InputError(f"{owner} needs at least one image. Got 0 instead.")
    if array.dtype == np.uint8:
        return rows, ImageFormat(channels, height, width, "bytes"), _Look(n)
    check_finite(array)
    low, high, negative, look = _look_at(rows)
    values = low, high, negative == 1, negative
    return rows, ImageFormat(channels, height, width, "floats", *values), look


def _look_at(rows: _ArrayRows) -> tuple[float, float, float, _Look]:
    """Return the least and the greatest value, the share of images with one below 0, and a look."""
    low, high, below, fractions, graded = math.inf, -math.inf, 0, False, False
    for images in _blocks(rows):
        least, greatest = images.amin(), images.amax()
        low, high = min(low, float(least)), max(high, float(greatest))
        below += int((images.flatten(1).amin(1) < 0).sum())
        fractions = fractions or bool((images != images.round()).any())
        graded = graded or bool(((images > least) & (images < greatest)).any())
    return low, high, below / len(rows), _Look(len(rows), fractions, graded)


def _blocks(rows: Rows) -> Iterator[Tensor]:
    step = max(1, _BLOCK * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        block = rows.block(start, min(start + step, len(rows)))
        assert isinstance(block, Tensor)
        yield block


def _channel_axis(shape: tuple[int, ...], owner: str) -> int | None:
    """Return the axis of the channels of images of this shape; None if they have none."""
    wanted = (
        f"(n, h, w), (n, h, w, c) or (n, c, h, w) with c = 1, 3 or 4, h and w at least {_LEAST}"
    )
    fault = InputError(f"{owner} takes images of shape {wanted}. Got {shape} instead.")
    if len(shape) == 3:
        _check_sides(shape[1], shape[2], shape, owner)
        return None
    if len(shape) != 4:
        raise fault
    axes = [axis for axis in (1, 3) if shape[axis] in _CHANNELS]
    if len(axes) == 2:
        raise InputError(
            f"{owner} cannot tell which axis of images of shape {shape} holds the channels: the "
            f"second or the last; images have at least {_LEAST} pixels a side."
        )
    if not axes:
        raise fault
    height, width = shape[2:] if axes[0] == 1 else shape[1:3]
    _check_sides(height, width, shape, owner)
    return axes[0]


def _check_sides(height: int, width: int, shape: tuple[int, ...], owner: str) -> None:
    if min(height, width) < _LEAST:
        raise InputError(
            f"{owner} takes images of at least {_LEAST} x {_LEAST} pixels. Got images of shape "
            f"{shape[1:]} instead; the first axis counts the images."
        )


def equal_images(rows: Rows) -> NDArray[np.int64]:
    """Return a number for each image, the same for equal ones."""
    seen: dict[bytes, int] = {}
    numbers = [
        seen.setdefault(hashlib.blake2b(image.tobytes(), digest_size=16).digest(), len(seen))
        for block in _blocks(rows)
        for image in block.contiguous().numpy()
    ]
    return np.array(numbers, dtype=np.int64)
