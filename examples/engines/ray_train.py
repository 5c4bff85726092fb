"""Ray: a task for each fold trains LightGBM, labelled against unlabelled; `ScorePU` does the rest.

A task is given the table by reference and returns scores of a fold that its trees were not fitted
to.
"""

import lightgbm
import numpy as np
import pandas as pd
import ray
from sklearn.metrics import roc_auc_score

from nnpu import ScorePU
from table import NUMBERS, mixed_table

N_FOLDS = 5
HOW = {"objective": "binary", "num_leaves": 7, "seed": 0, "deterministic": True, "verbose": -1}


def scores_of(fold: int, table: pd.DataFrame) -> np.ndarray:
    x = table[NUMBERS].assign(town=table["town"].astype("category").cat.codes)
    here = table["row"] % N_FOLDS == fold
    rows = lightgbm.Dataset(x[~here], label=table["known"][~here])
    booster = lightgbm.train(HOW | {"num_threads": 1, "force_row_wise": True}, rows, 50)
    return np.asarray(booster.predict(x[here]))


table = mixed_table()
ray.init(num_cpus=2, include_dashboard=False)
task, stored = ray.remote(scores_of), ray.put(table)
by_fold = ray.get([task.remote(fold, stored) for fold in range(N_FOLDS)])
ray.shutdown()

scores = np.empty(len(table))
for fold, part in enumerate(by_fold):
    scores[table["row"] % N_FOLDS == fold] = part
model = ScorePU().fit(scores, table["known"])
print(*model.holdout_.lines(), sep="\n")

assert all(np.array_equal(part, scores_of(fold, table)) for fold, part in enumerate(by_fold))
auc = roc_auc_score(table["truth"], scores)
print(f"Ray: AUC {auc:.3f}, share {model.prior_:.2f} (true: {table['truth'].mean():.2f})")
assert abs(model.prior_ - table["truth"].mean()) < 0.1
