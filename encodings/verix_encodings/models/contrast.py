"""The fewest features whose change reaches one margin: a contrastive explanation as a program.

    minimise  Σ_f c_f u_f + w t
    subject to
      x' in the ball,  v = the values of the network at x'
      x'_i − x_i ≤ h⁺_i u_f,   x_i − x'_i ≤ h⁻_i u_f     for each coordinate i of feature f
      m_j(x') ≥ −τ − M t
      Σ_f g_f u_f ≥ G (1 − t)                            the knapsack below
      Σ_f c_f u_f ≤ k                                    a limit, within which the bounds hold
      Σ_{f ∈ A} u_f + t ≥ 1                              for each explanation A that is known
      u_f, t ∈ {0, 1}

``u_f = 1`` lets feature ``f`` move, within the room ``h`` in the ball's box. ``τ ≥ 0`` is a
tolerance, so that no change of the prediction is cut off by rounding. ``t = 1`` gives up: ``w`` is
more than all features cost, and ``M`` is the distance of margin ``j`` from zero at ``x``, so that
the program is never infeasible. A proven bound above ``k`` says that no set within the limit
reaches the margin. The features outside an explanation do not change the prediction, so a
contrastive set has one in it.

Knapsack: let ``a·x' + b`` be above ``m_j`` over the ball (CROWN). Feature ``f`` raises it by at
most ``g_f = Σ_{i ∈ f} max(a_i h⁺_i, −a_i h⁻_i, 0)``, and it lacks ``G = −τ − (a·x + b)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray, dense, relative_error
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS
from verix_encodings.bounds.interval import Bounds, Interval
from verix_encodings.bounds.linear_form import upper_form
from verix_encodings.models.encode import BallEncoding, encode_values
from verix_encodings.network.network import Network
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import LEAST_BIG_M, Expressions, Program


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """The question: margin ``rival`` of ``margins`` at ``−threshold`` or above, near ``centre``.

    ``bounds`` hold wherever features of cost ``limit`` can move to; ``feature_of`` is the feature
    of each coordinate, shape (d,); ``costs``, shape (features,), are positive.
    """

    margins: Network
    bounds: Bounds
    centre: FloatArray
    feature_of: IntArray
    costs: FloatArray
    limit: float
    rival: int
    threshold: float

    @property
    def surrender(self) -> float:
        """The cost ``w`` of giving up: more than that of any set of features."""
        return float(np.sum(self.costs)) + max(1.0, float(np.max(self.costs)))


@dataclass(frozen=True, slots=True, eq=False)
class Knapsack:
    """``Σ_f g_f u_f ≥ G`` for every contrastive set: ``gains`` are ``g``, ``needed`` is ``G``."""

    gains: FloatArray
    needed: float


@dataclass(frozen=True, slots=True, eq=False)
class ContrastProgram:
    """The program, its columns ``u``, its column ``t``, its cost, and its input as expressions."""

    program: Program
    chosen: IntArray
    surrendered: int
    cost: FloatArray
    input: Expressions


def knapsack(contrast: Contrast) -> Knapsack:
    """Return the knapsack row that CROWN proves for every contrastive set, rounded outward."""
    unit = np.zeros((1, contrast.margins.output_size))
    unit[0, contrast.rival] = 1.0
    last = len(contrast.margins.nodes)
    form = upper_form(contrast.margins, contrast.bounds, last, unit)
    a = dense(form.coefficients)[0]
    down, up = _room(contrast.bounds[0], contrast.centre)
    gains = np.zeros(contrast.costs.size)
    np.add.at(gains, contrast.feature_of, np.maximum(np.maximum(a * up, -a * down), 0.0))
    there = float(a @ contrast.centre + form.constant[0])
    reach = float(np.abs(a) @ np.abs(contrast.centre) + np.sum(gains)) + abs(there)
    lost = relative_error(a.size) * reach + float(form.error[0])
    return Knapsack(gains, -contrast.threshold - there - lost)


def contrast_program(
    contrast: Contrast,
    ball: BallEncoding,
    explanations: Sequence[frozenset[int]] = (),
    segments: int = DEFAULT_SEGMENTS,
) -> ContrastProgram:
    """Return the program; ``ball`` encodes the inputs, with every coordinate free."""
    builder = ProgramBuilder()
    count = contrast.costs.size
    chosen = builder.add_columns("u", np.arange(count), 0.0, 1.0, integer=True)
    give_up = builder.add_columns("t", np.arange(1), 0.0, 1.0, integer=True)
    x = ball(builder)
    _add_moves(builder, contrast, x, chosen)
    output = encode_values(builder, contrast.margins, contrast.bounds, x, segments=segments)
    at_centre = float(contrast.margins.evaluate(contrast.centre)[contrast.rival])
    # a little more than is lacking: it is a choice, and must not be cut off by rounding
    lacking = max(-contrast.threshold - at_centre, 0.0) * (1 + 1e-9) + 1e-6
    one = sp.csr_array(np.ones((1, 1)))
    margin = (output.matrix[[contrast.rival], :], output.columns)
    least = -contrast.threshold - output.constant[contrast.rival]
    builder.add_rows("margin", np.array([0]), [margin, (lacking * one, give_up)], least, np.inf)
    bound = knapsack(contrast)
    if bound.needed > 0:
        gains = sp.csr_array(np.minimum(bound.gains, bound.needed)[None, :] / bound.needed)
        terms = [(gains, chosen), (one, give_up)]
        builder.add_rows("knapsack", np.array([0]), terms, 1.0 - 1e-9, np.inf)
    prices = sp.csr_array(contrast.costs[None, :])
    builder.add_rows("limit", np.array([0]), [(prices, chosen)], -np.inf, contrast.limit)
    for number, explanation in enumerate(explanations):
        members = chosen[sorted(explanation)]
        ones = sp.csr_array(np.ones((1, members.size)))
        terms = [(ones, members), (one, give_up)]
        builder.add_rows("hit", np.array([number]), terms, 1.0, np.inf)
    program = builder.build()
    cost = np.zeros(program.columns)
    cost[chosen] = contrast.costs
    cost[give_up] = contrast.surrender
    return ContrastProgram(program, chosen, int(give_up[0]), cost, x)


def _add_moves(
    builder: ProgramBuilder, contrast: Contrast, x: Expressions, chosen: IntArray
) -> None:
    """Add the rows that hold a coordinate at the centre unless its feature is chosen."""
    down, up = _room(contrast.bounds[0], contrast.centre)
    owners = chosen[contrast.feature_of]
    offset = contrast.centre - x.constant
    for label, side, room, sign in (("up", up, up, -1.0), ("down", down, down, 1.0)):
        moving = np.flatnonzero(side > 0)
        one = sp.eye_array(moving.size, format="csr")
        step = sp.diags_array(sign * np.maximum(room[moving], LEAST_BIG_M), format="csr")
        terms = [(x.matrix[moving, :], x.columns), (step @ one, owners[moving])]
        limits = (-np.inf, offset[moving]) if sign < 0 else (offset[moving], np.inf)
        builder.add_rows(label, moving, terms, *limits)


def _room(box: Interval, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far each coordinate may go below and above the centre, rounded outward."""
    down, up = centre - box.lower, box.upper - centre
    return (
        np.where(down > 0, np.nextafter(down, np.inf), 0.0),
        np.where(up > 0, np.nextafter(up, np.inf), 0.0),
    )
