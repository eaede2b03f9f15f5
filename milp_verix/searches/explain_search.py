"""Explain a prediction: an order, the VeriX loop over the oracle, and the result so far.

A traversal goes on from the decisions of an earlier result. Let that run have freed ``B`` and kept
the features ``K``, each with a counterfactual that moves nothing but ``B`` and that feature. The
replay of a counterfactual needs no trust; that ``B`` may be free is one claim. It is checked again
with a slice of time: by bounds, then exactly. If that does not prove it, nothing of that run is
taken over. Features that it left undecided are asked about again, in its order. An uninterrupted
run decides as this one does, since neither ``B`` nor a counterfactual depends on what comes after
it in the order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from milp_verix.base.clock import Deadline, Limit, OutOfTimeError, elapsed_work
from milp_verix.base.number_text import counted
from milp_verix.oracle.ball_bounds import WholeBall
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.reuse import disjoint_contrasts
from milp_verix.oracle.verdict import Stage, StageStatistics, Verdict
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, OrderLike, Request, Search
from milp_verix.results.base import Result
from milp_verix.results.build import counterfactual_of
from milp_verix.results.explanation import Explanation
from milp_verix.results.plain_counterfactuals import (
    plain_counterfactual,
    with_plain_counterfactuals,
)
from milp_verix.searches.order import Order, OrderMaker, furthest, resolve_order, without_order
from milp_verix.searches.runner import AnytimeSearch, fields_of
from milp_verix.searches.strategies import Traversal, Walk, resolve_strategy, traverse
from verix_encodings.work import worked

if TYPE_CHECKING:
    from milp_verix.results.answers import Check
    from milp_verix.results.earlier import Earlier, EarlierResult

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

    ``order`` and ``traversed``, with features decided elsewhere, serve until ``order_by`` has made
    the order; it is None from then on, or from the start. With ``tries`` other orders are tried
    where many neurons are undecided.
    """

    oracle: Oracle
    request: Request
    strategy: str
    order: Order
    traversed: Traversal
    order_by: OrderMaker | None
    tries: bool = False

    def _search(self) -> None:
        if not self.traversed.remaining:
            return
        request, deadline = self.request, self.request.deadline
        whole = self.oracle.prepare(deadline)
        if self.order_by is not None:
            self.order = self.order_by(deadline, whole)
            if self.tries and self.oracle.many_open:
                self.order = furthest(request.problem, deadline, whole, self.order)
            self.traversed = Traversal(self.order.permutation, self.traversed.irrelevant)
            self.order_by = None
        limit, tell, show = request.check_limit, self.tell, self.show
        began = worked()
        until = deadline.leaving(_BRACKET)
        walk = Walk(self.oracle, self.traversed, until, limit, tell, on_activity=show)
        late: OutOfTimeError | None = None
        try:
            traverse(walk, resolve_strategy(self.strategy))
        except OutOfTimeError as error:
            late = error
        left = deadline.within(max(_LEAST_BRACKET, _BRACKET * elapsed_work(began)))
        replace(walk, deadline=left).settle_known(self._bracket(left))
        if late is not None:
            raise late

    def _bracket(self, deadline: Deadline) -> list[Verdict]:
        """Bound the size of every explanation from below, if this one has undecided features.

        Returns the counterfactuals found on the way.
        """
        traversed, problem = self.traversed, self.request.problem
        known = [*traversed.violated.values()]
        if not (traversed.undecided or traversed.remaining):
            traversed.needed = disjoint_contrasts(problem, known)
            return []
        from milp_verix.searches.budget_bound import needed_features

        traversed.activity = "counting the features that are needed"
        self.show()
        session = partial(self.request.open_session, "highs")
        traversed.needed, found = needed_features(
            problem,
            known,
            session,
            most=traversed.explanation_size + len(traversed.remaining),
            tolerances=self.request.tolerances,
            deadline=deadline,
        )
        traversed.activity = ""
        return found

    def _state(self) -> Progress:
        now, total = self.traversed, len(self.traversed.order)
        return Progress(now.done, total, now.explanation_size, now.activity, self._snapshot())

    def _snapshot(self) -> Callable[[], Explanation]:
        state = replace(self.traversed.copy(), stopped=self.stopped)
        if self.stopped is not None and self.order_by is not None and self.oracle.proven:
            # Ctrl-C came while the order was made: the bounds before it decide all features
            state.irrelevant.extend(state.remaining)
        order = self.order

        def build() -> Explanation:
            spent = self.request.elapsed
            return explanation_of(order, state, self.oracle, spent, traversal=self.strategy)

        return build

    def result(self) -> Explanation:
        """Return the explanation; counterfactuals of described inputs have few, small changes."""
        found, request = self._snapshot()(), self.request
        return with_plain_counterfactuals(found, request.problem, request.deadline)


