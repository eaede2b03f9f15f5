"""The smallest explanation there is, with a proof: scenario generation.

A relaxation with finitely many perturbations, the scenarios (``models.scenario``), gives a lower
bound on the cost of every explanation, and a cheapest set of features that survives them. If that
set survives all perturbations it is a minimum explanation. If not, a perturbation that it does not
survive is the next scenario. This is column-and-constraint generation for the two-stage problem
"the fewest features, such that for all perturbations …".

Implicit hitting sets (``global_search.hitting_set_master``) are a second method, to cross-check the
first. Both use the same checks of sets and the same first explanation, but share no bound.

At any time the best explanation found and the bound are both sound.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from milp_verix.base.argument_kinds import checked, instance_of
from milp_verix.base.errors import InputError
from milp_verix.base.names import require_one_of
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.features import CostsLike
from milp_verix.problem.objective import make_objective
from milp_verix.problem.one_liner import one_liner, parted
from milp_verix.problem.options import Asked, InputLike, SolverOptions
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.results.public import Explanation
from milp_verix.searches.minimum.branch_and_cut import branch_and_cut
from milp_verix.searches.minimum.masters import HittingSets, mip_master
from milp_verix.searches.minimum.search import MinimumProgress, MinimumSearch
from milp_verix.searches.minimum.search_limits import Master, SearchLimits
from milp_verix.solvers.backends import highs
from milp_verix.solvers.phase.warm_lp import WarmLp

METHODS = ("scenarios", "hitting_sets")
MASTERS = ("auto", "tree", "program")
_ON_HIGHS = ("auto", "highs", "phase")


class MinimumOptions(TypedDict, total=False):
    """The options that say which minimum is meant, and what proves it."""

    costs: CostsLike
    must: str | Sequence[str | int]
    must_not: str | Sequence[str | int]
    gap: float
    method: str
    master: str
    limits: SearchLimits | None


class Minimising(MinimumOptions, total=False):
    """The options of :func:`minimum_of`."""

    progress: Callable[[MinimumProgress], None] | None
    snapshots: Callable[[Callable[[], Explanation]], None] | None
    resume: EarlierResult | None


class MinimumAsked(Asked, SolverOptions, Minimising, total=False):
    """The options of :func:`minimum`."""


@checked(limits=instance_of(SearchLimits).or_none())
def minimum_of(
    problem: PosedProblem,
    *,
    costs: CostsLike = None,
    must: str | Sequence[str | int] = (),
    must_not: str | Sequence[str | int] = (),
    gap: float = 0.0,
    method: str = "scenarios",
    master: str = "auto",
    limits: SearchLimits | None = None,
    search: Search = USUAL,
    progress: Callable[[MinimumProgress], None] | None = None,
    snapshots: Callable[[Callable[[], Explanation]], None] | None = None,
    resume: EarlierResult | None = None,
) -> Explanation:
    """Find an explanation with the fewest features, and prove that none has fewer.

    There is always an answer: Ctrl-C and the time limit return the best explanation so far with its
    proven ``lower_bound``; ``proven`` says whether the two meet. If time allows, the explanation is
    locally minimal too, with a counterfactual for each feature.

    Args:
        costs: a finite number of at least zero for each feature, 1 each by default: the explanation
            with the least sum is found. Proofs are faster where all costs are whole multiples of a
            unit. ``InputError`` for costs too far apart to be added up exactly: the largest may be
            a million times the smallest above zero, or whole costs a billion units together. A
            mapping from names or indices of features has one for each, or ``"*"`` for the others.
        must: features that the explanation must contain, by names or indices. A feature among them
            that is not needed is listed in ``unknown``.
        must_not: features that it must not contain; ``InputError`` if these alone can change the
            prediction.
        gap: stop once ``(cost − lower bound) / cost`` is at most this.
        method: ``"scenarios"``, or ``"hitting_sets"``, an independent method to cross-check it, far
            slower on networks with more than a dozen features. Trees, and inputs with whole numbers
            or rules, are answered by hitting sets in any case.
        master: for scenarios, ``"tree"`` searches the relaxation by branch and bound over phases
            and features on one warm linear program of HiGHS, ``"program"`` gives it to ``solver``
            as a mixed-integer program; ``"auto"`` takes the tree if ``solver`` is HiGHS-based.
        progress: called with the first lower bound, when all features are still the best
            explanation, and when the best one or the bound changes.
        snapshots: called as by :func:`milp_verix.explain`; features without a known counterfactual
            are unknown in these results.
        limits: a :class:`~milp_verix.SearchLimits`, which divides time and work among techniques
            and may switch some off.
        resume: as of :func:`milp_verix.explain`; a result of that is taken, too. Its explanation
            is the first incumbent where ``must`` and ``must_not`` are the same, and the scenarios
            of an unproven minimum are kept. Its lower bound is no proof: the search proves its
            own, and a note tells that of the earlier run where it is higher.

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    search.require_only(SolverOptions, "the search for a minimum")
    request = Request.now(problem, search)
    earlier = None if resume is None else earlier_explanation(resume, problem)
    asked = problem.features
    sets = asked.unnamed(must, "must"), asked.unnamed(must_not, "must_not")
    objective = make_objective(asked.count, asked.priced(costs), *sets).counted()
    gap = _gap(gap)
    way = _way(method, master, search.solver)
    limits = limits or SearchLimits()
    notes: tuple[str, ...] = ()
    if excludes_scenarios(problem):
        way, notes = _way_of_mixed(method, master, trees=problem.margins.stepped)
    if way == "hitting_sets":
        # the methods share no bound
        limits = replace(limits, without=limits.without | {"budget bound", "contrast cover"})
    with Oracle(problem, search) as oracle:
        masters: dict[str, Callable[[MinimumSearch], Master | None]] = {
            "tree": lambda run: branch_and_cut(
                run, WarmLp(search.threads, search.tolerances, similar_rows=True)
            ),
            "program": lambda run: mip_master(run, request.open_session(oracle.solver)),
            "hitting_sets": lambda run: HittingSets(
                run, lambda: request.open_session(oracle.solver)
            ),
        }
        run = MinimumSearch(
            oracle,
            request,
            objective,
            limits,
            gap=gap,
            name=way.replace("_", " "),
            master=masters[way],
        )
        run.allow_must_not()
        if earlier is not None:
            run.go_on(earlier)
        found = run.run(progress, snapshots)
        found = with_plain_counterfactuals(found, problem, request.deadline)
        return replace(found, notes=found.notes + notes).of(problem)


