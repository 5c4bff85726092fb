"""What a few answers of a person add: which rows to ask for, and what the answers say.

`draw` chooses rows with known chances, `audit` turns the answers into prior, precision, recall
and accuracy with intervals that assume nothing about the model.
"""

from nnpu.review.audit import Audit, Estimate, audit, curves
from nnpu.review.draws import PURPOSES, Draw, draw

__all__ = ["PURPOSES", "Audit", "Draw", "Estimate", "audit", "curves", "draw"]
