"""Changes that differ in their features: the least, and the least without the sets shown so far.

A change *uses* a set if it changes all features of it. Those that use none of the sets shown are
the union, over sets ``H`` with a feature of each set shown, of the changes that hold ``H``. Boxes
of that union are searched best first, as by Lawler (Management Science 1972): the least change of
all open ones is shown, and its box is replaced by those that hold one more of its features. The
least of the open lower bounds is proven for what is shown.

Small contrasts at once, found by forward passes alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count as numbers

from milp_verix.oracle.attacks import climb
from milp_verix.oracle.statistics import TIME_LIMIT
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import Verdict, replayed
from milp_verix.problem.search import Request
from milp_verix.results.contrast import Alternative, ContrastiveExplanation
from verix_encodings.arrays import FloatArray


def greedy_contrasts(subsets: SubsetOracle, rival: int, costs: FloatArray) -> Iterator[Verdict]:
    """Yield counterfactuals that raise margin ``rival`` by fewer and fewer features.

    A climb over the whole ball finds a point with a high margin. There the features are ranked by
    their share in the margin for their cost; bisection looks for the shortest beginning of that
    ranking with which a climb still changes the prediction. It ends at the deadline of ``subsets``.
    """
    problem, start = subsets.problem, subsets.centre
    region = problem.ball.region(problem.features.coordinates(sorted(subsets.everything)))
    top = climb(subsets.margins, region, start, rival, subsets.late)
    ranked = subsets.ranked(top, rival, costs)[::-1]
    low, high = 1, len(ranked)
    while low <= high and not subsets.late():
        middle = (low + high) // 2
        free = problem.features.coordinates(ranked[:middle])
        point = climb(subsets.margins, problem.ball.region(free), start, rival, subsets.late)
        found = replayed(problem, point, free)
        if found is None:
            low = middle + 1
        else:
            yield subsets.learn(found)
            high = middle - 1


_EQUAL = 1e-8
"""Bounds this close are those of a tie: each is lowered by a solver's tolerance, 1e-9."""


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """The changes that hold the features ``held``, and the least of these, if one was found."""

    held: frozenset[int]
    found: ContrastiveExplanation
    number: int

    @property
    def bound(self) -> float:
        return float(self.found.lower_bound or 0.0)

    @property
    def key(self) -> tuple[float, int]:
        return self.found.cost if self.found.cost is not None else self.bound, self.number


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
    number, seen = numbers(), {frozenset[int]()}
    shown, found = [frozenset(first.contrast)], list[Alternative]()
    open_: list[_Open] = []

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
                open_.append(_Open(more, least, next(number)))
        return True

    going = expand(frozenset(), shown[0])
    while going and open_ and len(shown) < count:
        best = min(open_, key=lambda one: one.key)
        contrast = best.found.contrast
        if contrast is None or best.found.counterfactual is None:
            break  # what it may hold stays open
        used = next((one for one in shown if one <= {*contrast}), None)
        if used is None:
            bound = min(one.bound for one in open_)
            least = best.found.proven and bound >= best.bound * (1 - _EQUAL)
            why = None if least else _why(open_)
            found.append(Alternative(contrast, best.found.counterfactual, bound, why))
            used = frozenset(contrast)
            shown.append(used)
        open_.remove(best)
        going = len(shown) == count or expand(best.held, used)
    notes = first.notes
    if going and not open_ and len(shown) < count:
        notes += ("every change of the prediction changes all features of one that is listed",)
    statistics = first.statistics
    if not going:
        statistics = replace(statistics, stopped=statistics.stopped or TIME_LIMIT)
    statistics = replace(statistics, seconds=request.elapsed)
    return replace(first, alternatives=tuple(found), notes=notes, statistics=statistics)


def _why(open_: Sequence[_Open]) -> str:
    """Return the reason why a lower bound is not as high as it could be."""
    reasons = (one.found.unknown_reason or one.found.statistics.stopped for one in open_)
    return next((why for why in reasons if why is not None), "another change may be nearer")
