"""Put one question to one pair of solver and formulation, and time the solver."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from milp_verix.arguments import resolve_formulation
from milp_verix.comparison.timed_solver import SolverClock, timed_solver
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.options import Ordering
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.request import Request
from milp_verix.problem.search import Search
from milp_verix.results.public import Run
from milp_verix.results.records.comparison import Pair
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.verdict import Answer, Verdict
from milp_verix.runner import stopping
from milp_verix.traversal.explain import explain_problem


def explained(problem: PosedProblem, pair: Pair, search: Search, ordering: Ordering) -> Run:
    """Find an explanation."""
    chosen, clock = _timed(pair, search)
    found = explain_problem(problem, search=chosen, **ordering)
    took = found.statistics
    return Run(
        pair,
        version=found.versions.get(found.solver, ""),
        answers=_answers(found),
        checks=took.checks,
        solves=took.solves,
        nodes=clock.told(took.nodes, lambda one: one.nodes),
        iterations=clock.told(took.iterations, lambda one: one.iterations),
        seconds=took.seconds,
        inside=clock.time,
        stopped=took.stopped,
        notes=found.notes,
        explanation=found,
        **clock.handed_over(),
    )


def answered(
    problem: PosedProblem, pair: Pair, checks: Sequence[tuple[int, ...]], search: Search
) -> Run:
    """Answer ``checks`` one by one, each by itself."""
    chosen, clock = _timed(pair, replace(search, reuse=False))
    request = Request.now(problem, chosen)
    whole, each = request.deadline, request.check_limit
    known = _Answers()
    with Oracle(problem, chosen) as oracle:
        with stopping(known):
            oracle.prepare(whole)
            for free in checks:
                whole.check()
                coordinates = problem.features.coordinates(free)
                known.verdicts.append(oracle.check(coordinates, whole.limited(each)))
        seconds = request.elapsed
        verdicts, effort = known.verdicts, oracle.effort
        unasked = [Answer.UNKNOWN] * (len(checks) - len(verdicts))
        return Run(
            pair,
            version=oracle.versions[oracle.solver],
            answers=(*(verdict.answer for verdict in verdicts), *unasked),
            checks=len(verdicts),
            solves=effort.solves,
            nodes=clock.told(effort.nodes, lambda one: one.nodes),
            iterations=clock.told(effort.iterations, lambda one: one.iterations),
            seconds=seconds,
            inside=clock.time,
            stopped=known.stopped,
            notes=oracle.notes + problem.notes,
            verdicts=tuple(verdicts),
            **clock.handed_over(),
        )


@dataclass(slots=True)
class _Answers:
    """The verdicts so far, and the reason of an early end."""

    verdicts: list[Verdict] = field(default_factory=list)
    stopped: str | None = None


def _timed(pair: Pair, search: Search) -> tuple[Search, SolverClock]:
    """Return ``search`` by the solver and formulation of ``pair``, and the solver's clock."""
    clock = SolverClock()
    needed = resolve_formulation(pair.formulation).needs
    solver = timed_solver(pair.solver, clock, needed)
    return replace(search, solver=solver, formulation=pair.formulation), clock


def _answers(found: ExplanationRecord) -> tuple[Answer, ...]:
    answers = [Answer.VIOLATED] * len(found.groups)
    for feature in found.irrelevant:
        answers[feature] = Answer.HOLDS
    for feature in found.unknown:
        answers[feature] = Answer.UNKNOWN
    return tuple(answers)
