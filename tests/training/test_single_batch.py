"""The only mini-batch of an epoch is gathered once, and no model can spoil it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from nnpu.data.rows import as_rows
from nnpu.objective import Objective
from nnpu.training import TrainingSample, train
from nnpu.training.batches import SingleBatch

X = torch.arange(12.0).view(6, 2)


class Counted:
    """Rows that count how often they are gathered."""

    def __init__(self, rows, monkeypatch):
        self.times = 0
        real = rows.take

        def take(indices):
            self.times += 1
            return real(indices)

        monkeypatch.setattr(rows, "take", take)


@pytest.mark.parametrize("x", [X, sparse.csr_array(X.numpy())], ids=["dense", "sparse"])
def test_the_same_rows_are_gathered_once_and_others_anew(x, monkeypatch):
    rows = as_rows(x)
    counted, kept = Counted(rows, monkeypatch), SingleBatch(rows)
    indices = torch.tensor([4, 1])
    assert kept.take(indices) is kept.take(indices)
    assert counted.times == 1
    other = kept.take(torch.tensor([0]))
    assert len(other.offsets if hasattr(other, "offsets") else other) == 1
    assert counted.times == 2


def test_rows_that_were_written_to_are_gathered_anew():
    kept, indices = SingleBatch(as_rows(X.clone())), torch.arange(6)
    kept.take(indices).zero_()
    assert torch.equal(kept.take(indices), X)


class Spoiling(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(2, 1)

    def forward(self, x):
        return self.last(x.sub_(5.5).div_(3.5))


def test_a_module_that_works_in_place_changes_neither_the_data_nor_later_epochs():
    x, s = X.clone(), torch.tensor([1, 1, 0, 0, 0, 0], dtype=torch.int8)
    results = []
    for batch_size in (6, 100):
        torch.manual_seed(0)
        model, history = train(
            Spoiling(),
            TrainingSample(as_rows(x), s),
            Objective(0.4),
            epochs=4,
            batch_size=batch_size,
        )
        results.append((history, model.last.weight.tolist()))
    assert torch.equal(x, X)
    assert results[0] == results[1]
    expected = train(
        nn.Sequential(Shifted(), seeded_linear()),
        TrainingSample(as_rows(x), s),
        Objective(0.4),
        epochs=4,
        batch_size=6,
    )[1]
    assert results[0][0] == expected


class Shifted(nn.Module):
    def forward(self, x):
        return (x - 5.5) / 3.5


def seeded_linear():
    torch.manual_seed(0)
    return nn.Linear(2, 1)


def test_a_table_on_disk_is_read_once(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X.numpy())
    rows = as_rows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    counted = Counted(rows, monkeypatch)
    s = torch.tensor([1, 1, 0, 0, 0, 0], dtype=torch.int8)
    train(nn.Linear(2, 1), TrainingSample(rows, s), Objective(0.4), epochs=5, batch_size=6)
    assert counted.times <= 2  # one of them ahead
