import pytest

from nnpu.paper.speed import Shape
from nnpu.paper.speed.processes import epoch_seconds, measure_processes

SMALL = Shape(n_rows=200, n_features=8, hidden=(4,), batch_size=50, n_p=40)


def test_every_epoch_but_the_first_is_timed():
    seconds = epoch_seconds(SMALL)
    assert len(seconds) == 3
    assert min(seconds) > 0


@pytest.mark.slow
def test_one_process_is_the_unit_of_two():
    rows = measure_processes(SMALL, repeats=1)
    assert [row["what"].split()[0] for row in rows] == ["one", "two"]
    assert rows[0]["ratio"] == 1
    assert rows[1]["ratio"] > 0
