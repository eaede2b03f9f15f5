"""Pairs of a solver and a formulation: those that fit, and one question put to each, timed."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from milp_verix.base.arguments import names_of
from milp_verix.base.errors import (
    InputError,
    LicenceLimitError,
    SolverUnavailableError,
    listed,
    shown,
)
from milp_verix.base.number_text import counted
from milp_verix.comparison.exported import rivals_of
from milp_verix.comparison.prepared import Prepared
from milp_verix.comparison.repeated import EarlierPrograms
from milp_verix.comparison.timed_solver import (
    Handling,
    ProgramWatch,
    Relaxations,
    SolverClock,
    TimedSolver,
    failure,
    idle_solver,
)
from milp_verix.oracle.engines.choice import engine_of, misfit
from milp_verix.oracle.engines.engine import Claim, Engine
from milp_verix.oracle.engines.programs import Programs
from milp_verix.oracle.verdict import INTERRUPTED, MEMORY_LIMIT, TIME_LIMIT, Answer, Verdict
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Request, Search, resolve_formulation
from milp_verix.results.comparison import Pair, ProgramRecord, Run, Skipped, SolverTime
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.searches.contrastive import contrastive_of
from milp_verix.searches.explain_search import explain_problem
from milp_verix.searches.minimum.smallest import minimum_of
from milp_verix.searches.runner import stopping
from milp_verix.solvers import OWN_ENGINES, SOLVERS, Solver, open_session, resolve_solver
from verix_encodings import Formulation


def pairs_for(
    problem: ProblemData, solvers: str | Sequence[str] | None, formulations: str | Sequence[str]
) -> tuple[list[Pair], list[Skipped]]:
    """Return the pairs that fit and the pairs that do not; ``solvers`` None means all installed.

    Raises ``InputError`` for a name that is not known or stands twice, and for an empty list.
    """
    if solvers is None:
        known = {**SOLVERS, **OWN_ENGINES}
        solvers = [name for name, solver in known.items() if solver.unavailable() is None]
    solvers, formulations = _named("solvers", solvers), _named("formulations", formulations)
    if "auto" in solvers:
        raise InputError("a comparison takes solvers by name; auto is a choice between them")
    chosen = [resolve_formulation(name) for name in formulations]
    fitting, skipped = [], []
    for solver in solvers:
        missing = _missing(solver)
        for formulation in chosen:
            pair = Pair(solver, formulation.name)
            reason = missing or _unfit(solver, formulation) or misfit(solver, problem)
            if reason is None:
                fitting.append(pair)
            else:
                skipped.append(Skipped(pair, reason))
    return fitting, skipped


def _named(what: str, given: str | Sequence[str]) -> list[str]:
    """Return names; ``InputError`` for an empty one, for none, and for one that stands twice."""
    names = names_of(given)
    if not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{what} are names, got {shown(given)}; a package gives a solver of your own a name, "
            "by an entry point of milp_verix.solvers"
        )
    if not names or not all(names):
        raise InputError(f"{what} must be one name or more, and none empty, got {shown(given)}")
    if len(set(names)) < len(names):
        raise InputError(f"{what} lists a name twice: {listed(names)}")
    return names


def why_unfit(solver: str, formulation: str) -> str | None:
    """Return why a solver is not here or does not take a formulation; None if they fit."""
    return _missing(solver) or _unfit(solver, resolve_formulation(formulation))


def _missing(solver: str) -> str | None:
    """Return why a solver cannot be used, by opening it before any time is taken, or None."""
    try:
        open_session(solver).close()
    except SolverUnavailableError as error:
        return str(error)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        return f"it does not open: {failure(error)}"
    return None


def _unfit(solver: str, formulation: Formulation) -> str | None:
    """Return why a solver does not take a formulation."""
    try:
        resolve_solver(solver, formulation.needs)
    except InputError as error:
        return str(error)
    return None


def explained(
    problem: ProblemData, pair: Pair, search: Search, handling: Handling, ordering: dict[str, Any]
) -> Run:
    """Find an explanation."""
    chosen, clock = _timed(pair, search, handling)
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


def minimised(
    problem: ProblemData, pair: Pair, search: Search, handling: Handling, master: str
) -> Run:
    """Find a minimum explanation, with the bound by ``master``."""
    chosen, clock = _timed(pair, search, handling)
    found = minimum_of(problem, master=master, search=chosen)
    effort = found.statistics.search
    run = _of_explanation(pair, clock, found)
    if effort is not None:
        # the master's programs are among the sessions' own, unless another solver took them
        sums = {
            "solves": (run.solves + effort.programs, clock.time.solves),
            "nodes": ((run.nodes or 0) + (effort.nodes or 0), clock.nodes or 0),
            "iterations": ((run.iterations or 0) + (effort.iterations or 0), clock.iterations or 0),
        }
        counts: dict[str, Any] = {name: max(both) for name, both in sums.items()}
        run = replace(run, **counts)
    return replace(
        run,
        master=None if effort is None else effort.master,
        cost=found.cost,
        bound=found.lower_bound,
        trace=() if effort is None else effort.trace,
    )


def contrasted(problem: ProblemData, pair: Pair, search: Search, handling: Handling) -> Run:
    """Find a smallest contrastive explanation."""
    chosen, clock = _timed(pair, search, handling)
    found = contrastive_of(problem, search=chosen)
    cost, bound = (np.inf, np.inf) if found.robust else (found.cost, found.lower_bound)
    return replace(_run(pair, clock, found), cost=cost, bound=bound)


def solved(
    problem: ProblemData,
    pair: Pair,
    prepared: Prepared,
    search: Search,
    handling: Handling,
    *,
    relaxations: Relaxations | None = None,
    earlier: EarlierPrograms = EarlierPrograms(),  # noqa: B008 - frozen
    tell: Callable[[Run], None] = lambda _: None,
) -> Run:
    """Give the programs of ``prepared`` to a pair, one by one, each by itself.

    Their ``relaxations`` are solved if given; the time that this takes is none of the run's. A
    solver that raises has a failed program, and goes on with the next one. Programs that an
    ``earlier`` comparison answered are taken from there. ``tell`` gets the run so far after each.
    """
    chosen, clock = _timed(pair, replace(search, reuse=False), handling)
    request = Request.now(problem, chosen)
    whole, each = request.deadline, request.check_limit
    rivals = rivals_of(problem, problem.margins.output_size)
    known, beside = _Answers(), 0.0
    engine = engine_of(problem, chosen, chosen.solver, deepens=False)
    # tangents and segments that came with another program would make this one another
    anew = problem.ball.norm == "l2" or not problem.margins.exact

    def run() -> Run:
        unasked = Verdict(Answer.UNKNOWN, reason=known.stopped or TIME_LIMIT)
        every = {**prepared.verdicts, **known.verdicts}
        verdicts = [every.get(number, unasked) for number in range(len(prepared.checks))]
        before, taken = earlier.parameters.get(pair, {}), _time_of(known.taken)
        inside, notes = clock.time + taken, engine.notes + problem.notes + earlier.notes
        return Run(
            pair,
            version=engine.version,
            answers=tuple(verdict.answer for verdict in verdicts),
            checks=len(known.verdicts),
            solves=sum(record.solves for record in known.each),
            nodes=_sum([one.nodes for one in known.each]),
            iterations=_sum([one.iterations for one in known.each]),
            seconds=request.elapsed - beside + sum(one.seconds for one in known.taken),
            inside=replace(inside, solver_seconds=sum(one.solver_seconds for one in known.each)),
            stopped=known.stopped,
            notes=problem.network.notes + notes + known.notes,
            verdicts=tuple(verdicts),
            handed_over=sum(one.solves for one in known.each if one.handed_to),
            handed_to=next((one.handed_to for one in known.each if one.handed_to), None),
            each=tuple(known.each),
            parameters={**before, **clock.parameters},
        )

    with closing(engine), stopping(known):
        if prepared.whole is not None:
            engine.prepare(prepared.whole.margins, prepared.whole.bounds)
        for number, claim in prepared.claims.items():
            verdicts, first = list[Verdict](), len(known.each)
            for index in claim.open_.tolist():
                rival = rivals[index]
                if (taken := earlier.of(pair, number, rival, handling.seed)) is not None:
                    known.each.append(taken)
                    known.taken.append(taken)
                    verdicts.append(Verdict(taken.answer, reason=taken.reason))
                    continue
                whole.require_time()
                if anew and isinstance(engine, Programs):
                    engine.begin_anew()
                watch = ProgramWatch(clock)
                one = replace(claim, open_=np.array([index]), deadline=whole.limited(each))
                verdict, status = _decided(engine, one)
                verdicts.append(verdict)
                record = watch.record(
                    verdict,
                    _grounds(verdict, pair.solver),
                    check=number,
                    free=len(prepared.checks[number]),
                    rival=rival,
                    seed=handling.seed,
                    threads=search.threads,
                )
                began = request.elapsed
                record = replace(record, status=status or record.status)
                if status is not None and not clock.solves and isinstance(engine, Programs):
                    alone = replace(prepared, claims={number: one})
                    for like in unrun(problem, pair, alone, search, handling, relaxations):
                        size, relaxed = like.size, like.relaxation
                        record = replace(record, digest=like.digest, size=size, relaxation=relaxed)
                elif relaxations is not None and clock.solves:
                    last = clock.solves[-1]
                    record = replace(record, relaxation=relaxations.solve(last.program, last.cost))
                took = request.elapsed - began
                beside, whole = beside + took, whole.sooner(-took)
                known.each.append(record)
                tell(run())
            verdict = known.verdicts[number] = _together(verdicts)
            known.each[first:] = [
                replace(one, check_answer=verdict.answer) for one in known.each[first:]
            ]
    if prepared.late:  # programs that were not listed are not solved
        known.stopped = known.stopped or TIME_LIMIT
    return run()


_EFFORT = ("seconds", "cpu_seconds", "load_seconds", "solve_seconds", "solver_seconds")


def unrun(  # noqa: PLR0917
    problem: ProblemData,
    pair: Pair,
    prepared: Prepared,
    search: Search,
    handling: Handling,
    relaxations: Relaxations | None,
) -> tuple[ProgramRecord, ...]:
    """Return a row "not run" for each program of ``prepared``, as the pair would get it."""
    idle = replace(handling, idle=True)
    run = solved(problem, pair, prepared, search, idle, relaxations=relaxations)
    if run.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    own: dict[str, Any] = {**dict.fromkeys(_EFFORT, 0.0), "solves": 0, "builds": 0, "changes": 0}
    return tuple(replace(one, status="not run", **own) for one in run.each)


def _time_of(taken: Sequence[ProgramRecord]) -> SolverTime:
    """Return the time inside a solver of programs that an earlier comparison answered.

    Of several solves after one building the records hold the sum: those that followed count as
    re-solves by their share.
    """
    again = [max(one.solves - one.builds, 0) for one in taken]
    return SolverTime(
        builds=sum(one.builds for one in taken),
        build_seconds=sum(one.load_seconds for one in taken),
        solves=sum(one.solves for one in taken),
        solve_seconds=sum(one.solve_seconds for one in taken),
        resolves=sum(again),
        resolve_seconds=sum(
            one.solve_seconds * more / one.solves
            for one, more in zip(taken, again, strict=True)
            if more
        ),
    )


def _decided(engine: Engine, claim: Claim) -> tuple[Verdict, str | None]:
    """Return the verdict on ``claim``, and what became of a program that has none."""
    try:
        return engine.decide(claim).verdict, None
    except LicenceLimitError as error:
        status, reason = "not run", f"not run: {error}"
    except MemoryError:
        status, reason = "failed", MEMORY_LIMIT
    except (Exception, SystemExit) as error:
        status, reason = "failed", failure(error)
    engine.close()  # it opens anew for the next program
    return Verdict(Answer.UNKNOWN, reason=reason), status


def _grounds(verdict: Verdict, solver: str) -> str | None:
    """Return what a verdict rests on."""
    if verdict.violated:
        return "replayed"
    if not verdict.holds:
        return None
    own = solver.partition("?")[0] in (*OWN_ENGINES, "phase")
    return "bound with rounding counted" if own else "dual bound of the solver"


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a check: VIOLATED by one rival, or HOLDS for all of them."""
    for verdict in verdicts:
        if verdict.violated:
            return verdict
    left = [verdict for verdict in verdicts if not verdict.holds]
    return left[0] if left else max(verdicts, key=lambda one: one.bound or -np.inf)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


