"""What an experiment is: a description that says everything and computes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

__all__ = ["NNPU", "PN", "UPU", "Method", "Setting"]


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
        The method is told π′ = factor · π instead of π (Figure 3).
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
        A name that `nnpu.data.load` knows.
    model : str
        A name in `nnpu.paper.networks.NETWORKS`.
    n_p : int
        Labelled positives.
    n_u : int or None
        Unlabelled rows; None is all there are.
    n_n : int or None
        Negatives for PN; None is the rule of Section 5, (π_n / 2 π_p)² n_p.
    disjoint : bool
        Whether P is kept out of U (Figure 1) or drawn from it (Section 5).
    optimizer, lr, weight_decay, batch_size, epochs
        How Algorithm 1 is run. β = 0, γ = 1 and the sigmoid loss throughout, as in the paper.
    methods : tuple of Method
        What is compared.
    samplings : int
        Random samplings, the same for every method.
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
