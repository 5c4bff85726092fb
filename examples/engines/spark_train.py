"""Spark: trees of labelled against unlabelled rows by Spark ML, judged and calibrated by `ScorePU`.

Spark scores each fold by trees that were not fitted to it. Only a score and a label of each row
leave it.
"""

from functools import reduce

from pyspark.ml.classification import GBTClassifier
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, xxhash64
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from nnpu import ScorePU
from table import NUMBERS, files, mixed_table

N_FOLDS = 3
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
table = spark.read.parquet(files()[0]).fillna(-1, subset=NUMBERS)
table = table.withColumn("fold", xxhash64("row") % N_FOLDS).coalesce(2)  # −2 … 2: five folds
table = StringIndexer(inputCol="town", outputCol="code").fit(table).transform(table)
table = VectorAssembler(inputCols=[*NUMBERS, "code"], outputCol="x").transform(table).cache()


def scored(fold: int) -> DataFrame:
    trees = GBTClassifier(featuresCol="x", labelCol="known", maxIter=20, maxDepth=3, seed=0)
    here = col("fold") == fold
    out = trees.fit(table.where(~here)).transform(table.where(here))
    return out.select("row", "known", "truth", vector_to_array("probability")[1].alias("score"))


folds = [row.fold for row in table.select("fold").distinct().collect()]
found = reduce(DataFrame.union, map(scored, folds)).toPandas()
spark.stop()

model = ScorePU().fit(found["score"], found["known"])
print(*model.holdout_.lines(), sep="\n")

alone, trees = mixed_table(), HistGradientBoostingClassifier(max_iter=20, random_state=0)
x = alone[NUMBERS].assign(town=alone["town"].astype("category").cat.codes)
scores = cross_val_predict(trees, x, alone["known"], cv=N_FOLDS, method="predict_proba")[:, 1]
of_spark = roc_auc_score(found["truth"], found["score"])
of_one = roc_auc_score(alone["truth"], scores)
share = ScorePU().fit(scores, alone["known"]).prior_
print(f"AUC {of_spark:.3f} and share {model.prior_:.2f}; without Spark {of_one:.3f}, {share:.2f}")
assert abs(of_spark - of_one) < 0.02
assert abs(model.prior_ - share) < 0.06
