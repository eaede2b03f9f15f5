"""The restriction of a scenario program once most features, and some phases, are fixed.

With ``A_f = 1`` for the features ``fixed_in``, ``A_f`` open for the ``free`` ones and zero for all
others, a scenario is a network of the selection among the free features alone,

    m(A) = m'(A_free),    m'(u) = m(S u + 1_inside),

whose neurons are bounded over a smaller box: most have one phase only, and the big-Ms of the others
are smaller. A neuron whose phase is fixed keeps half of its range: by a bound if it is active, and
by a row if it is inactive, since it has no column then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.models.constraints import (
    Constraint,
    Cover,
    Scenario,
)
from verix_encodings.models.scenario import PhaseTable, selections
from verix_encodings.propagation.interval_bounds import BoundMethod


@dataclass(frozen=True, slots=True, eq=False)
class Restriction:
    """The mask of features ``fixed_in``, shape (features,), and the numbers of ``free`` ones."""

    fixed_in: BoolArray
    free: IntArray

    @property
    def position(self) -> IntArray:
        """The place of each feature among the free features, -1 if it is not free."""
        position = np.full(self.fixed_in.size, -1)
        position[self.free] = np.arange(self.free.size)
        return position

    def full_selection(self, selection: FloatArray) -> FloatArray:
        """Extend a selection of the free features to all features."""
        result = self.fixed_in.astype(np.float64)
        result[self.free] = selection
        return result


@dataclass(frozen=True, slots=True)
class FixedPhase:
    """The phase of one neuron: ``value`` is the number of its argument's value in the network."""

    value: int
    neuron: int
    active: bool


def fixed_phases(
    table: PhaseTable, constraints: Sequence[Constraint], columns: IntArray, values: FloatArray
) -> dict[int, list[FixedPhase]]:
    """Return the phases in ``table`` whose ``columns`` are fixed, by the number of the constraint.

    ``values`` are 0 or 1; ``constraints`` are those of the table's program.
    """
    found: dict[int, list[FixedPhase]] = {}
    place_of = {column: place for place, column in enumerate(table.phase.tolist())}
    for column, value in zip(columns.tolist(), values.tolist(), strict=True):
        place = place_of.get(column)
        if place is None:
            continue
        constraint = int(table.constraint[place])
        scenario = constraints[constraint]
        assert isinstance(scenario, Scenario)
        source = scenario.network.nodes[int(table.node[place])].sources[0]
        phase = FixedPhase(source, int(table.neuron[place]), bool(value))
        found.setdefault(constraint, []).append(phase)
    return found


def reduced(
    constraint: Constraint,
    restriction: Restriction,
    phases: Sequence[FixedPhase],
    method: BoundMethod,
    most: float = np.inf,
) -> list[Constraint] | None:
    """Return ``constraint`` for the free features: [] if it is idle, None if it is infeasible.

    It holds for sets of at most ``most`` of the free features.
    """
    if isinstance(constraint, Scenario):
        scenario = _reduced_scenario(constraint, restriction, phases, method, most)
        if scenario is None:
            return None
        # no choice of the free features lets a margin reach zero
        idle = not (phases or constraint.inactive) and bool(np.all(scenario.bounds[-1].upper <= 0))
        return [] if idle else [scenario]
    return _reduced_cover(constraint, restriction)


def _reduced_cover(constraint: Cover, restriction: Restriction) -> list[Constraint] | None:
    if restriction.fixed_in[constraint.features].any():
        return []
    left = restriction.position[constraint.features]
    return [Cover(left[left >= 0])] if np.any(left >= 0) else None


def _reduced_scenario(
    constraint: Scenario,
    restriction: Restriction,
    phases: Sequence[FixedPhase],
    method: BoundMethod,
    most: float,
) -> Scenario | None:
    network = constraint.network.among(restriction.free, restriction.fixed_in.astype(np.float64))
    found = method(network, selections(restriction.free.size, most))
    # an affine first node stays one, so that values keep their numbers
    bounds = _common(found, constraint.bounds, phases, constraint.error)
    if bounds is None:
        return None
    inactive = [(p.value, np.array([p.neuron])) for p in phases if not p.active]
    return replace(
        constraint, network=network, bounds=bounds, inactive=(*constraint.inactive, *inactive)
    )


def _common(
    found: Bounds, known: Bounds, phases: Sequence[FixedPhase], error: float
) -> Bounds | None:
    """Return the intersection of two bounds and the fixed phases; None if it is empty.

    Both are bounds on the same values up to ``error``, so they may miss each other by as much.
    """
    result = [found[0]]
    for value, (a, b) in enumerate(zip(found[1:], known[1:], strict=True), start=1):
        lower, upper = np.maximum(a.lower, b.lower), np.minimum(a.upper, b.upper)
        for phase in phases:
            if phase.value == value and phase.active:
                lower[phase.neuron] = max(lower[phase.neuron], 0.0)
            elif phase.value == value:
                upper[phase.neuron] = min(upper[phase.neuron], 0.0)
        if np.any(lower > upper + error):
            return None
        result.append(Interval(np.minimum(lower, upper), np.maximum(lower, upper)))
    return tuple(result)
