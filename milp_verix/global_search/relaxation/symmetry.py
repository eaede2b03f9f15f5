"""Features that a minimum explanation may swap, and features that it never needs.

A coordinate is *inert* if it cannot move (``l = x = u``), or if no map that reads the input sees it
(its columns are zero). Where all coordinates of a feature are inert, so is the feature: a set
explains the prediction with it if and only if it does so without.

Two other coordinates are *equal* if they have equal columns in every affine map that reads the
input, the same ``x``, and the same ends ``l`` and ``u`` of the ball's box. Swapping them changes
neither the network's values nor the box nor any norm ``‖x' − x‖_p``, so it maps the ball onto
itself. What inert coordinates do changes nothing in any of the norms: moving them costs L1 and L2
balls some of their radius and gains no value. So two features are *interchangeable* if their
coordinates that are not inert can be paired into equal ones, if they cost the same, and if each of
``must`` and ``must_not`` holds both or none.

Interchangeability is an equivalence, and any permutation within its classes maps explanations to
explanations of the same cost. So some minimum explanation takes the features of each class in the
order of their numbers:

    A_f ≥ A_g    for all f < g that follow each other in a class

An input that something other than an affine map reads has no such classes here. Columns that were
computed are rounded, and may be equal, or zero, for no other reason: where the true margins can
differ from those of the stored columns by more than a scenario allows, nothing is taken for equal.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from milp_verix.problem.objective import Objective
from milp_verix.problem.problem import Problem
from verix_encodings import Affine, Interval, Network, interval_bounds
from verix_encodings.arrays import BoolArray, IntArray
from verix_encodings.models.constraints import Precedence
from verix_encodings.models.scenario import SLACK
from verix_encodings.proofs.safe_bound import evaluation_error


@dataclass(frozen=True, slots=True, eq=False)
class Interchangeable:
    """``classes`` of two features or more, each ascending; ``inert`` features, shape (features,).

    An inert feature is in no class.
    """

    classes: tuple[IntArray, ...]
    inert: BoolArray

    @property
    def precedence(self) -> list[Precedence]:
        """The order of the features in each class, as constraints of a scenario program."""
        return [Precedence(members[:-1], members[1:]) for members in self.classes]


def interchangeable(problem: Problem, objective: Objective) -> Interchangeable:
    """Return what ``problem`` and ``objective`` leave interchangeable, and what is inert."""
    kinds = _kinds(problem)
    members: dict[object, list[int]] = {}
    inert = np.zeros(problem.features.count, dtype=bool)
    for feature, group in enumerate(problem.features.groups):
        felt = sorted(kind for i in group if (kind := kinds[i]) is not None)
        inert[feature] = not felt
        wish = objective.costs[feature], objective.must[feature], objective.must_not[feature]
        if felt:
            members.setdefault((*wish, *felt), []).append(feature)
    classes = [np.array(listed, dtype=np.intp) for listed in members.values() if len(listed) > 1]
    return Interchangeable(tuple(classes), inert)


def _kinds(problem: Problem) -> list[bytes | None]:
    """Return for each coordinate what it shares with those equal to it, None for an inert one."""
    x, box = problem.x.astype(np.float64), problem.ball.outer
    margins = problem.question.margins(problem.network.ir)
    columns = _columns(margins) if _told_apart(margins, box) else _names(margins)
    # adding zero turns -0.0 into 0.0
    ends = np.stack([x, box.lower, box.upper], axis=1) + 0.0
    kinds: list[bytes | None] = []
    for here, column in zip(ends, columns, strict=True):
        still = here[1] == here[0] == here[2]
        kinds.append(None if still or not column else here.tobytes() + column)
    return kinds


def _columns(network: Network) -> list[bytes]:
    """Return the columns of each coordinate in all maps that read it; empty where all are zero."""
    if not network.affine_first:
        return _names(network)
    terms = [term for node in network.nodes if isinstance(node, Affine) for term in node.terms]
    matrices = [sp.csr_array(matrix) for source, matrix in terms if source == 0]
    nothing = sp.csr_array((1, network.input_size))
    joined = sp.csc_array(sp.vstack([nothing, *matrices]))
    joined.eliminate_zeros()
    joined.sort_indices()
    entries = zip(joined.indptr[:-1], joined.indptr[1:], strict=True)
    return [joined.indices[a:b].tobytes() + joined.data[a:b].tobytes() for a, b in entries]


def _names(network: Network) -> list[bytes]:
    """Return a name of its own for each coordinate: no two are equal."""
    return [str(i).encode() for i in range(network.input_size)]


def _told_apart(margins: Network, box: Interval) -> bool:
    """Whether the margins in ``box`` are known so well that equal columns are as good as equal."""
    try:
        error = evaluation_error(margins, interval_bounds(margins, box))
    except OverflowError:
        return False
    return bool(np.max(error, initial=0.0) <= SLACK)
