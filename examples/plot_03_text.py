"""
Text: the rest of a topic
=========================

An archive of 11,314 messages, of which somebody marked 300 that are about computers. Where are the
others? The archive is 20 Newsgroups, split by date; the topic is its five ``comp`` groups.

*Assumed:* the 300 were marked at random among all messages on the topic (one sample). *Not known:*
how many more there are, and not one message that is off the topic. True labels are used at the end
only, to judge. The files are looked for as `nnpu.data.load` says, and it names what is missing.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from nnpu import LinearPU, data, estimate_prior, metrics
from nnpu.report import Curve, Panel, save_figure

news = data.load("20news", positive=["comp"])
sample = data.sample_censored(news, 300, random_state=0)
tfidf = TfidfTransformer(sublinear_tf=True).fit(news.x_train)
x, s = tfidf.transform(news.x_train), sample.s

# %%
# How many messages are on the topic? The answer is an upper bound; see ``message``.
estimate = estimate_prior(x[s == 1], x[s == 0], sampling="one-sample", random_state=0)
print(estimate.message)
print(f"in truth {sample.prior:.3f}")

# %%
# A linear model of 50,000 words, never made dense. The strength of its regularisation is chosen by
# the PU risk of held-out folds, for which no negative is needed.
clf = LinearPU(estimate.value, sampling="one-sample", random_state=0)
path = clf.regularisation_path(x, s, [1e-1, 1e-2, 1e-3, 1e-4], n_splits=3)
best = min(path, key=lambda row: row["zero_one"])
for row in path:
    print(f"alpha {row['alpha']:g}: held-out zero-one risk {row['zero_one']:.3f}")
clf.set_params(alpha=best["alpha"]).fit(x, s)
words = np.array(news.vocabulary)[np.argsort(clf.coef_[0])]
print("for the topic:", ", ".join(words[-8:]), "| against it:", ", ".join(words[:8]))

# %%
# The messages of a later time, the most likely first: how many are on the topic if one reads the
# first so many? Estimated from 300 further marked messages, and in truth.
x_test, positive = tfidf.transform(news.x_test), news.y_test == 1
later = data.sample_censored((news.x_test, news.y_test), 300, random_state=1)
scores = clf.decision_function(x_test)[later.index]
positive = positive[later.index]
read = np.linspace(200, 5000, 25).astype(int)
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
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
print(*save_figure([panel], folder / "text", formats=("png",)))

# %%
# What is known now: the order is good, which nobody had to label a negative for. Precision moves
# with the prior that was estimated, recall does not.
predicted = clf.predict(x_test) == 1
print(f"accuracy on the later messages, in truth: {np.mean(predicted == (news.y_test == 1)):.3f}")
