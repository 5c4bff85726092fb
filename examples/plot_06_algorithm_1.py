"""
What Algorithm 1 does
=====================

Two networks start from the same weights and see the same mini-batches: 100 labelled even digits and
1,247 unlabelled rows. One descends along the unbiased risk (uPU), the other follows Algorithm 1 of
the paper (nnPU). We watch one number, r, the estimate of what the negatives contribute to the risk.
"""

import copy

import matplotlib.pyplot as plt
import numpy as np
import torch

from nnpu import PULoss, data, models
from nnpu.losses import LOSSES
from nnpu.report import Curve, Panel, draw_figure

digits = data.load("digits")
sample = data.sample_pu(digits, 100, disjoint=True, random_state=0)
x, s = torch.from_numpy(sample.x[sample.index]), torch.from_numpy(sample.s)
x_test, y_test = torch.from_numpy(digits.x_test), torch.from_numpy(digits.y_test)

# %%
# r = R̂_u⁻ − π R̂_p⁻ is a mean over unlabelled rows less a share of a mean over labelled ones. What
# it estimates, the risk of the negatives, is never below zero. The estimate can be, as soon as the
# network knows the labelled rows by heart.
sigmoid = LOSSES["sigmoid"]


def negative_part(scores, s):
    return sigmoid(-scores[s == 0]).mean() - sample.prior * sigmoid(-scores[s == 1]).mean()


# %%
# The loop is anybody's. ``PULoss`` is where the two differ: where r < 0, Algorithm 1 takes a step
# *up* along r and leaves the rest of the risk alone, which unlearns the mini-batch a little.
torch.manual_seed(0)
start = models.mlp(64, (100,), batch_norm=False)


def run(risk, epochs=80, batch_size=300):
    model, pu_loss = copy.deepcopy(start), PULoss(sample.prior, risk=risk)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    order = torch.Generator().manual_seed(0)
    steps = []
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=order).split(batch_size):
            scores = model(x[rows])[:, 0]
            loss = pu_loss(scores, s[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                error = (model(x_test)[:, 0] * y_test <= 0).float().mean()
                steps.append((negative_part(scores, s[rows]).item(), error.item()))
    return np.array(steps).T


# %%
# On the left every step of both runs, with a dot where Algorithm 1 went up. On the right what
# became of it on rows that neither has seen.
r_panel, error_panel = [], []
for name, colour in (("uPU", "orange"), ("nnPU", "green")):
    r, error = run(name.lower())
    step = np.arange(len(r))
    r_panel.append(Curve(name, step, r, None, colour))
    error_panel.append(Curve(name, step, error, None, colour))
    print(
        f"{name}: r < 0 in {np.mean(r < 0):.0%} of the steps, test error {error[-20:].mean():.3f}"
    )
r_panel.append(Curve("nnPU, steps up", step[r < 0], r[r < 0], None, "black", "points"))
r_panel.append(Curve("", [0, len(r)], [0, 0], None, "grey", "dotted"))
panels = [
    Panel("The risk of the negatives, estimated", "step", "r of the mini-batch", r_panel),
    Panel("Test error", "step", "share of errors", error_panel),
]
draw_figure(panels)
plt.show()
