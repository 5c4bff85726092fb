"""What a few answers of a person add: which rows to ask for, and what the answers say.

`draw` chooses rows with known chances, `audit` turns the answers into prior, precision, recall
and accuracy with ranges that assume nothing about the model. `recalibrate`, `known_rows` and
`least_cost` use them; `agreement` compares two reviewers. `Review` keeps rounds, writes sheets and
reads them back. `ListReview` works down a list: every answer re-ranks the rest, `left` and
`certificate` say when to stop.
"""

from nnpu.review.audits import Audit, AuditedEstimate, audit, curves
from nnpu.review.draws import PURPOSES, Draw, draw, list_count
from nnpu.review.learning import (
    Cut,
    KnownRows,
    Recalibration,
    ScarCheck,
    known_rows,
    least_cost,
    recalibrate,
    scar_check,
)
from nnpu.review.rounds import Review
from nnpu.review.sheets import Agreement, agreement
from nnpu.review.stopping import Certificate, Looks, certificate, left
from nnpu.review.worklist import ListReview, load

Estimate = AuditedEstimate  # its name before

__all__ = [
    "PURPOSES",
    "Agreement",
    "Audit",
    "AuditedEstimate",
    "Certificate",
    "Cut",
    "Draw",
    "Estimate",
    "KnownRows",
    "ListReview",
    "Looks",
    "Recalibration",
    "Review",
    "ScarCheck",
    "agreement",
    "audit",
    "certificate",
    "curves",
    "draw",
    "known_rows",
    "least_cost",
    "left",
    "list_count",
    "load",
    "recalibrate",
    "scar_check",
]
