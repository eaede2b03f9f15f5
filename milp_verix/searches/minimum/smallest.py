"""The smallest explanation there is, with a proof: scenario generation.

A relaxation with finitely many perturbations, the scenarios (``scenario``), gives a lower
bound on the cost of every explanation, and a cheapest set of features that survives them. If that
set survives all perturbations it is a minimum explanation. If not, a perturbation that it does not
survive is the next scenario. This is column-and-constraint generation for the two-stage problem
"the fewest features, such that for all perturbations …". Implicit hitting sets are a second method,
to cross-check the first; the two share no bound.

Masters are branch and cut, scenarios as a program for any solver, and implicit hitting sets.
Each step of the second solves the program with all scenarios known. Its bound is valid for every
explanation; its optimum is a set of features that is an explanation, or fails under a further
scenario. A step ends early on a set whose cost equals the bound so far: none is cheaper. Solvers
that can extend a program keep it, unless ``warm="rebuilt"``; with ``warm="start"`` they begin at
the best explanation, too. Solvers that take priorities branch on phases before features, for the
reason that :mod:`.branch_and_cut` has.

    C ← ∅
    repeat   A ← a cheapest hitting set of C       its cost is a lower bound on every explanation
             if check(all but A) holds:            A is a minimum explanation
             C ← C ∪ {a contrastive set disjoint from A}

(Ignatiev, Previti, Liffiton, Marques-Silva, *Smallest MUS extraction with minimal hitting set
dualization*, CP 2015.) Each round adds disjoint contrastive sets until none is left. The features
in A and in these sets are then an explanation, so that there is an incumbent at any time. A
contrastive set is the changed features of a counterfactual, as many put back as forward passes
allow: to prove it minimal by checks takes longer than the rounds that this saves.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.clock import Deadline
from milp_verix.base.errors import InputError, SolverError, require_one_of
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import SearchEffort, violated_by
from milp_verix.problem.features import CostsLike
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, Request, Search
from milp_verix.results.earlier import EarlierResult, earlier_explanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.plain_counterfactuals import with_plain_counterfactuals
from milp_verix.searches.minimum.branch_and_cut import branch_and_cut
from milp_verix.searches.minimum.minimum_search import (
    Ground,
    Master,
    MinimumProgress,
    MinimumSearch,
    points_of,
)
from milp_verix.searches.minimum.search_limits import SearchLimits
from milp_verix.searches.set_search import Candidates
from milp_verix.solvers import Session, SolveResult, SolveStatus, Targets, extend
from milp_verix.solvers.backends import highs
from milp_verix.solvers.warm_lp import WarmLp
from verix_encodings.encoding import Constraint, Scenario
from verix_encodings.scenario import Clause, ScenarioProgram

_NEAR = 1e-3  # above a bound: where a solver may end, whatever the rounding
_BROKEN = (SolveStatus.FAILED, SolveStatus.INFEASIBLE)


def mip_master(search: MinimumSearch, session: Session) -> "MipMaster | None":
    """Return the master with its first scenario; None if ``search`` finds no first scenario."""
    known: list[Constraint] = [search.separator.scenario(delta) for delta in search.scenarios.T]
    # further scenarios at once would bring more phases than a solver needs
    if not (first := known or search.first_scenarios()[:1]):
        session.close()
        return None
    master = MipMaster(search, session)
    master.extend(first)
    return master


class _Rounds:
    """What both masters share: the end, and the ``bound`` so far."""

    def __init__(self, search: MinimumSearch) -> None:
        self._incumbent, self._objective = search.incumbent, search.incumbent.objective
        self._ended, self.bound = False, 0.0

    @property
    def done(self) -> bool:
        """True if the bound reaches the cutoff, or the last step found no way to raise it."""
        return self._ended or self.bound >= self._incumbent.cutoff


class MipMaster(_Rounds):
    """A master that gives the relaxation to a solver's session."""

    def __init__(self, search: MinimumSearch, session: Session) -> None:
        super().__init__(search)
        self._session, objective = session, self._objective
        self._warm = search.warm
        self._separator, self._proposals = search.separator, search.proposals
        self._growing = ScenarioProgram(objective.least, objective.most)
        self._trouble: tuple[str, ...] = ()
        self._scenarios = self._programs = self._nodes = self._iterations = 0

    @property
    def notes(self) -> tuple[str, ...]:
        return self._session.notes + self._trouble

    @property
    def effort(self) -> SearchEffort:
        work = self._nodes, self._programs, self._iterations
        return SearchEffort("program", self._separator.rounds, self._scenarios, *work)

    def kept(self) -> Callable[[], Ground]:
        problem, deltas = self._incumbent.oracle.problem, self._separator.known
        return lambda: Ground(points_of(problem, deltas))

    def step(self, deadline: Deadline) -> None:
        """Solve the program, and add a scenario that its set does not survive; end in trouble."""
        cutoff = self._incumbent.cutoff
        try:
            result = self._solved(deadline)
        except SolverError as error:
            self._give_up(str(error), deadline)
            return
        if self.bound >= self._incumbent.cutoff:
            return
        if result.point is None:
            self._give_up(result.detail or result.status.value, deadline)
            return
        chosen = (result.point[self._growing.columns] > 0.5).astype(np.float64)
        self._proposals.improve(chosen, self.bound)
        constraints = self._separator.separate(chosen, 0)
        self.extend(constraints)
        if not constraints and self._incumbent.cutoff >= cutoff:
            # had the check proven the set, it would be the incumbent now
            self._give_up("nothing was found against its last set, and no proof for it", deadline)

    def _give_up(self, reason: str, deadline: Deadline) -> None:
        self._ended = True
        if not (self._trouble or deadline.passed()):
            self._trouble = (f"the search for a higher lower bound was given up: {reason}",)

    def _solved(self, deadline: Deadline) -> SolveResult:
        program, columns = self._growing.build(), self._growing.columns
        if self._warm == "rebuilt":
            self._session.load(program)
        else:
            extend(self._session, program)
        start = self._warm == "start"
        cost = np.zeros(program.columns)
        cost[columns] = self._objective.costs
        targets = Targets(
            violated_below=self.bound + _NEAR,
            holds_above=self._incumbent.cutoff + _NEAR,
            whole=self._objective.whole,
            first=np.setdiff1d(np.flatnonzero(program.integer), columns),
            start=self._growing.point(self._incumbent.selection) if start else None,
        )
        result = self._session.minimise(cost, targets.until(deadline))
        self._programs += 1
        self._nodes += result.nodes or 0
        self._iterations += result.iterations or 0
        if not np.isfinite(result.bound) or result.status in _BROKEN:
            return result
        if program.largest_big_m > self._session.largest_big_m:
            self._trouble = (
                f"no lower bound rests on big-Ms beyond {self._session.largest_big_m:g}, which is "
                f"as far as {self._session.name} is trusted",
            )
        else:
            self.bound = max(self.bound, self._objective.attainable(result.bound))
        return result

    def extend(self, constraints: list[Constraint]) -> None:
        """Add scenarios and covers."""
        for constraint in constraints:
            self._growing.add(constraint)
            self._scenarios += isinstance(constraint, Scenario)

    def close(self) -> None:
        self._session.close()


