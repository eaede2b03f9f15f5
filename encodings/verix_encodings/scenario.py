"""Programs over sets of features: those that survive perturbations, and those that hit other sets.

    minimise Σ_f c_f A_f   subject to   m_j(x + (1 − A) ∘ δ_k) ≤ 0    for every scenario k, margin j
                                        Σ_{f ∈ C_l} A_f ≥ 1           for every cover l
                                        A_f ∈ {0, 1}

``A_f = 1`` fixes feature ``f``, so that a perturbation ``δ`` in the ball loses its entries there,
and stays in the ball. A set of features that explains the prediction survives every perturbation,
these among them: the optimum is a lower bound on the cost of every explanation. A cover is a set of
features whose change can change the prediction, with all other features fixed: every explanation
holds one of them.

A scenario is a network of its own, from ``A`` to the margins: its first affine layer is
``W (x + δ_k) − W diag(δ_k) A``, so that it costs columns for its neurons, and none for the inputs.
Its neurons are bounded over ``0 ≤ A ≤ 1``, and over ``Σ_f A_f ≤ n`` where an explanation is known
whose cost buys ``n`` features at most: no cheaper explanation has more.

The point of a program that belongs to one input: each column as the network evaluates it. In the
columns of ``blocks.layers``, a neuron with the pre-activation ``z`` has

    z,   a = max(z, 0),   d = 1 if z > 0, else 0

and a maximum ``a = z_p + max(z_q − z_p, 0)`` has the phase of ``z_q − z_p``. The point satisfies
all rows of an encoding whose bounds hold at the input, up to rounding: a start for a solver.

Hitting-set duality as a program, :func:`cover_program`:

    minimise  Σ_f c_f A_f + w t
    subject to
      Σ_{f ∈ C} A_f + t ≥ 1             for each contrastive set C:  an explanation hits it
      Σ_{f ∈ E} (1 − A_f) + t ≥ 1       for each explanation E that is done with, and all above it
      Σ_{f ∈ U} (1 − A_f) + Σ_{f ∉ U} A_f + t ≥ 1     for each set U to leave out alone
      A_f, t ∈ {0, 1}

The minimal explanations of a prediction are the minimal hitting sets of its minimal contrastive
explanations, and the other way round (Reiter, *A theory of diagnosis from first principles*,
1987; Ignatiev, Narodytska, Asher, Marques-Silva, *From contrastive to abductive explanations and
back again*, AI*IA 2020). ``t = 1`` gives up at a cost ``w`` beyond that of all features, so that
the program is never infeasible; a proven bound above ``Σ c_f`` says that no set remains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds.interval import Interval, Region
from verix_encodings.bounds.norm_ball import NormBall
from verix_encodings.encoding import Constraint, Cover, Scenario, encode_values
from verix_encodings.interval_bounds import BoundMethod
from verix_encodings.network import Network
from verix_encodings.program import Expressions, Program, ProgramBuilder
from verix_encodings.program_files import blocks
from verix_encodings.safe_bounds import encoding_error

Columns = dict[str, tuple[IntArray, IntArray]]
"""The columns of each prefix and the numbers behind it, see ``program_files.blocks``."""


def fill(
    point: FloatArray,
    columns: Columns,
    network: Network,
    values: Sequence[FloatArray],
    prefix: str = "",
) -> None:
    """Write the columns of ``network`` into ``point``, a value for each column of the program.

    ``values`` are those of :meth:`~verix_encodings.Network.values`; ``prefix`` is that of
    ``encoding.encode_values``. Columns of nodes other than ReLUs and maxima stay as they are.
    """
    for index, node in enumerate(network.nodes):
        if node.phase is None:
            continue
        label = f"{prefix}{index}"
        kinds = (
            ("z", values[node.sources[-1]]),
            ("a", values[index + 1]),
            ("d", (values[node.phase] > 0).astype(np.float64)),
        )
        for kind, value in kinds:
            if f"{kind}_{label}" in columns:
                places, neurons = columns[f"{kind}_{label}"]
                point[places] = value[neurons]


SLACK = 1e-7
"""The most that a margin may be above zero, so that no solver's tolerance excludes a set."""


def network_of_selection(
    margins: Network,
    start: FloatArray,
    taken: FloatArray,
    feature_of: IntArray,
    features: int,
    *,
    within: Interval,
) -> Network:
    """Return the network ``A ↦ m(start − A ∘ taken)``, ``A`` being the selection of ``features``.

    ``feature_of`` is the feature of each coordinate, shape (d,), or -1 for a coordinate that stays.
    The inputs of selections are ``within`` a box.
    """
    moved = np.flatnonzero((feature_of >= 0) & (taken != 0))
    entries = (-taken[moved], (moved, feature_of[moved]))
    return margins.after(sp.csr_array(entries, shape=(taken.size, features)), start, within)


