"""The least change that reaches one margin: a contrastive explanation as a program.

    minimise  Σ_k c_k u_k + w t
    subject to
      x' in the ball,  v = the values of the network at x'
      x'_i − x_i ≤ h⁺_i u_k,   x_i − x'_i ≤ h⁻_i u_k     for each coordinate i of unit k
      m_j(x') ≥ −τ − M t
      Σ_k g_k u_k ≥ G (1 − t)                            the knapsack below
      Σ_k c_k u_k ≤ l                                    a limit, within which the bounds hold
      Σ_{k ∈ A} u_k + t ≥ 1                              for each explanation A that is known
      x'_i − x_i ≤ s_i u_k + (h⁺_i − s_i) g_i,   u_k ≥ g_i,   where x'_i may be beyond a gap
      t, g_i ∈ {0, 1},   u_k ∈ {0, 1} for a choice,   u_k ∈ [0, 1] for an amount

Units are choices to minimise the number of features: ``u_k = 1`` lets feature ``k`` move, within
the headroom ``h`` in the ball's box. To minimise a distance, coordinates are units: ``h⁺_i`` and
``h⁻_i`` are the scale ``s_i`` where there is headroom, so that ``u_k ≥ |x'_i − x_i| / s_i``. A
missing value is beyond a gap, farther than that, and costs ``u_k = 1``.

``τ ≥ 0`` is a tolerance, so that no change of the prediction is cut off by rounding. ``t = 1``
gives up: ``w`` is more than all units cost, and ``M`` is the distance of margin ``j`` from zero at
``x``, so that the program is never infeasible. A proven bound above ``l`` says that no change
within the limit reaches the margin. The features outside an explanation do not change the
prediction, so a contrastive set has one in it.

Knapsack: let ``a·x' + b`` be above ``m_j`` over the ball (CROWN). Unit ``k`` raises it by at
most ``u_k g_k``, ``g_k = Σ_{i ∈ k} max(a_i h⁺_i, −a_i h⁻_i, 0)``; it lacks ``G = −τ − (a·x + b)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import BoolArray, FloatArray, IntArray, dense, relative_error
from verix_encodings.blocks.input_ball import headroom
from verix_encodings.bounds.interval import Bounds
from verix_encodings.crown import upper_form
from verix_encodings.encoding import BallEncoding, encode_values
from verix_encodings.network import Network
from verix_encodings.program import LEAST_BIG_M, Expressions, Program, ProgramBuilder


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of a change of ``centre``, shape (d,), which cost what they move.

    ``unit_of``, (d,), is the unit of each coordinate; ``costs``, (units,), are positive. ``choice``
    marks the units that are choices, (units,); ``scales`` are those of the coordinates of the
    others, (d,), and ``last`` their largest numbers before a gap, infinite where there is none.
    """

    centre: FloatArray
    unit_of: IntArray
    costs: FloatArray
    choice: BoolArray
    scales: FloatArray
    last: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ContrastQuestion:
    """The question: margin ``rival`` of ``margins`` at ``−threshold`` or above, near a centre.

    ``bounds`` hold wherever changes of cost ``limit`` can lead.
    """

    margins: Network
    bounds: Bounds
    units: Units
    limit: float
    rival: int
    threshold: float

    @property
    def reach(self) -> tuple[FloatArray, FloatArray]:
        """The moves ``h⁻`` and ``h⁺`` that ``u = 1`` allows each coordinate, both (d,)."""
        units, headrooms = self.units, headroom(self.bounds[0], self.units.centre)
        amount = ~units.choice[units.unit_of]
        down, up = (np.where(amount & (h > 0), np.maximum(units.scales, h), h) for h in headrooms)
        return down, up


@dataclass(frozen=True, slots=True, eq=False)
class ContrastProgram:
    """The program, its columns ``u``, its column ``t``, its cost, and its input as expressions."""

    program: Program
    moved: IntArray
    surrendered: int
    cost: FloatArray
    input: Expressions


def knapsack(contrast: ContrastQuestion) -> tuple[FloatArray, float]:
    """Return ``g``, ``G`` of ``Σ_k g_k u_k ≥ G``, which CROWN proves, rounded outward."""
    units, unit = contrast.units, np.zeros((1, contrast.margins.output_size))
    unit[0, contrast.rival] = 1.0
    last = len(contrast.margins.nodes)
    form = upper_form(contrast.margins, contrast.bounds, last, unit)
    a = dense(form.coefficients)[0]
    down, up = contrast.reach
    gains = np.zeros(units.costs.size)
    np.add.at(gains, units.unit_of, np.maximum(np.maximum(a * up, -a * down), 0.0))
    there = float(a @ units.centre + form.constant[0])
    reach = float(np.abs(a) @ np.abs(units.centre) + np.sum(gains)) + abs(there)
    lost = relative_error(a.size) * reach + float(form.error[0])
    return gains, -contrast.threshold - there - lost


