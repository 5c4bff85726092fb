"""
What depends on the prior
=========================

The prior is the one number that PU learning cannot do without and that nobody knows exactly. Here
the same classifier is fitted under priors from 0.6 to 1.4 times the true one: Figure 3 of the
paper, for one's own data, without true labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from nnpu import PUClassifier, data, sensitivity
from nnpu.report import Curve, draw_figure, sensitivity_panels

digits = data.load("digits")
sample = data.sample_pu(digits, 100, disjoint=True, random_state=0)
x, s = sample.x[sample.index], sample.s
clf = PUClassifier(sample.prior, epochs=15, random_state=0)

# %%
# Every row is predicted by a classifier that was fitted to the other folds.
priors = sample.prior * np.array([0.6, 0.8, 1.2, 1.4])
rows = sensitivity(clf, x, s, priors, n_splits=3, random_state=0)
for row in rows:
    print(
        f"prior {row['assumed_prior']:.2f}: recall {row['recall']:.2f}, "
        f"flagged {row['share_flagged']:.2f}, as at the base {row['agreement']:.2f}"
    )

# %%
# How many rows are flagged follows the assumed prior. So do the estimates, which take it for the
# truth: a greater prior looks better, whatever it is. The prior cannot be chosen by them. As this
# is an example, the true accuracy of a classifier fitted to all of P and U can be added.
truth = []
for row in rows:
    model = clf.set_params(prior=row["assumed_prior"]).fit(x, s)
    truth.append(np.mean((model.predict(digits.x_test) == 1) == (digits.y_test == 1)))
panels = sensitivity_panels(rows)
assumed = [row["assumed_prior"] for row in rows]
panels[0].curves.append(Curve("accuracy, in truth", assumed, truth, None, "black", "dashed"))
draw_figure(panels)
plt.show()
