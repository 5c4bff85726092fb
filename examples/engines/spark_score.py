"""Spark: score a model folder in a pandas UDF; each task loads the model once."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, struct
from pyspark.sql.types import DoubleType

import nnpu
from table import files, mixed_table

rows, model = files()
folder = str(model)  # every executor must be able to read it


@pandas_udf(DoubleType())
def probability(batches: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
    fitted = nnpu.load(folder)
    for batch in batches:
        yield pd.Series(fitted.predict_proba(batch)[:, 1])


spark = SparkSession.builder.master("local[2]").getOrCreate()
table = spark.read.parquet(rows).drop("known", "truth")
scored = table.withColumn("probability", probability(struct(*table.columns)))
found = scored.select("row", "probability").toPandas().sort_values("row")
spark.stop()

alone = nnpu.load(folder).predict_proba(mixed_table().drop(columns=["known", "truth"]))[:, 1]
assert np.array_equal(found["probability"], alone), "Spark's probabilities are others"
print(f"Spark: {len(found):,} probabilities, the same bits as without Spark")
