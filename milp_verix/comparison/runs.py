"""Put one question to one pair of solver and formulation, and time the solver."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from milp_verix.arguments import resolve_formulation, seconds_of
from milp_verix.clock import deadline_in
from milp_verix.comparison.timed_solver import SolverClock, timed_solver
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.problem import Problem
from milp_verix.problem.request import check_limit_of
from milp_verix.results.public import Run
from milp_verix.results.records.comparison import Pair
from milp_verix.results.records.explanation import Explanation
from milp_verix.results.records.verdict import Answer, Verdict
from milp_verix.runner import stopping
from milp_verix.traversal.explain import explain

PROBLEM = (
    "epsilon",
    "norm",
    "delta",
    "domain",
    "features",
    "label",
    "against",
    "output",
    "image_shape",
    "inputs",
)
"""The options that pose the problem."""
ENCODING = ("bounds", "segments")
"""The options that say how a check becomes a program."""

_LIMITS = ("time_limit", "check_time_limit")


def part_of(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the ``options`` whose names are in ``names``."""
    return {name: options[name] for name in names if name in options}


def explained(problem: Problem, pair: Pair, options: dict[str, Any]) -> Run:
    """Find an explanation; ``options`` are those of :func:`milp_verix.explain`."""
    chosen, clock = _timed(pair)
    x = problem.x if problem.image_shape is None else problem.x.reshape(problem.image_shape)
    found = explain(problem.network, x, **options, **chosen)
    took = found.statistics
    return Run(
        pair,
        version=found.versions.get(found.solver, ""),
        answers=_answers(found),
        checks=took.checks,
        solves=took.solves,
        nodes=took.nodes,
        iterations=took.iterations,
        seconds=took.seconds,
        inside=clock.time,
        stopped=took.stopped,
        notes=found.notes,
        explanation=found,
    )


def answered(
    problem: Problem, pair: Pair, checks: Sequence[tuple[int, ...]], options: dict[str, Any]
) -> Run:
    """Answer ``checks`` one by one, each by itself.

    ``options`` are those of :func:`milp_verix.explain` that concern a check and its time; any other
    is a ``TypeError``.
    """
    chosen, clock = _timed(pair)
    whole = deadline_in(seconds_of(options.get("time_limit"), "time_limit"))
    each = check_limit_of(options.get("check_time_limit"), options.get("time_limit"))
    rest = {k: v for k, v in options.items() if k not in (*PROBLEM, *_LIMITS)}
    known, started = _Answers(), time.monotonic()
    with Oracle(problem, **{"reuse": False, **rest}, **chosen) as oracle:
        with stopping(known):
            oracle.prepare(whole)
            for free in checks:
                whole.check()
                coordinates = problem.features.coordinates(free)
                known.verdicts.append(oracle.check(coordinates, whole.limited(each)))
        seconds = time.monotonic() - started
        verdicts, effort = known.verdicts, oracle.effort
        unasked = [Answer.UNKNOWN] * (len(checks) - len(verdicts))
        return Run(
            pair,
            version=oracle.versions[oracle.solver],
            answers=(*(verdict.answer for verdict in verdicts), *unasked),
            checks=len(verdicts),
            solves=effort.solves,
            nodes=effort.nodes,
            iterations=effort.iterations,
            seconds=seconds,
            inside=clock.time,
            stopped=known.stopped,
            notes=oracle.notes + problem.notes,
            verdicts=tuple(verdicts),
        )


@dataclass(slots=True)
class _Answers:
    """The verdicts so far, and the reason of an early end."""

    verdicts: list[Verdict] = field(default_factory=list)
    stopped: str | None = None


def _timed(pair: Pair) -> tuple[dict[str, Any], SolverClock]:
    """Return the arguments that choose ``pair``, and the clock of its solver."""
    clock = SolverClock()
    needed = resolve_formulation(pair.formulation).needs
    solver = timed_solver(pair.solver, clock, needed)
    return {"solver": solver, "formulation": pair.formulation}, clock


def _answers(found: Explanation) -> tuple[Answer, ...]:
    answers = [Answer.VIOLATED] * len(found.groups)
    for feature in found.irrelevant:
        answers[feature] = Answer.HOLDS
    for feature in found.unknown:
        answers[feature] = Answer.UNKNOWN
    return tuple(answers)
