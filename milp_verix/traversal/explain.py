"""Explain a prediction: an order, the VeriX loop over the oracle, and the result."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack

from milp_verix.argument_kinds import checked
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.one_liner import one_liner, parted
from milp_verix.problem.options import Asked, InputLike, Ordering, OrderLike, TraversalOptions
from milp_verix.problem.problem import Problem
from milp_verix.problem.request import Request
from milp_verix.problem.search import USUAL, Search
from milp_verix.records.statistics import INTERRUPTED, StageStatistics
from milp_verix.records.verdict import Stage
from milp_verix.results.build import counterfactual_of, shared_fields, statistics_of
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.results.public import Explanation
from milp_verix.traversal.order import Order, resolve_order, without_order
from milp_verix.traversal.resume import resumption
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


class Explaining(Ordering, total=False):
    """The options of :func:`explain_problem`."""

    progress: Callable[[Progress], None] | None
    snapshots: Callable[[Callable[[], Explanation]], None] | None
    resume: EarlierResult | None


class ExplainAsked(Asked, TraversalOptions, Explaining, total=False):
    """The options of :func:`explain`."""


@checked()
def explain_problem(
    problem: Problem,
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

    Args:
        order: ``"influence"``, ``"adaptive"``, ``"sensitivity"``, ``"bound"``, ``"bound_crown"``,
            ``"margin"``, ``"random"``, ``"sequential"``, or a list of all features; see
            :mod:`milp_verix.traversal.order`.
        transformation: ``"reversal"`` or ``"deletion"``, for the order ``"sensitivity"``.
        traversal: ``"galloping"``, ``"sequential"``, ``"binary"`` or ``"quickxplain"``: which
            checks are asked; the explanation is the same, see ``traversal.strategies``.
        progress: called before each check, and after each decision.
        snapshots: called with a function that returns the sound result so far: at the start, and
            whenever more is known. The function may be called at any time, in any thread.
        resume: an earlier result of the same question, or the path of its JSON, to go on from: its
            decisions and its order are kept. Counterfactuals are run in onnxruntime again, and the
            claim on the irrelevant features is checked again with a slice of the time. Where that
            does not prove it, the run begins anew; Ctrl-C during that check raises
            ``KeyboardInterrupt``. Give the same ``tolerances``: no result has them.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    request = Request.now(problem, search)
    deadline = request.deadline
    strategy = resolve_strategy(traversal)
    earlier = None if resume is None else earlier_explanation(resume, problem)
    order_by = resolve_order(problem, order, transformation=transformation, seed=search.seed)
    chosen = without_order(problem.features.count, order, "the run ended")
    state = Traversal(chosen.permutation)
    with Oracle(problem, search) as oracle:

        def result(state: Traversal) -> Explanation:
            found = explanation_of(problem, chosen, state, oracle, request.elapsed)
            return replace(found, traversal=traversal)

        def on_step(state: Traversal) -> None:
            if snapshots is not None:
                snapshots(partial(result, state.copy()))
            on_activity(state)

        def on_activity(state: Traversal) -> None:
            if progress is not None:
                snapshot = partial(result, state.copy())
                size, whole = state.explanation_size, len(state.order)
                progress(Progress(state.done, whole, size, state.activity, snapshot))

        begun = resumption(earlier, oracle, deadline, request.check_limit)
        if begun.traversal is not None:
            chosen, state = begun.order, begun.traversal
        try:
            if snapshots is not None:
                snapshots(partial(result, state.copy()))
            whole = oracle.prepare(deadline)
            if not state.done:
                chosen = order_by(deadline, whole)
                chosen = replace(chosen, notes=begun.order.notes + chosen.notes)
                state = Traversal(chosen.permutation)
        except KeyboardInterrupt:
            state.stopped = INTERRUPTED
            if oracle.proven:
                state.irrelevant.extend(state.remaining)
            return result(state)
        limit = request.check_limit
        walk = Walk(oracle, state, deadline, limit, on_step, on_activity=on_activity)
        traverse(walk, strategy)
        return with_plain_counterfactuals(result(state), problem)


@one_liner(explain_problem)
def explain(network: NetworkLike, x: InputLike, **asked: Unpack[ExplainAsked]) -> Explanation:
    """Explain the prediction at ``x``: :meth:`milp_verix.Problem.explain` in one call."""
    problem, search, own = parted(network, x, asked, Explaining)
    return explain_problem(problem, search=search, **own)


def explanation_of(
    problem: Problem, order: Order, traversal: Traversal, oracle: Oracle, seconds: float
) -> Explanation:
    """Return the explanation of a traversal, finished or not."""
    effort = traversal.effort
    never_checked = traversal.stopped or "not checked yet"
    unknown = {**traversal.undecided, **dict.fromkeys(traversal.remaining, never_checked)}
    statistics = statistics_of(effort, traversal.checks, seconds, traversal.stopped, oracle.solvers)
    notes = order.notes + oracle.notes
    return Explanation(
        **shared_fields(problem, oracle.solver, oracle.versions, notes),
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
        statistics=replace(
            statistics,
            flips=traversal.decided[Stage.POINTS],
            stages=tuple(
                StageStatistics(stage.value, traversal.decided[stage], spent)
                for stage, spent in zip(Stage, effort.stages, strict=True)
            ),
        ),
        bounds=oracle.bounds,
        formulation=oracle.formulation.name,
    )
