"""Protected features: in every explanation, in some, or in none.

Let ``P`` be the protected features, ``R`` all others, and ``check(B)`` the claim that the
prediction survives every change of ``B``. Then

    necessary   iff  check(P) is violated                                  (P meets every AXp)
    relevant    iff  for some B ⊆ R, check(B) holds and check(B ∪ P) is violated
                                                                           (P meets a minimal AXp)

For the second, grow such a ``B`` by all features of ``R`` and then of ``P`` that keep the claim:
some of ``P`` stay outside, and what is outside is a minimal explanation. By duality the same holds
for contrastive explanations. The search for ``B`` is a loop of proposals and clauses:

    repeat   B ← all of R but a smallest set that no clause excludes       none left: irrelevant
             check(B) violated:      supersets of a contrast inside B are excluded
             check(B ∪ P) holds:     grow B so that it still does; its subsets are excluded
             otherwise:              relevant

Each clause is sound since claims on a set hold for its subsets. (Huang, Cooper, Morgado, Planes,
Marques-Silva, *Feature necessity & relevancy in ML classifier explanations*, TACAS 2023. A decision
is biased in the sense of Darwiche & Hirth, *On the reasons behind decisions*, ECAI 2020, iff its
protected features together are necessary.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.masks import features_in
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.importance import Relevance
from milp_verix.results.plain_counterfactuals import plain_counterfactual
from milp_verix.searches.runner import fields_of
from milp_verix.searches.set_search import SetSearch, opened
from verix_encodings.scenario import Clause


@dataclass(frozen=True, slots=True)
class RelevanceProgress:
    """The answers so far, None for those still open, and the number of checks."""

    necessary: bool | None
    relevant: bool | None
    checks: int


def relevance_of(
    problem: ProblemData,
    feature: str | int | Sequence[str | int],
    *,
    search: Search = USUAL,
    progress: Callable[[RelevanceProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Relevance]], None] | None = None,
) -> Relevance:
    """Answer :func:`milp_verix.relevance`, which describes the arguments."""
    search.require_only("relevance", "the decision on relevance")
    request = Request.now(problem, search)
    protected = frozenset(features_in(feature, problem, "feature"))
    if not protected:
        raise InputError("no protected feature is given: name one at least")
    with opened(request) as given:
        return RelevanceSearch(*given, protected).run(progress, snapshots)


@dataclass(eq=False)
class RelevanceSearch(SetSearch[RelevanceProgress, Relevance]):
    """The answers so far; ``_found`` is a counterfactual for ``B ∪ P`` and a robust set ``B``."""

    listed = False

    protected: frozenset[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._others = self.subsets.everything - self.protected
        self._necessary: bool | None = None
        self._relevant: bool | None = None
        self._found: tuple[Verdict, frozenset[int]] | None = None
        self._open: str | None = None

    def _state(self) -> RelevanceProgress:
        return RelevanceProgress(self._necessary, self._relevant, self.subsets.oracle.checks)

    def _snapshot(self) -> Callable[[], Relevance]:
        found, free = self._found or (None, None)
        point = None if found is None else self._plain(found)
        decided = self._necessary is not None and self._relevant is not None
        why = self.stopped or self._doubted or self._open or "unknown"
        return partial(
            Relevance,
            features=tuple(sorted(self.protected)),
            necessary=self._necessary,
            relevant=self._relevant,
            free=None if free is None else tuple(sorted(free)),
            counterfactual=point,
            unchanged=None if point is None else self._unchanged(point.input),
            unknown_reason=None if decided else why,
            **fields_of(self.subsets.oracle, self.request.elapsed, self.stopped),
        )

    def _search(self) -> None:
        self.show()
        alone = self.subsets.check(self.protected)
        if alone.violated:
            self._accept(alone, frozenset())
        elif alone.holds:
            self._necessary = False
        else:
            self._open = alone.reason or "unknown"
        if self._relevant:
            return
        self.tell()
        for chosen in self._undecided():
            self._decide(self._others - chosen)
            if self._relevant:
                return
            self.tell()
        if self._doubted is None:
            self._necessary = self._relevant = False

    def _plain(self, found: Verdict) -> Counterfactual:
        """Return the counterfactual with few changes; if it has a pair, that one keeps one."""
        point = counterfactual_of(found)
        paired = self._unchanged(point.input) is not None
        return plain_counterfactual(
            self.subsets.problem,
            point,
            self.subsets.deadline,
            lambda candidate: not paired or self._unchanged(candidate) is not None,
        )

    def _unchanged(self, found: np.ndarray) -> np.ndarray | None:
        """Return the counterfactual with the protected features put back, if the ball holds it."""
        problem = self.subsets.problem
        point = found.reshape(-1).copy()
        back = problem.features.coordinates(sorted(self.protected))
        point[back] = problem.x[back]
        moved = np.flatnonzero(point != problem.x)
        changed = problem.question.changed(problem.network.outputs_at(point))
        if changed or not problem.ball.contains(point, moved):
            return None
        point = point.reshape(problem.network.input_shape)
        point.flags.writeable = False
        return point

    def _decide(self, free: frozenset[int]) -> None:
        """Decide the set ``free`` of other features, and exclude sets that are decided with it."""
        answer = self._pair(free)
        while answer is Answer.VIOLATED:
            smallest, _ = self.subsets.shrink(self.subsets.check(free))
            free -= self._exclude(smallest)
            answer = self._pair(free)
        if answer is Answer.HOLDS:
            for feature in sorted(self._others - free):
                answer = self._pair(free | {feature})
                if answer is None:
                    return
                if answer is Answer.HOLDS:
                    free |= {feature}
            self._clauses.append(Clause(not_all_of=self._others - free))
        elif answer is Answer.UNKNOWN:
            # this set alone: those around it may well be decided
            self._clauses.append(Clause(any_of=free, not_all_of=self._others - free))

    def _pair(self, free: frozenset[int]) -> Answer | None:
        """Return the answer with and without the protected features; None if a pair is accepted."""
        together = self.subsets.check(free | self.protected)
        if together.holds:
            return Answer.HOLDS
        alone = self.subsets.check(free)
        if alone.violated:
            return Answer.VIOLATED
        if together.violated and alone.holds:
            self._accept(together, free)
            return None
        self._doubt((alone if together.violated else together).reason or "unknown")
        return Answer.UNKNOWN

    def _accept(self, found: Verdict, free: frozenset[int]) -> None:
        self._relevant = True
        self._necessary = self._necessary if free else True
        self._found = found, free
