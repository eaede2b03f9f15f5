"""A solver with a session class of our own, and what the options in its name change."""

from collections.abc import Callable
from dataclasses import dataclass

from milp_verix.base.errors import SolverUnavailableError
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers.named_options import NO_OPTIONS, NameOptions
from milp_verix.solvers.session import Session


@dataclass(frozen=True, slots=True)
class OwnSolver:
    """The solver called ``base``, with the ``options`` of its name.

    ``lacking`` returns why it cannot be used, or None; ``begin`` opens a session with a number of
    threads, tolerances and options.
    """

    base: str
    licence: str
    capabilities: frozenset[str]
    lacking: Callable[[], str | None]
    begin: Callable[[int, Tolerances, NameOptions], Session]
    options: NameOptions = NO_OPTIONS

    @property
    def name(self) -> str:
        """The name with the options."""
        return self.options.name or self.base

    @property
    def strict(self) -> bool:
        """True if no other solver may take a program over."""
        return self.options.strict

    def unavailable(self) -> str | None:
        """Return why the solver cannot be used, or None; no licence is looked for."""
        return self.lacking()

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        """Open a session; raises ``SolverUnavailableError`` where the solver cannot be used."""
        if reason := self.unavailable():
            raise SolverUnavailableError(reason)
        return self.begin(threads, tolerances, self.options)
