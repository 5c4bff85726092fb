from nnpu.experiments.speed import Shape, measure_speed


def test_every_contender_is_timed_and_ours_is_the_unit():
    rows = measure_speed(Shape(n_rows=200, n_features=8, hidden=(4,), batch_size=50), repeats=1)
    ratios = {row["what"]: row["ratio"] for row in rows}
    assert ratios["training, an epoch of ours"] == ratios["prediction, ours"] == 1
    assert len(ratios) == 6
    assert all(ratio > 0 for ratio in ratios.values())
