"""
Text: the rest of a topic
=========================

An archive of 11,314 messages, of which somebody marked 300 that are about computers. Where are the
others? The archive is 20 Newsgroups, split by date; the topic is its five ``comp`` groups.

*Assumed:* the 300 were marked at random among all messages on the topic (one sample). *Not known:*
how many more there are, and not one message that is off the topic. True labels are used at the end
only, to judge. `nnpu_paper.load` finds the files or says what is missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline

import nnpu_paper
from nnpu import PUClassifier, data, estimate_prior, metrics
from nnpu.report import Curve, Panel, draw_figure

news = nnpu_paper.load("20news", positive=["comp"])
sample = data.sample_censored(news, 300, random_state=0)
s = sample.s

# %%
# Word counts become 100 numbers: weighted by how rare a word is, then projected onto the directions
# in which messages differ most. No label enters here.
features = make_pipeline(TfidfTransformer(sublinear_tf=True), TruncatedSVD(100, random_state=0))
x = features.fit_transform(news.x_train)

# %%
# How many messages are on the topic? All the marked ones and 3,000 others answer within seconds;
# ``message`` says what the answer means.
others = np.random.default_rng(0).permutation(np.flatnonzero(s == 0))[:3_000]
estimate = estimate_prior(x[s == 1], x[others], random_state=0)
prior = np.mean(s) + np.mean(s == 0) * estimate.value
print(estimate.message)
print(f"so {prior:.3f} of all messages; in truth {sample.prior:.3f}")

# %%
clf = PUClassifier(prior, sampling="one-sample", random_state=0).fit(x, s)

# %%
# The messages of a later time, the likeliest first: how many relevant ones are among the first n?
# Estimated from 300 of them that were marked as well, and in truth.
later = data.sample_censored((news.x_test, news.y_test), 300, random_state=1)
scores = clf.decision_function(features.transform(news.x_test))[later.index]
positive = news.y_test[later.index] == 1
read = np.linspace(200, 5_000, 25).astype(int)
cuts = np.sort(scores)[::-1][read]
setting = {"prior": clf.prior_, "sampling": "one-sample"}
curves = []
for name, colour in (("precision", "orange"), ("recall", "green")):
    metric = metrics.METRICS[f"pu_{name}"]
    values = [metric(later.s, scores > cut, **setting) for cut in cuts]
    limits = np.array([metrics.interval(metric, later.s, scores > cut, **setting) for cut in cuts])
    hits = np.array([np.sum(positive & (scores > cut)) for cut in cuts])
    truth = hits / (read if name == "precision" else positive.sum())
    spread = (limits[:, 1] - limits[:, 0]) / 2
    curves.append(Curve(f"{name}, from marked messages", read, values, spread, colour))
    curves.append(Curve(f"{name}, in truth", read, truth, None, colour, "dashed"))
panel = Panel("Reading the likeliest first", "messages read", "share", curves)
draw_figure([panel])
plt.show()

# %%
# What is known now: recall, and how it grows with reading, rests on the marked messages alone.
# Precision is proportional to the prior: where the prior is estimated too large, so is precision.
print(f"accuracy on the later messages, in truth: {np.mean((scores > 0) == positive):.3f}")

# sphinx_gallery_thumbnail_path = "images/03_text.png"
