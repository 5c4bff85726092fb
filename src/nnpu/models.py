"""g(x; θ): the networks of the paper's Table 2, and the default for tables.

Each function returns a `torch.nn.Module` whose output has shape (n, 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from nnpu.extras import needing

with needing("torch", extra="torch", owner="nnpu.models"):
    import torch
    from torch import Tensor, nn
    from torch.nn import functional

from nnpu.data.rows import SparseBatch
from nnpu.parameters import ParameterError, check_choice, check_count, check_number, shown

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "FastDropout",
    "Standardise",
    "TabularNet",
    "WordAverage",
    "all_convolutional",
    "linear",
    "mlp",
    "word_average",
]


def _relu() -> nn.Module:
    """In place: what it overwrites, a batch norm's or a product's output, is not needed again."""
    return nn.ReLU(inplace=True)


_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": _relu, "softsign": nn.Softsign}


def _lecun_normal(layer: nn.Linear | nn.Conv2d) -> nn.Module:
    """Initialise as the authors' code does: weights N(0, 1/fan_in), zero bias."""
    fan_in = layer.weight[0].numel()
    nn.init.normal_(layer.weight, std=1 / math.sqrt(fan_in))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def _widths(hidden: Sequence[int], owner: str) -> list[int]:
    if not isinstance(hidden, Sequence):
        raise ParameterError(
            f"The 'hidden' parameter of {owner} must be a sequence of int. Got {shown(hidden)} "
            "instead."
        )
    return [check_count("hidden", units, owner) for units in hidden]


def linear(n_features: int) -> nn.Module:
    """The plain linear model d-1 of Figure 1.

    Examples
    --------
    >>> linear(784)(torch.zeros(2, 784)).shape
    torch.Size([2, 1])
    """
    check_count("n_features", n_features, "linear")
    return nn.Sequential(nn.Flatten(), _lecun_normal(nn.Linear(n_features, 1)))


def mlp(
    n_features: int,
    hidden: Sequence[int] = (300, 300, 300, 300),
    *,
    activation: Literal["relu", "softsign"] = "relu",
    batch_norm: bool = True,
) -> nn.Module:
    """A multilayer perceptron: by default the 6-layer one, d-300-300-300-300-1.

    As in the authors' code a hidden layer is linear, batch norm, activation, and has no bias
    where batch norm follows.

    Parameters
    ----------
    n_features : int
        d, the number of inputs after flattening.
    hidden : sequence of int
        Widths of the hidden layers; ``(100,)`` is the model of Figure 1.
    activation : {"relu", "softsign"}
        ReLU for MNIST, Softsign for epsilon.
    batch_norm : bool
        Whether batch normalisation comes before each activation.

    Examples
    --------
    >>> mlp(784, (100,), batch_norm=False)(torch.zeros(2, 28, 28)).shape
    torch.Size([2, 1])
    """
    check_choice("activation", activation, "mlp", _ACTIVATIONS)
    layers: list[nn.Module] = [nn.Flatten()]
    width = check_count("n_features", n_features, "mlp")
    for units in _widths(hidden, "mlp"):
        layers.append(_lecun_normal(nn.Linear(width, units, bias=not batch_norm)))
        if batch_norm:
            layers.append(nn.BatchNorm1d(units, eps=2e-5, momentum=0.1))
        layers.append(_ACTIVATIONS[activation]())
        width = units
    layers.append(_lecun_normal(nn.Linear(width, 1)))
    return nn.Sequential(*layers)


class WordAverage(nn.Module):
    """The average of the word vectors of a document, from its row of word counts.

    avg_pool(word_emb(d, 300)) of Section 5 as an embedding bag: the d-wide count vectors stay
    sparse.

    Parameters
    ----------
    embeddings : Tensor of shape (d, dimension)
        One vector per word of the vocabulary.
    trainable : bool, default=False
        Whether the vectors are learned further.
    """

    accepts_sparse = True

    def __init__(self, embeddings: Tensor, *, trainable: bool = False) -> None:
        super().__init__()
        if not isinstance(embeddings, Tensor) or embeddings.ndim != 2 or not embeddings.numel():
            raise ParameterError(
                "The 'embeddings' parameter of WordAverage must be a tensor of shape "
                f"(words, dimension). Got {shown(embeddings)} instead."
            )
        self.embeddings = nn.Parameter(embeddings.clone().float(), requires_grad=trainable)

    def forward(self, counts: SparseBatch | Tensor) -> Tensor:
        """Map word counts of shape (n, d) to vectors of shape (n, dimension)."""
        if isinstance(counts, SparseBatch):
            total = _bag(counts, self.embeddings)
            n_words = _bag(counts, torch.ones_like(self.embeddings[:, :1]))
        else:
            total, n_words = counts @ self.embeddings, counts.sum(dim=1, keepdim=True)
        return total / n_words.clamp(min=1)  # a document without a known word is the zero vector


