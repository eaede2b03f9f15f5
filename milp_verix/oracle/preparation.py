"""Whether the checks of a traversal share one program, and which.

A check encodes its ball with the fixed inputs folded away, or restricts one encoding of the full
ball (``models.retightened``). The second takes more columns, but it is not built again, and a
linear program that stays alive starts from the last basis: with the solver ``phase`` that is faster
in every measurement of ``benchmarks/RESULTS.md``. A solver of mixed-integer programs begins anew
each time, and is slower.
"""

import numpy as np

from milp_verix.problem.problem import Problem
from milp_verix.solvers import Session
from verix_encodings import Bounds, Formulation, Interval, Network
from verix_encodings.blocks.formulations import BIG_M
from verix_encodings.models.retightened import (
    RetightenedEncoding,
    can_be_retightened,
    retightened_encoding,
)


def retightened_encoding_of(
    problem: Problem, margins: Network, formulation: Formulation, session: Session, bounds: Bounds
) -> RetightenedEncoding | None:
    """Return the encoding that the claims of a traversal share, None where that does not pay.

    ``bounds`` must hold over the full ball, with every feature free. It pays where the session
    changes rows in place and keeps its basis: then a check changes numbers and loads nothing.
    """
    box = problem.ball.region(np.arange(problem.x.size))
    alike = isinstance(box, Interval) and formulation is BIG_M and can_be_retightened(margins)
    return (
        retightened_encoding(margins, bounds)
        if alike and "in_place_rows" in session.capabilities
        else None
    )
