"""The cheapest set of features that hits all of some sets: hitting-set duality as a program.

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
from verix_encodings.program.builder import ProgramBuilder
from verix_encodings.program.program import Program


@dataclass(frozen=True, slots=True)
class Clause:
    """``Σ_{f ∈ any_of} A_f + Σ_{f ∈ not_all_of} (1 − A_f) ≥ 1``."""

    any_of: frozenset[int] = frozenset()
    not_all_of: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """The program, its columns ``A``, its column ``t`` and its cost."""

    program: Program
    chosen: IntArray
    surrendered: int
    cost: FloatArray


def cover_program(costs: FloatArray, clauses: Sequence[Clause]) -> Cover:
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
    ones = sp.csr_array(np.ones((len(clauses), 1)))
    terms = [(matrix, chosen), (ones, give_up)]
    builder.add_rows("clause", np.arange(len(clauses)), terms, least, np.inf)
    program = builder.build()
    cost = np.zeros(program.columns)
    cost[chosen] = costs
    cost[give_up] = float(np.sum(costs)) + max(1.0, float(np.max(costs)))
    return Cover(program, chosen, int(give_up[0]), cost)
