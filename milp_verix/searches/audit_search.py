"""The audit of an explanation by any tool: sound or not, minimal or not, each proven or witnessed.

Let ``A`` be the set of features that some tool calls an explanation, and ``B`` all other features.
``A`` is sound if ``check(B)`` holds. If so, Algorithm 1 goes on from ``B`` through the features of
``A``: it frees those that are not needed, and finds a counterfactual for each other. If not, it
goes through the features of ``B`` with ``A`` fixed: those that it cannot free complete ``A``. A
counterfactual found on the way changes features of ``B`` alone, so it refutes ``A``, too; and if
all of ``B`` is freed, ``A`` is sound after all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import ceil, isfinite
from typing import TypeAlias

from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import TIME_LIMIT, Answer, Verdict
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import USUAL, OrderLike, Request, Search
from milp_verix.results.audit import Audit, Minimum
from milp_verix.results.build import counterfactual_of
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.searches.feature_sets import FeatureSetLike, feature_set
from milp_verix.searches.minimum.smallest import minimum_of
from milp_verix.searches.order import Order, OrderMaker, resolve_order
from milp_verix.searches.runner import AnytimeSearch, fields_of
from milp_verix.searches.strategies import Strategy, Traversal, Walk, resolve_strategy, traverse

SmallestSets: TypeAlias = tuple[Minimum | None, Minimum | None, str | None]
"""The smallest sound set, the smallest one with the audited features, the reason of an early end.

