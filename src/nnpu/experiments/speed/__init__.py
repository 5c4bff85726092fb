"""``nnpu bench``: our speed as ratios to the hardware's limit and to other ways, in one run."""

from nnpu.experiments.speed.contest import Contender, contest
from nnpu.experiments.speed.disk import measure_disk
from nnpu.experiments.speed.sparse import measure_sparse
from nnpu.experiments.speed.training import Shape, measure_speed

__all__ = ["Contender", "Shape", "contest", "measure_disk", "measure_sparse", "measure_speed"]
