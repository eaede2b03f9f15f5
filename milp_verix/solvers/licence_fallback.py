"""A session that hands programs beyond its licence to another solver, and counts them."""

from collections.abc import Callable

from milp_verix.base.errors import LicenceLimitError
from milp_verix.solvers.session import Session, SolveResult, Targets, extend, in_words
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray


class LicenceFallback:
    """Solves with ``primary``; a program beyond its licence goes to the session ``open_other()``.

    ``handed_over`` counts these programs; ``notes`` says it in words.
    """

    def __init__(self, primary: Session, open_other: Callable[[], Session]) -> None:
        self.name, self.version = primary.name, primary.version
        self.capabilities = primary.capabilities
        self._primary = self._current = primary
        self._open_other = open_other
        self._other: Session | None = None
        self._program: Program | None = None
        self._reason = ""
        self.handed_over = 0

    @property
    def solving(self) -> str:
        return self._current.name

    @property
    def largest_big_m(self) -> float:
        return self._current.largest_big_m

    @property
    def notes(self) -> tuple[str, ...]:
        own = self._primary.notes
        if self._other is None:
            return own
        return (
            *own,
            f"{self.handed_over} programs were solved by {self._other.name}: {self._reason}",
        )

    def load(self, program: Program) -> None:
        self._program = program
        self._current = self._primary
        try:
            self._primary.load(program)
        except LicenceLimitError as error:
            self._hand_over(error)

    def extend(self, program: Program) -> None:
        self._program = program
        if self._current is self._other:
            self.handed_over += 1
        try:
            extend(self._current, program)
        except LicenceLimitError as error:
            if self._current is self._other:
                raise
            self._hand_over(error)

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        assert self._program is not None
        self._program = self._program.with_bounds(columns, lower, upper)
        self._current.set_bounds(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        try:
            return self._current.minimise(cost, targets)
        except LicenceLimitError as error:
            if self._current is self._other:
                raise
            self._hand_over(error)
            return self._current.minimise(cost, targets)

    def close(self) -> None:
        self._primary.close()
        if self._other is not None:
            self._other.close()

    def _hand_over(self, error: LicenceLimitError) -> None:
        """Move the program to the other solver; raise ``error`` if that does not take it."""
        if self._other is None:
            self._other = self._open_other()
        assert self._program is not None
        if not self._program.needs <= self._other.capabilities:
            beyond = in_words(self._program.needs - self._other.capabilities)
            raise LicenceLimitError(f"{error}; {self._other.name} takes no {beyond}") from error
        self._other.load(self._program)
        self._current = self._other
        self._reason = str(error)
        self.handed_over += 1
