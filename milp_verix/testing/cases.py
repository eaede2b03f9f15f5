"""The cases of the suite: each puts questions to one session, whose every answer is judged."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from milp_verix.base.errors import SolverError
from milp_verix.solvers import SolveStatus, Targets
from milp_verix.solvers.session import CAPABILITIES, PROGRAM_NEEDS
from milp_verix.testing.exact import optimum
from milp_verix.testing.programs import (
    INF,
    SPLIT_SIZES,
    WRITTEN,
    builder_of,
    cost_of,
    covering,
    matching,
    mixed,
    split,
)
from milp_verix.testing.trial import Trial, Unmet, interrupted_after
from verix_encodings.work import UNITS_PER_SECOND, worked

Run = Callable[[Trial], object]


@dataclass(frozen=True, slots=True)
class Case:
    """A case, for solvers with the capabilities that it ``needs``."""

    name: str
    run: Run
    needs: frozenset[str] = frozenset()


def cases_for(capabilities: frozenset[str]) -> tuple[Case, ...]:
    """Return the cases for a solver that claims ``capabilities``."""
    beyond = sorted(PROGRAM_NEEDS - capabilities - {"partition"})
    refusals = [Case(f"{CAPABILITIES[kind]} refused", partial(_refused, kind)) for kind in beyond]
    return *(case for case in _CASES if case.needs <= capabilities), *refusals


def _written(data: dict[str, Any], trial: Trial) -> None:
    """Ask for both directions, and with each binary fixed; a column without ends may be refused."""
    program, cost, best = builder_of(data).build(), np.array(data["cost"]), data.get("best")
    if best is not None:
        trial.load(program).ask(cost, best=best)
    elif any(None in ends for ends in data["box"]):
        with suppress(SolverError):
            trial.load(program).ask(cost, may_fail=True)
    elif trial.load(program).ask(cost).status is not SolveStatus.INFEASIBLE:
        trial.ask(-cost)
        for j in np.flatnonzero(program.integer)[:2]:
            for value in (0, 1):
                trial.set_bounds(j, value, value)
                trial.ask(cost)
    if "ball" in data:
        trial.ask(cost, best=best)


def _refused(kind: str, trial: Trial) -> None:
    programs = (builder_of(data).build() for data in WRITTEN.values())
    program = next(one for one in programs if kind in one.needs)
    with suppress(SolverError):
        trial.session.load(program)
        trial.session.minimise(np.ones(program.columns), Targets(seconds=trial.seconds))
        raise Unmet(f"a SolverError, as the solver claims no {CAPABILITIES[kind]}", "none")


def _modified(seed: int, trial: Trial) -> None:
    """Change costs and bounds in turns, beyond those loaded, too, and end that by a load."""
    program = mixed(seed)
    rng, cost = np.random.default_rng(seed), cost_of(program, seed)
    trial.load(program).ask(cost_of(program, seed + 1))
    trial.ask(cost)
    for width in (1, 2, 16):
        j, k, whole = rng.choice(2), 2 + rng.choice(3), rng.integers(2)
        low = -width * rng.integers(1, 7) / 8
        trial.set_bounds([k, j], [whole, low], [whole, low + width * rng.integers(1, 9) / 4])
        trial.ask(cost)
        trial.ask(-cost)
    trial.set_bounds(np.arange(5), program.column_lower, program.column_upper)
    trial.ask(cost)
    trial.set_bounds([0, 2], [0, 1], [0, 1])
    trial.load(program).ask(cost)


def _early(seed: int, trial: Trial) -> None:
    """Set targets on either side of the optimum, and none afterwards."""
    program = covering(seed)
    cost = np.abs(cost_of(program, seed))
    best = float(optimum(program, cost) or 0)
    trial.load(program)
    for violated, holds in ((9, INF), (-1, INF), (-INF, -0.5), (-INF, 0.5), (-2, -1), (-0.5, 0.5)):
        given = Targets(violated_below=best + violated, holds_above=best + holds)
        trial.ask(cost, given, best)
    trial.ask(cost, Targets(whole=True), best)
    trial.ask(cost, best=best)


_CASES = [
    *(
        Case(name, partial(_written, data), builder_of(data).build().needs)
        for name, data in WRITTEN.items()
    ),
    *(Case(f"changes of costs and bounds {k}", partial(_modified, k)) for k in range(16)),
    *(Case(f"early ends {k}", partial(_early, k)) for k in range(8)),
]


def _case(name: str, *needs: str) -> Callable[[Run], Run]:
    def add(run: Run) -> Run:
        _CASES.append(Case(name, run, frozenset(needs)))
        return run

    return add


@_case("what it is")
def _what_it_is(trial: Trial) -> None:
    session, claimed = trial.session, trial.solver.capabilities
    texts = (session.name, session.version, *session.notes)
    known = claimed == session.capabilities and claimed <= CAPABILITIES.keys()
    if not (known and all(isinstance(text, str) for text in texts) and session.largest_big_m > 0):
        raise Unmet(
            "texts as name, version and notes, a largest_big_m above 0, and the capabilities of "
            f"the solver, among {', '.join(CAPABILITIES)}",
            f"{texts}, {session.largest_big_m}, {set(session.capabilities)}",
        )


@_case("one program after the other")
def _one_after_the_other(trial: Trial) -> None:
    for data in WRITTEN.values():
        program = builder_of(data).build()
        if not program.needs and np.isfinite(program.column_upper - program.column_lower).all():
            trial.load(program).ask(data["cost"])


@_case("thirty costs")
def _thirty_costs(trial: Trial) -> None:
    trial.load(mixed(3))
    for seed in range(30):
        trial.ask(cost_of(mixed(3), seed) * (seed % 7 > 0))


@_case("thousands of modifications")
def _thousands(trial: Trial) -> None:
    """Modify forty of sixty columns between two questions: none can be left out unseen."""
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 9, 60) * rng.choice([-1, 1], 60)
    box = [[-8, 8]] * 60 + [[-9e3, 9e3]]
    trial.load(builder_of({"box": box, "rows": [([*factors, -1], 0, 0)]}).build())
    cost, low, high = np.eye(61)[60], np.full(60, -8), np.full(60, 8)
    for _ in range(50):
        for j in rng.permutation(60)[:40]:
            low[j] = rng.integers(-8, 8)
            high[j] = rng.integers(low[j], 9)
            trial.set_bounds(j, low[j], high[j])
        ends = np.stack([factors * low, factors * high])
        trial.ask(cost, best=int(ends.min(axis=0).sum()))
        trial.ask(-cost, best=-int(ends.max(axis=0).sum()))


@_case("bounds that leave no point")
def _no_point(trial: Trial) -> None:
    trial.load(builder_of(WRITTEN["equal columns"]).build())
    for ends in ((0, 0), (0, 1), (1, 1), (0, 1)):
        trial.set_bounds(np.arange(6), *ends)
        trial.ask(np.arange(6))


@_case("entries that solvers drop")
def _dropped(trial: Trial) -> None:
    """What is dropped may widen a row, and must not tighten it, for wider bounds either."""
    for entry, most in ((1e-10, 1e9), (9e-14, 1.0), (9e-14, 1e12)):
        trial.load(builder_of({"box": [[0, 1]] * 2, "rows": [([entry, -1], 0, 0)]}).build())
        trial.set_bounds(0, 0, most)
        bound = trial.session.minimise(np.array([0.0, -1.0]), Targets()).bound
        if not bound <= -entry * most + 1e-9:
            raise Unmet(f"a bound of at most {-entry * most:.12g}", f"{bound:.12g}")


@_case("growth by rows and columns")
def _growth(trial: Trial) -> None:
    builder, rng = builder_of(WRITTEN["equal columns"]), np.random.default_rng(1)
    trial.load(builder.build())
    for k in range(5):
        trial.set_bounds(0, 1, 1)
        trial.ask(np.abs(cost_of(trial.program, k)))
        new = builder.add_columns("more", np.array([k]), 0, 1 + k % 3, integer=k % 3 == 0)
        terms = [(rng.integers(1, 5, (1, 6)) * 1.0, np.arange(6)), (np.ones((1, 1)), new)]
        builder.add_rows("also", np.array([k]), terms, 6 + k, INF)
        # the extension comes with its own bounds
        trial.extend(builder.build())
        trial.ask(np.abs(cost_of(trial.program, k)))
    trial.extend(mixed(0))
    trial.ask(cost_of(mixed(0), 0))


@_case("starts good and bad")
def _starts(trial: Trial) -> None:
    cost = np.abs(cost_of(covering(9), 9))
    best = optimum(covering(9), cost)
    trial.load(covering(9))
    for number in (1, 0, 0.5, 1e30, np.nan):
        for holds in (INF, float(best or 0) - 0.5):
            trial.ask(cost, Targets(start=np.full(9, number), holds_above=holds), best)
    trial.ask(cost, Targets(first=np.array([3, 1]), probe=lambda _point: False), best)


@_case("a pairing of ten")
def _pairing(trial: Trial) -> None:
    program, cost, best = matching(10)
    for one in (program, program.relaxed):
        for seconds in (INF, 0.0, 1e-3, INF):
            trial.load(one).ask(cost, Targets(seconds=seconds), best)


@_case("several sessions")
def _sessions(trial: Trial) -> None:
    """Two at once have the same answers, and keep their programs and points to themselves."""
    other = Trial(trial.solver, trial.seconds)
    for name in ("equal columns", "ties of vertices", "ties of binaries"):
        program, cost = builder_of(WRITTEN[name]).build(), WRITTEN[name]["cost"]
        answers = [one.load(program).ask(cost) for one in (trial, other)]
        first, second = [(a.bound, np.asarray(a.point).tolist()) for a in answers]
        if first != second:
            raise Unmet(f"the answer of another session, {first}", str(second))
    trial.load(mixed(1))
    other.load(mixed(2))
    for seed in range(3):
        point = trial.ask(cost_of(mixed(1), seed)).point
        before = np.array(point)
        other.ask(cost_of(mixed(2), seed))
        trial.set_bounds(seed, 0, 0)
        trial.ask(-cost_of(mixed(1), seed))
        if not np.array_equal(before, np.asarray(point)):
            raise Unmet(f"the earlier point {before}", f"{point}")
    other.session.close()
    trial.ask(cost_of(mixed(1), 0))


def _climb(trial: Trial, targets: Targets) -> None:
    """Ask for ever larger splits, up to one that the limit ends; then ask for an easy one."""
    for size in SPLIT_SIZES:
        program, cost = split(size)
        if trial.load(program).ask(cost, targets, 0).status is SolveStatus.TIME_LIMIT:
            break
    trial.load(mixed(5)).ask(cost_of(mixed(5), 5))


_case("a time limit of 0")(partial(_climb, targets=Targets(seconds=0.0)))
_case("a time limit")(partial(_climb, targets=Targets(seconds=0.5)))


@_case("a limit of work", "work_limit")
def _work(trial: Trial) -> None:
    work, began, (program, cost) = UNITS_PER_SECOND // 4, worked(), split(SPLIT_SIZES[-1])
    started = time.monotonic()
    result = trial.load(program).ask(cost, Targets(seconds=30.0, work=work), 0)
    took, counted = time.monotonic() - started, worked() - began
    if not (result.status is SolveStatus.TIME_LIMIT and counted >= work and took < 29):
        seen = f"{result.status.name} after {took:.1f} s and {counted} units of work"
        raise Unmet(f"an end by the limit of {work} units, which are counted", seen)


@_case("interrupted by Ctrl-C")
def _interrupted(trial: Trial) -> None:
    for size in SPLIT_SIZES:
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
    trial.load(mixed(7)).ask(cost_of(mixed(7), 7))
