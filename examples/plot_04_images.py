"""
Images: a network of your own
=============================

MNIST, even against odd digits: 1,000 even ones are labelled, 10,000 images are not. A small
convolutional network is trained twice, with the unbiased risk (uPU) and with the non-negative one
(nnPU), to see what the latter is for.

*Assumed:* the labelled images are a random part of all even ones, collected separately from the
others (two samples), and the share of even digits, 0.49, is known. True labels are used only to
draw the dashed lines. `nnpu_paper.load` finds the files or says what is missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from torch import nn

import nnpu_paper
from nnpu import PUClassifier, data
from nnpu.report import Curve, Panel, draw_figure
from nnpu.training import Training, predict_scores

mnist = nnpu_paper.load("mnist")
sample = data.sample_pu(mnist, 1_000, 10_000, random_state=0)
x = sample.x[sample.index].reshape(-1, 1, 28, 28)
x_test = data.as_rows(mnist.x_test[:4_000].reshape(-1, 1, 28, 28))
positive = mnist.y_test[:4_000] == 1
print(f"{np.sum(sample.s == 1):,} labelled, {np.sum(sample.s == 0):,} not")


# %%
# Any torch module with one output per row will do. It is made anew for every fit.
def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 100),
        nn.ReLU(),
        nn.Linear(100, 1),
    )


# %%
# After every epoch the error on test images is added to the history. Nothing is decided by it.
def add_test_error(row, model):
    scores = predict_scores(model, x_test).numpy()
    row["test_error"] = float(np.mean((scores > 0) != positive))


curves = {"error": [], "parts": []}
for risk, colour in (("upu", "red"), ("nnpu", "blue")):
    clf = PUClassifier(
        sample.prior,
        module=network,
        risk=risk,
        epochs=12,
        batch_size=256,
        lr=1e-3,
        random_state=0,
        training=Training(on_epoch_end=add_test_error),
    ).fit(x, sample.s)
    epochs = [row["epoch"] + 1 for row in clf.history_]
    column = {name: [row[name] for row in clf.history_] for name in clf.history_[0]}
    curves["error"] += [
        Curve(f"{risk}, training (no true label)", epochs, column["train_zero_one"], None, colour),
        Curve(f"{risk}, test, in truth", epochs, column["test_error"], None, colour, "dashed"),
    ]
    curves["parts"].append(Curve(f"{risk}, r", epochs, column["train_negative"], None, colour))
    print(
        f"{risk}: test error {column['test_error'][-1]:.3f}, best {min(column['test_error']):.3f}; "
        f"r at the end {column['train_negative'][-1]:.3f}"
    )

# %%
# The risk of the negatives, r, is estimated without one, as R̂_u⁻ − π R̂_p⁻. It cannot be negative
# in truth. uPU drives it below zero and memorises the labels; nnPU takes a step back wherever
# a mini-batch has r < 0.
panels = [
    Panel("Error", "epoch", "zero-one risk or error", curves["error"]),
    Panel("The risk of the negatives, estimated", "epoch", "r", curves["parts"]),
]
draw_figure(panels)
plt.show()

# sphinx_gallery_thumbnail_path = "images/04_images.png"
