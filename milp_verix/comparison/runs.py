"""Pairs of a solver and a formulation: those that fit, and one question put to each, timed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, SolverUnavailableError
from milp_verix.comparison.timed_solver import CheckWatch, Relaxations, SolverClock, timed_solver
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Request, Search, resolve_formulation
from milp_verix.results.comparison import CheckRecord, Pair, Run, Skipped
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.searches.contrastive import contrastive_of
from milp_verix.searches.explain_search import explain_problem
from milp_verix.searches.minimum.smallest import minimum_of
from milp_verix.searches.runner import stopping
from milp_verix.solvers import OWN_ENGINES, SOLVERS, open_session, resolve_solver
from verix_encodings import Formulation


def fitting_pairs(
    solvers: Sequence[str] | None, formulations: Sequence[str]
) -> tuple[list[Pair], list[Skipped]]:
    """Return the pairs that fit and the pairs that do not; ``solvers`` None means all installed.

    Raises ``InputError`` for a name that is not known or stands twice, and for an empty list.
    """
    if solvers is None:
        known = {**SOLVERS, **OWN_ENGINES}
        solvers = [name for name, solver in known.items() if solver.unavailable() is None]
    _check_names("solvers", solvers)
    _check_names("formulations", formulations)
    if "auto" in solvers:
        raise InputError("a comparison takes solvers by name; auto is a choice between them")
    chosen = [resolve_formulation(name) for name in formulations]
    fitting, skipped = [], []
    for solver in solvers:
        missing = _missing(solver)
        for formulation in chosen:
            pair = Pair(solver, formulation.name)
            reason = missing or _unfit(solver, formulation)
            if reason is None:
                fitting.append(pair)
            else:
                skipped.append(Skipped(pair, reason))
    return fitting, skipped


def _check_names(what: str, names: Sequence[str]) -> None:
    if isinstance(names, str) or not len(names) or not all(names):
        raise InputError(f"{what} must be one name or more, and none empty, got {names!r}")
    if len(set(names)) < len(names):
        raise InputError(f"{what} lists a name twice: {', '.join(names)}")


def why_unfit(solver: str, formulation: str) -> str | None:
    """Return why a solver is not here or does not take a formulation; None if they fit."""
    return _missing(solver) or _unfit(solver, resolve_formulation(formulation))


def _missing(solver: str) -> str | None:
    """Return why a solver cannot be used, by opening it before any time is taken, or None."""
    try:
        open_session(solver).close()
    except SolverUnavailableError as error:
        return str(error)
    return None


def _unfit(solver: str, formulation: Formulation) -> str | None:
    """Return why a solver does not take a formulation."""
    try:
        resolve_solver(solver, formulation.needs)
    except InputError as error:
        return str(error)
    return None


def explained(problem: ProblemData, pair: Pair, search: Search, ordering: dict[str, Any]) -> Run:
    """Find an explanation."""
    chosen, clock = _timed(pair, search)
    return _of_explanation(pair, clock, explain_problem(problem, search=chosen, **ordering))


def _of_explanation(pair: Pair, clock: SolverClock, found: Explanation) -> Run:
    took = found.statistics
    return replace(
        _run(pair, clock, found),
        answers=_answers(found),
        solves=took.solves,
        nodes=clock.known(took.nodes, clock.nodes),
        iterations=clock.known(took.iterations, clock.iterations),
        explanation=found,
    )


def _run(pair: Pair, clock: SolverClock, found: Explanation | ContrastiveExplanation) -> Run:
    took = found.statistics
    return Run(
        pair,
        version=found.versions.get(found.solver, ""),
        answers=(),
        checks=took.checks,
        solves=clock.time.solves,
        nodes=clock.nodes,
        iterations=clock.iterations,
        seconds=took.seconds,
        inside=clock.time,
        stopped=took.stopped,
        notes=found.notes,
        handed_over=clock.handed_over,
        handed_to=clock.handed_to,
    )


def minimised(problem: ProblemData, pair: Pair, search: Search, master: str) -> Run:
    """Find a minimum explanation, with the bound by ``master``."""
    chosen, clock = _timed(pair, search)
    found = minimum_of(problem, master=master, search=chosen)
    effort = found.statistics.search
    return replace(
        _of_explanation(pair, clock, found),
        master=None if effort is None else effort.master,
        cost=found.cost,
        bound=found.lower_bound,
        trace=() if effort is None else effort.trace,
    )


def contrasted(problem: ProblemData, pair: Pair, search: Search) -> Run:
    """Find a smallest contrastive explanation."""
    chosen, clock = _timed(pair, search)
    found = contrastive_of(problem, search=chosen)
    cost, bound = (np.inf, np.inf) if found.robust else (found.cost, found.lower_bound)
    return replace(_run(pair, clock, found), cost=cost, bound=bound)


def answered(
    problem: ProblemData,
    pair: Pair,
    checks: Sequence[tuple[int, ...]],
    search: Search,
    relaxations: Relaxations | None = None,
) -> Run:
    """Answer ``checks`` one by one, each by itself, and solve their ``relaxations`` if given.

    The time that relaxations take is none of the run's.
    """
    chosen, clock = _timed(pair, replace(search, reuse=False))
    request = Request.now(problem, chosen)
    whole, each = request.deadline, request.check_limit
    known, beside = _Answers(), 0.0
    with Oracle(problem, chosen) as oracle:
        with stopping(known):
            oracle.prepare(whole)
            for number, free in enumerate(checks):
                whole.require_time()
                coordinates = problem.features.coordinates(free)
                watch = CheckWatch(clock)
                verdict = oracle.check(coordinates, whole.limited(each))
                record = watch.record(number, len(free), verdict)
                if relaxations is not None and clock.last is not None:
                    relaxed, took = relaxations.solve(clock.last.program, clock.last.cost)
                    record, beside = replace(record, relaxation=relaxed), beside + took
                    whole = whole.sooner(-took)
                known.verdicts.append(verdict)
                known.each.append(record)
        seconds = request.elapsed - beside
        verdicts, effort = known.verdicts, oracle.effort
        unasked = [Answer.UNKNOWN] * (len(checks) - len(verdicts))
        return Run(
            pair,
            version=oracle.versions[oracle.solver],
            answers=(*(verdict.answer for verdict in verdicts), *unasked),
            checks=len(verdicts),
            solves=effort.solves,
            nodes=clock.known(effort.nodes, clock.nodes),
            iterations=clock.known(effort.iterations, clock.iterations),
            seconds=seconds,
            inside=clock.time,
            stopped=known.stopped,
            notes=problem.network.notes + oracle.notes + problem.notes,
            verdicts=tuple(verdicts),
            handed_over=clock.handed_over,
            handed_to=clock.handed_to,
            each=tuple(known.each),
        )


@dataclass(slots=True)
class _Answers:
    """The verdicts and records so far, and the reason of an early end."""

    verdicts: list[Verdict] = field(default_factory=list)
    each: list[CheckRecord] = field(default_factory=list)
    stopped: str | None = None


def _timed(pair: Pair, search: Search) -> tuple[Search, SolverClock]:
    """Return ``search`` by the solver and formulation of ``pair``, and the solver's clock."""
    clock = SolverClock()
    needed = resolve_formulation(pair.formulation).needs
    solver = timed_solver(pair.solver, clock, needed)
    return replace(search, solver=solver, formulation=pair.formulation), clock


def _answers(found: Explanation) -> tuple[Answer, ...]:
    answers = [Answer.VIOLATED] * len(found.groups)
    for feature in found.irrelevant:
        answers[feature] = Answer.HOLDS
    for feature in found.unknown:
        answers[feature] = Answer.UNKNOWN
    return tuple(answers)
