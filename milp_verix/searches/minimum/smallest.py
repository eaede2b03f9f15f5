"""The smallest explanation there is, with a proof: scenario generation.

A relaxation with finitely many perturbations, the scenarios (``scenario``), gives a lower
bound on the cost of every explanation, and a cheapest set of features that survives them. If that
set survives all perturbations it is a minimum explanation. If not, a perturbation that it does not
survive is the next scenario. This is column-and-constraint generation for the two-stage problem
"the fewest features, such that for all perturbations …". Implicit hitting sets are a second method,
to cross-check the first; the two share no bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from milp_verix.base.errors import InputError, require_one_of
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
from milp_verix.searches.minimum.minimum_search import MinimumProgress, MinimumSearch
from milp_verix.searches.minimum.search_limits import Master, SearchLimits
from milp_verix.solvers.backends import highs
from milp_verix.solvers.warm_lp import WarmLp

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
    """Answer :func:`milp_verix.minimum`, which describes the arguments."""
    search.require_only("minimum", "the search for a minimum")
    request = Request.now(problem, search)
    earlier = None if resume is None else earlier_explanation(resume, problem)
    asked = problem.features
    sets = asked.unnamed(must, "must"), asked.unnamed(must_not, "must_not")
    objective = make_objective(asked.count, asked.priced(costs), *sets).counted()
    if not 0 <= gap < 1:
        raise InputError(f"gap is a share of the cost, at least 0 and below 1, got {gap}")
    way, notes = _way(problem, method, master, search.solver)
    limits = limits or SearchLimits()
    if way == "hitting_sets":
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
            gap=float(gap),
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


def _way(
    problem: PosedProblem, method: str, master: str, solver: object
) -> tuple[str, tuple[str, ...]]:
    """Return the way, and notes for readers; ``InputError`` for a method that does not fit."""
    require_one_of(METHODS, method, "method")
    require_one_of(MASTERS, master, "master")
    if method == "hitting_sets" and master != "auto":
        raise InputError(f"master {master!r} solves scenarios: leave it out for hitting sets")
    trees = problem.margins.stepped
    if excludes_scenarios(problem):
        if master != "auto":
            why = "trees" if trees else "whole numbers and rules of inputs"
            told = f"master {master!r} solves scenarios, which {why} exclude"
            raise InputError(f"{told}: the master there is 'auto'")
        note = "for whole numbers and rules the minimum is found by hitting sets"
        return "hitting_sets", () if method == "hitting_sets" or trees else (note,)
    if method == "hitting_sets" or master != "auto":
        return method if master == "auto" else master, ()
    return "tree" if solver in _ON_HIGHS and highs.SOLVER.unavailable() is None else "program", ()
