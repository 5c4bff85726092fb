"""`EnsemblePU`: members of different kinds, weighed and calibrated out of fold."""

from nnpu.estimators.ensemble.classifier import EnsemblePU

__all__ = ["EnsemblePU"]
