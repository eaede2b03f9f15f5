"""The search for an explanation at one radius: an order, the VeriX loop, the result so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.request import Request
from milp_verix.records.statistics import StageStatistics
from milp_verix.records.verdict import Stage
from milp_verix.results.build import counterfactual_of
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.results.public import Explanation
from milp_verix.runner import AnytimeSearch, fields_of
from milp_verix.traversal.order import Order, OrderMaker
from milp_verix.traversal.strategies import resolve_strategy
from milp_verix.traversal.traversal import Traversal, Walk, traverse


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an explanation: features checked, features in all, features not freed.

    ``activity`` is what goes on now, such as ``"checking 12 features"``, empty after a decision.
    ``snapshot()`` returns the sound explanation so far; it may be called at any time, in any
    thread.
    """

    done: int
    total: int
    explanation_size: int
    activity: str
    snapshot: Callable[[], Explanation]


class ExplainSearch(AnytimeSearch[Progress, Explanation]):
    """The walk through the features of one problem by the traversal ``strategy``.

    ``order`` serves until that of ``order_by`` is known. The features ``irrelevant`` are proven to
    be free before the first check.
    """

    def __init__(
        self,
        oracle: Oracle,
        request: Request,
        strategy: str,
        *,
        order: Order,
        order_by: OrderMaker,
        irrelevant: Sequence[int] = (),
        progress: Callable[[Progress], None] | None,
        snapshots: Callable[[Callable[[], Explanation]], None] | None,
    ) -> None:
        super().__init__(progress, snapshots)
        self._oracle, self._request, self._strategy = oracle, request, strategy
        self._order, self._order_by = order, order_by
        self._walked = Traversal(order.permutation, [*irrelevant])
        self._known = False

    def go_on(self, order: Order, traversal: Traversal) -> None:
        """Go on from the ``traversal`` of an earlier search, in its ``order``."""
        self._order, self._walked, self._known = order, traversal, True

    def search(self) -> None:
        """Make the order, and decide the features that remain."""
        if not self._walked.remaining:
            return
        request, deadline = self._request, self._request.deadline
        whole = self._oracle.prepare(deadline)
        if not self._known:
            self._order = self._order_by(deadline, whole)
            self._walked = Traversal(self._order.permutation, self._walked.irrelevant)
        limit, tell, show = request.check_limit, self.tell, self.show
        walk = Walk(self._oracle, self._walked, deadline, limit, tell, on_activity=show)
        traverse(walk, resolve_strategy(self._strategy))

    def state(self) -> Progress:
        """Return the progress, with a snapshot."""
        now = self._walked
        size, total = now.explanation_size, len(now.order)
        return Progress(now.done, total, size, now.activity, self.snapshot())

    def snapshot(self) -> Callable[[], Explanation]:
        """Return a function that builds the explanation of the features decided so far."""
        state = replace(self._walked.copy(), stopped=self.stopped)
        if self.stopped is not None and self._oracle.proven:
            state.irrelevant.extend(state.remaining)
        return partial(self._explanation, self._order, state)

    def result(self) -> Explanation:
        """Return the explanation; counterfactuals of described inputs have few, small changes."""
        return with_plain_counterfactuals(self.snapshot()(), self._request.problem)

    def _explanation(self, order: Order, state: Traversal) -> Explanation:
        found = explanation_of(order, state, self._oracle, self._request.elapsed)
        return replace(found, traversal=self._strategy)


def explanation_of(
    order: Order, traversal: Traversal, oracle: Oracle, seconds: float
) -> Explanation:
    """Return the explanation of a traversal, finished or not."""
    never_checked = traversal.stopped or "not checked yet"
    unknown = {**traversal.undecided, **dict.fromkeys(traversal.remaining, never_checked)}
    fields = fields_of(oracle, seconds, traversal.stopped, notes=order.notes)
    fields["statistics"] = replace(
        fields["statistics"],
        flips=traversal.decided[Stage.POINTS],
        stages=tuple(
            StageStatistics(stage.value, traversal.decided[stage], spent)
            for stage, spent in zip(Stage, oracle.effort.stages, strict=True)
        ),
    )
    return Explanation(
        **fields,
        order=order.name,
        permutation=order.permutation,
        sensitivity=None if order.sensitivity is None else tuple(order.sensitivity.tolist()),
        explanation=tuple(sorted([*traversal.violated, *unknown])),
        irrelevant=tuple(sorted(traversal.irrelevant)),
        unknown_reasons=unknown,
        counterfactuals={
            feature: counterfactual_of(verdict)
            for feature, verdict in sorted(traversal.violated.items())
        },
        bounds=oracle.bounds,
        formulation=oracle.formulation.name,
    )
