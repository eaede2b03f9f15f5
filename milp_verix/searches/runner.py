"""One runner for all searches: Ctrl-C and deadlines end them, watchers hear of each step."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from milp_verix.base.clock import OutOfTimeError
from milp_verix.base.errors import SolverError
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import (
    INTERRUPTED,
    MEMORY_LIMIT,
    TIME_LIMIT,
    Effort,
    SolverStatistics,
)
from milp_verix.problem.problem import ProblemData
from milp_verix.results.build import shared_fields, statistics_of
from verix_encodings.interval_bounds import NoBoundsError

State = TypeVar("State")
Found = TypeVar("Found")


class Stoppable(Protocol):
    """Anything that may end early; ``stopped`` says why, and is None if it has not."""

    stopped: str | None


@contextmanager
def stopping(search: Stoppable) -> Iterator[None]:
    """End the block at its limits and at Ctrl-C without an error; ``search.stopped`` says why."""
    try:
        yield
    except OutOfTimeError:
        search.stopped = TIME_LIMIT
    except MemoryError:
        search.stopped = MEMORY_LIMIT
    except KeyboardInterrupt:
        search.stopped = INTERRUPTED


class AnytimeSearch(ABC, Generic[State, Found]):
    """A search that has a sound result at any time, and improves it until something stops it.

    A subclass is the mathematics: ``_search`` improves the result until it is final, and calls
    :meth:`tell` after each step; ``OutOfTimeError`` and Ctrl-C may end it anywhere. ``_snapshot``
    returns a function that returns the result of the steps so far, at any later time, in any
    thread. ``_state`` is the progress. ``stopped`` is the reason of an early end, None without one.
    """

    stopped: str | None = None
    _progress: Callable[[State], None] | None = None
    _snapshots: Callable[[Callable[[], Found]], None] | None = None

    @abstractmethod
    def _search(self) -> None: ...

    @abstractmethod
    def _state(self) -> State: ...

    @abstractmethod
    def _snapshot(self) -> Callable[[], Found]: ...

    def run(
        self,
        progress: Callable[[State], None] | None,
        snapshots: Callable[[Callable[[], Found]], None] | None,
    ) -> Found:
        """Search to the end, the deadline or Ctrl-C; give states, snapshots, and the result."""
        self._progress, self._snapshots = progress, snapshots
        with stopping(self):
            self.save()
            try:
                self._search()
            except (NoBoundsError, SolverError) as error:  # what was proven until then stays
                self.stopped = str(error)
            return self.result()
        return self.result()

    def result(self) -> Found:
        """Return the result of the steps so far."""
        return self._snapshot()()

    def save(self) -> None:
        """Give a snapshot to those who save it."""
        if self._snapshots is not None:
            self._snapshots(self._snapshot())

    def show(self) -> None:
        """Give the state to those who watch it."""
        if self._progress is not None:
            self._progress(self._state())

    def tell(self) -> None:
        """Save the result so far, and show the state."""
        self.save()
        self.show()


def fields_of(
    oracle: Oracle,
    seconds: float,
    stopped: str | None,
    *,
    notes: tuple[str, ...] = (),
    beside: Effort | None = None,
) -> dict[str, Any]:
    """Return the fields that results share; ``beside`` is effort of others than ``oracle``."""
    tally = OracleWork(beside or Effort())
    tally.add(oracle)
    return tally.fields(oracle.problem, oracle.solver, notes + oracle.notes, seconds, stopped)


@dataclass(eq=False)
class OracleWork:
    """The work of several oracles, one after the other; ``notes`` are those of the last one."""

    effort: Effort = field(default_factory=Effort)
    checks: int = 0
    solvers: dict[str, SolverStatistics] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def add(self, oracle: Oracle) -> None:
        """Count the work of an oracle that is not asked any more."""
        self.checks += oracle.checks
        self.effort += oracle.effort
        self.versions |= {one.name: one.version for one in oracle.portfolio.engines}
        self.notes = oracle.notes
        for one in oracle.portfolio.solvers:
            known = self.solvers.get(one.solver, SolverStatistics(one.solver, 0, 0.0))
            self.solvers[one.solver] = SolverStatistics(
                one.solver, known.checks + one.checks, known.seconds + one.seconds
            )

    @property
    def most(self) -> SolverStatistics | None:
        """The solver that decided the most checks; None before there is one."""
        return max(self.solvers.values(), key=lambda one: one.checks, default=None)

    def fields(
        self,
        problem: ProblemData,
        solver: str,
        notes: tuple[str, ...],
        seconds: float,
        stopped: str | None,
    ) -> dict[str, Any]:
        """Return the fields that all results share."""
        solvers = tuple(self.solvers.values())
        return {
            **shared_fields(problem, solver, self.versions, notes),
            "statistics": statistics_of(self.effort, self.checks, seconds, stopped, solvers),
        }
