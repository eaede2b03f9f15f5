"""Preparation of many checks on one problem: bounds over the whole ball, and the margins left."""

from dataclasses import dataclass

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.base.tolerances import Tolerances
from milp_verix.oracle.whole_ball import WholeBall, whole_ball
from milp_verix.problem.problem import PosedProblem
from verix_encodings import BoundMethod, Network, crown_bounds


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """The ``margins`` that checks are about, with bounds over the whole ball.

    ``margins`` leaves out margins that cannot reach zero anywhere; ``highest`` is the highest bound
    on these. ``whole`` bounds all margins, ``left`` those in ``margins``; None before there are
    bounds. ``proven`` says that every margin is proven: then every check holds.
    """

    margins: Network
    whole: WholeBall | None = None
    left: WholeBall | None = None
    highest: float = -np.inf
    proven: bool = False


def prepared(
    problem: PosedProblem,
    tolerances: Tolerances,
    deadline: Deadline,
    method: BoundMethod = crown_bounds,
) -> Preparation:
    """Bound the margins of ``problem`` over the whole ball, as tightly as there is time for.

    ``method`` is that of :func:`whole_ball`.

    Raises ``OverflowError`` where a bound leaves the range of float64.
    """
    whole = whole_ball(problem, deadline, method)
    last = whole.bounds[-1]
    open_ = ~(last.upper < -tolerances.needed(last.magnitude))
    proven = not open_.any()
    if proven:
        open_[np.argmax(last.upper)] = True  # the one that decides the others
    left = whole.only(open_)
    highest = float(np.max(last.upper[~open_], initial=-np.inf))
    return Preparation(left.margins, whole, left, highest, proven)


def notes_on(margins: Network, exactness: str, segments: int) -> tuple[str, ...]:
    """Return notes for readers on checks that leave more features undecided than exact ones."""
    if exactness != "exact":
        return (
            f"exactness {exactness!r}: what holds is proven, and counterfactuals are "
            "real, but a check that needs a mixed-integer program is undecided",
        )
    if margins.exact:
        return ()
    names = ", ".join(sorted(margins.enclosed))
    return (
        f"the functions {names} are enclosed, smooth ones by {segments} segments each: what "
        "holds is proven, and counterfactuals are real, but a feature may be undecided for no "
        "other reason than the enclosure; more segments decide more",
    )
