"""The search of an audit: sound or not, minimal or not, each with a proof or a witness.

Let ``A`` be the set of features that some tool calls an explanation, and ``B`` all other features.
``A`` is sound if ``check(B)`` holds. If so, Algorithm 1 goes on from ``B`` through the features of
``A``: it frees those that are not needed, and finds a counterfactual for each other. If not, it
goes through the features of ``B`` with ``A`` fixed: those that it cannot free complete ``A``. A
counterfactual found on the way changes features of ``B`` alone, so it refutes ``A``, too; and if
all of ``B`` is freed, ``A`` is sound after all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.request import Request
from milp_verix.results.build import counterfactual_of, shared_fields, statistics_of
from milp_verix.results.public import Audit
from milp_verix.results.records.audit import Minimum
from milp_verix.results.records.verdict import Answer, Effort, Verdict
from milp_verix.traversal.order import Order, OrderMaker
from milp_verix.traversal.traversal import Strategy, Traversal, Walk, traverse

NOT_ASKED = "not asked for"
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
    snapshot: Callable[[], Audit]


class AuditSearch:
    """The state of an audit of the features ``audited``, and its steps.

    ``verdict`` is that of the check of soundness, ``state`` is the traversal of the features tried
    last. ``stopped`` names the reason of an early end.
    """

    def __init__(
        self,
        oracle: Oracle,
        request: Request,
        audited: tuple[int, ...],
        strategy: Strategy,
        order_by: OrderMaker,
        *,
        progress: Callable[[AuditProgress], None] | None,
        snapshots: Callable[[Callable[[], Audit]], None] | None,
    ) -> None:
        self.audited = audited
        self.others = _others(audited, request.problem.features.count)
        self.verdict = Verdict(Answer.UNKNOWN, reason="not checked yet")
        self.state = Traversal(self.others)
        self.stopped: str | None = None
        self.minimum: Minimum | None = None
        self.completion: Minimum | None = None
        self._oracle, self._request = oracle, request
        self._strategy, self._order_by = strategy, order_by
        self._order: Order | None = None
        self._effort, self._checks = Effort(), 0
        self._progress, self._snapshots = progress, snapshots

    def decide_soundness(self) -> None:
        """Ask one check about all other features."""
        self._on_step(self.state)
        deadline = self._request.deadline
        until = deadline.share(_FIRST_SHARE).limited(self._request.check_limit)
        free = self._request.problem.features.coordinates(self.others)
        self.verdict = self._oracle.check(free, until)
        self._effort, self._checks = self.verdict.effort, 1
        self._on_step(self.state)

    def leave_out_the_rest(self) -> None:
        """Say that no features are tried."""
        if self.verdict.holds:
            self.state = self._untried()
        self.state.stopped = NOT_ASKED

    def try_features(self) -> None:
        """Complete a set that is not known to be sound; leave features out of a sound one."""
        if not self.verdict.holds:
            self._go_through(self.others, ())
            judged = self._judged(self.verdict, self.state)
            if judged.holds:
                self.verdict = judged
        if self.verdict.holds and self.stopped is None:
            self._go_through(self.audited, self.others)

    def result(self) -> Audit:
        """Return the result so far."""
        return self._result(self.state.copy(), self.verdict)

    def _go_through(self, features: tuple[int, ...], irrelevant: tuple[int, ...]) -> None:
        """Try to free ``features``, one after the other, beside those that are ``irrelevant``."""
        deadline = self._request.deadline
        if self._order is None:
            self._order = self._order_by(deadline, self._oracle.prepare(deadline))
        self._effort += self.state.effort
        self._checks += self.state.checks
        within = {*features}
        in_order = tuple(f for f in self._order.permutation if f in within)
        self.state = Traversal(in_order, irrelevant=[*irrelevant])
        limit, tell = self._request.check_limit, self._on_activity
        walk = Walk(self._oracle, self.state, deadline, limit, self._on_step, on_activity=tell)
        traverse(walk, self._strategy)
        self.stopped = self.state.stopped

    def _on_step(self, state: Traversal) -> None:
        if self._snapshots is not None:
            self._snapshots(partial(self._result, state.copy(), self.verdict))
        self._on_activity(state)

    def _on_activity(self, state: Traversal) -> None:
        if self._progress is not None:
            snapshot = partial(self._result, state.copy(), self.verdict)
            answer = self._judged(self.verdict, state).answer
            sound = {Answer.HOLDS: True, Answer.VIOLATED: False}.get(answer)
            total = len(state.order)
            done, kept = total - len(state.remaining), state.explanation_size
            self._progress(AuditProgress(sound, done, total, kept, state.activity, snapshot))

    def _untried(self) -> Traversal:
        """Return the traversal of a sound set before any feature of it is tried."""
        return Traversal(self.audited, irrelevant=[*self.others])

    def _judged(self, verdict: Verdict, state: Traversal) -> Verdict:
        """Return the verdict on soundness, from the check and from the features tried since."""
        if verdict.holds:
            return verdict
        if self.others and len(state.irrelevant) == len(self.others):
            # onnxruntime may round across a margin that is below zero in real arithmetic
            return Verdict(Answer.UNKNOWN, reason=ROUNDED) if verdict.violated else _PROVEN
        if verdict.answer is Answer.UNKNOWN and state.violated:
            return next(iter(state.violated.values()))
        return verdict

    def _result(self, state: Traversal, verdict: Verdict) -> Audit:
        """Return the result of a traversal, finished or not."""
        problem, oracle = self._request.problem, self._oracle
        verdict = self._judged(verdict, state)
        if verdict.holds and {*state.order} != {*self.audited}:
            state = self._untried()
        never = self.stopped or state.stopped or "not checked yet"
        notes = (() if self._order is None else self._order.notes) + oracle.notes
        effort, checks = self._effort + state.effort, self._checks + state.checks
        return Audit(
            **shared_fields(problem, oracle.solver, oracle.versions, notes),
            explanation=self.audited,
            answer=verdict.answer,
            bound=verdict.bound,
            counterexample=counterfactual_of(verdict) if verdict.violated else None,
            unknown_reason=verdict.reason if verdict.answer is Answer.UNKNOWN else None,
            sound_set=_others(tuple(state.irrelevant), problem.features.count),
            unknown_reasons={**state.undecided, **dict.fromkeys(state.remaining, never)},
            counterfactuals={
                feature: counterfactual_of(found)
                for feature, found in sorted(state.violated.items())
            },
            minimum=self.minimum,
            completion=self.completion,
            statistics=statistics_of(
                effort, checks, self._request.elapsed, self.stopped, oracle.solvers
            ),
        )


def _others(features: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the features that are not among ``features``, ascending."""
    inside = {*features}
    return tuple(feature for feature in range(count) if feature not in inside)
