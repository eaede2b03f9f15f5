"""One runner for all searches: Ctrl-C and deadlines end them, watchers hear of each step."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from milp_verix.clock import OutOfTimeError
from milp_verix.oracle.oracle import Oracle
from milp_verix.records.statistics import INTERRUPTED, TIME_LIMIT
from milp_verix.records.verdict import Effort
from milp_verix.results.build import shared_fields, statistics_of

State = TypeVar("State")
Found = TypeVar("Found")


class Stoppable(Protocol):
    """Anything that may end early; ``stopped`` says why, and is None if it has not."""

    stopped: str | None


@contextmanager
def stopping(search: Stoppable) -> Iterator[None]:
    """End the block at its deadline and at Ctrl-C without an error; ``search.stopped`` says why."""
    try:
        yield
    except OutOfTimeError:
        search.stopped = TIME_LIMIT
    except KeyboardInterrupt:
        search.stopped = INTERRUPTED


class AnytimeSearch(ABC, Generic[State, Found]):
    """A search that has a sound result at any time, and improves it until something stops it.

    A subclass is the mathematics: :meth:`search` has the steps, and calls :meth:`tell` after those
    that change the result. ``progress`` is called with the :meth:`state`, ``snapshots`` with the
    :meth:`snapshot`. ``stopped`` is the reason of an early end, None without one.
    """

    def __init__(
        self,
        progress: Callable[[State], None] | None,
        snapshots: Callable[[Callable[[], Found]], None] | None,
    ) -> None:
        self.stopped: str | None = None
        self._progress, self._snapshots = progress, snapshots

    @abstractmethod
    def search(self) -> None:
        """Improve the result until it is final; ``OutOfTimeError`` and Ctrl-C may end each step."""

    @abstractmethod
    def state(self) -> State:
        """Return what goes to ``progress``."""

    @abstractmethod
    def result(self) -> Found:
        """Return the result of the steps so far."""

    def snapshot(self) -> Callable[[], Found]:
        """Return a function that returns the result of the steps so far, at any later time.

        It may be called in any thread. Subclasses whose results take long to build override this.
        """
        found = self.result()
        return lambda: found

    def run(self) -> Found:
        """Search to the end, the deadline or Ctrl-C; return the result."""
        with stopping(self):
            self.save()
            self.search()
        return self.result()

    def save(self) -> None:
        """Give a snapshot to ``snapshots``."""
        if self._snapshots is not None:
            self._snapshots(self.snapshot())

    def show(self) -> None:
        """Give the state to ``progress``."""
        if self._progress is not None:
            self._progress(self.state())

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
    """Return the fields that all results of searches share; ``oracle`` has counted the work.

    ``beside`` is the effort of programs that are no checks of this oracle.
    """
    effort = oracle.effort if beside is None else oracle.effort + beside
    return {
        **shared_fields(oracle.problem, oracle.solver, oracle.versions, notes + oracle.notes),
        "statistics": statistics_of(effort, oracle.checks, seconds, stopped, oracle.solvers),
    }