class HittingSets(_Rounds):
    """The master by hitting sets of contrastive sets."""

    notes: tuple[str, ...] = ()

    def __init__(self, search: MinimumSearch, open_session: Callable[[], Session]) -> None:
        super().__init__(search)
        self._candidates = Candidates(self._objective, open_session)
        self._clauses = self._candidates.clauses
        limit = search.incumbent.check_limit
        self._subsets = SubsetOracle(search.incumbent.oracle, search.until, limit)
        self._never = frozenset(np.flatnonzero(self._objective.must_not).tolist())
        self._given, self._rounds = len(self._clauses), 0
        self._know(search.ground.scenarios)

    def _know(self, inputs: Iterable[NDArray[np.floating]]) -> None:
        """Begin with the contrastive sets of ``inputs`` that change the prediction."""
        problem, subsets = self._subsets.problem, self._subsets
        for point in inputs:
            outputs = problem.network.outputs_at(point)
            if problem.question.changed(outputs):
                verdict = subsets.learn(violated_by(problem.question, point, outputs))
                if verdict.violated:
                    self._clauses.append(Clause(any_of=subsets.changed(verdict)))

    def kept(self) -> Callable[[], Ground]:
        known = [*self._subsets.contrasts.values()]
        shape = self._subsets.problem.network.input_shape
        return lambda: Ground(tuple(verdict.point.reshape(shape) for verdict in known))

    @property
    def effort(self) -> SearchEffort:
        known = len(self._clauses) - self._given
        programs = 0 if self._candidates.session is None else self._rounds
        return SearchEffort("hitting sets", self._rounds, known, programs=programs)

    def step(self, deadline: Deadline) -> None:
        """Find a cheapest hitting set, and add contrastive sets until an explanation is left."""
        self._rounds += 1
        subsets = self._subsets
        proposal = self._candidates.propose(deadline)
        if not proposal.exhausted:
            self.bound = max(self.bound, proposal.bound)
        self._ended = proposal.chosen is None
        if proposal.chosen is None or self.bound >= self._incumbent.cutoff:
            return
        free, learnt = subsets.everything - proposal.chosen, False
        verdict = subsets.check(free)
        while verdict.violated:
            contrast = subsets.changed(verdict)
            self._clauses.append(Clause(any_of=contrast))
            learnt, free = True, free - (contrast - self._never)
            verdict = subsets.check(free)
        if verdict.holds:
            chosen = np.ones(self._objective.costs.size, dtype=bool)
            chosen[sorted(free)] = False
            self._incumbent.take(chosen)
        self._ended = not learnt

    def close(self) -> None:
        self._candidates.close()


