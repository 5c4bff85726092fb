"""The bench: every contender is timed in turn, what is made is removed, and ratios are ratios."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nnpu.parameters import InputError
from nnpu_paper.cli import main
from nnpu_paper.contest import Contender, contest
from nnpu_paper.memory import peak_memory
from nnpu_paper.speed import (
    Shape,
    check_room,
    epoch_seconds,
    measure_disk,
    measure_processes,
    measure_sparse,
    measure_speed,
)

SMALL = Shape(n_rows=200, n_features=8, hidden=(4,), batch_size=50)
FEW = Shape(n_rows=200, n_features=8, hidden=(4,), batch_size=50, n_p=40)


def test_every_contender_is_timed_and_ours_is_the_unit():
    ratios = {row["what"]: row["ratio"] for row in measure_speed(SMALL, repeats=1)}
    units = ["training, an epoch of ours", "training and evaluation, ours", "prediction, ours"]
    assert [ratios[unit] for unit in units] == [1, 1, 1]
    assert len(ratios) == 8
    assert all(ratio > 0 for ratio in ratios.values())


def test_the_best_of_all_rounds_counts_and_only_what_the_clock_saw():
    """a takes 3, 2, 4 seconds and b 8, 7, 9 by the wall's clock, half of it by the processor's."""
    times = iter([3, 8, 2, 7, 4, 9])

    def work(clock):
        clock.wall = next(times)
        clock.processor = clock.wall / 2 + (clock.wall < 5)

    table = contest([Contender("a", work, "a", 100), Contender("b", work, "a", 350)], repeats=3)
    assert [row["seconds"] for row in table] == [2, 7]
    assert [row["ratio"] for row in table] == [1, 3.5]
    assert [row["processor_ratio"] for row in table] == [1, 1.75]
    assert [row["rows_per_second"] for row in table] == [50, 50]


def test_the_peak_counts_what_was_freed_again():
    with peak_memory() as peak:
        before = peak[0]
        block = np.ones(32_000_000)  # 256 MB, more than earlier tests leave to be freed
        time.sleep(0.5)
        del block
    assert peak[0] - before > 100


def test_disk_and_memory_learn_the_same_and_nothing_is_left(tmp_path):
    table = measure_disk(1_500, 6, folder=tmp_path)
    assert [row["what"] for row in table] == ["a memory map", "a Parquet folder", "in memory"]
    assert table[-1]["ratio"] == 1
    assert list(tmp_path.iterdir()) == []


def test_the_sparse_bench_fits_both_classifiers(tmp_path):
    table = measure_sparse(300, 1_000, 5, folder=tmp_path)
    assert len(table) == 2
    assert all(row["rows_per_second"] > 0 for row in table)
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_told_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="set TMPDIR to a folder with more room"):
        check_room(tmp_path, 10**18)


def test_the_command_prints_a_line_for_each_contender(capsys):
    main(["bench", "training", "--rows", "200", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    ours = next(line for line in lines if line.startswith("prediction, ours"))
    assert ours.split()[2] == "1.00"
    with pytest.raises(SystemExit):
        main(["bench", "trainin"])
    assert "Did you mean 'training'?" in capsys.readouterr().err


def test_every_epoch_but_the_first_is_timed():
    seconds = epoch_seconds(FEW)
    assert len(seconds) == 3
    assert min(seconds) > 0


@pytest.mark.slow
def test_one_process_is_the_unit_of_two():
    rows = measure_processes(FEW, repeats=1)
    assert [row["what"].split()[0] for row in rows] == ["one", "two"]
    assert rows[0]["ratio"] == 1
    assert rows[1]["ratio"] > 0
