"""The smallest contrastive explanation, or the nearest counterfactual, and alternatives to it.

Alternatives differ in their features. A change *uses* a set if it changes all features of it. Those
that use none of the sets shown are the union, over sets ``H`` with a feature of each set shown, of
the changes that hold ``H``. Boxes of that union are searched best first, as by Lawler (Management
Science 1972): the least change of all open ones is shown, and its box is replaced by those that
hold one more of its features. The least of the open lower bounds is proven for what is shown.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import costs_of, integer_of
from milp_verix.base.errors import require_one_of
from milp_verix.oracle.verdict import TIME_LIMIT, Verdict
from milp_verix.problem.features import CostsLike
from milp_verix.problem.objective import unit_of
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.contrast import NEAREST_GAP, Alternative, ContrastiveExplanation
from milp_verix.results.earlier import EarlierContrast, earlier_contrast, note_on_bound
from milp_verix.results.plain_counterfactuals import plain_counterfactual, rounded_counterfactual
from milp_verix.searches.change_measure import directed, distance, feature_count, scales_of
from milp_verix.searches.contrast_kinds import LeafContrasts, NearestSearch
from milp_verix.searches.contrast_search import ContrastiveProgress, ContrastSearch
from milp_verix.searches.runner import fields_of
from milp_verix.searches.set_search import opened

MEASURES = ("features", "distance")
"""The least of a contrastive explanation: its features, or the distance of its counterfactual."""


def contrastive_of(
    problem: ProblemData,
    *,
    costs: CostsLike = None,
    must_not: str | Sequence[str | int] = (),
    minimise: str = "features",
    count: int = 1,
    search: Search = USUAL,
    progress: Callable[[ContrastiveProgress], None] | None = None,
    snapshots: Callable[[Callable[[], ContrastiveExplanation]], None] | None = None,
    resume: EarlierContrast | None = None,
) -> ContrastiveExplanation:
    """Answer :func:`milp_verix.contrastive`, which describes the arguments."""
    require_one_of(MEASURES, minimise, "minimise")
    search.require_only("contrastive", "the search for contrasts")
    request = Request.now(problem, search)
    integer_of(count, "count")
    held = features_in(must_not, problem, "must_not")

    def holding(more: Sequence[int]) -> ContrastiveExplanation:
        return _least(request, sorted({*held, *more}), costs, minimise)

    watched: dict[str, Any] = {"progress": progress, "snapshots": snapshots, "resume": resume}
    first = _least(request, sorted({*held}), costs, minimise, **watched)
    if count == 1 or first.contrast is None or first.statistics.stopped is not None:
        return first
    return with_alternatives(first, count, holding, request)


def _least(
    request: Request,
    held: Sequence[int],
    costs: CostsLike,
    minimise: str,
    *,
    progress: Callable[[ContrastiveProgress], None] | None = None,
    snapshots: Callable[[Callable[[], ContrastiveExplanation]], None] | None = None,
    resume: EarlierContrast | None = None,
) -> ContrastiveExplanation:
    problem = directed(request.problem)
    problem = problem.holding(held) if held else problem
    priced = costs_of(problem.features.priced(costs), problem.features.count, positive=True)
    unit = unit_of(priced)
    scales = scales_of(request.problem) if minimise == "distance" else None
    earlier = None if resume is None else earlier_contrast(resume, problem)
    weights = priced / unit
    measure, kind = feature_count(problem, weights), ContrastSearch
    if scales is not None:
        # the record's own sum may differ in the last digits
        measure, kind = distance(problem, weights, scales, NEAREST_GAP * (1 - 1e-6)), NearestSearch
    if problem.margins.stepped:
        kind = LeafContrasts

    def shown(best: Verdict, run: ContrastSearch) -> Counterfactual:
        found = counterfactual_of(best)
        if scales is None:
            return plain_counterfactual(problem, found, request.deadline)
        farthest = run.lower_bound / (1 - NEAREST_GAP) * (1 - 1e-9)
        if not run.proven:
            farthest = measure.cost(found.input.reshape(-1).astype(np.float64)) * (1 + NEAREST_GAP)

        def near(point: NDArray[Any]) -> bool:
            return run.lower_bound <= measure.cost(point.astype(np.float64)) <= farthest

        return rounded_counterfactual(problem, found, request.deadline, near)

    def result(run: ContrastSearch) -> ContrastiveExplanation:
        best = run.best
        changed = None if best is None else shown(best, run)
        contrast = None if changed is None else _changed(problem, changed)
        lower_bound = None if run.robust else run.lower_bound * unit
        # sums of the same costs differ in their last digit by the order of the terms
        if lower_bound is not None and scales is not None:
            lower_bound *= 1 - 1e-12
        elif lower_bound is not None and contrast is not None:
            cost = math.fsum(priced[list(contrast)])
            lower_bound = cost if run.proven else min(lower_bound, cost)
        found = ContrastiveExplanation(
            **fields_of(subsets.oracle, request.elapsed, run.stopped, beside=run.effort),
            contrast=contrast,
            counterfactual=changed,
            robust=run.robust,
            costs=None if costs is None else tuple(priced.tolist()),
            must_not=tuple(sorted(held)),
            scales=None if scales is None else tuple(scales.tolist()),
            lower_bound=lower_bound,
            unknown_reason=None if run.proven else run.unknown_reason,
        )
        if earlier is None:
            return found
        stored_bound = earlier.bound_for(priced, held, distance=scales is not None)
        note = note_on_bound(stored_bound, found.lower_bound, found.cost, earlier.author)
        return found if note is None else replace(found, notes=(*found.notes, note))

    with opened(replace(request, problem=problem), held) as (subsets, session, _):
        run = kind(subsets, session, request, measure, costs=weights, unit=unit, result_of=result)
        if earlier is not None and earlier.verdict is not None:
            run.offer(earlier.verdict)
        return run.run(progress, snapshots)


def _changed(problem: ProblemData, found: Counterfactual) -> tuple[int, ...]:
    moved = np.flatnonzero(found.input.reshape(-1) != problem.x)
    return tuple(np.unique(problem.features.of_coordinate[moved]).tolist())


_EQUAL = 1e-8
"""Bounds this close are those of a tie: each is lowered by a solver's tolerance, 1e-9."""