def word_average(
    embeddings: Tensor, hidden: Sequence[int] = (300, 300), *, trainable: bool = False
) -> nn.Module:
    """d-avg_pool(word_emb(d, ·))-300-300-1 with Softsign, the 20 Newsgroups model.

    Examples
    --------
    >>> word_average(torch.randn(50, 8), (4,))(torch.ones(2, 50)).shape
    torch.Size([2, 1])
    """
    model = nn.Sequential(
        WordAverage(embeddings, trainable=trainable),
        mlp(embeddings.shape[1], hidden, activation="softsign"),
    )
    model.accepts_sparse = True  # type: ignore[assignment]  # nn.Module types attributes as tensors
    return model


class _ChannelsLast(nn.Module):
    """Lays images out pixel by pixel, in which convolutions on a CPU take a sixth less time."""

    def forward(self, images: Tensor) -> Tensor:
        """Return the same images, shape (n, channels, height, width)."""
        return images.contiguous(memory_format=torch.channels_last)


def all_convolutional() -> nn.Module:
    """The 13-layer all-convolutional net for 32 × 32 RGB images, shape (n, 3, 32, 32).

    [C(3·3, 96)]·2-C(3·3, 96, 2)-[C(3·3, 192)]·2-C(3·3, 192, 2)-C(3·3, 192)-C(1·1, 192)-C(1·1, 10)
    followed by 1000-1000-1; batch norm after every convolution, none in the last layers.

    Examples
    --------
    >>> all_convolutional()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1])
    """
    plan = [(96, 3, 1)] * 2 + [(96, 3, 2)] + [(192, 3, 1)] * 2 + [(192, 3, 2)]
    plan += [(192, 3, 1), (192, 1, 1), (10, 1, 1)]  # (channels, kernel, stride)
    layers: list[nn.Module] = [_ChannelsLast()]
    width = 3
    for channels, kernel, stride in plan:
        convolution = nn.Conv2d(width, channels, kernel, stride, padding=kernel // 2)
        layers += [_lecun_normal(convolution), nn.BatchNorm2d(channels, eps=2e-5), _relu()]
        width = channels
    layers += [nn.Flatten(), _lecun_normal(nn.Linear(10 * 8 * 8, 1000)), _relu()]
    layers += [_lecun_normal(nn.Linear(1000, 1000)), _relu(), _lecun_normal(nn.Linear(1000, 1))]
    return nn.Sequential(*layers)


def _bag(batch: SparseBatch, weight: Tensor) -> Tensor:
    """The product of a sparse batch with a matrix of shape (n_features, width)."""
    if len(batch.indices) == 0:
        return weight.new_zeros(len(batch.offsets), weight.shape[1])
    return functional.embedding_bag(
        batch.indices, weight, batch.offsets, mode="sum", per_sample_weights=batch.values
    )


class Standardise(nn.Module):
    """x ↦ (x − mean) / scale per feature, cut off at ±`limit`; the statistics are stored.

    The cut keeps a feature that is nearly always the same, such as a pixel in the corner, from
    dominating where it is not. A sparse batch is scaled but not centred, so it stays sparse.

    Parameters
    ----------
    mean, scale : Tensor of shape (n_features,)
        See `nnpu.estimators.network.feature_scale`.
    limit : float, default=3.0
        In standard deviations.

    Examples
    --------
    >>> Standardise(torch.tensor([1.0]), torch.tensor([2.0]))(torch.tensor([[2.0], [99.0]]))
    tensor([[0.5000],
            [3.0000]])
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor, limit: float = 3.0) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.limit = limit

    def forward(self, x: Tensor | SparseBatch) -> Tensor | SparseBatch:
        """Scale a batch."""
        if isinstance(x, SparseBatch):
            values = (x.values / self.scale[x.indices]).clamp(-self.limit, self.limit)
            return x._replace(values=values)
        return ((x - self.mean) / self.scale).clamp(-self.limit, self.limit)


class _FirstLinear(nn.Module):
    """A linear layer that also takes sparse batches, by an embedding bag on its weights."""

    def __init__(self, n_features: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_features, width) / math.sqrt(max(n_features, 1)))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor | SparseBatch) -> Tensor:
        product = _bag(x, self.weight) if isinstance(x, SparseBatch) else x @ self.weight
        return product + self.bias


class FastDropout(nn.Module):
    """Dropout whose mask takes one random byte per unit, drawn on the device of its input.

    On two cores torch's own draw costs more than the layer it follows. Shares are rounded to 1/256.

    Parameters
    ----------
    share : float
        Of units dropped in training, in [0, 1).

    Examples
    --------
    >>> FastDropout(0.5).eval()(torch.ones(2, 2)).sum()
    tensor(4.)
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        check_number("share", share, "FastDropout", low=0, high=1, include_high=False)
        self.threshold = min(round(256 * share), 255)

    def forward(self, x: Tensor) -> Tensor:
        """Drop units at random and scale up the others."""
        if not self.training or self.threshold == 0:
            return x
        if x.device.type != "cpu":
            kept = torch.randint_like(x, 256, dtype=torch.uint8) >= self.threshold
        else:  # NumPy draws and compares bytes faster than torch
            noise = np.random.SFC64(int(torch.randint(2**62, ()))).random_raw(-(-x.numel() // 8))
            bits = noise.view(np.uint8)[: x.numel()] >= self.threshold
            kept = torch.from_numpy(bits.view(np.uint8)).view(x.shape)
        return x * kept.to(x.dtype).mul_(256 / (256 - self.threshold))


class TabularNet(nn.Module):
    """The default network: standardised features, a linear path, and a small MLP beside it.

    The MLP's last layer starts at zero, so training begins with the linear model and bends
    it only where that lowers the risk.

    Parameters
    ----------
    mean, scale : Tensor of shape (n_features,)
        Statistics of the training data; see `Standardise`.
    hidden : sequence of int, default=(256, 256)
        Widths of the MLP.
    dropout : float, default=0.3
        Share of hidden units dropped in training.
    skip : bool, default=True
        Whether the linear path is there.
    batch_norm : bool, default=False
        Whether hidden layers are batch-normalised.

    Examples
    --------
    >>> TabularNet(torch.zeros(5), torch.ones(5))(torch.zeros(2, 5)).shape
    torch.Size([2, 1])
    """

    accepts_sparse = True

    def __init__(
        self,
        mean: Tensor,
        scale: Tensor,
        hidden: Sequence[int] = (256, 256),
        *,
        dropout: float = 0.3,
        skip: bool = True,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        hidden = _widths(hidden, "TabularNet")
        if not hidden or mean.ndim != 1 or mean.shape != scale.shape:
            raise ParameterError(
                "The 'hidden', 'mean' and 'scale' parameters of TabularNet must be at least one "
                "width, and two tensors of shape (n_features,). Got "
                f"{hidden}, {tuple(mean.shape)} and {tuple(scale.shape)} instead."
            )
        n_features, width = len(mean), hidden[0]
        self.standardise = Standardise(mean, scale)
        self.first = _FirstLinear(n_features, width)
        self.skip = _FirstLinear(n_features, 1) if skip else None
        layers: list[nn.Module] = []
        for units in hidden[1:]:
            layers += [nn.BatchNorm1d(width)] if batch_norm else []
            layers += [_relu(), FastDropout(dropout), nn.Linear(width, units)]
            width = units
        layers += [nn.BatchNorm1d(width)] if batch_norm else []
        layers += [_relu(), FastDropout(dropout), nn.Linear(width, 1)]
        self.rest = nn.Sequential(*layers)
        if self.skip is not None:  # start as the linear model, which starts at zero
            nn.init.zeros_(self.skip.weight)
            nn.init.zeros_(layers[-1].weight)  # type: ignore[arg-type]

    def forward(self, x: Tensor | SparseBatch) -> Tensor:
        """Return the scores of a batch, shape (n, 1)."""
        x = self.standardise(x)
        scores: Tensor = self.rest(self.first(x))
        return scores if self.skip is None else scores + self.skip(x)
