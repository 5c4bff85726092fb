"""
The whole job in ten lines
==========================

A table in, a judged model, probabilities and a report out. The table comes with the package: 569
breast tumours, measured under the microscope. 96 of the 212 malignant ones are labelled; nothing is
said about the others. Replace it by a pandas or polars frame of your own, or by the path of a CSV
or Parquet file.
"""

import matplotlib.pyplot as plt

from nnpu import TablePU
from nnpu.data import example_table
from nnpu.report import ThresholdDisplay

table = example_table()
model = TablePU().fit(table, "known")
model.holdout_

# %%
# No true label was used for these figures. They are about the unlabelled rows: how many are
# positive, and how many of the first ones. The report says what they mean, which rows to look at
# first, and what another threshold would do.
model.report(title="569 tumours")

# %%
# Probabilities for any table with the same columns. This one has the label column, so labelled rows
# have the probability 1, and the others that of a row known to be unlabelled.
probability = model.predict_proba(table)[:, 1]
print(f"{(probability > 0.5).sum()} of {len(probability)} are more likely malignant than not")

# %%
# What each threshold does, as a picture for a slide. ``from_predictions`` takes scores of any
# model; those in ``holdout_`` come from models that were not fitted to the row.
found = model.holdout_
ThresholdDisplay.from_predictions(
    found.s, found.scores, prior=found.prior.value, sampling=found.sampling
)
plt.show()

# sphinx_gallery_thumbnail_path = "images/report-light.png"
