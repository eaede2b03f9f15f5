"""Paired ReLUs for scenarios that are alike: over which range their ReLUs' arguments can differ.

A program of some of the constraints is a relaxation of that of all, so that what a difference can
be over it is a range for all. Each scenario is coupled with the one that is most like it, over a
small program of a core of constraints and both of them, layer by layer: paired ReLUs of one are in
it when the next is bounded. Kept are those alone that leave less room than the bounds of the neuron
itself.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from milp_verix.global_search.relaxation.enclosing import proven_least
from milp_verix.solvers.phase.warm_lp import WarmLp
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.blocks.relu_phases import phases_of
from verix_encodings.bounds.interval import Interval
from verix_encodings.models.constraints import Constraint, PairedRelus, Scenario, row_error
from verix_encodings.models.scenario import ScenarioProgram
from verix_encodings.network.network import Affine, Relu
from verix_encodings.program.program import Expressions
from verix_encodings.proofs.safe_bound import SafeBound

_NEAREST = 1
_USEFUL = 0.7


def coupled(
    constraints: Sequence[Constraint],
    core: Collection[int],
    pairs: Iterable[tuple[int, int]],
    grown: Callable[[Sequence[Constraint]], ScenarioProgram],
    lp: WarmLp,
    *,
    deadline: float,
) -> list[PairedRelus]:
    """Return paired ReLUs of ``pairs`` of scenarios that hold wherever all ``constraints`` do.

    ``core`` are the numbers of the constraints that every range may rest on. ``grown`` makes a
    program, which is loaded into ``lp``. What there is no time for until ``deadline`` is left out.
    """
    scenarios = {
        n: constraint
        for n, constraint in enumerate(constraints)
        if isinstance(constraint, Scenario)
    }
    # a larger error than that of a program's own constraints is one, too
    error = row_error(constraints)
    found: list[PairedRelus] = []
    for pair in pairs:
        if time.monotonic() >= deadline:
            break
        numbers = [*sorted(set(core) - set(pair)), *pair]
        growing = grown([constraints[n] for n in numbers])
        both = scenarios[pair[0]], scenarios[pair[1]]
        places = len(numbers) - 2, len(numbers) - 1
        for node in range(len(both[0].network.nodes)):
            for paired in _paired(growing, places, both, node, lp, error=error, deadline=deadline):
                growing = growing.followed_by(paired)
                found.append(replace(paired, of=numbers[paired.of], beside=numbers[paired.beside]))
    return found


def alike(constraints: Sequence[Constraint]) -> list[tuple[int, int]]:
    """Return the numbers of each scenario and of those that are nearest to it, ascending."""
    scenarios = {
        n: constraint
        for n, constraint in enumerate(constraints)
        if isinstance(constraint, Scenario)
    }
    nearest: dict[int, list[tuple[float, int]]] = {n: [] for n in scenarios}
    for s, t in combinations(scenarios, 2):
        distance = _distance(scenarios[s], scenarios[t])
        nearest[s].append((distance, t))
        nearest[t].append((distance, s))
    pairs = {(min(s, t), max(s, t)) for s in scenarios for _, t in sorted(nearest[s])[:_NEAREST]}
    return sorted(pairs)


def _distance(one: Scenario, other: Scenario) -> float:
    """Return how much the affine maps of the features' shares differ, summed over all entries."""
    return sum(
        float(abs(mine - its).sum())
        for node, beside in zip(one.network.nodes, other.network.nodes, strict=True)
        if isinstance(node, Affine) and isinstance(beside, Affine)
        for (source, mine), (_, its) in zip(node.terms, beside.terms, strict=True)
        if source == 0
    )


def _paired(
    growing: ScenarioProgram,
    places: tuple[int, int],
    both: tuple[Scenario, Scenario],
    node: int,
    lp: WarmLp,
    *,
    error: float,
    deadline: float,
) -> list[PairedRelus]:
    """Return what is worth its rows, either way: ``growing`` has ``both`` at the ``places``."""
    relu = both[0].network.nodes[node]
    if not isinstance(relu, Relu):
        return []
    bounds = [scenario.bounds[relu.source] for scenario in both]
    phases = [phases_of(interval) for interval in bounds]
    either = np.union1d(phases[0].unstable, phases[1].unstable)
    which = np.intersect1d(either, np.intersect1d(phases[0].modelled, phases[1].modelled))
    if not which.size:
        return []
    z, other = (dict(growing.arguments[place])[relu.source] for place in places)
    joined = sp.hstack([sp.csr_array(z.matrix), -sp.csr_array(other.matrix)], format="csr")
    columns = np.concatenate([z.columns, other.columns])
    difference = Expressions(columns, joined, z.constant - other.constant)
    # a stable neuron leaves no room
    room = [_room(interval.lower[which], interval.upper[which]) for interval in bounds]
    enough = _USEFUL * np.maximum(*room)
    lower, upper = _range(growing, difference, which, enough, lp, error=error, deadline=deadline)
    found = []
    for (of, beside), l, u, own in (
        (places, lower, upper, room[0]),
        (places[::-1], -upper, -lower, room[1]),
    ):
        kept = np.flatnonzero(np.isfinite(l) & np.isfinite(u) & (own > 0))
        kept = kept[_room(l[kept], u[kept]) <= _USEFUL * own[kept]]
        if kept.size:
            found.append(PairedRelus(of, beside, node, which[kept], Interval(l[kept], u[kept])))
    return found


def _range(
    growing: ScenarioProgram,
    difference: Expressions,
    which: IntArray,
    enough: FloatArray,
    lp: WarmLp,
    *,
    error: float,
    deadline: float,
) -> tuple[FloatArray, FloatArray]:
    """Minimise and maximise the entries ``which`` of ``difference``; infinite what is not known.

    It does not go on where points that are known leave more room than ``enough``.
    """
    program = growing.build()
    lp.load(program)
    lp.set_bounds(program.column_lower, program.column_upper)
    safe = SafeBound(program)
    lower, upper = np.full(which.size, -np.inf), np.full(which.size, np.inf)
    low, high = -lower, -upper
    for k, neuron in enumerate(which.tolist()):
        row, constant = difference.row(neuron, program.columns)
        for sign in (1.0, -1.0):
            if time.monotonic() >= deadline or _room(low[k], high[k]) > enough[k]:
                continue
            # each of the two is off by an error, and their difference is rounded
            bound, point = proven_least(
                lp, safe, sign * row, sign * constant, error, off=3 * error, deadline=deadline
            )
            if point is not None:
                there = difference.at(point)[which]
                low, high = np.minimum(low, there), np.maximum(high, there)
            if sign > 0:
                lower[k] = bound
            else:
                upper[k] = -bound
    # where they have crossed there is no set of interest, and any range holds
    return np.minimum(lower, upper), np.maximum(lower, upper)


def _room(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return how far above ``max(t, 0)`` the chord over ``lower ≤ t ≤ upper`` is at most."""
    both = (lower < 0) & (upper > 0)
    room: FloatArray = np.where(both, -lower * upper / np.where(both, upper - lower, 1.0), 0.0)
    return room
