"""Enumeration of minimal explanations, abductive and contrastive, in the manner of MARCO.

    repeat   A ← a smallest set that is not decided yet            none left: complete
             while check(all but A) is violated:
                 shrink it to a minimal contrastive set C           a set that misses C is decided
                 A ← A ∪ C
             grow all but A; what is outside is a minimal explanation, and what holds it is decided

(Liffiton, Previti, Malik, Marques-Silva, *Fast, flexible MUS enumeration*, Constraints 2016; for
explanations Ignatiev, Narodytska, Asher, Marques-Silva, AI*IA 2020.) Both kinds come at once, and
the size of ``A`` is a lower bound on that of every explanation that is still to come.

The importance of features: power indices of the game of sets that keep a prediction.

The enumeration decides one set after the other. At any time the sets that are decided bracket each
index (:mod:`milp_verix.results.power_indices`), and once all are decided the indices are exact.
What SHAP values promise is the Shapley value of an expectation, and they may rank features wrongly
that play no part in the decision (Letoffe, Huang, Marques-Silva, 2024); an order by the indices
here rests on proofs.

Protected features: in every explanation, in some, or in none.

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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.arguments import integer_of
from milp_verix.base.clock import OutOfTimeError
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.number_text import counted
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.inputs.radii import values_by_label
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.base import Counterfactual
from milp_verix.results.build import counterfactual_of
from milp_verix.results.contrast import Contrast, Enumeration
from milp_verix.results.earlier import EarlierGame, EarlierImportance, earlier_importance
from milp_verix.results.importance import Importance, IndexName, Relevance, index_named
from milp_verix.results.plain_counterfactuals import plain_counterfactual
from milp_verix.searches.runner import Found, fields_of
from milp_verix.searches.set_search import SetSearch, opened
from verix_encodings.scenario import Clause

LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class EnumerationProgress:
    """Numbers of minimal explanations found so far, of each kind."""

    abductive: int
    contrastive: int


def enumerate_problem(
    problem: ProblemData,
    *,
    limit: int | None = None,
    search: Search = USUAL,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Enumeration]], None] | None = None,
) -> Enumeration:
    """Answer :func:`milp_verix.enumerate_explanations`, which describes the arguments."""
    most = np.inf if limit is None else integer_of(limit, "limit")
    search.require_only("enumerate", "the enumeration")
    request = Request.now(problem, search)
    with opened(request) as given:
        return _Enumeration(*given, most).run(progress, snapshots)


@dataclass(eq=False)
class Marco(SetSearch[EnumerationProgress, Found]):
    """The explanations found, of which ``most`` are wanted; a subclass makes a result of them."""

    most: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._abductive: list[FeatureSet] = []
        self._contrastive: dict[FeatureSet, Counterfactual] = {}
        self._complete = False
        self._explaining: list[frozenset[int]] = []

    @property
    def _enough(self) -> bool:
        return len(self._abductive) + len(self._contrastive) >= self.most

    def _state(self) -> EnumerationProgress:
        return EnumerationProgress(len(self._abductive), len(self._contrastive))

    def _search(self) -> None:
        for chosen in self._undecided():
            self._decide(chosen)
            if self._enough:
                self.stopped = LIMIT
                return
        self._complete = self._doubted is None

    def _decide(self, explained: frozenset[int]) -> None:
        subsets = self.subsets
        free = subsets.everything - explained
        verdict = subsets.check(free)
        if not (verdict.holds or verdict.violated):
            # this set alone: those around it may well be decided
            self._clauses.append(Clause(any_of=free, not_all_of=explained))
            self._gave_up = True
            self._doubt(verdict.reason or "unknown")
        while verdict.violated:
            smallest, minimal = subsets.shrink(verdict)
            contrast = self._exclude(smallest)
            if minimal:
                self._contrastive[tuple(sorted(contrast))] = counterfactual_of(smallest)
                self.tell()
            else:
                self._doubt("a set that changes the prediction was not proven minimal")
            if self._enough:
                return
            free -= contrast
            verdict = subsets.check(free)
        left = subsets.everything - free
        if verdict.holds and not any(set(known) <= left for known in self._explaining):
            self._explain(free)

    def _exclude_around(self, explanation: frozenset[int]) -> None:
        """Exclude the sets that hold one that explains: they are decided, minimal or not."""
        self._explaining.append(explanation)
        self._clauses.append(Clause(not_all_of=explanation))

    def _explain(self, free: frozenset[int]) -> None:
        """Grow a robust set until the features outside of it are a minimal explanation."""
        subsets = self.subsets
        robust, maximal = subsets.grow(free, sorted(subsets.everything - free))
        explanation = subsets.everything - robust
        self._exclude_around(explanation)
        if maximal:
            self._abductive.append(tuple(sorted(explanation)))
            self.tell()
        else:
            self._gave_up = True
            self._doubt("a set that explains the prediction was not proven minimal")


class _Enumeration(Marco[Enumeration]):
    """The enumeration as a result."""

    def _snapshot(self) -> Callable[[], Enumeration]:
        oracle = self.subsets.oracle
        return partial(
            Enumeration,
            abductive=_by_size(self._abductive),
            contrasts=_contrasts(self._contrastive.items()),
            complete=self._complete,
            lower_bound=min(self._lower_bound, oracle.problem.features.count),
            unknown_reason=self._doubted,
            **fields_of(oracle, self.request.elapsed, self.stopped),
        )


def importance_of(
    problem: ProblemData,
    *,
    index: str = "shapley",
    beside: ArrayLike | None = None,
    search: Search = USUAL,
    progress: Callable[[EnumerationProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Importance]], None] | None = None,
    resume: EarlierImportance | None = None,
) -> Importance:
    """Answer :func:`milp_verix.importance`, which describes the arguments."""
    chosen, scores = index_named(index), _scores(beside, problem)
    search.require_only("importance", "the importance")
    request = Request.now(problem, search)
    earlier = None if resume is None else earlier_importance(resume, problem)
    with opened(request) as given:
        run = ImportanceSearch(*given, np.inf, chosen, scores, earlier)
        return run.run(progress, snapshots)


def _scores(given: ArrayLike | None, problem: ProblemData) -> tuple[float, ...] | None:
    """Return the score of each feature; scores of coordinates add up."""
    if given is None:
        return None
    features, coordinates = problem.features, problem.x.size
    given = values_by_label(given, problem.labels_for(given), "beside")
    with refusing("beside has a number for each feature", TypeError, ValueError):
        scores = np.asarray(given, dtype=np.float64).reshape(-1)
    if scores.size not in (features.count, coordinates) or not np.isfinite(scores).all():
        raise InputError(
            f"beside has a finite number for each of {counted(features.count, 'feature')}, got "
            f"{counted(scores.size, 'number')}"
        )
    if scores.size != features.count:
        scores = features.totals(scores[None])[0]
    return tuple(scores.tolist())


@dataclass(eq=False)
class ImportanceSearch(Marco[Importance]):
    """The enumeration of sets, as brackets of an ``index``; it goes on from an ``earlier`` one."""

    index: IndexName
    beside: tuple[float, ...] | None
    earlier: EarlierGame | None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._notes: tuple[str, ...] = ()

    def _search(self) -> None:
        if self.earlier is not None:
            self._go_on(self.earlier)
        super()._search()

    def _go_on(self, earlier: EarlierGame) -> None:
        for found in earlier.changing:
            learnt = self.subsets.learn(found)
            if learnt.violated:
                self._exclude(learnt)
        again = 0
        for explanation in map(frozenset, earlier.result.sufficient):
            if self.subsets.late():
                raise OutOfTimeError
            if self.subsets.check(self.subsets.everything - explanation).holds:
                self._exclude_around(explanation)
                again += 1
        proven = f"{again} of {counted(len(earlier.result.sufficient), 'set')}"
        self._notes = (f"{proven} by an earlier run of {earlier.author} were proven again",)
        self.tell()

    def _snapshot(self) -> Callable[[], Importance]:
        subsets = self.subsets
        changing = [
            (tuple(sorted(subsets.changed(one))), counterfactual_of(one))
            for one in subsets.contrasts.values()
        ]
        return partial(
            Importance,
            index=self.index,
            sufficient=_by_size(subsets.sufficient),
            contrasts=_contrasts(changing),
            complete=self._complete,
            beside=self.beside,
            unknown_reason=None if self._complete else self.stopped or self._doubted,
            **fields_of(subsets.oracle, self.request.elapsed, self.stopped, notes=self._notes),
        )


def _by_size(sets: Iterable[FeatureSet]) -> tuple[FeatureSet, ...]:
    return tuple(sorted(sets, key=lambda one: (len(one), one)))


def _contrasts(found: Iterable[tuple[FeatureSet, Counterfactual]]) -> tuple[Contrast, ...]:
    inorder = sorted(found, key=lambda one: (len(one[0]), one[0]))
    return tuple(Contrast(features, point) for features, point in inorder)


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
