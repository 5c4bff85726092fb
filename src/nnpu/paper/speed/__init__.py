"""``nnpu bench``: our speed as ratios to the hardware's limit and to other ways, in one run."""

from nnpu.paper.speed.contest import Contender, contest
from nnpu.paper.speed.disk import measure_disk
from nnpu.paper.speed.sparse import measure_sparse
from nnpu.paper.speed.throughput import Shape, measure_speed

__all__ = ["Contender", "Shape", "contest", "measure_disk", "measure_sparse", "measure_speed"]
