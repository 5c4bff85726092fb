"""The exchange in shared memory: what it adds up, and what it says when nobody answers."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from nnpu.training import neighbours
from nnpu.training.exchange import GroupExchange
from nnpu.training.neighbours import SharedMemory, fastest_exchange

pytestmark = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="Linux has such memory")


class Ranks:
    """Exchanges that are connected with each other, each used by a thread of its own."""

    def __init__(self, folder, size, timeout=20.0):
        SharedMemory.prepare(folder, size)
        self.exchanges = [SharedMemory(folder, rank, size, timeout) for rank in range(size)]
        for exchange in self.exchanges:
            exchange.connect(folder)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for exchange in self.exchanges:
            exchange.close()

    def all(self, act):
        """Let each exchange act, at the same time; return what came of it."""
        with ThreadPoolExecutor(len(self.exchanges)) as pool:
            return list(pool.map(act, self.exchanges))


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def own():
    """A tensor of each rank, always the same."""

    def draw(rank, *shape, dtype=torch.float32):
        generator = torch.Generator().manual_seed(rank)
        return torch.randint(-1000, 1000, shape, generator=generator).to(dtype)

    return draw


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_tensors_are_gathered_and_added_by_rank(folder, own, size, dtype):
    expected = torch.stack([own(rank, 3, 4, dtype=dtype) for rank in range(size)])
    with Ranks(folder, size) as ranks:
        for _ in range(5):  # both sets of places, in turn
            gathered = ranks.all(lambda e: e.gather(own(e.rank, 3, 4, dtype=dtype)))
            added = ranks.all(lambda e: e.add(own(e.rank, 3, 4, dtype=dtype)))
            assert all(torch.equal(found, expected) for found in gathered)
            assert all(torch.equal(found, expected.sum(0).flatten().to(dtype)) for found in added)


@pytest.mark.parametrize("room", [8, 24, 64, 4096])
def test_what_is_larger_than_a_place_is_added_in_pieces(folder, own, room, monkeypatch):
    monkeypatch.setattr(neighbours, "_ROOM", room)
    shapes = [(7, 3), (1,), (0,), (40,), (2, 2, 2)]

    def tensors(rank):
        return [own(rank + 10 * number, *shape) for number, shape in enumerate(shapes)]

    expected = torch.cat([(a + b).flatten() for a, b in zip(tensors(0), tensors(1), strict=True)])
    with Ranks(folder, 2) as ranks:
        for found in ranks.all(lambda e: e.add(*tensors(e.rank))):
            assert torch.equal(found, expected)


def test_types_meet_in_the_wider_one(folder):
    with Ranks(folder, 2) as ranks:
        single, double = torch.tensor([1.5]), torch.tensor([2.0**-40], dtype=torch.float64)
        for found in ranks.all(lambda e: e.add(single, double)):
            assert found.tolist() == [3.0, 2.0**-39]
            assert found.dtype == torch.float64


def test_what_was_gathered_is_not_changed_by_later_exchanges(folder, own):
    with Ranks(folder, 2) as ranks:
        before = ranks.all(lambda e: e.gather(own(e.rank, 6)))
        kept = [found.clone() for found in before]
        for number in range(4):
            ranks.all(lambda e, number=number: e.add(own(e.rank + number, 6)))
        assert all(torch.equal(a, b) for a, b in zip(before, kept, strict=True))


def test_a_process_that_is_late_is_waited_for_asleep(folder, own):
    def act(exchange):
        if exchange.rank == 1:
            time.sleep(0.1)
        return exchange.add(own(exchange.rank, 2))

    with Ranks(folder, 2) as ranks:
        first, second = ranks.all(act)
        assert torch.equal(first, second)


def test_a_process_that_has_ended_is_noticed_at_once(folder, own):
    with Ranks(folder, 2, timeout=600) as ranks:
        ranks.exchanges[1].close()
        with pytest.raises(ConnectionError, match="has ended"):
            ranks.exchanges[0].add(own(0, 2))


def test_a_process_that_ends_while_it_is_waited_for_is_noticed(folder, own):
    def act(exchange):
        if exchange.rank == 1:
            exchange.close()
            return "closed"
        with pytest.raises(ConnectionError, match="has ended"):
            exchange.gather(own(0, 2))
        return "noticed"

    with Ranks(folder, 2, timeout=600) as ranks:
        assert ranks.all(act) == ["noticed", "closed"]


def test_a_process_that_does_not_answer_is_given_up(folder, own):
    with (
        Ranks(folder, 2, timeout=0.1) as ranks,
        pytest.raises(ConnectionError, match="does not answer in time"),
    ):
        ranks.exchanges[0].add(own(0, 2))


# Which exchange it is.


@pytest.fixture
def group(tmp_path):
    """A process group of one."""
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def files():
    return set(Path("/dev/shm").glob("nnpu-*"))


def test_no_file_is_left_of_the_memory_that_is_shared(group):
    before = files()
    with fastest_exchange(0, 1, 5.0) as exchange:
        assert isinstance(exchange, SharedMemory)
        assert files() == before


def test_without_such_memory_the_group_is_used(group, monkeypatch, tmp_path):
    monkeypatch.setattr(neighbours, "_FOLDER", tmp_path / "nowhere")
    with fastest_exchange(0, 1, 5.0) as exchange:
        assert isinstance(exchange, GroupExchange)
        assert exchange.add(torch.ones(2, 1), torch.ones(1)).tolist() == [1, 1, 1]


def test_without_room_in_memory_the_group_is_used(group, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    before = files()
    monkeypatch.setattr(os, "posix_fallocate", full)
    with fastest_exchange(0, 1, 5.0) as exchange:
        assert isinstance(exchange, GroupExchange)
    assert files() == before


def test_where_another_process_cannot_open_it_the_group_is_used(group, monkeypatch):
    def elsewhere(*arguments):
        raise FileNotFoundError

    before = files()
    monkeypatch.setattr(SharedMemory, "__init__", elsewhere)
    with fastest_exchange(0, 1, 5.0) as exchange:
        assert isinstance(exchange, GroupExchange)
    assert files() == before


def test_many_processes_use_the_group(group):
    with fastest_exchange(0, 9, 5.0) as exchange:
        assert isinstance(exchange, GroupExchange)
