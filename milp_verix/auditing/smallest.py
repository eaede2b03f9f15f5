"""The smallest sound sets beside the one audited."""

from math import ceil, isfinite
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from milp_verix.clock import Deadline
from milp_verix.global_search.minimum import minimum as find_minimum
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.results.records.audit import Audit, Minimum
from milp_verix.results.records.statistics import TIME_LIMIT

SmallestSets: TypeAlias = tuple[Minimum | None, Minimum | None, str | None]
"""The smallest sound set, the smallest one with the audited features, the reason of an early end.

None stands for a set that there was no time for, or that is not sought, and for no early end.
"""

_ROUNDING = 1e-6  # of a lower bound, before it is rounded up to whole features


def smallest_sets(
    network: OnnxNetwork,
    x: ArrayLike,
    arguments: dict[str, Any],
    deadline: Deadline,
    known: Audit,
) -> SmallestSets:
    """Search the smallest sound sets beside the one in ``known``.

    ``arguments`` are those of :func:`milp_verix.minimum`. The second set is sought where the
    audited one is not known to be sound; a sound set has itself.
    """
    found: list[Minimum | None] = []
    stopped: str | None = None
    sought: list[tuple[int, ...]] = [()] if known.sound else [(), known.explanation]
    for must in sought:
        if stopped is not None or deadline.passed():
            found.append(None)
            stopped = stopped or TIME_LIMIT
            continue
        rest = {**arguments, "time_limit": deadline if isfinite(deadline.at) else None}
        best = find_minimum(network, x, **rest, must=must)
        stopped = best.statistics.stopped
        smaller = min(best.explanation, known.sound_set, key=len)
        found.append(Minimum(smaller, ceil((best.lower_bound or 0) - _ROUNDING)))
    return found[0], found[1] if len(found) > 1 else None, stopped
