"""Reading ahead: in another thread, in the same order, the same bits, errors where they belong."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from nnpu import models
from nnpu.data.rows import DenseRows, Rows, as_rows
from nnpu.objective import Objective
from nnpu.training import Training, TrainingSample, loop, train
from nnpu.training.batches import prefetched

X = torch.arange(30.0).reshape(10, 3)


class SlowRows(Rows):
    """Rows that say they are on disk and note which thread took what."""

    on_disk = True
    shape = (10, 3)

    def __init__(self):
        self.taken = []

    def __len__(self):
        return 10

    def take(self, indices):
        self.taken.append((indices.tolist(), threading.current_thread().name))
        if 9 in indices.tolist():
            raise OSError("the disk is gone")
        return X[indices]


BATCHES = [torch.tensor([3, 1]), torch.tensor([0]), torch.tensor([2, 2])]


def test_what_is_expected_is_taken_in_the_background_and_in_order():
    table = SlowRows()
    with prefetched(table) as rows:
        assert rows.shape == (10, 3)
        assert len(rows) == 10
        assert rows.nbytes == 120
        for batch in rows.expect(BATCHES):
            assert torch.equal(rows.take(batch), X[batch])
    assert [batch for batch, _ in table.taken] == [[3, 1], [0], [2, 2]]
    assert all(name.startswith("nnpu-prefetch") for _, name in table.taken)


def test_the_next_batch_is_under_way_before_it_is_asked_for():
    table, begun = SlowRows(), threading.Event()
    take = table.take
    table.take = lambda indices: (begun.set() if indices is BATCHES[1] else None, take(indices))[1]
    with prefetched(table) as rows:
        rows.expect(BATCHES)
        rows.take(BATCHES[0])
        assert begun.wait(30)


def test_what_was_not_expected_is_taken_all_the_same():
    with prefetched(SlowRows()) as rows:
        rows.expect(BATCHES)
        other = torch.tensor([7, 8])
        assert torch.equal(rows.take(other), X[other])
        assert torch.equal(rows.take(BATCHES[0]), X[BATCHES[0]])
        rows.expect([other])  # another epoch
        assert torch.equal(rows.take(other), X[other])
        assert torch.equal(rows.take(BATCHES[1]), X[BATCHES[1]])


def test_an_error_in_the_background_is_raised_where_the_batch_is_taken():
    with prefetched(SlowRows()) as rows:
        first, bad = rows.expect([torch.tensor([1]), torch.tensor([9])])
        rows.take(first)
        with pytest.raises(OSError, match="the disk is gone"):
            rows.take(bad)


def test_no_thread_is_left_when_a_run_ends_or_fails():
    def fail():
        with prefetched(SlowRows()) as rows:
            rows.expect(BATCHES)
            raise RuntimeError

    before = threading.active_count()
    with pytest.raises(RuntimeError):
        fail()
    assert threading.active_count() == before


def test_only_what_is_on_disk_is_read_ahead(tmp_path):
    np.save(tmp_path / "x.npy", X.numpy())
    mapped = as_rows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    in_memory = DenseRows(X)
    with prefetched(in_memory) as rows:
        assert rows is in_memory
        assert rows.expect(BATCHES) is BATCHES
    with prefetched(mapped) as rows:
        assert rows is not mapped


def test_a_run_that_was_stopped_within_an_epoch_goes_on_from_disk_in_the_same_bits(
    tmp_path, monkeypatch
):
    """12 steps from a memory map, stopped before the sixth, while the seventh batch is read."""
    x = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    sample = TrainingSample(
        as_rows(np.load(tmp_path / "x.npy", mmap_mode="r")), torch.tensor([1] * 30 + [0] * 90)
    )

    def run(**options):
        torch.manual_seed(0)
        return train(
            models.mlp(4, (5,)),
            sample,
            Objective(0.4),
            epochs=3,
            batch_size=30,
            options=Training(block_rows=4, **options),
        )

    whole, history = run()
    step, counter = loop.train_step, iter(range(100))

    def stopped(*arguments):
        if next(counter) == 5:
            raise RuntimeError("stopped")
        return step(*arguments)

    monkeypatch.setattr(loop, "train_step", stopped)
    checkpoint = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    with pytest.raises(RuntimeError, match="stopped"):
        run(**checkpoint)
    monkeypatch.setattr(loop, "train_step", step)
    resumed, resumed_history = run(**checkpoint)
    assert resumed_history == history
    for mine, theirs in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, theirs)