def explanation_of(
    order: Order,
    traversed: Traversal,
    oracle: Oracle,
    seconds: float,
    *,
    traversal: str | None = None,
) -> Explanation:
    """Return the explanation of a traversal by its name, finished or not."""
    never_checked = traversed.stopped or "not checked yet"
    unknown = {**traversed.undecided, **dict.fromkeys(traversed.remaining, never_checked)}
    fields = fields_of(oracle, seconds, traversed.stopped, notes=order.notes)
    fields["statistics"] = replace(
        fields["statistics"],
        flips=traversed.decided[Stage.POINTS],
        stages=tuple(
            StageStatistics(stage.value, traversed.decided[stage], spent)
            for stage, spent in zip(Stage, oracle.effort.stages, strict=True)
        ),
    )
    return Explanation(
        **fields,
        order=order.name,
        permutation=order.permutation,
        sensitivity=None if order.sensitivity is None else tuple(order.sensitivity.tolist()),
        explanation=tuple(sorted([*traversed.violated, *unknown])),
        irrelevant=tuple(sorted(traversed.irrelevant)),
        unknown_reasons=unknown,
        counterfactuals={
            feature: counterfactual_of(verdict)
            for feature, verdict in sorted(traversed.violated.items())
        },
        traversal=traversal,
        needed=traversed.needed,
        bounds=oracle.bounds,
        formulation=oracle.formulation.name,
    )


def explain_problem(
    problem: ProblemData,
    *,
    order: OrderLike = "auto",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[Progress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: "EarlierResult | None" = None,
) -> Explanation:
    """Answer :func:`milp_verix.explain`, which describes the arguments."""
    resolve_strategy(traversal)  # an unknown one is refused before a solver is opened
    request = Request.now(problem, search)
    earlier = None
    if resume is not None:
        from milp_verix.results.earlier import earlier_explanation

        earlier = earlier_explanation(resume, problem)
    order_by = resolve_order(problem, order, transformation=transformation, seed=search.seed)

    def noted(deadline: Deadline, whole: WholeBall | None) -> Order:
        made = order_by(deadline, whole)
        return replace(made, notes=chosen.notes + made.notes)

    with Oracle(problem, search) as oracle:
        traversed, chosen = resumption(earlier, oracle, request.deadline, request.check_limit)
        first, make = chosen, None
        if traversed is None:
            why = f"the run ended before the order {order!r} was known"
            first = without_order(problem.features.count, why)
            traversed, make = Traversal(first.permutation), noted
        tries = isinstance(order, str) and order == "auto"
        run = ExplainSearch(oracle, request, traversal, first, traversed, make, tries)
        return run.run(progress, snapshots).of(problem)


_SHARE, _LEAST = 0.25, 1.0
"""The share of the work left that the check of the earlier claim may take, and its least seconds.

It takes no more than the seconds of the earlier run amount to, which are a part of the question: to
begin anew would be faster.
"""


def resumption(
    earlier: "Earlier | None",
    oracle: Oracle,
    deadline: Deadline,
    most: Limit,
    must: Sequence[int] = (),
) -> tuple[Traversal | None, Order]:
    """Return how to go on from ``earlier``, checked within ``most``, through all but ``must``.

    The traversal is None to begin anew; the order has notes for the result.
    """
    if earlier is None:
        return None, Order("", ())
    order = tuple(f for f in earlier.result.permutation if f not in must)
    freed = set(earlier.result.irrelevant)
    state = Traversal(order, irrelevant=[f for f in order if f in freed])
    state.violated = {f: v for f, v in earlier.counterfactuals.items() if f not in must}
    if not state.irrelevant:
        return state if state.violated else None, _order_of(earlier.result)
    took = earlier.result.statistics.seconds
    work = max(min(_SHARE * deadline.left, took), _LEAST)
    until = deadline.limited(most).within(work)
    oracle.prepare(deadline)
    # checks begin at points that the counterfactuals suggest
    free = oracle.problem.features.coordinates(earlier.result.irrelevant)
    inputs = np.tile(oracle.problem.x.astype(np.float64), (len(earlier.counterfactuals) + 1, 1))
    for row, found in enumerate(earlier.counterfactuals.values()):
        inputs[row, free] = found.point[free]
    oracle.suppose(free, inputs.T, deadline)
    verdict = oracle.check(free, until)
    claim = f"the claim on {counted(len(state.irrelevant), 'irrelevant feature')}"
    author = f"an earlier run of {earlier.author}"
    if verdict.holds:
        return state, _order_of(earlier.result, f"{claim} of {author} was proven again")
    oracle.forget(deadline)
    why = "was refuted" if verdict.violated else "could not be proven again in time"
    note = f"{claim} of {author} {why}: this run began anew"
    return None, _order_of(earlier.result, note)


def _order_of(result: Explanation, *notes: str) -> Order:
    scores = None if result.sensitivity is None else np.array(result.sensitivity)
    return Order(result.order, result.permutation, scores, notes)


def check_problem(
    problem: ProblemData, free: Sequence[int | str], *, search: Search = USUAL
) -> "Check":
    """Answer :func:`milp_verix.check`, which describes the arguments."""
    search.require_only("check", "a check")
    request = Request.now(problem, search)
    chosen = features_in(free, problem, "free")
    coordinates = problem.features.coordinates(chosen)
    with Oracle(problem, search) as oracle:
        verdict = oracle.check(coordinates, request.deadline.limited(request.check_limit))
        values = {one.name: getattr(verdict, one.name) for one in fields(Verdict)}
        if verdict.violated:
            plain = plain_counterfactual(problem, counterfactual_of(verdict), request.deadline)
            values |= {"witness": plain.input, "prediction": plain.prediction, "rival": plain.rival}
        from milp_verix.results.answers import Check

        about = Result(**fields_of(oracle, request.elapsed, None))
        return Check(**values, about=about, free=tuple(chosen))