def make_scenario(
    margins: Network,
    centre: FloatArray,
    delta: FloatArray,
    feature_of: IntArray,
    *,
    features: int,
    method: BoundMethod,
    most: float = np.inf,
) -> Scenario:
    """Return the scenario of the perturbation ``delta``, shape (d,), with bounds by ``method``.

    ``feature_of`` is the feature of each coordinate, shape (d,), of ``features`` in all. The bounds
    hold for sets of at most ``most`` features. Raises ``OverflowError`` where bounds leave the
    range of float64.
    """
    end = centre + delta
    box = Interval(np.minimum(centre, end), np.maximum(centre, end))
    network = network_of_selection(margins, end, delta, feature_of, features, within=box)
    selections: Region = Interval(np.zeros(features), np.ones(features))
    if most < features:
        selections = NormBall(selections.box, np.zeros(features), most, 1)
    bounds = method(network, selections)
    # where nothing is folded there is one value more, the input
    first = 1 + len(network.nodes) - len(margins.nodes)
    # what is folded is formed from x + δ and from pieces of δ, each as large as the box
    error = 8.0 * encoding_error(margins, (box, *bounds[first:]))
    return Scenario(delta, network, bounds, error)


class ScenarioProgram:
    """The program of the constraints added so far, and its columns ``A``, one for each feature.

    ``lower`` and ``upper`` bound ``A``, shape (features,): features that must or must not be
    explained. A program extends earlier ones: columns and rows are only added.
    """

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        self._builder = ProgramBuilder()
        self._constraints: list[Constraint] = []
        numbers = np.arange(lower.size)
        self.columns = self._builder.add_columns("A", numbers, lower, upper, integer=True)
        self._selection = Expressions.of_columns(self.columns)

    def add(self, constraint: Constraint) -> None:
        """Add a scenario or a cover."""
        number, builder, chosen = len(self._constraints), self._builder, self.columns
        self._constraints.append(constraint)
        if isinstance(constraint, Cover):
            terms = [(np.ones(constraint.features.size), chosen[constraint.features])]
            builder.add_row("cover", number, terms, 1.0, np.inf)
            return
        network, bounds, prefix = constraint.network, constraint.bounds, f"{number}_"
        output = encode_values(builder, network, bounds, self._selection, prefix=prefix)
        # a margin that no choice of features lets reach zero needs no row
        open_ = np.flatnonzero(bounds[-1].upper > 0)
        limits = SLACK - output.constant[open_]
        terms = [(output.matrix[open_, :], output.columns)]
        builder.add_rows(f"safe_{number}", open_, terms, -np.inf, limits)

    def build(self) -> Program:
        """Return the program."""
        return self._builder.build()

    def point(self, chosen: FloatArray) -> FloatArray:
        """Return the point of the program for the set ``chosen``, 0 and 1, shape (features,).

        It is feasible if the set survives all scenarios. Columns of other nodes than ReLUs and
        maxima are NaN.
        """
        program = self.build()
        point = np.full(program.columns, np.nan)
        point[self.columns] = chosen
        columns = blocks(program.column_labels)
        for number, constraint in enumerate(self._constraints):
            if isinstance(constraint, Scenario):
                network = constraint.network
                fill(point, columns, network, network.values(chosen), f"{number}_")
        return point


@dataclass(frozen=True, slots=True)
class Clause:
    """``Σ_{f ∈ any_of} A_f + Σ_{f ∈ not_all_of} (1 − A_f) ≥ 1``."""

    any_of: frozenset[int] = frozenset()
    not_all_of: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class CoverProgram:
    """The program, its columns ``A``, its column ``t`` and its cost."""

    program: Program
    chosen: IntArray
    surrendered: int
    cost: FloatArray


def cover_program(costs: FloatArray, clauses: Sequence[Clause]) -> CoverProgram:
    """Return the program for ``costs``, positive, one for each feature."""
    builder = ProgramBuilder()
    chosen = builder.add_columns("A", np.arange(costs.size), 0.0, 1.0, integer=True)
    give_up = builder.add_columns("t", np.arange(1), 0.0, 1.0, integer=True)
    rows, columns, signs = [], [], []
    least = np.ones(len(clauses))
    for number, clause in enumerate(clauses):
        for members, sign in ((clause.any_of, 1.0), (clause.not_all_of, -1.0)):
            rows += [number] * len(members)
            columns += sorted(members)
            signs += [sign] * len(members)
        least[number] -= len(clause.not_all_of)
    matrix = sp.csr_array((signs, (rows, columns)), shape=(len(clauses), costs.size))
    terms = [(matrix, chosen), (np.ones((len(clauses), 1)), give_up)]
    builder.add_rows("clause", np.arange(len(clauses)), terms, least, np.inf)
    program = builder.build()
    cost = np.zeros(program.columns)
    cost[chosen] = costs
    cost[give_up] = float(np.sum(costs)) + max(1.0, float(np.max(costs)))
    return CoverProgram(program, chosen, int(give_up[0]), cost)
