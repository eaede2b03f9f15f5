"""Which features must be explained, given some perturbations: a relaxation of all explanations.

    minimise Σ_f A_f   subject to   m_j(x + (1 − A) ∘ δ_k) ≤ 0  for every scenario k and margin j,
                                    A_f ∈ {0, 1}

``A_f = 1`` fixes feature ``f``, so that a perturbation ``δ`` in the ball loses its part there, and
what is left is in the ball still. A set of features that explains the prediction survives every
perturbation, these among them: the optimum is a lower bound on the size of every explanation.

The first affine layer sees ``W (x + δ_k) − W diag(δ_k) A``, an expression in the columns ``A``: a
scenario costs columns for its neurons, and none for the inputs. Its neurons are bounded over the
box between ``x`` and ``x + δ_k``.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.bounds import BoundMethod, Interval
from verix_encodings.encode import encode_values
from verix_encodings.network import Network
from verix_encodings.program import Expressions, Program, ProgramBuilder

SLACK = 1e-7
"""How far above zero a margin may stay: a solver's tolerances must not cut off an explanation."""


def scenario_program(
    margins: Network,
    centre: FloatArray,
    feature_of: IntArray,
    scenarios: Sequence[FloatArray],
    bounds: BoundMethod,
) -> tuple[Program, IntArray]:
    """Return the program and its columns ``A``, one for each feature.

    ``feature_of`` is the feature of each coordinate, shape (d,); a scenario is ``δ``, shape (d,).
    """
    builder = ProgramBuilder()
    count = int(feature_of.max()) + 1
    chosen = builder.add_columns("A", np.arange(count), 0.0, 1.0, integer=True)
    for number, delta in enumerate(scenarios):
        moved = np.flatnonzero(delta)
        entries = (-delta[moved], (moved, feature_of[moved]))
        matrix = sp.csr_array(entries, shape=(centre.size, count))
        x = Expressions(chosen, matrix, centre + delta)
        box = Interval(np.minimum(centre, centre + delta), np.maximum(centre, centre + delta))
        found = bounds(margins, box)
        output = encode_values(builder, margins, found, x, prefix=f"{number}_")
        # where no choice of features lets a margin reach zero there is nothing to ask
        open_ = np.flatnonzero(found[-1].upper > 0)
        terms = [(output.matrix[open_, :], output.columns)]
        limits = SLACK - output.constant[open_]
        builder.add_rows(f"safe_{number}", open_, terms, -np.inf, limits)
    return builder.build(), chosen
