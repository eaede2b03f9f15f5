"""How the margins that scenarios violate change with the activations of their neurons."""

from collections.abc import Sequence, Set

import numpy as np

from milp_verix.global_search.relaxation.constraint_pool import VIOLATED, ConstraintPool
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.models.constraints import Scenario
from verix_encodings.models.scenario import PhaseTable
from verix_encodings.network.batch import batch_slopes


def margin_slopes(
    pool: ConstraintPool,
    held: Set[int],
    there: Sequence[FloatArray],
    table: PhaseTable,
    numbers: IntArray,
) -> FloatArray | None:
    """Return the slope of its scenario's worst margin in each activation of ``table``.

    ``there`` is what is reached under each perturbation of the ``pool``, ``held`` are the
    constraints of it that matter, and ``numbers`` has that of the scenario of each activation. The
    slope is zero in a scenario that is survived; None where every one that is held is.
    """
    margins, worst = pool.perturbations.margins, np.max(there[-1], axis=0)
    matters = [number in held for number in pool.scenarios.tolist()]
    violated = np.flatnonzero(matters & (worst > VIOLATED))
    if not violated.size:
        return None
    there = [value[:, violated] for value in there]
    # nothing is asked about the first value, which is large
    slopes = batch_slopes(margins, there, np.argmax(there[-1], axis=0), first=1)
    # the place of each constraint among the scenarios violated
    place = np.full(len(pool.constraints), -1)
    place[pool.scenarios[violated]] = np.arange(violated.size)
    result, at = np.zeros(table.phase.size), place[numbers]
    mine = np.flatnonzero(at >= 0)
    if not mine.size:
        return result
    scenario = pool.constraints[int(numbers[mine[0]])]
    assert isinstance(scenario, Scenario)
    # a scenario may have one node more, before all others
    further = len(scenario.network.nodes) - len(margins.nodes)
    for value in range(1, len(slopes)):
        these = mine[table.node[mine] == value - 1 + further]
        result[these] = slopes[value][table.neuron[these], at[these]]
    return result