None stands for a set that there was no time for, or that is not sought, and for no early end.
"""

_ROUNDING = 1e-6  # of a lower bound, before it is rounded up to whole features


def smallest_sets(request: Request, known: Audit) -> SmallestSets:
    """Search the smallest sound sets beside the one in ``known``.

    The second set is sought where the audited one is not known to be sound; a sound set has itself.
    """
    given, deadline = request.search, request.deadline
    search = Search(
        solver=given.solver,
        threads=given.threads,
        tolerances=given.tolerances,
        time_limit=deadline if isfinite(deadline.at) else None,
        check_time_limit=given.check_time_limit,
        memory=given.memory,
    )
    found: list[Minimum | None] = []
    stopped: str | None = None
    sought: list[tuple[int, ...]] = [()] if known.sound else [(), known.explanation]
    for must in sought:
        if stopped is not None or deadline.passed():
            found.append(None)
            stopped = stopped or TIME_LIMIT
            continue
        best = minimum_of(request.problem, must=must, search=search)
        stopped = best.statistics.stopped
        smaller = min(best.explanation, known.sound_set, key=len)
        found.append(Minimum(smaller, ceil((best.lower_bound or 0) - _ROUNDING)))
    return found[0], found[1] if len(found) > 1 else None, stopped


ROUNDED = "rounding in onnxruntime exceeds the margin"
_PROVEN = Verdict(Answer.HOLDS)
_FIRST_SHARE = 0.5
"""Share of the work of a limited time that the check of soundness may take."""


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """Progress of an audit: what is known of soundness, and the features tried since.

    ``sound`` is None until it is known. ``done`` of ``total`` features were tried: features of a
    sound explanation that may be left out, else features that may complete it; ``kept`` of them
    are needed or undecided. ``activity`` is what goes on now. ``snapshot()`` returns the result so
    far; it may be called at any time, in any thread.
    """

    sound: bool | None
    done: int
    total: int
    kept: int
    activity: str
    snapshot: Callable[[], Audit] = field(repr=False)


@dataclass(eq=False)
class AuditSearch(AnytimeSearch[AuditProgress, Audit]):
    """The audit of the features ``audited``: a check of soundness, then one traversal or two.

    Without ``strategy`` soundness alone is asked for. ``minimum`` asks for the smallest sound sets.
    """

    oracle: Oracle
    request: Request
    audited: tuple[int, ...]
    strategy: Strategy | None
    order_by: OrderMaker
    minimum: bool

    def __post_init__(self) -> None:
        self._others = _others(self.audited, self.request.problem.features.count)
        self._verdict = Verdict(Answer.UNKNOWN, reason="not checked yet")
        self._tried = Traversal(self._others)
        self._order: Order | None = None
        self._found: SmallestSets = (None, None, None)

    def _search(self) -> None:
        """Decide soundness; complete a set that is not sound, leave features out of a sound one."""
        self.show()
        deadline = self.request.deadline
        until = deadline.share(_FIRST_SHARE).limited(self.request.check_limit)
        free = self.request.problem.features.coordinates(self._others)
        self._verdict = self.oracle.check(free, until)
        self.tell()
        if self.strategy is None:
            self._tried = self._untried() if self._verdict.holds else self._tried
            self._tried.stopped = "not asked for"
        else:
            if not self._verdict.holds:
                self._go_through(self._others, (), self.strategy)
                judged = self._judged(self._verdict, self._tried)
                self._verdict = judged if judged.holds else self._verdict
            if self._verdict.holds:
                self._go_through(self.audited, self._others, self.strategy)
        if self.minimum:
            self._found = smallest_sets(self.request, self._snapshot()())
            self.stopped = self._found[-1]

    def _state(self) -> AuditProgress:
        state = self._tried
        answer = self._judged(self._verdict, state).answer
        sound = {Answer.HOLDS: True, Answer.VIOLATED: False}.get(answer)
        total, kept = len(state.order), state.explanation_size
        done = total - len(state.remaining)
        return AuditProgress(sound, done, total, kept, state.activity, self._snapshot())

    def _snapshot(self) -> Callable[[], Audit]:
        return partial(self._result, self._tried.copy(), self._verdict)

    def result(self) -> Audit:
        """Return the result; its counterfactuals have few, small changes."""
        found, request = self._snapshot()(), self.request
        return with_plain_counterfactuals(found, request.problem, request.deadline)

    def _go_through(
        self, features: tuple[int, ...], irrelevant: tuple[int, ...], strategy: Strategy
    ) -> None:
        """Try to free ``features``, one after the other, beside those that are ``irrelevant``."""
        deadline, limit = self.request.deadline, self.request.check_limit
        if self._order is None:
            self._order = self.order_by(deadline, self.oracle.prepare(deadline))
        within = {*features}
        in_order = tuple(f for f in self._order.permutation if f in within)
        self._tried = Traversal(in_order, irrelevant=[*irrelevant])
        tell, show = self.tell, self.show
        walk = Walk(self.oracle, self._tried, deadline, limit, tell, on_activity=show)
        traverse(walk, strategy)

    def _untried(self) -> Traversal:
        """Return the traversal of a sound set before any feature of it is tried."""
        return Traversal(self.audited, irrelevant=[*self._others])

    def _judged(self, verdict: Verdict, state: Traversal) -> Verdict:
        """Return the verdict on soundness, from the check and from the features tried since."""
        if verdict.holds:
            return verdict
        if self._others and len(state.irrelevant) == len(self._others):
            # onnxruntime may round across a margin that is below zero in real arithmetic
            return Verdict(Answer.UNKNOWN, reason=ROUNDED) if verdict.violated else _PROVEN
        if verdict.answer is Answer.UNKNOWN and state.violated:
            return next(iter(state.violated.values()))
        return verdict

    def _result(self, state: Traversal, verdict: Verdict) -> Audit:
        oracle, count = self.oracle, self.request.problem.features.count
        verdict = self._judged(verdict, state)
        if verdict.holds and {*state.order} != {*self.audited}:
            state = self._untried()
        never = self.stopped or state.stopped or "not checked yet"
        notes = () if self._order is None else self._order.notes
        minimum, completion, _ = self._found
        return Audit(
            **fields_of(oracle, self.request.elapsed, self.stopped, notes=notes),
            explanation=self.audited,
            answer=verdict.answer,
            bound=verdict.bound,
            counterexample=counterfactual_of(verdict) if verdict.violated else None,
            unknown_reason=verdict.reason if verdict.answer is Answer.UNKNOWN else None,
            sound_set=_others(tuple(state.irrelevant), count),
            unknown_reasons={**state.undecided, **dict.fromkeys(state.remaining, never)},
            counterfactuals={
                feature: counterfactual_of(found)
                for feature, found in sorted(state.violated.items())
            },
            minimum=minimum,
            completion=completion,
        )


def _others(features: tuple[int, ...], count: int) -> tuple[int, ...]:
    inside = {*features}
    return tuple(feature for feature in range(count) if feature not in inside)


def audit_of(
    problem: ProblemData,
    explanation: FeatureSetLike,
    *,
    sound_only: bool = False,
    minimum: bool = False,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[AuditProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Audit]], None] | None = None,
) -> Audit:
    """Answer :func:`milp_verix.audit`, which describes the arguments."""
    request = Request.now(problem, search)
    audited = feature_set(explanation, problem)
    strategy = resolve_strategy(traversal)
    order_by = resolve_order(problem, order, transformation=transformation, seed=search.seed)
    wanted = None if sound_only else strategy
    with Oracle(problem, search) as oracle:
        run = AuditSearch(oracle, request, audited, wanted, order_by, minimum)
        return run.run(progress, snapshots)
