"""The smallest sound sets beside the one audited."""

from math import ceil, isfinite
from typing import Any

from numpy.typing import ArrayLike

from milp_verix.clock import Deadline
from milp_verix.global_search.minimum import minimum as find_minimum
from milp_verix.onnx_reader.onnx_network import OnnxNetwork
from milp_verix.results.records.audit import Audit, Minimum
from milp_verix.results.records.statistics import TIME_LIMIT

_ROUNDING = 1e-6


def smallest_sets(
    network: OnnxNetwork,
    x: ArrayLike,
    arguments: dict[str, Any],
    known: Audit,
    deadline: Deadline,
) -> tuple[Minimum | None, Minimum | None, str | None]:
    """Return the smallest sound set, the smallest one with the audited features, and the stop.

    ``arguments`` are those of :func:`milp_verix.minimum`. The second set is sought where the
    audited one, in ``known``, is not known to be sound; a sound set has itself. None stands for a
    set that there was no time for, and for no stop.
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
