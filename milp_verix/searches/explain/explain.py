"""Explain a prediction: an order, the VeriX loop over the oracle, and the result.

The search for an explanation at one radius: an order, the VeriX loop, the result so far.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from milp_verix.base.clock import Deadline, OutOfTimeError, elapsed_work
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.statistics import StageStatistics
from milp_verix.oracle.verdict import Stage
from milp_verix.oracle.whole_ball import WholeBall
from milp_verix.problem.options import OrderLike
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.build import counterfactual_of
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.searches.explain.order import Order, OrderMaker, resolve_order, without_order
from milp_verix.searches.explain.resume import resumption
from milp_verix.searches.explain.strategies import resolve_strategy
from milp_verix.searches.explain.traversal import Traversal, Walk, traverse
from milp_verix.searches.lower_bounds.needed import disjoint_contrasts, needed_features
from milp_verix.searches.runner import AnytimeSearch, fields_of
from verix_encodings.work import worked

# of the work so far, and of the time left, for a bound on what is needed; not measured
_BRACKET = 0.1
_LEAST_BRACKET = 1.0  # seconds of work


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an explanation: features checked, features in all, features not freed.

    ``activity`` is what goes on now, such as ``"checking 12 features"``, with the stage where
    CROWN's bounds leave them open (``"… by trees of phases"``), empty after a decision.
    ``snapshot()`` returns the sound explanation so far; it may be called at any time, in any
    thread.
    """

    done: int
    total: int
    explanation_size: int
    activity: str
    snapshot: Callable[[], Explanation] = field(repr=False)


@dataclass(eq=False)
class ExplainSearch(AnytimeSearch[Progress, Explanation]):
    """The walk through the features of one problem by the traversal ``strategy``.

    ``order`` and ``walked``, with features decided elsewhere, serve until ``order_by`` has made
    the order; it is None from then on, or from the start.
    """

    oracle: Oracle
    request: Request
    strategy: str
    order: Order
    walked: Traversal
    order_by: OrderMaker | None

    def _search(self) -> None:
        if not self.walked.remaining:
            return
        request, deadline = self.request, self.request.deadline
        whole = self.oracle.prepare(deadline)
        if self.order_by is not None:
            self.order = self.order_by(deadline, whole)
            self.walked = Traversal(self.order.permutation, self.walked.irrelevant)
            self.order_by = None
        limit, tell, show = request.check_limit, self.tell, self.show
        began = worked()
        until = deadline.leaving(_BRACKET)
        walk = Walk(self.oracle, self.walked, until, limit, tell, on_activity=show)
        late: OutOfTimeError | None = None
        try:
            traverse(walk, resolve_strategy(self.strategy))
        except OutOfTimeError as error:
            late = error
        self._bracket(deadline.within(max(_LEAST_BRACKET, _BRACKET * elapsed_work(began))))
        if late is not None:
            raise late

    def _bracket(self, deadline: Deadline) -> None:
        """Bound the size of every explanation from below, if this one has undecided features."""
        walked, problem = self.walked, self.request.problem
        known = [*walked.violated.values()]
        if not (walked.undecided or walked.remaining):
            walked.needed = disjoint_contrasts(problem, known)
            return
        walked.activity = "counting the features that are needed"
        self.show()
        session = partial(self.request.open_session, "highs")
        walked.needed = needed_features(
            problem,
            known,
            session,
            most=walked.explanation_size + len(walked.remaining),
            tolerances=self.request.tolerances,
            deadline=deadline,
        )
        walked.activity = ""

    def _state(self) -> Progress:
        now, total = self.walked, len(self.walked.order)
        return Progress(now.done, total, now.explanation_size, now.activity, self._snapshot())

    def _snapshot(self) -> Callable[[], Explanation]:
        state = replace(self.walked.copy(), stopped=self.stopped)
        if self.stopped is not None and self.order_by is not None and self.oracle.proven:
            # Ctrl-C came while the order was made: the bounds before it decide all features
            state.irrelevant.extend(state.remaining)
        return partial(self._explanation, self.order, state)

    def result(self) -> Explanation:
        """Return the explanation; counterfactuals of described inputs have few, small changes."""
        found, request = self._snapshot()(), self.request
        return with_plain_counterfactuals(found, request.problem, request.deadline)

    def _explanation(self, order: Order, state: Traversal) -> Explanation:
        spent = self.request.elapsed
        return explanation_of(order, state, self.oracle, spent, traversal=self.strategy)


def explanation_of(
    order: Order, walked: Traversal, oracle: Oracle, seconds: float, *, traversal: str | None = None
) -> Explanation:
    """Return the explanation of a traversal by its name, finished or not."""
    never_checked = walked.stopped or "not checked yet"
    unknown = {**walked.undecided, **dict.fromkeys(walked.remaining, never_checked)}
    fields = fields_of(oracle, seconds, walked.stopped, notes=order.notes)
    fields["statistics"] = replace(
        fields["statistics"],
        flips=walked.decided[Stage.POINTS],
        stages=tuple(
            StageStatistics(stage.value, walked.decided[stage], spent)
            for stage, spent in zip(Stage, oracle.effort.stages, strict=True)
        ),
    )
    return Explanation(
        **fields,
        order=order.name,
        permutation=order.permutation,
        sensitivity=None if order.sensitivity is None else tuple(order.sensitivity.tolist()),
        explanation=tuple(sorted([*walked.violated, *unknown])),
        irrelevant=tuple(sorted(walked.irrelevant)),
        unknown_reasons=unknown,
        counterfactuals={
            feature: counterfactual_of(verdict)
            for feature, verdict in sorted(walked.violated.items())
        },
        traversal=traversal,
        needed=walked.needed,
        bounds=oracle.bounds,
        formulation=oracle.formulation.name,
    )


def explain_problem(
    problem: PosedProblem,
    *,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[Progress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: EarlierResult | None = None,
) -> Explanation:
    """Find a locally minimal set of features that, when fixed, keeps the prediction at ``x``.

    The VeriX method (Wu, Wu, Barrett, NeurIPS 2023, Algorithm 1): features are freed one by one in
    a traversal order, each for good if the prediction provably survives. Ctrl-C and the time limit
    return the sound explanation so far, with the features not yet decided in ``unknown``.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    resolve_strategy(traversal)  # an unknown one is refused before a solver is opened
    request = Request.now(problem, search)
    earlier = None if resume is None else earlier_explanation(resume, problem)
    order_by = resolve_order(problem, order, transformation=transformation, seed=search.seed)
    with Oracle(problem, search) as oracle:
        begun = resumption(earlier, oracle, request.deadline, request.check_limit)
        chosen, walked, make = begun.order, begun.traversal, None
        if walked is None:
            why = f"the run ended before the order {order!r} was known"
            chosen = without_order(problem.features.count, why)
            walked, make = Traversal(chosen.permutation), _noted(order_by, begun.order.notes)
        run = ExplainSearch(oracle, request, traversal, chosen, walked, make)
        return run.run(progress, snapshots).of(problem)


def _noted(order_by: OrderMaker, notes: tuple[str, ...]) -> OrderMaker:
    """Return ``order_by`` with further notes for readers of the result."""

    def made(deadline: Deadline, whole: WholeBall | None) -> Order:
        order = order_by(deadline, whole)
        return replace(order, notes=notes + order.notes)

    return made
