"""
A table: which model?
=====================

The Wisconsin breast cancer table, embedded in scikit-learn: 569 tumours, 30 measurements. Of the
212 malignant ones 70 are labelled, drawn at random; the other 499 rows carry no label at all. Four
models are compared by what P and U alone can tell, and then by true labels.

*Assumed:* labels are missing at random among the malignant (one sample), and their share, 0.37, is
known. *Not used:* any label of a benign tumour, until the judgement at the end.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nnpu import BoostedPU, LinearPU, PUClassifier, PUWrapper, data, metrics
from nnpu.report import Curve, Panel, draw_figure

x, benign = load_breast_cancer(return_X_y=True)
y = np.where(benign == 1, -1, 1)
sample = data.sample_censored((x, y), 70, random_state=0)
x, s, y = x[sample.index], sample.s, y[sample.index]
setting = {"prior": sample.prior, "sampling": "one-sample"}

# %%
# Every row is scored by a model that was fitted to the other folds, with the same share of labelled
# rows in each.
logistic = make_pipeline(StandardScaler(), LogisticRegression())
models = {
    "network": PUClassifier(**setting, random_state=0),
    "linear, alpha 0.1": LinearPU(**setting, alpha=0.1),
    "boosted trees": BoostedPU(**setting, min_child_samples=5, random_state=0),
    "logistic, corrected": PUWrapper(logistic, **setting),
}
folds = data.PUStratifiedKFold(5, random_state=0)
predictions = {
    name: cross_val_predict(model, x, s, cv=folds, method="predict")
    for name, model in models.items()
}
# For comparison, the mistake that PU learning avoids: to take what has no label for benign.
predictions["unlabelled = benign"] = cross_val_predict(logistic, x, s, cv=folds)

# %%
# Accuracy and F1 by P and U alone, with 90 % ranges, beside the truth.
panels = []
for name in ("accuracy", "f1"):
    metric = metrics.METRICS[f"pu_{name}"]
    place = np.arange(len(predictions))
    values, truths, curves = [], [], []
    for number, (label, predicted) in enumerate(predictions.items()):
        value = metric(s, predicted, **setting)
        low, high = metrics.interval(metric, s, predicted, **setting)
        hits = np.sum((predicted == 1) & (y == 1))
        truth = (
            np.mean((predicted == 1) == (y == 1))
            if name == "accuracy"
            else 2 * hits / (np.sum(predicted == 1) + np.sum(y == 1))
        )
        curves.append(Curve("", [number, number], [low, high], None, "grey"))
        values.append(value)
        truths.append(truth)
        print(f"{label}: {name} {value:.3f} ({low:.3f} to {high:.3f}), in truth {truth:.3f}")
    curves.append(Curve("from P and U, 90 % interval", place, values, None, "blue", "points"))
    curves.append(Curve("in truth", place + 0.15, truths, None, "orange", "points"))
    ticks = list(enumerate(label.replace(" ", "\n") for label in predictions))
    panels.append(Panel(name, "", name, curves, x_ticks=ticks))
draw_figure(panels, columns=1)
plt.show()

# %%
# What is known now: P and U alone put the network first and the naive model last, and so do true
# labels. With 70 labels the ranges are wide, the estimates of one table err together (here they
# are all somewhat high), and trees have too few rows to grow on.
