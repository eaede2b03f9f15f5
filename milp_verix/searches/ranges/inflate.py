"""Inflated explanations: the widest proven ranges of kept features, as a function."""

from collections.abc import Callable
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.inputs.radii import Epsilon, radii_of
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.ranges import Ranges
from milp_verix.searches.audit.feature_sets import FeatureSetLike, feature_set
from milp_verix.searches.explain.explain import explain_problem
from milp_verix.searches.ranges.axes import axes_of
from milp_verix.searches.ranges.regions import Regions, rows_of
from milp_verix.searches.ranges.search import RangesProgress, RangesSearch
from verix_encodings.arrays import FloatArray


def inflate_problem(
    problem: PosedProblem,
    explanation: "FeatureSetLike | None" = None,
    *,
    rows: Any = None,
    within: Epsilon = np.inf,
    resolution: float = 0.01,
    search: Search = USUAL,
    progress: Callable[[RangesProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Ranges]], None] | None = None,
) -> Ranges:
    """Find the widest ranges of an explanation's features that provably keep the prediction.

    An inflated abductive explanation (Izza, Ignatiev, Stuckey, Marques-Silva, AAAI 2024): the
    prediction stays with each kept feature anywhere in its range, all of them at once, and all
    other features free as in the question. The ranges are maximal: one step beyond each, the others
    as they are, there is a counterfactual. A step of a whole number is 1, of a category another
    word, of a real number ``resolution``; those of trees end at their
    thresholds, unless there are rules. Which of several maximal boxes is found depends on the order
    in which ranges are widened: first the one that gains the most of the ``rows``, without rows the
    widest. The norm must be L∞. Ctrl-C and the time limit return the ranges so far.

    Raises:
        InputError: an argument does not fit; the features to keep are no explanation; a kept
            feature may move without end.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    run = ranges_search(
        problem, explanation, rows=rows, within=within, resolution=resolution, search=search
    )
    return run.run(progress, snapshots)


def ranges_search(
    problem: PosedProblem,
    explanation: "FeatureSetLike | None",
    *,
    rows: Any,
    within: Epsilon,
    resolution: float,
    search: Search,
) -> RangesSearch:
    """Return the search for ranges that :func:`inflate_problem` runs."""
    search.require_only("inflate", "the search for ranges")
    if problem.ball.norm != "linf":
        raise InputError(
            f"ranges are intervals, and take the norm 'linf' alone, not {problem.ball.norm!r}"
        )
    if not 0 < resolution < 1:
        raise InputError(
            f"resolution is a share of a feature's room, above 0 and below 1; got {resolution}"
        )
    request = Request.now(problem, search)
    given, notes = rows_of(problem, rows)
    if explanation is None:
        explanation = explain_problem(problem, search=search)
    kept = feature_set(explanation, problem)
    axes = axes_of(problem, kept, _radii(problem, within), float(resolution))
    return RangesSearch(request, Regions(problem, axes), float(resolution), given, notes)


def _radii(problem: PosedProblem, within: Epsilon) -> FloatArray:
    """Return how far each feature may move at most, shape (features,)."""
    if problem.inputs is not None:
        return np.array(radii_of(problem.inputs, within, "within"))
    if not isinstance(within, int | float) or not within >= 0:
        raise InputError(
            f"within is a number that is not negative, got {within!r}: radii by name and shares "
            "need a description, inputs="
        )
    return np.full(problem.features.count, float(within))
