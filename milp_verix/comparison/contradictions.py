"""Find definite verdicts that contradict each other, whatever the traversals were.

If a check holds with the features ``B`` free, no counterfactual moves features of ``B`` alone. So a
counterfactual of any run that moves only features of a set that any run claims to hold refutes that
claim; that two runs ended in different sets without such a pair is no contradiction, since one
undecided feature changes the checks that follow it.

A claim is about real arithmetic and a counterfactual about the network's own: a margin of the
counterfactual that is not above zero in float64 too is rounding, and refutes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import Search
from milp_verix.results.records.comparison import Disagreement, Pair, RunRecord
from verix_encodings import Interval, interval_bounds
from verix_encodings.arrays import BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Refutation:
    """A counterfactual: the features that it moves, and its greatest margin."""

    witness: NDArray[Any]
    moved: BoolArray
    index: int
    margin: float


def contradictions(
    problem: PosedProblem,
    runs: Sequence[RunRecord],
    checks: Sequence[Sequence[int]],
    search: Search,
) -> tuple[Disagreement, ...]:
    """Return, for each two pairs, the first claim of one that the other refutes, if any.

    ``checks`` are the compared checks, none for explanations; ``search`` bounds the network in the
    program of a refuted claim. A pair may contradict itself.
    """
    claims = [_claims(run, checks) for run in runs]
    refutations = [_refutations(problem, run) for run in runs]
    found: dict[tuple[Pair, Pair], Disagreement] = {}
    for (holding, claimed), (violated, refuting) in product(
        zip(runs, claims, strict=True), zip(runs, refutations, strict=True)
    ):
        first = _first(problem.features.count, claimed, refuting)
        pairs = (holding.pair, violated.pair)
        if first is None or pairs in found:
            continue
        free, refutation = first
        how = Search(
            bounds=search.bounds,
            segments=search.segments,
            formulation=holding.pair.formulation,
        )
        encoding = encode_problem(problem, free, search=how)
        found[pairs] = Disagreement(
            *pairs, free, refutation.witness, refutation.index, refutation.margin, encoding
        )
    return tuple(found.values())


def _claims(run: RunRecord, checks: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the sets of features that the run claims to be free to move, the smallest first."""
    if run.explanation is None:
        holding = [tuple(free) for free, v in zip(checks, run.verdicts, strict=False) if v.holds]
        return sorted(holding, key=len)
    irrelevant = set(run.explanation.irrelevant)
    freed = [feature for feature in run.explanation.permutation if feature in irrelevant]
    return [tuple(freed[: i + 1]) for i in range(len(freed))]


def _refutations(problem: PosedProblem, run: RunRecord) -> list[_Refutation]:
    if run.explanation is None:
        witnesses = [v.witness for v in run.verdicts if v.witness is not None]
    else:
        witnesses = [found.input for found in run.explanation.counterfactuals.values()]
    found = []
    for witness in witnesses:
        changed = witness.reshape(-1) != problem.x
        moved = np.array([changed[list(group)].any() for group in problem.features.groups])
        point = witness.reshape(-1).astype(np.float64)
        try:
            values = interval_bounds(problem.margins, Interval(point, point))[-1].lower
        except OverflowError:
            continue  # a margin that float64 cannot tell refutes nothing
        index = int(np.argmax(values))
        if values[index] > 0:
            found.append(_Refutation(witness, moved, index, float(values[index])))
    return found


def _first(
    count: int, claims: list[tuple[int, ...]], refutations: list[_Refutation]
) -> tuple[tuple[int, ...], _Refutation] | None:
    """Return the first claim that is refuted, with its refutation."""
    if not claims or not refutations:
        return None
    fixed = np.ones((count, len(claims)))
    for number, free in enumerate(claims):
        fixed[list(free), number] = 0.0
    moved = np.array([refutation.moved for refutation in refutations], dtype=np.float64)
    refuted = moved @ fixed == 0
    hit = np.flatnonzero(refuted.any(axis=0))
    if not hit.size:
        return None
    return claims[hit[0]], refutations[int(np.argmax(refuted[:, hit[0]]))]
