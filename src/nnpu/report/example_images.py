"""Example images in a report: the surest ones on both sides, and those near the cut."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from nnpu.report.html.document import Section
from nnpu.report.html.markup import join, tag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nnpu.estimators.evaluation import Evaluation
    from nnpu.report.html.markup import Html

__all__ = ["pictures_section", "png"]

_MOST = 8  # images of each kind
_LEAST_WIDTH = 72  # pixels on the page
_COLOURS = {1: 0, 3: 2, 4: 6}  # channels, and what PNG calls them


def pictures_section(classifier: Any, found: Evaluation) -> Section:
    """Return the section with unlabelled example images of an evaluation.

    Parameters
    ----------
    classifier : ImagePU
        Fitted.
    found : Evaluation
        With its images.
    """
    scores = found.scores.astype(np.float64)
    unlabelled = np.flatnonzero(found.s == 0)
    order = unlabelled[np.argsort(-scores[unlabelled], kind="stable")]
    distance = np.abs(scores[order] - classifier.threshold_)
    near = order[np.sort(np.argsort(distance, kind="stable")[:_MOST])]
    kinds = {
        "Surest positives": order[:_MOST],
        "Nearest to the cut": near,
        "Surest negatives": order[::-1][:_MOST],
    }
    body = [
        tag(
            "p",
            "Unlabelled images with the probability of each. Look for a pattern other than the one "
            "you asked for: a background, a stamp, a camera.",
        )
    ]
    images = iter(classifier.pixels(found.images, np.concatenate(list(kinds.values()))))
    for title, rows in kinds.items():
        words = [f"probability {each:.2f}" for each in classifier.calibration_(scores[rows])]
        body += [tag("h3", title), tag("p", *(_picture(next(images), each) for each in words))]
    return Section("images", "Example images", join(body))


def _picture(image: NDArray[np.uint8], words: str) -> Html:
    width = max(image.shape[1], _LEAST_WIDTH)
    source = "data:image/png;base64," + base64.b64encode(png(image)).decode()
    return tag("img", src=source, width=str(min(width, 160)), alt=words, title=words)


def png(image: NDArray[np.uint8]) -> bytes:
    r"""Return an image of shape (h, w, c) with 1, 3 or 4 channels as a PNG file.

    Examples
    --------
    >>> png(np.zeros((2, 2, 3), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    height, width, channels = image.shape
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # 0: a line without a filter
    lines[:, 1:] = image.reshape(height, -1)
    parts = {b"IHDR": head, b"IDAT": zlib.compress(lines.tobytes()), b"IEND": b""}
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
