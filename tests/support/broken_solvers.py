"""HiGHS with one deliberate fault each: what the suite for solvers must catch."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import SolverError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import SOLVERS, Session, SolveResult, SolveStatus, Targets
from verix_encodings import Program

Cost = NDArray[np.float64]


class Honest:
    """A session that passes everything on to HiGHS; a broken one overrides a method."""

    name, version, notes, largest_big_m = "broken", "1.0", (), 1e4
    capabilities: frozenset[str] = frozenset({"early_stop", "start", "growth"})

    def __init__(self) -> None:
        self.inner: Any = SOLVERS["highs"].open(threads=1, tolerances=Tolerances())
        self.calls = 0

    def load(self, program: Program) -> None:
        self.inner.load(program)
        self.program = program

    def extend(self, program: Program) -> None:
        self.inner.extend(program)
        self.program = program

    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        self.inner.set_bounds(columns, lower, upper)
        self.program = self.program.with_bounds(columns, lower, upper)

    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        self.calls += 1
        return self.told(self.inner.minimise(cost, targets), cost, targets)

    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        return result

    def close(self) -> None:
        self.inner.close()


@dataclass
class Broken:
    """The solver whose sessions ``make`` opens."""

    make: Callable[[], Any]
    name: str = "broken"
    licence: str = "none"
    capabilities: frozenset[str] = field(default=frozenset())

    def __post_init__(self) -> None:
        self.capabilities = getattr(self.make, "capabilities", Honest.capabilities)

    def unavailable(self) -> str | None:
        return None

    def open(self, **_options: object) -> Session:
        session: Session = self.make()
        return session


BROKEN: dict[str, type[Honest]] = {}


def broken(kind: type[Honest]) -> type[Honest]:
    BROKEN[kind.__name__] = kind
    return kind


@broken
class IgnoresBounds(Honest):
    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        pass


@broken
class IgnoresOneModification(Honest):
    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        self.calls += 1
        if self.calls != 1234:
            super().set_bounds(columns, lower, upper)

    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        return self.inner.minimise(cost, targets)  # type: ignore[no-any-return]


@broken
class IgnoresLowerBounds(Honest):
    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        super().set_bounds(columns, np.minimum(lower, self.program.column_lower[columns]), upper)


@broken
class OnlyTightens(Honest):
    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        low, high = self.program.column_lower[columns], self.program.column_upper[columns]
        super().set_bounds(columns, np.maximum(lower, low), np.minimum(upper, high))


@broken
class BoundsOutliveALoad(Honest):
    kept: tuple[Any, Any, Any] | None = None

    def load(self, program: Program) -> None:
        super().load(program)
        if self.kept is not None and max(self.kept[0]) < program.columns:
            self.set_bounds(*self.kept)

    def set_bounds(self, columns: Any, lower: Any, upper: Any) -> None:
        self.kept = columns, lower, upper
        super().set_bounds(columns, lower, upper)


@broken
class IgnoresCosts(Honest):
    cost: Cost | None = None

    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        if self.cost is None or self.cost.size != cost.size:
            self.cost = cost.copy()
        return super().minimise(self.cost, targets)


@broken
class IgnoresASecondLoad(Honest):
    loaded = False

    def load(self, program: Program) -> None:
        if not self.loaded or program.columns != self.program.columns:
            super().load(program)
        self.loaded = True


@broken
class DropsNewRows(Honest):
    def extend(self, program: Program) -> None:
        rows = self.program.rows
        low, high = program.row_lower.copy(), program.row_upper.copy()
        low[rows:], high[rows:] = -np.inf, np.inf
        self.load(replace(program, row_lower=low, row_upper=high))


@broken
class GrowsWithOldBounds(Honest):
    def extend(self, program: Program) -> None:
        old = self.program
        super().extend(program)
        if program.extends(old) or program.columns >= old.columns:
            ends = old.column_lower, old.column_upper
            self.inner.set_bounds(np.arange(old.columns), *ends)


@broken
class IncumbentAsBound(Honest):
    def told(self, result: SolveResult, cost: Cost, _targets: Targets) -> SolveResult:
        if result.point is None:
            return result
        return replace(result, bound=float(cost @ result.point))


@broken
class ObjectiveAsBoundOfEarlyEnds(Honest):
    def told(self, result: SolveResult, cost: Cost, _targets: Targets) -> SolveResult:
        early = result.status is SolveStatus.TARGET and result.point is not None
        return replace(result, bound=float(cost @ result.point)) if early else result  # type: ignore[operator]


@broken
class TargetAsBound(Honest):
    def told(self, result: SolveResult, _cost: Cost, targets: Targets) -> SolveResult:
        return replace(result, bound=max(result.bound, min(targets.holds_above, 1e6)))


@broken
class StopsEarlyAndSaysOptimal(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        result = self.inner.minimise(cost, replace(targets, seconds=min(targets.seconds, 0.02)))
        early = (SolveStatus.TIME_LIMIT, SolveStatus.TARGET)
        return replace(result, status=SolveStatus.OPTIMAL) if result.status in early else result


@broken
class OneNodeIsOptimal(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.inner._model.setOptionValue("mip_max_nodes", 1)

    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        late = result.status is SolveStatus.TIME_LIMIT
        return replace(result, status=SolveStatus.OPTIMAL) if late else result


@broken
class AGapOfATenth(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.inner._model.setOptionValue("mip_rel_gap", 0.1)


@broken
class TargetsThatAreNotMet(Honest):
    def told(self, result: SolveResult, _cost: Cost, targets: Targets) -> SolveResult:
        asked = np.isfinite(targets.holds_above) or np.isfinite(targets.violated_below)
        return replace(result, status=SolveStatus.TARGET) if asked else result


@broken
class WrongShape(Honest):
    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        return result if result.point is None else replace(result, point=result.point[:-1])


@broken
class RowsAsPoint(Honest):
    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        return result if result.point is None else replace(result, point=result.point[None, :])


@broken
class PointOfNan(Honest):
    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        if result.point is None or self.calls % 2:
            return result
        return replace(result, point=np.full(result.point.shape, np.nan))


@broken
class ReversedPoint(Honest):
    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        return result if result.point is None else replace(result, point=result.point[::-1].copy())


@broken
class SharedPoint(Honest):
    held: Any = None

    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        if result.point is None:
            return result
        if self.held is None or self.held.shape != result.point.shape:
            self.held = result.point
        self.held[:] = result.point
        return replace(result, point=self.held)


@broken
class WritesOverCosts(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        result = super().minimise(cost, targets)
        cost[:] = 0.0
        return result


@broken
class IgnoresIntegrality(Honest):
    def load(self, program: Program) -> None:
        super().load(replace(program, integer=np.zeros(program.columns, dtype=bool)))

    def extend(self, program: Program) -> None:
        self.load(program)


@broken
class IgnoresTheTimeLimit(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        return super().minimise(cost, replace(targets, seconds=np.inf))


@broken
class InfeasibleForTimeLimit(Honest):
    def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
        if result.status is not SolveStatus.TIME_LIMIT:
            return result
        return SolveResult(SolveStatus.INFEASIBLE)


@broken
class OptimalForInfeasible(Honest):
    def told(self, result: SolveResult, cost: Cost, _targets: Targets) -> SolveResult:
        if result.status is not SolveStatus.INFEASIBLE:
            return result
        return SolveResult(SolveStatus.OPTIMAL, 0.0, np.zeros(cost.size))


@broken
class NothingAtAll(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        return None  # type: ignore[return-value]


@broken
class GivesUp(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        return SolveResult(SolveStatus.TIME_LIMIT)


@broken
class DropsSmallCoefficients(Honest):
    def load(self, program: Program) -> None:
        kept = program.matrix.copy()
        kept.data[np.abs(kept.data) < 1e-8] = 0.0
        super().load(replace(program, matrix=kept))

    def extend(self, program: Program) -> None:
        self.load(program)


@broken
class RoundsToSinglePrecision(Honest):
    def load(self, program: Program) -> None:
        matrix = program.matrix.astype(np.float32).astype(np.float64)
        super().load(replace(program, matrix=matrix))

    def extend(self, program: Program) -> None:
        self.load(program)


@broken
class TakesTheStartForTheOptimum(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        start = targets.start
        if start is not None and np.isfinite(start).all():
            value = float(cost @ start)
            return SolveResult(SolveStatus.OPTIMAL, value, start)
        return super().minimise(cost, targets)


@broken
class SwallowsCtrlC(Honest):
    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        try:
            return super().minimise(cost, targets)
        except KeyboardInterrupt:
            return SolveResult(SolveStatus.TIME_LIMIT)


@broken
class DeadAfterCtrlC(Honest):
    dead = False

    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        if self.dead:
            return SolveResult(SolveStatus.FAILED)
        try:
            return super().minimise(cost, targets)
        except KeyboardInterrupt:
            self.dead = True
            raise


@broken
class OneForAll(Honest):
    """All sessions are one: what is loaded in one is loaded in all."""

    shared: Any = None

    def __init__(self) -> None:
        if OneForAll.shared is None:
            super().__init__()
            OneForAll.shared = self.inner
        self.inner, self.calls = OneForAll.shared, 0

    def close(self) -> None:
        pass


@broken
class AnotherPointEachTime(Honest):
    opened = 0

    def __init__(self) -> None:
        super().__init__()
        AnotherPointEachTime.opened += 1
        self.inner._model.setOptionValue("random_seed", AnotherPointEachTime.opened)
        self.flip = bool(AnotherPointEachTime.opened % 2)

    def told(self, result: SolveResult, cost: Cost, _targets: Targets) -> SolveResult:
        # a tie of equal columns, taken the other way round
        if self.flip and result.point is not None and np.ptp(cost) == 0 and cost.size == 6:
            return replace(result, point=result.point[::-1].copy())
        return result


@broken
class NamesNoVersion(Honest):
    version = None  # type: ignore[assignment]


@broken
class ClaimsTooMuch(Honest):
    capabilities = frozenset({"early_stop", "start", "growth", "teleport"})


@broken
class FailsToClose(Honest):
    def close(self) -> None:
        raise OSError("the licence server is gone")


def telling(of: SolveStatus | None = None, **changes: Callable[[Any], Any]) -> type[Honest]:
    """Return a session that changes fields of its results, or of those of one status alone."""

    class Tells(Honest):
        def told(self, result: SolveResult, _cost: Cost, _targets: Targets) -> SolveResult:
            if of not in {None, result.status}:
                return result
            told = {name: change(getattr(result, name)) for name, change in changes.items()}
            return replace(result, **told)

    return Tells


BROKEN |= {
    "TargetsAreOptimal": telling(SolveStatus.TARGET, status=lambda _: SolveStatus.OPTIMAL),
    "FailedForInfeasible": telling(SolveStatus.INFEASIBLE, status=lambda _: SolveStatus.FAILED),
    "InfiniteBound": telling(bound=lambda _: np.inf),
    "InfiniteBoundOfInfeasible": telling(SolveStatus.INFEASIBLE, bound=lambda _: np.inf),
    "BoundOfNan": telling(bound=lambda _: np.nan),
    "BoundALittleHigh": telling(bound=lambda bound: bound + 1e-6),
    "BoundTooLow": telling(bound=lambda bound: bound - 1e-3),
    "NoPoint": telling(point=lambda _: None),
}


def raising(calls: int, error: BaseException) -> type[Honest]:
    """Return a session that raises ``error`` once it has answered ``calls`` times."""

    class Raises(Honest):
        def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
            if self.calls == calls:
                raise error
            return super().minimise(cost, targets)

    return Raises


BROKEN |= {
    "ThrowsInTheMiddle": raising(5, RuntimeError("in the middle")),
    "ThrowsSolverErrors": raising(5, SolverError("out of memory")),
    "Exits": raising(2, SystemExit(0)),
}


def dropping(kind: str, field_: str) -> type[Honest]:
    """Return a session that claims constraints of a kind, and drops them."""

    class Drops(Honest):
        capabilities = Honest.capabilities | {kind}

        def load(self, program: Program) -> None:
            super().load(replace(program, **{field_: ()}))

        def extend(self, program: Program) -> None:
            self.load(program)

    return Drops


BROKEN |= {
    "DropsIndicators": dropping("indicator", "indicators"),
    "DropsSets": dropping("sos1", "sos1"),
    "DropsMaxima": dropping("general", "maxima"),
    "DropsBalls": dropping("quadratic", "quadratic_rows"),
}


@broken
class DropsWhatItDoesNotClaim(Honest):
    def load(self, program: Program) -> None:
        super().load(replace(program, indicators=(), sos1=(), maxima=(), quadratic_rows=()))


@broken
class ClaimsALimitOfWork(Honest):
    capabilities = Honest.capabilities | {"work_limit"}

    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        return super().minimise(cost, replace(targets, work=np.inf))


@broken
class Sleeps(Honest):
    """It takes an hour where it was given less than a second."""

    def minimise(self, cost: Cost, targets: Targets) -> SolveResult:
        if targets.seconds < 1:
            time.sleep(3600)
        return super().minimise(cost, targets)