@one_liner(minimum_of)
def minimum(network: NetworkLike, x: InputLike, **asked: Unpack[MinimumAsked]) -> Explanation:
    """Find a minimum explanation: :meth:`milp_verix.Problem.minimum` in one call."""
    problem, search, own = parted(network, x, asked, Minimising)
    return minimum_of(problem, search=search, **own)


def excludes_scenarios(problem: PosedProblem) -> bool:
    """Return whether only hitting sets answer: for trees, and inputs with whole numbers or rules.

    A scenario is one perturbation for all sets of features. It may break rules for some sets, and
    pricing proposes perturbations that are not whole, or climbs where trees have steps.
    """
    return problem.ball.mixed is not None or problem.margins.stepped


def _way_of_mixed(method: str, master: str, *, trees: bool) -> tuple[str, tuple[str, ...]]:
    """Return the master where scenarios are excluded, and notes for readers."""
    if master != "auto":
        why = "trees" if trees else "whole numbers and rules of inputs"
        told = f"master {master!r} solves scenarios, which {why} exclude"
        raise InputError(f"{told}: the master there is 'auto'")
    if method == "hitting_sets" or trees:
        return "hitting_sets", ()
    return "hitting_sets", ("for whole numbers and rules the minimum is found by hitting sets",)


def _gap(given: float) -> float:
    try:
        gap = float(given)
    except (TypeError, ValueError) as error:
        raise InputError(f"gap must be a number, got {given!r}") from error
    if not 0 <= gap < 1:
        raise InputError(f"gap is a share of the cost, at least 0 and below 1, got {given}")
    return gap


def _way(method: str, master: str, solver: object) -> str:
    """Return the name of the master: ``"hitting_sets"``, ``"tree"`` or ``"program"``.

    Raises ``InputError`` for a method or master that is unknown, or for two that do not fit.
    """
    for kind, name, names in (("method", method, METHODS), ("master", master, MASTERS)):
        require_one_of(names, name, kind)
    if method == "hitting_sets":
        if master != "auto":
            raise InputError(f"master {master!r} solves scenarios: leave it out for hitting sets")
        return method
    if master == "auto":
        return "tree" if solver in _ON_HIGHS and highs.SOLVER.unavailable() is None else "program"
    return master
