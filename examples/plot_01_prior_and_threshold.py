"""
The prior, the probabilities and the cut
========================================

Digits, even against odd: 300 labelled even digits, 1,047 unlabelled rows, no negative. We estimate
the share of even digits, fit a classifier, calibrate it on rows that it has not seen, and choose
where to cut. True labels appear only at the end, to see how far the estimates were off.
"""

import matplotlib.pyplot as plt
import numpy as np

from nnpu import PUClassifier, data, estimate_prior, metrics
from nnpu.report import Curve, Panel, draw_figure

digits = data.load("digits")
sample = data.sample_pu(digits, 300, disjoint=True, random_state=0)

# %%
# The share of positives in U. ``identified`` says whether the data could answer at all, and
# ``message`` what the answer means.
estimate = estimate_prior(sample.x_p, sample.x_u, random_state=0)
print(f"prior {estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})")
print(f"in truth {sample.prior:.3f}")

# %%
# Two thirds of P and U are for the fit, the rest for everything that is decided after it.
folds = data.PUStratifiedKFold(3, random_state=0)
train, held_out = next(folds.split(sample.s, sample.s))
x, s = sample.x[sample.index], sample.s
clf = PUClassifier(estimate.value, epochs=60, random_state=0).fit(x[train], s[train])
x, s = x[held_out], s[held_out]
clf.calibrate(x, s)

# %%
# A cut that flags as many rows as there are positives, and one for a precision of 0.9. The truth is
# that of test rows with the same share of positives.
fresh = data.sample_pu((digits.x_test, digits.y_test), 1, prior=sample.prior)
x_test, positive = fresh.x_u, fresh.y[fresh.index_u] == 1
cuts = {
    "at the prior": clf.choose_threshold(x, s, at="prior"),
    "precision 0.9": clf.choose_threshold(x, s, precision=0.9),
}
for name, cut in cuts.items():
    flagged = clf.decision_function(x_test) > cut.value
    print(
        f"{name}: precision {cut.estimate:.3f} ({cut.low:.3f} to {cut.high:.3f}), "
        f"in truth {positive[flagged].mean():.3f}"
    )

# %%
# Precision and recall for every cut, by P and U alone and by true labels. An estimate of the
# precision above 1 would be chance, or a sign that the prior is too large.
scores, test_scores = clf.decision_function(x), clf.decision_function(x_test)
grid = np.quantile(scores[s == 0], np.linspace(0.02, 0.85, 40))
setting = {"prior": clf.prior_, "sampling": clf.sampling}
curves = []
for name, colour in (("precision", "orange"), ("recall", "green")):
    metric = metrics.METRICS[f"pu_{name}"]
    estimates = [metric(s, scores > cut, **setting) for cut in grid]
    limits = np.array([metrics.interval(metric, s, scores > cut, **setting) for cut in grid])
    hits = np.array([np.sum(positive & (test_scores > cut)) for cut in grid])
    flagged = np.array([np.sum(test_scores > cut) for cut in grid])
    truth = hits / (flagged if name == "precision" else positive.sum())
    spread = (limits[:, 1] - limits[:, 0]) / 2
    curves.append(Curve(f"{name}, from P and U", grid, estimates, spread, colour))
    curves.append(Curve(f"{name}, in truth", grid, truth, None, colour, "dashed"))
where_to_cut = Panel(
    "Where to cut", "threshold on the score", "estimate with 90 % interval", curves
)

# %%
# Are the probabilities right? In eight parts of the test rows, sorted by probability.
probability = clf.predict_proba(x_test)[:, 1]
parts = np.array_split(np.argsort(probability), 8)
means = [probability[part].mean() for part in parts]
shares = [positive[part].mean() for part in parts]
calibrated = Panel(
    "Calibrated without negatives",
    "mean probability",
    "share of positives",
    [
        Curve("right", [0, 1], [0, 1], None, "grey", "dotted"),
        Curve("test rows, eight parts", means, shares, None, "blue"),
    ],
)
draw_figure([where_to_cut, calibrated])
plt.show()
