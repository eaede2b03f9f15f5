"""Which features must be explained, given some perturbations: a relaxation of all explanations.

    minimise Σ_f c_f A_f   subject to   m_j(x + (1 − A) ∘ δ_k) ≤ 0    for every scenario k, margin j
                                        Σ_{f ∈ C_l} A_f ≥ 1           for every cover l
                                        A_f ∈ {0, 1}

``A_f = 1`` fixes feature ``f``, so that a perturbation ``δ`` in the ball loses its part there, and
what is left is in the ball still. A set of features that explains the prediction survives every
perturbation, these among them: the optimum is a lower bound on the cost of every explanation. A
cover is a set of features whose change can change the prediction, with all others fixed: every
explanation holds one of them.

The first affine layer sees ``W (x + δ_k) − W diag(δ_k) A``, an expression in the columns ``A``: a
scenario costs columns for its neurons, and none for the inputs. Its neurons are bounded over the
box between ``x`` and ``x + δ_k``.

"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds import BoundMethod, Bounds, Interval
from verix_encodings.encode import encode_values
from verix_encodings.network import Network, Relu
from verix_encodings.program import Expressions, Program, ProgramBuilder
from verix_encodings.relu import big_m_relu
from verix_encodings.safe_bound import encoding_error

SLACK = 1e-7
"""How far above zero a margin may stay: a solver's tolerances must not cut off an explanation."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A perturbation ``delta``, shape (d,), and ``bounds`` valid between ``x`` and ``x + delta``.

    ``error`` bounds the rounding in any row that encodes it.
    """

    delta: FloatArray
    bounds: Bounds
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Features of which every explanation holds one."""

    features: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """Only sets that cost ``limit`` at most are of interest."""

    costs: FloatArray
    limit: float


@dataclass(frozen=True, slots=True, eq=False)
class Precedence:
    """``A_f ≥ A_g`` for each pair of a feature ``f`` in ``before`` and the one in ``after``.

    That is no constraint on explanations, but on which of equal ones are of interest.
    """

    before: IntArray
    after: IntArray


Part: TypeAlias = Scenario | Cover | Budget | Precedence


def make_scenario(
    margins: Network, centre: FloatArray, delta: FloatArray, method: BoundMethod
) -> Scenario:
    """Return the scenario of ``delta`` with bounds by ``method``.

    Raises ``OverflowError`` where these leave the range of float64.
    """
    end = centre + delta
    bounds = method(margins, Interval(np.minimum(centre, end), np.maximum(centre, end)))
    # the expressions in A are formed from x + δ and δ, each as large as the box
    return Scenario(delta, bounds, 4.0 * encoding_error(margins, bounds))


class ScenarioProgram:
    """The program of the parts added so far, and its columns ``A``, one for each feature.

    ``feature_of`` is the feature of each coordinate, shape (d,); ``lower`` and ``upper`` bound
    ``A``, shape (features,): features that must or must not be explained. A program extends those
    before it: columns and rows are only added. ``arguments`` has, for each part, the values that
    ReLUs take as expressions: pairs of the number of a value in the network, and it.
    """

    def __init__(
        self,
        margins: Network,
        centre: FloatArray,
        feature_of: IntArray,
        lower: FloatArray,
        upper: FloatArray,
    ) -> None:
        self._margins = margins
        self._centre = centre
        self._feature_of = feature_of
        self._builder = ProgramBuilder()
        self._parts = 0
        self.arguments: list[list[tuple[int, Expressions]]] = []
        numbers = np.arange(lower.size)
        self.columns = self._builder.add_columns("A", numbers, lower, upper, integer=True)

    def add(self, part: Part) -> None:
        """Add a scenario, a cover or a budget."""
        number, builder, chosen = self._parts, self._builder, self.columns
        self._parts += 1
        taken: list[tuple[int, Expressions]] = []
        self.arguments.append(taken)
        if isinstance(part, Budget):
            row = [(sp.csr_array(part.costs[None, :]), chosen)]
            builder.add_rows("budget", np.array([number]), row, -np.inf, part.limit)
            return
        if isinstance(part, Cover):
            ones = sp.csr_array(np.ones((1, part.features.size)))
            terms = [(ones, chosen[part.features])]
            builder.add_rows("cover", np.array([number]), terms, 1.0, np.inf)
            return
        if isinstance(part, Precedence):
            ones = sp.eye_array(part.before.size, format="csr")
            terms = [(ones, chosen[part.before]), (-ones, chosen[part.after])]
            builder.add_rows(f"order_{number}", np.arange(part.before.size), terms, 0.0, np.inf)
            return
        moved = np.flatnonzero(part.delta)
        entries = (-part.delta[moved], (moved, self._feature_of[moved]))
        matrix = sp.csr_array(entries, shape=(self._centre.size, chosen.size))
        x = Expressions(chosen, matrix, self._centre + part.delta)
        sources = iter([node.source for node in self._margins.nodes if isinstance(node, Relu)])

        def relu(
            builder: ProgramBuilder, label: str, z: Expressions, interval: Interval
        ) -> Expressions:
            taken.append((next(sources), z))
            return big_m_relu(builder, label, z, interval)

        prefix = f"{number}_"
        output = encode_values(builder, self._margins, part.bounds, x, relu=relu, prefix=prefix)
        # where no choice of features lets a margin reach zero there is nothing to ask
        open_ = np.flatnonzero(part.bounds[-1].upper > 0)
        limits = SLACK - output.constant[open_]
        terms = [(output.matrix[open_, :], output.columns)]
        builder.add_rows(f"safe_{number}", open_, terms, -np.inf, limits)

    def build(self) -> Program:
        """Return the program."""
        return self._builder.build()
