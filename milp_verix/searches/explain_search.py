"""Explain a prediction: an order, the VeriX loop over the oracle, and the result so far.

A traversal goes on from the decisions of an earlier result. Let that run have freed ``B`` and kept
the features ``K``, each with a counterfactual that moves nothing but ``B`` and that feature. The
replay of a counterfactual needs no trust; that ``B`` may be free is one claim. It is checked again
with a slice of time: by bounds, then exactly. If that does not prove it, nothing of that run is
taken over. Features that it left undecided are asked about again, in its order. An uninterrupted
run decides as this one does, since neither ``B`` nor a counterfactual depends on what comes after
it in the order.

Explanations of one prediction at several radii, each set of irrelevant features in the next.

Let ``N_ε(B)`` be the set of all ``x'`` in the domain with ``x' = x`` outside the features ``B`` and
``‖x' − x‖_p ≤ ε``. With the same norm and domain,

    ε' ≤ ε   ⇒   N_ε'(B) ⊆ N_ε(B),

since ``ε`` occurs in no other condition than ``‖x' − x‖_p ≤ ε``. For described inputs it reads
``|x'_i − x_i| ≤ ε_i`` for each ``i``, and the same holds for ``ε' ≤ ε`` in every entry: integrality
and rules are the same conditions at all radii. So features that are irrelevant together at ``ε``
are irrelevant together at ``ε'``. A sweep begins with the largest radius, and each traversal begins
with the irrelevant features of the radius before, without a check. The sets are nested, and each
explanation is locally minimal at its radius: features freed first stay free, and a traversal asks
about all the others. It is the explanation that Algorithm 1 finds for the order in ``permutation``,
which lists these features first and then the others in an order of their own for each radius.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milp_verix.base.arguments import number_in, refuse_file
from milp_verix.base.clock import Deadline, Limit, OutOfTimeError, elapsed_work
from milp_verix.base.errors import InputError, listed, refusing, shown
from milp_verix.base.number_text import counted, exact
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.radii import Epsilon, radii_of
from milp_verix.oracle.ball_bounds import WholeBall
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.reuse import disjoint_contrasts
from milp_verix.oracle.verdict import INTERRUPTED, TIME_LIMIT, Stage, StageStatistics, Verdict
from milp_verix.problem.agreement import require_agreement
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, OrderLike, Request, Search
from milp_verix.results.base import Result
from milp_verix.results.build import counterfactual_of
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.results.plain_counterfactuals import (
    plain_counterfactual,
    with_plain_counterfactuals,
)
from milp_verix.searches.order import Order, OrderMaker, furthest, resolve_order, without_order
from milp_verix.searches.runner import AnytimeSearch, fields_of
from milp_verix.searches.strategies import Traversal, Walk, resolve_strategy, traverse
from milp_verix.views.wording import radius_text
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
            tolerances=self.request.search.tolerances,
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


Radius: TypeAlias = float | tuple[float, ...]
"""The radius of a ball; one for each feature of a described input."""

Snapshots = Callable[[Callable[[], EpsilonSweep]], None]


def sweep_of(
    problem: ProblemData,
    epsilons: Epsilon | Sequence[Epsilon],
    *,
    nested: bool = True,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[Progress], None] | None = None,
    snapshots: Snapshots | None = None,
) -> EpsilonSweep:
    """Answer :func:`milp_verix.epsilon_sweep`, which describes the arguments."""
    inputs = problem.inputs
    radii = _numbers(epsilons) if inputs is None else _vectors(epsilons, inputs)
    request = Request.now(problem.at(radii[0]), search)
    require_agreement(request.problem.network, request.problem.ball)
    resolve_strategy(traversal)  # an unknown one is refused before a solver is opened
    levels: list[Explanation] = []

    def sweep(levels: tuple[Explanation, ...]) -> EpsilonSweep:
        return EpsilonSweep(levels=levels, nested=nested, seconds=request.elapsed)

    def on_step(snapshot: Callable[[], Explanation]) -> None:
        assert snapshots is not None
        before = tuple(levels)
        snapshots(lambda: sweep((*before, snapshot())))

    for place, radius in enumerate(radii):
        here = _at(request, radius, 1 / (len(radii) - place))
        order_by = resolve_order(
            here.problem, order, transformation=transformation, seed=search.seed
        )
        why = f"the run ended before the order {order!r} was known"
        fallback = without_order(here.problem.features.count, why)
        if nested and levels:
            order_by, fallback = _after(levels[-1], order_by), _continued(levels[-1], fallback)
        with Oracle(here.problem, search) as oracle:
            known = levels[-1].irrelevant if nested and levels else ()
            traversed = Traversal(fallback.permutation, [*known])
            run = ExplainSearch(oracle, here, traversal, fallback, traversed, order_by)
            interrupted = levels and levels[-1].statistics.stopped == INTERRUPTED
            if interrupted or (levels and request.deadline.seconds <= 0):
                # the smaller radii get what the larger ones have proven, and no check
                run.stopped = INTERRUPTED if interrupted else TIME_LIMIT
                levels.append(run.result())
            else:
                levels.append(run.run(progress, None if snapshots is None else on_step))
    return sweep(tuple(levels))


def _listed(epsilons: Epsilon | Sequence[Epsilon]) -> list[Any]:
    """Return radii as a list; radii by name and an array with two axes or more are one radius."""
    labels = epsilons.keys() if hasattr(epsilons, "keys") else ()
    named = isinstance(epsilons, str | Mapping) or any(isinstance(one, str) for one in labels)
    if named or not isinstance(epsilons, Iterable) or getattr(epsilons, "ndim", 1) != 1:
        return [epsilons]
    return [*epsilons]


def _vectors(epsilons: Epsilon | Sequence[Epsilon], inputs: Inputs) -> list[Radius]:
    """Return the radii of all features for each entry, the largest first; or ``InputError``."""
    given = _listed(epsilons)
    if not given:
        raise InputError(
            f'epsilons are one radius or more, such as ["1%", "10%", inf]; got {shown(given)}'
        )
    radii = sorted((radii_of(inputs, one, "epsilons") for one in given), reverse=True)
    for larger, smaller in pairwise(radii):
        if larger == smaller:
            raise InputError("epsilons lists the same radius of each feature twice")
        # of ordered radii the larger ones come first in any lexicographic order, too
        over = [n for n, a, b in zip(inputs.names, larger, smaller, strict=True) if b > a]
        if over:
            raise InputError(
                "epsilons are no larger and smaller radii: of two of them, one is larger for "
                f"{over[0]}, the other one for another feature; sweep over radii such as '5%', "
                "'10%', or one set of radii times 1, 2, 3"
            )
    return [*radii]


def _numbers(epsilons: Epsilon | Sequence[Epsilon]) -> list[Radius]:
    """Return the radii, the largest first; ``InputError`` unless they are distinct."""
    given = _listed(epsilons)
    if any(getattr(one, "ndim", isinstance(one, list | tuple)) for one in given):
        raise InputError(
            "epsilons has a radius for each coordinate: pose the problem with such radii, too, as "
            "epsilon="
        )
    for one in given:
        refuse_file(one, "epsilons")
    with refusing(f"epsilons are numbers, got {shown(epsilons)}", TypeError, InputError):
        radii = np.array([number_in(one) for one in given])
    if radii.ndim != 1 or not radii.size:
        raise InputError(f"epsilons are one radius or more, such as [1, 0.1]; got {shown(given)}")
    if np.unique(radii).size != radii.size:
        raise InputError(
            f"epsilons lists a radius twice: {listed([*map(exact, radii.tolist())])}; a radius for "
            "each coordinate is an array in the list"
        )
    if np.min(radii) < 0:
        raise InputError(f"epsilons are not negative, got {exact(np.min(radii))}")
    return [float(radius) for radius in np.sort(radii)[::-1]]


def _at(request: Request, radius: Radius, share: float) -> Request:
    """Return ``request`` at another radius, for a share of the time and the work that are left.

    On a slow machine a share of the work alone may take the seconds of all radii.
    """
    problem, left = request.problem.at(radius), request.deadline
    deadline = left.limited(Limit(share * left.seconds, share * left.left))
    return replace(request, problem=problem, started=time.monotonic(), deadline=deadline)


def _continued(before: Explanation, order: Order) -> Order:
    """Return ``order`` with the irrelevant features of the level ``before`` first."""
    freed = set(before.irrelevant)
    first = [feature for feature in before.permutation if feature in freed]
    permutation = (*first, *(feature for feature in order.permutation if feature not in freed))
    note = (
        f"{counted(len(first), 'feature')} come first in the order, without a check: they are "
        f"irrelevant together at {radius_text(before)}, and so at every smaller radius"
    )
    return replace(order, permutation=permutation, notes=(*order.notes, note))


def _after(before: Explanation, order_by: OrderMaker) -> OrderMaker:
    return lambda deadline, whole: _continued(before, order_by(deadline, whole))