METHODS = ("scenarios", "hitting_sets")
MASTERS = ("auto", "tree", "program")
_ON_HIGHS = ("auto", "highs", "phase")


def minimum_of(
    problem: ProblemData,
    *,
    costs: CostsLike = None,
    must: str | Sequence[str | int] = (),
    must_not: str | Sequence[str | int] = (),
    gap: float = 0.0,
    at_most: float | None = None,
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
    features = problem.features
    sets = features_in(must, problem, "must"), features_in(must_not, problem, "must_not")
    objective = make_objective(features.count, features.priced(costs), *sets).counted()
    if not 0 <= gap < 1:
        raise InputError(f"gap is a share of the cost, at least 0 and below 1, got {gap}")
    if at_most is not None and not 0 <= at_most < np.inf:
        raise InputError(f"at_most is a cost, a number of at least 0, got {at_most}")
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
            at_most=at_most,
            name=way.replace("_", " "),
            master=masters[way],
        )
        run.allow_must_not()
        if earlier is not None:
            run.go_on(earlier)
        found = run.run(progress, snapshots)
        found = with_plain_counterfactuals(found, problem, request.deadline)
        return replace(found, notes=found.notes + notes).of(problem)


def excludes_scenarios(problem: ProblemData) -> bool:
    """Return whether only hitting sets answer: for trees, and inputs with whole numbers or rules.

    A scenario is one perturbation for all sets of features. It may break rules for some sets, and
    pricing proposes perturbations that are not whole, or climbs where trees have steps.
    """
    return problem.ball.mixed is not None or problem.margins.stepped


def _way(
    problem: ProblemData, method: str, master: str, solver: object
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
            text = f"master {master!r} solves scenarios, which {why} exclude"
            raise InputError(f"{text}: the master there is 'auto'")
        note = "for whole numbers and rules the minimum is found by hitting sets"
        return "hitting_sets", () if method == "hitting_sets" or trees else (note,)
    if method == "hitting_sets" or master != "auto":
        return method if master == "auto" else master, ()
    return "tree" if solver in _ON_HIGHS and highs.SOLVER.unavailable() is None else "program", ()
