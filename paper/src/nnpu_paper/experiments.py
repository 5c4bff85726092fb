"""The experiments of the paper, and the demo, as data: they say everything and compute nothing.

What the paper does not print is from the authors' code where that has it, and marked where it is
our choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Literal, Self

__all__ = [
    "DEMO",
    "FAST",
    "FIGURE_1",
    "FIGURE_2",
    "FIGURE_3",
    "NNPU",
    "PN",
    "PRIOR_FACTORS",
    "REDUCED",
    "UPU",
    "Method",
    "Setting",
]


@dataclass(frozen=True)
class Method:
    """A learning method under comparison.

    Parameters
    ----------
    name : str
        As the figures call it.
    risk : str
        A name in `nnpu.risk.RISKS`.
    prior_factor : float, default=1.0
        The method is given π′ = factor · π instead of π (Figure 3).
    """

    name: str
    risk: str
    prior_factor: float = 1.0


PN = Method("PN", "pn")
UPU = Method("uPU", "upu")
NNPU = Method("nnPU", "nnpu")


@dataclass(frozen=True)
class Setting:
    """One panel of a figure: data, sampling, model, optimiser, methods.

    Parameters
    ----------
    name, title : str
        The name in tables and files; the title in pictures.
    dataset : str
        A name that `nnpu_paper.load` knows.
    model : str
        A name in `nnpu_paper.runs.NETWORKS`.
    n_p : int
        Labelled positives.
    n_u : int or None
        Unlabelled rows; None means all.
    n_n : int or None
        Negatives for PN; None means the rule of Section 5, (π_n / 2 π_p)² n_p.
    disjoint : bool
        Whether P is kept out of U (Figure 1) or drawn from it (Section 5).
    optimizer, lr, weight_decay, batch_size, epochs
        How Algorithm 1 is run. β = 0, γ = 1 and the sigmoid loss throughout, as in the paper.
    methods : tuple of Method
        What is compared.
    samplings : int
        Random samplings, the same for every method.
    n_test : int or None
        Only the first rows of the test data, so many; None is all there are.
    precision : {"float32", "bfloat16"}
        Of the matrix products of a training step; see `nnpu.training.Training`.
    """

    name: str
    title: str
    dataset: str
    model: str
    n_p: int = 1_000
    n_u: int | None = None
    n_n: int | None = None
    disjoint: bool = False
    optimizer: str = "adam"
    lr: float = 1e-3
    weight_decay: float = 0.005
    batch_size: int = 30_000
    epochs: int = 100
    methods: tuple[Method, ...] = (PN, UPU, NNPU)
    samplings: int = 10
    n_test: int | None = None
    precision: Literal["float32", "bfloat16"] = "float32"

    def shortened(
        self, *, samplings: int | None = None, epochs: int | None = None, n_u: int | None = None
    ) -> Self:
        """Return the setting with fewer samplings, epochs or unlabelled rows; None changes none."""
        return replace(
            self,
            samplings=self.samplings if samplings is None else samplings,
            epochs=self.epochs if epochs is None else epochs,
            n_u=self.n_u if n_u is None else n_u,
        )


PRIOR_FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2)  # π′ / π in Figure 3

_ILLUSTRATION = Setting(
    name="figure1",
    title="MNIST",
    dataset="mnist",
    model="linear",
    n_p=100,
    n_n=50,
    disjoint=True,
)

FIGURE_1 = (
    replace(_ILLUSTRATION, name="figure1-linear", title="Linear model (784-1)"),
    replace(
        _ILLUSTRATION,
        name="figure1-mlp",
        title="Multilayer perceptron (784-100-1)",
        model="mlp-100",
    ),
)

FIGURE_2 = (
    # The authors' 30,000 of 61,000 rows are two steps an epoch; so are 30,500 at the most.
    Setting(name="mnist", title="MNIST", dataset="mnist", model="mlp-relu", batch_size=30_500),
    Setting(name="epsilon", title="epsilon", dataset="epsilon", model="mlp-softsign"),
    Setting(
        name="20news",
        title="20 Newsgroups",
        dataset="20news",
        model="word-average-300",
        optimizer="adagrad",
        # Our choice, by the training risks of another sampling; see docs/reproduction.md.
        lr=3e-3,
        weight_decay=1e-4,
        batch_size=500,
    ),
    Setting(
        name="cifar10",
        title="CIFAR-10",
        dataset="cifar10",
        model="all-convolutional",
        lr=1e-5,
        batch_size=500,
    ),
)

FIGURE_3 = tuple(
    replace(
        setting,
        # At π itself it is the method, and so the runs, of Figure 2.
        methods=tuple(
            NNPU if factor == 1 else Method(f"nnPU at {factor}π", "nnpu", factor)
            for factor in PRIOR_FACTORS
        ),
    )
    for setting in FIGURE_2
)

#: What is different, by the setting's name, where a setting is too large for a CPU: the same net,
#: losses, optimiser and ℓ2 on a fraction of the data, with a greater step. U is drawn from all
#: training data as P is, so few rows are in both.
REDUCED: dict[str, dict[str, Any]] = {
    "cifar10": {
        "name": "cifar10-reduced",
        "title": "CIFAR-10, reduced",
        "n_p": 300,
        "n_u": 1_500,
        "n_test": 1_000,
        # Our choice, by the training risks of another sampling; see docs/reproduction.md.
        "lr": 1e-4,
        "batch_size": 100,
        "epochs": 25,
        "samplings": 2,
        "precision": "bfloat16",
    },
}

#: What is left out of each setting in its minute-scale version.
FAST = {
    "figure1-linear": {"samplings": 1, "epochs": 30},
    "figure1-mlp": {"samplings": 1, "epochs": 30},
    "mnist": {"samplings": 1, "epochs": 10},
    "epsilon": {"samplings": 1, "epochs": 10, "n_u": 20_000},
    "20news": {"samplings": 1, "epochs": 20},
    "cifar10": {"samplings": 1, "epochs": 1, "n_u": 1_500},
}

#: Figure 1 on scikit-learn's digits, so small that it needs no download.
DEMO = Setting(
    name="digits",
    title="Handwritten digits, even against odd",
    dataset="digits",
    model="mlp-100",
    n_p=100,
    n_n=50,
    disjoint=True,
    lr=3e-3,
    weight_decay=0.0,
    batch_size=300,
    samplings=1,
)