def contrast_program(
    contrast: ContrastQuestion, ball: BallEncoding, explanations: Sequence[frozenset[int]] = ()
) -> ContrastProgram:
    """Return the program; ``ball`` encodes free inputs, ``explanations`` are sets of choices."""
    builder, units = ProgramBuilder(), contrast.units
    moved = np.zeros(units.costs.size, dtype=np.intp)
    for name, marked in (("u", units.choice), ("amount", ~units.choice)):
        numbers = np.flatnonzero(marked)
        moved[numbers] = builder.add_columns(name, numbers, 0.0, 1.0, integer=name == "u")
    give_up = builder.add_columns("t", np.arange(1), 0.0, 1.0, integer=True)
    x = ball(builder)
    _add_moves(builder, contrast, x, moved)
    output = encode_values(builder, contrast.margins, contrast.bounds, x)
    at_centre = float(contrast.margins.evaluate(units.centre)[contrast.rival])
    # a little more than is lacking: it is a choice, and must not be cut off by rounding
    lacking = max(-contrast.threshold - at_centre, 0.0) * (1 + 1e-9) + 1e-6
    margin = (output.matrix[[contrast.rival], :], output.columns)
    least = -contrast.threshold - output.constant[contrast.rival]
    builder.add_row("margin", 0, [margin, (lacking, give_up)], least, np.inf)
    gains, needed = knapsack(contrast)
    if needed > 0:
        # a choice is made or not: more than is needed adds nothing
        most = np.where(units.choice, needed, np.inf)
        terms = [(np.minimum(gains, most) / needed, moved), (1.0, give_up)]
        builder.add_row("knapsack", 0, terms, 1.0 - 1e-9, np.inf)
    builder.add_row("limit", 0, [(units.costs, moved)], -np.inf, contrast.limit)
    for number, explanation in enumerate(explanations):
        members = moved[sorted(explanation)]
        terms = [(np.ones(members.size), members), (1.0, give_up)]
        builder.add_row("hit", number, terms, 1.0, np.inf)
    program, factors = builder.build().scaled()
    scales = sp.diags_array(factors[x.columns], format="csr")
    x = Expressions(x.columns, sp.csr_array(x.matrix @ scales), x.constant)
    cost = np.zeros(program.columns)
    cost[moved] = units.costs
    # giving up costs more than any change
    cost[give_up] = float(np.sum(units.costs)) + max(1.0, float(np.max(units.costs)))
    return ContrastProgram(program, moved, int(give_up[0]), cost, x)


def _add_moves(
    builder: ProgramBuilder, contrast: ContrastQuestion, x: Expressions, moved: IntArray
) -> None:
    """Add the rows that hold a coordinate at the centre as far as its unit does not move."""
    units, (down, up) = contrast.units, contrast.reach
    owners = moved[units.unit_of]
    offset = units.centre - x.constant
    amount, high = ~units.choice[units.unit_of], contrast.bounds[0].upper
    gaps = np.flatnonzero(amount & (high > units.last) & (up > units.scales))
    near = units.scales[gaps]
    scale = 2.0 ** -np.ceil(np.log2(near))  # which rounds no number
    beyond = builder.add_columns("gap", gaps, 0.0, 1.0, integer=True)
    matrix = sp.diags_array(scale, format="csr") @ x.matrix[gaps, :]
    jump = scale * (near - up[gaps]) * (1 + 1e-12)
    terms = [(matrix, x.columns), (-scale * near, owners[gaps]), (jump, beyond)]
    builder.add_rows("beyond", gaps, terms, -np.inf, scale * offset[gaps])
    builder.add_rows("missing", gaps, [(1.0, owners[gaps]), (-1.0, beyond)], 0.0, np.inf)
    up = up.copy()
    up[gaps] = 0.0
    for label, side, width, sign in (("up", up, up, -1.0), ("down", down, down, 1.0)):
        moving = np.flatnonzero(side > 0)
        # a wide row is divided by a power of two, which rounds no number
        scale = np.minimum(2.0 ** -np.ceil(np.log2(width[moving])), 1.0)
        step = scale * sign * np.maximum(width[moving], LEAST_BIG_M)
        matrix = sp.diags_array(scale, format="csr") @ x.matrix[moving, :]
        terms = [(matrix, x.columns), (step, owners[moving])]
        end = scale * offset[moving]
        limits = (-np.inf, end) if sign < 0 else (end, np.inf)
        builder.add_rows(label, moving, terms, *limits)
