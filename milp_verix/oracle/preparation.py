"""Preparation of many checks on one problem: bounds over the whole ball, and one program for all.

A check encodes its ball with the fixed inputs folded away, or restricts one encoding of the full
ball (``models.retightened``). The second has more columns, but is built once, and a linear program
that is kept starts from the last basis: with the solver ``phase`` this saves a third to a half of
the simplex iterations (``docs/warm_starts.md``). A solver of mixed-integer programs begins anew
each time, and is slower.
"""

from dataclasses import dataclass

import numpy as np

from milp_verix.clock import Deadline
from milp_verix.oracle.whole_ball import WholeBall, whole_ball
from milp_verix.problem.problem import Problem
from milp_verix.solvers import Session
from milp_verix.tolerances import Tolerances
from verix_encodings import Bounds, Formulation, Interval, Network
from verix_encodings.blocks.formulations import BIG_M
from verix_encodings.models.retightened import (
    RetightenedEncoding,
    can_be_retightened,
    retightened_encoding,
)


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """The ``margins`` that checks are about, with bounds over the whole ball.

    ``margins`` leaves out margins that cannot reach zero anywhere; ``highest`` is the highest bound
    on these. ``whole`` bounds all margins, ``left`` those in ``margins``; None before there are
    bounds. ``proven`` says that every margin is proven: then every check holds. ``retightened`` is
    the encoding that checks share, if it pays.
    """

    margins: Network
    whole: WholeBall | None = None
    left: WholeBall | None = None
    highest: float = -np.inf
    proven: bool = False
    retightened: RetightenedEncoding | None = None


def prepared(
    problem: Problem,
    formulation: Formulation,
    session: Session,
    tolerances: Tolerances,
    deadline: Deadline,
) -> Preparation:
    """Bound the margins of ``problem`` over the whole ball, as tightly as there is time for.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    whole = whole_ball(problem, deadline)
    last = whole.bounds[-1]
    open_ = ~(last.upper < -tolerances.needed(last.magnitude))
    proven = not open_.any()
    if proven:
        open_[np.argmax(last.upper)] = True  # the one that decides the others
    left = whole.only(open_)
    retightened = None
    if not deadline.passed():
        retightened = retightened_encoding_of(
            problem, left.margins, formulation, session, left.bounds
        )
    highest = float(np.max(last.upper[~open_], initial=-np.inf))
    return Preparation(left.margins, whole, left, highest, proven, retightened)


def retightened_encoding_of(
    problem: Problem, margins: Network, formulation: Formulation, session: Session, bounds: Bounds
) -> RetightenedEncoding | None:
    """Return the encoding that the checks of a traversal share; None if sharing does not pay.

    ``bounds`` must hold over the full ball, with every feature free. Sharing pays if the session
    changes rows in place and keeps its basis: then a check changes numbers and loads nothing.
    """
    box = problem.ball.region(np.arange(problem.x.size))
    alike = isinstance(box, Interval) and formulation is BIG_M and can_be_retightened(margins)
    pays = alike and "in_place_rows" in session.capabilities
    return retightened_encoding(margins, bounds) if pays else None


def notes_on(margins: Network, exactness: str, segments: int) -> tuple[str, ...]:
    """Return notes for readers on checks that leave more features undecided than exact ones."""
    if exactness != "exact":
        return (
            f"exactness {exactness!r}: what holds is proven, and counterfactuals are "
            "real, but a check that needs a mixed-integer program is undecided",
        )
    if margins.exact:
        return ()
    names = ", ".join(sorted(margins.smooth_functions))
    return (
        f"the activations {names} are enclosed by {segments} segments each: what holds "
        "is proven, and counterfactuals are real, but a feature may be undecided for no "
        "other reason than the enclosure; more segments decide more",
    )
