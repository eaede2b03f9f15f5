"""A solver's session that is opened anew after a failure."""

from collections.abc import Callable

from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import Session, Solver, open_session


class ReopeningSession:
    """The session of a solver, opened anew if a check broke the last one.

    The first session opens at once, so a solver that is missing shows before anything is computed
    (``SolverUnavailableError``). ``name`` and ``version`` are the solver's.
    """

    def __init__(
        self,
        solver: str | Solver,
        *,
        threads: int,
        tolerances: Tolerances,
        needed: frozenset[str],
    ) -> None:
        self._open: Callable[[], Session] = lambda: open_session(
            solver, threads=threads, tolerances=tolerances, needed=needed
        )
        self._session: Session | None = self._open()
        self.name, self.version = self._session.name, self._session.version
        self._earlier_notes: tuple[str, ...] = ()

    @property
    def session(self) -> Session:
        """The session, opened anew if the last one was closed."""
        if self._session is None:
            self._session = self._open()
        return self._session

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all sessions so far."""
        return self._earlier_notes + (self._session.notes if self._session else ())

    def close(self) -> None:
        """Close the session, if one is open."""
        if self._session is not None:
            self._earlier_notes = self.notes
            self._session.close()
            self._session = None
