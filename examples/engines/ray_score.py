"""Ray: score a model folder by `map_batches`; each actor loads the model once."""

import numpy as np
import pandas as pd
import ray

import nnpu
from table import files, mixed_table

rows, model = files()


class Probability:
    def __init__(self, folder: str) -> None:
        self.model = nnpu.load(folder)  # every worker must be able to read it

    def __call__(self, batch: pd.DataFrame) -> pd.DataFrame:
        found = self.model.predict_proba(batch.drop(columns=["known", "truth"]))[:, 1]
        return batch[["row"]].assign(probability=found)


ray.init(num_cpus=2, include_dashboard=False)
scored = ray.data.read_parquet(rows).map_batches(
    Probability,
    fn_constructor_args=[str(model)],
    batch_format="pandas",
    compute=ray.data.ActorPoolStrategy(size=1),
)
found = scored.to_pandas().sort_values("row")
ray.shutdown()

alone = nnpu.load(model).predict_proba(mixed_table().drop(columns=["known", "truth"]))[:, 1]
assert np.array_equal(found["probability"], alone), "Ray's probabilities are others"
print(f"Ray: {len(found):,} probabilities, the same bits as without Ray")
