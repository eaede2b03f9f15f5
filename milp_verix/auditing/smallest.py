"""The smallest sound sets beside the one audited."""

from math import ceil, isfinite

from milp_verix.global_search.minimum import minimum_of
from milp_verix.problem.request import Request
from milp_verix.problem.search import Search
from milp_verix.records.audit import Audit, Minimum
from milp_verix.records.statistics import TIME_LIMIT

_ROUNDING = 1e-6


def smallest_sets(
    request: Request, known: Audit
) -> tuple[Minimum | None, Minimum | None, str | None]:
    """Return the smallest sound set, the smallest one with the audited features, and the stop.

    The second set is sought where the audited one, in ``known``, is not known to be sound; a sound
    set has itself. None stands for a set that there was no time for, and for no stop.
    """
    given, deadline = request.search, request.deadline
    search = Search(
        solver=given.solver,
        threads=given.threads,
        tolerances=given.tolerances,
        time_limit=deadline if isfinite(deadline.at) else None,
        check_time_limit=given.check_time_limit,
    )
    found: list[Minimum | None] = []
    stopped: str | None = None
    sought: list[tuple[int, ...]] = [()] if known.sound else [(), known.explanation]
    for must in sought:
        if stopped is not None or deadline.passed():
            found.append(None)
            stopped = stopped or TIME_LIMIT
            continue
        best = minimum_of(request.problem, must=must, search=search)
        stopped = best.statistics.stopped
        smaller = min(best.explanation, known.sound_set, key=len)
        found.append(Minimum(smaller, ceil((best.lower_bound or 0) - _ROUNDING)))
    return found[0], found[1] if len(found) > 1 else None, stopped
