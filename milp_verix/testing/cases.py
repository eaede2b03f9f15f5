"""The cases of the suite: each puts questions to one session, whose every answer is judged.

Most are in ``cases.json``, lists of steps with optima found in exact arithmetic.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import SolverError
from milp_verix.solvers import SolveResult, SolveStatus, Targets
from milp_verix.solvers.session import CAPABILITIES, PROGRAM_NEEDS
from milp_verix.testing.trial import Trial, Unmet, exactly, interrupted_after
from verix_encodings import Program, ProgramBuilder
from verix_encodings.arrays import FloatArray
from verix_encodings.work import UNITS_PER_SECOND, worked

CaseRun = Callable[[Trial], object]
_INF = np.inf


@dataclass(frozen=True, slots=True)
class SolverCase:
    """A case, for solvers with the capabilities that it ``needs``."""

    name: str
    run: CaseRun
    needs: frozenset[str] = frozenset()


def cases_for(capabilities: frozenset[str]) -> tuple[SolverCase, ...]:
    """Return the cases for a solver that claims ``capabilities``."""
    beyond = sorted(PROGRAM_NEEDS - capabilities - {"partition"})
    refusals = [
        SolverCase(f"{CAPABILITIES[kind]} refused", partial(_refused, kind)) for kind in beyond
    ]
    return *(case for case in _CASES if case.needs <= capabilities), *refusals


def builder_of(data: Mapping[str, Any]) -> ProgramBuilder:
    """Return a builder with the ``box`` of columns, of which those in ``whole`` are integer.

    ``rows`` have coefficients and two ends, which may be None; ``rules`` a binary, its value,
    coefficients and an upper end; ``sets`` their columns. Column 0 is the ``maximum`` of columns
    and a constant; the columns that are not whole lie in the ``ball``.
    """
    builder, columns, whole = ProgramBuilder(), np.arange(len(data["box"])), data.get("whole", ())
    for j, ends in enumerate(data["box"]):
        builder.add_columns("v", np.array([j]), *_ends(*ends), integer=j in whole)
    for i, (row, *ends) in enumerate(data.get("rows", ())):
        builder.add_rows("row", np.array([i]), [(np.array([row], float), columns)], *_ends(*ends))
    for i, (binary, value, row, upper) in enumerate(data.get("rules", ())):
        terms, at = [(np.array([row], float), columns)], (np.array([i]), np.array([binary]))
        builder.add_indicators("rule", *at, terms, value=value, upper=upper)
    for i, members in enumerate(data.get("sets", ())):
        builder.add_sos1("set", np.array([i]), np.array([members]))
    if "maximum" in data:
        members, constant = data["maximum"]
        builder.add_maxima("maximum", columns[:1], columns[:1], np.array([members]), constant)
    if "ball" in data:
        builder.add_quadratic_row(np.setdiff1d(columns, whole), data["ball"])
    return builder


def _ends(low: float | None, high: float | None) -> tuple[float, float]:
    return -_INF if low is None else low, _INF if high is None else high


_TARGETS = ("seconds", "violated_below", "holds_above", "whole", "start", "first")


def _step(step: Mapping[str, Any], trial: Trial) -> SolveResult | None:
    """Take a step of a case; return the answer to a question."""
    for change in ("load", "extend"):
        if change in step:
            getattr(trial, change)(builder_of(step[change]).build())
    if "bounds" in step:
        trial.set_bounds(*map(np.array, step["bounds"]))
    if "ask" not in step:
        return None
    given: dict[str, Any] = {key: step[key] for key in _TARGETS if key in step}
    given |= {key: np.array(given[key]) for key in ("start", "first") if key in given}
    targets = Targets(**given)
    allowed = {key: True for key in ("may_fail", "bound_alone") if key in step}
    with suppress(*([SolverError] if "may_fail" in step else [])):
        return trial.ask(np.array(step["ask"], float), exactly(step["best"]), targets, **allowed)
    return None


def _steps(steps: list[dict[str, Any]], trial: Trial) -> None:
    for step in steps:
        _step(step, trial)


_WRITTEN: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
_CASES = [
    SolverCase(name, partial(_steps, steps), builder_of(steps[0]["load"]).build().needs)
    for name, steps in _WRITTEN.items()
]


def _case(name: str, *needs: str) -> Callable[[CaseRun], CaseRun]:
    def add(run: CaseRun) -> CaseRun:
        _CASES.append(SolverCase(name, run, frozenset(needs)))
        return run

    return add


def _refused(kind: str, trial: Trial) -> None:
    name = next(case.name for case in _CASES if kind in case.needs)
    program = builder_of(_WRITTEN[name][0]["load"]).build()
    with suppress(SolverError):
        trial.session.load(program)
        trial.session.minimise(np.ones(program.columns), Targets(seconds=trial.seconds))
        raise Unmet(f"a SolverError, as the solver claims no {CAPABILITIES[kind]}", "none")


@_case("what it is")
def _what_it_is(trial: Trial) -> None:
    session, claimed = trial.session, trial.solver.capabilities
    texts = (session.name, session.version, *session.notes)
    known = claimed <= session.capabilities and claimed <= CAPABILITIES.keys()
    if not (known and all(isinstance(text, str) for text in texts) and session.largest_big_m > 0):
        raise Unmet(
            "texts as name, version and notes, a largest_big_m above 0, and the capabilities of "
            f"the solver, among {', '.join(CAPABILITIES)}",
            f"{texts}, {session.largest_big_m}, {set(session.capabilities)}",
        )


@_case("one program after the other")
def _one_after_the_other(trial: Trial) -> None:
    for case in _CASES:
        if case.name in _WRITTEN and not case.needs:
            _steps(_WRITTEN[case.name][:2], trial)


@_case("thousands of modifications")
def _thousands(trial: Trial) -> None:
    """Modify forty of sixty columns between two questions: none can be left out unseen."""
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 9, 60) * rng.choice([-1, 1], 60)
    box = [[-8, 8]] * 60 + [[-9e3, 9e3]]
    trial.load(builder_of({"box": box, "rows": [([*factors, -1], 0, 0)]}).build())
    cost, low, high = np.eye(61)[60], np.full(60, -8.0), np.full(60, 8.0)
    for _ in range(50):
        for j in rng.permutation(60)[:40, None]:
            low[j] = rng.integers(-8, 8)
            high[j] = rng.integers(low[j], 9)
            trial.set_bounds(j, low[j], high[j])
        ends = np.stack([factors * low, factors * high])
        trial.ask(cost, float(ends.min(axis=0).sum()))
        trial.ask(-cost, -float(ends.max(axis=0).sum()))


@_case("several sessions")
def _sessions(trial: Trial) -> None:
    """Two at once have the same answers, and keep their programs and points to themselves."""
    other = Trial(trial.solver, trial.seconds)
    for name in ("equal columns", "ties of vertices", "ties of binaries"):
        for step in _WRITTEN[name]:
            found = [_step(step, one) for one in (trial, other)]
            first, second = [one and (one.bound, np.array(one.point).tolist()) for one in found]
            if first != second:
                raise Unmet(f"the answer of another session, {first}", str(second))
    points: list[tuple[FloatArray | None, FloatArray]] = []
    for one, two in zip(
        *(_WRITTEN[f"changes of costs and bounds {k}"] for k in (1, 2)), strict=True
    ):
        if (result := _step(one, trial)) is not None:
            points.append((result.point, np.array(result.point)))
        _step(two, other)
    if not all(np.array_equal(point, before) for point, before in points if point is not None):
        raise Unmet("points that stay as they were", "a point that a later solve wrote over")
    other.session.close()
    _steps(_WRITTEN["a knapsack"], trial)


_SPLIT_SIZES = (22, 24, 26, 28, 30, 33, 36, 40, 60)
"""Sizes of splits: the first take no time, the last nobody has years for."""


def split(size: int) -> tuple[Program, FloatArray]:
    """Return a market split of ``size`` binaries, and the cost whose optimum is 0.

    ``min Σ s`` over ``|A x − A x*| ≤ s`` (Cornuéjols and Dawande, IPCO 1998). The relaxation costs
    nothing, many points cost little, and next to none nothing.
    """
    rng = np.random.default_rng(0)
    A, chosen = rng.integers(0, 100, (4, size)), rng.integers(0, 2, size)
    rows = []
    for unit, a in zip(np.eye(4), A, strict=True):
        rows += [([*-unit, *a], None, a @ chosen), ([*unit, *a], a @ chosen, None)]
    box = [[0, 1e4]] * 4 + [[0, 1]] * size
    program = builder_of({"box": box, "whole": range(4, 4 + size), "rows": rows}).build()
    return program, np.repeat([1.0, 0.0], [4, size])


def _climb(trial: Trial, seconds: float) -> None:
    """Ask for ever larger splits, up to one that the limit ends; then ask for an easy one."""
    for size in _SPLIT_SIZES:
        program, cost = split(size)
        result = trial.load(program).ask(cost, 0.0, Targets(seconds=seconds))
        if result.status is SolveStatus.TIME_LIMIT:
            break
    _steps(_WRITTEN["a knapsack"], trial)


_case("a time limit of 0")(partial(_climb, seconds=0.0))
_case("a time limit")(partial(_climb, seconds=0.5))


@_case("a limit of work", "work_limit")
def _work(trial: Trial) -> None:
    work, began, (program, cost) = UNITS_PER_SECOND // 4, worked(), split(_SPLIT_SIZES[-1])
    started = time.monotonic()
    result = trial.load(program).ask(cost, 0.0, Targets(seconds=30.0, work=work))
    took, counted = time.monotonic() - started, worked() - began
    if not (result.status is SolveStatus.TIME_LIMIT and counted >= work and took < 29):
        seen = f"{result.status.name} after {took:.1f} s and {counted} units of work"
        raise Unmet(f"an end by the limit of {work} units, which are counted", seen)


@_case("interrupted by Ctrl-C")
def _interrupted(trial: Trial) -> None:
    for size in _SPLIT_SIZES:
        program, cost = split(size)
        trial.load(program)
        try:
            with interrupted_after(0.3) as pressed:
                began = time.monotonic()
                result = trial.session.minimise(cost, Targets(seconds=3.0))
                took = time.monotonic() - began
        except KeyboardInterrupt:
            if not pressed.is_set():
                raise
            break
        if pressed.is_set() and (took > 0.6 or result.status is not SolveStatus.OPTIMAL):
            raise Unmet("KeyboardInterrupt", f"an answer after {took:.1f} s")
        if result.status is SolveStatus.TIME_LIMIT:
            break  # outside of the main thread, where nobody presses it
    _steps(_WRITTEN["a knapsack"], trial)