@dataclass(slots=True)
class _Answers:
    """The verdicts by check and the records so far, and the reason of an early end.

    Those ``taken`` of the records are from an earlier comparison.
    """

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    each: list[ProgramRecord] = field(default_factory=list)
    taken: list[ProgramRecord] = field(default_factory=list)
    stopped: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the programs that were taken."""
        what = f"{counted(len(self.taken), 'program')} as an earlier comparison answered"
        return (f"{what} {'it' if len(self.taken) == 1 else 'them'}",) if self.taken else ()


def _timed(pair: Pair, search: Search, handling: Handling) -> tuple[Search, SolverClock]:
    """Return ``search`` by the solver and formulation of ``pair``, and the solver's clock."""
    clock = SolverClock()
    needed = resolve_formulation(pair.formulation).needs
    solver: Solver = (
        idle_solver(clock, handling)
        if handling.idle
        else TimedSolver(pair.solver, clock, needed, handling)
    )
    return replace(search, solver=solver, formulation=pair.formulation), clock


def _answers(found: Explanation) -> tuple[Answer, ...]:
    answers = [Answer.VIOLATED] * len(found.groups)
    for feature in found.irrelevant:
        answers[feature] = Answer.HOLDS
    for feature in found.unknown:
        answers[feature] = Answer.UNKNOWN
    return tuple(answers)