def _bound(found: ContrastiveExplanation) -> float:
    return float(found.lower_bound or 0.0)


def with_alternatives(
    first: ContrastiveExplanation,
    count: int,
    ask: Callable[[Sequence[int]], ContrastiveExplanation],
    request: Request,
) -> ContrastiveExplanation:
    """Return ``first`` with further changes, up to ``count`` in all.

    ``ask`` returns the least change that holds some more features. Fewer changes are found if there
    are none, which a note tells, or once the deadline of ``request`` has passed.
    """
    assert first.contrast is not None
    seen = {frozenset[int]()}
    shown, found = [frozenset(first.contrast)], list[Alternative]()
    # features that are held, and the least of the changes that hold them, if one was found
    open_: list[tuple[frozenset[int], ContrastiveExplanation]] = []

    def expand(held: frozenset[int], used: frozenset[int]) -> bool:
        """Open the boxes that hold one more of the features ``used``; False once it is late."""
        for feature in sorted(used):
            more = held | {feature}
            if more in seen:
                continue
            if request.deadline.passed():
                return False
            seen.add(more)
            least = ask(sorted(more))
            if not least.robust:
                open_.append((more, least))
        return True

    going = expand(frozenset(), shown[0])
    while going and open_ and len(shown) < count:
        best = min(open_, key=lambda one: _bound(one[1]) if one[1].cost is None else one[1].cost)
        held, nearest = best
        contrast = nearest.contrast
        if contrast is None or nearest.counterfactual is None:
            break  # what it may hold stays open
        used = next((one for one in shown if one <= {*contrast}), None)
        if used is None:
            bound = min(_bound(one) for _, one in open_)
            least = nearest.proven and bound >= _bound(nearest) * (1 - _EQUAL)
            reasons = (one.unknown_reason or one.statistics.stopped for _, one in open_)
            other = next(
                (why for why in reasons if why is not None), "another change may be nearer"
            )
            found.append(
                Alternative(contrast, nearest.counterfactual, bound, None if least else other)
            )
            used = frozenset(contrast)
            shown.append(used)
        open_.remove(best)
        going = len(shown) == count or expand(held, used)
    notes = first.notes
    if going and not open_ and len(shown) < count:
        notes += ("every change of the prediction changes all features of one that is listed",)
    statistics = first.statistics
    if not going:
        statistics = replace(statistics, stopped=statistics.stopped or TIME_LIMIT)
    statistics = replace(statistics, seconds=request.elapsed)
    return replace(first, alternatives=tuple(found), notes=notes, statistics=statistics)
