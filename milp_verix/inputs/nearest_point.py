"""The point of a mixed domain next to another one, by a small mixed-integer program.

    minimise  Σ_i t_i / (u_i − l_i)   subject to   x in the domain and in [l, u],  t_i ≥ |x_i − p_i|

It repairs points of the box that break rules. Solvers satisfy rows up to a tolerance, so
half-spaces over continuous coordinates are asked for with a little room. Nothing is proven by it:
whoever uses the point decides exactly whether it is in the domain.
"""

from dataclasses import replace

import numpy as np

from verix_encodings import Interval, Program, ProgramBuilder
from verix_encodings.arrays import FloatArray
from verix_encodings.blocks.mixed_domain import mixed_box
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace, MixedDomain

_SECONDS = 2.0
_ROOM = 8.0
"""Room inside a half-space, in roundings of its terms to the network's type."""
_LEAST_ROOM = 1e-7


def nearest_point(
    domain: MixedDomain, box: Interval, point: FloatArray, precision: float = 0.0
) -> FloatArray | None:
    """Return a point of ``domain`` in the finite ``box`` near ``point``, shape (d,), or None.

    Coordinates whose ends coincide stay there. ``precision`` is that of the type that the point
    will be rounded to; 0 asks for no room. None where the program has no point, or takes long.
    """
    magnitude = np.maximum(np.abs(box.lower), np.abs(box.upper))
    rules = tuple(_roomy(rule, domain, magnitude, precision) for rule in domain.rules)
    builder = ProgramBuilder()
    x = mixed_box(builder, box, replace(domain, rules=rules))
    free = np.flatnonzero(box.lower < box.upper)
    if not free.size:
        return box.lower.copy() if domain.contains(box.lower) else None
    target = np.clip(point[free], box.lower[free], box.upper[free])
    apart = builder.add_columns("apart", free, 0.0, np.inf)
    for label, sign in (("above", 1.0), ("below", -1.0)):
        terms = [(np.full(free.size, sign), x.columns), (-np.ones(free.size), apart)]
        builder.add_rows(label, free, terms, -np.inf, sign * target)
    program = builder.build()
    cost = np.zeros(program.columns)
    cost[apart] = 1.0 / (box.upper[free] - box.lower[free])
    found = _minimised(program, cost)
    return None if found is None else x.at(found)


def _minimised(program: Program, cost: FloatArray) -> FloatArray | None:
    """Return a best point of ``program`` by HiGHS, shape (columns,), or None if it finds none.

    The number of threads is left to other uses of HiGHS in this process.
    """
    import highspy

    model, matrix = highspy.Highs(), program.matrix  # type: ignore[no-untyped-call]
    model.setOptionValue("output_flag", False)
    model.setOptionValue("time_limit", _SECONDS)
    model.passModel(
        program.columns,
        program.rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost,
        program.column_lower,
        program.column_upper,
        program.row_lower,
        program.row_upper,
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        program.integer.astype(np.int32),
    )
    model.run()
    feasible = highspy.SolutionStatus.kSolutionStatusFeasible
    if model.getInfo().primal_solution_status != feasible:
        return None
    return np.array(model.getSolution().col_value, dtype=np.float64)


def _roomy(clause: Clause, domain: MixedDomain, magnitude: FloatArray, precision: float) -> Clause:
    return tuple(_inside(half, domain, magnitude, precision) for half in clause)


def _inside(
    half: HalfSpace, domain: MixedDomain, magnitude: FloatArray, precision: float
) -> HalfSpace:
    """Return the half-space with room for rounding if it has continuous coordinates."""
    if not precision or domain.integral[half.coordinates].all():
        return half
    size = float(np.abs(half.coefficients) @ magnitude[half.coordinates])
    return replace(half, upper=half.upper - max(_ROOM * precision, _LEAST_ROOM) * size)
