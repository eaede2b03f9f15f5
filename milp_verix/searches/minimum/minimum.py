"""The smallest explanation there is, with a proof: scenario generation.

A relaxation with finitely many perturbations, the scenarios (``scenario``), gives a lower
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

from milp_verix.base.errors import InputError
from milp_verix.base.names import require_one_of
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.features import CostsLike
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.searches.minimum.branch_and_cut import branch_and_cut
from milp_verix.searches.minimum.masters import HittingSets, mip_master
from milp_verix.searches.minimum.search import MinimumProgress, MinimumSearch
from milp_verix.searches.minimum.search_limits import Master, SearchLimits
from milp_verix.solvers.backends import highs
from milp_verix.solvers.phase.warm_lp import WarmLp

METHODS = ("scenarios", "hitting_sets")
MASTERS = ("auto", "tree", "program")
_ON_HIGHS = ("auto", "highs", "phase")


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

    Raises:
        InputError: an argument does not fit; ``resume`` is about another question.
        ModelError: the network cannot be read or encoded.
        SolverUnavailableError: the solver is not installed.
    """
    search.require_only("minimum", "the search for a minimum")
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
