"""The smallest sound sets beside the one audited."""

from math import ceil, isfinite
from typing import TypeAlias

from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.problem.search import Request, Search
from milp_verix.results.records.audit import AuditRecord, Minimum
from milp_verix.searches.minimum.minimum import minimum_of

SmallestSets: TypeAlias = tuple[Minimum | None, Minimum | None, str | None]
"""The smallest sound set, the smallest one with the audited features, the reason of an early end.

None stands for a set that there was no time for, or that is not sought, and for no early end.
"""

_ROUNDING = 1e-6  # of a lower bound, before it is rounded up to whole features


def smallest_sets(request: Request, known: AuditRecord) -> SmallestSets:
    """Search the smallest sound sets beside the one in ``known``.

    The second set is sought where the audited one is not known to be sound; a sound set has itself.
    """
    given, deadline = request.search, request.deadline
    search = Search(
        solver=given.solver,
        threads=given.threads,
        tolerances=given.tolerances,
        time_limit=deadline if isfinite(deadline.at) else None,
        check_time_limit=given.check_time_limit,
        memory=given.memory,
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
