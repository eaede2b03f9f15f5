"""A solver with a session class of our own, what its sessions share, and one with a fallback."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from milp_verix.base.clock import NO_LIMIT
from milp_verix.base.errors import LicenceLimitError, SolverError, SolverUnavailableError
from milp_verix.base.number_text import counted
from milp_verix.base.tolerances import Tolerances
from milp_verix.solvers import session, solver_facts
from milp_verix.solvers.remote_session import RemoteSession
from milp_verix.solvers.session import Session, SolveResult, Targets
from milp_verix.solvers.solver_facts import NO_OPTIONS, NameOptions, SolverFacts
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class OwnSolver:
    """The solver with sessions of the class ``kind``, and the ``options`` of its name.

    ``apart`` for sessions in a process of their own, where a solver holds Python's lock or swallows
    Ctrl-C.
    """

    kind: type["OwnSession"]
    apart: bool = False
    options: NameOptions = NO_OPTIONS

    @property
    def name(self) -> str:
        return self.options.name or self.kind.facts.name

    @property
    def licence(self) -> str:
        facts = self.kind.facts
        return facts.licence + (f", free up to {facts.free}" if facts.free else "")

    @property
    def capabilities(self) -> frozenset[str]:
        return self.kind.capabilities

    @property
    def strict(self) -> bool:
        return self.options.strict

    def named(self, name: str, pairs: list[tuple[str, str]]) -> "OwnSolver":
        """Return this solver with the options in a ``name``; ``InputError`` for a wrong one."""
        return replace(self, options=solver_facts.read_name_options(name, self.kind.facts, pairs))

    def unavailable(self) -> str | None:
        return self.kind.lacking()

    def open(self, *, threads: int, tolerances: Tolerances) -> Session:
        if reason := self.unavailable():
            raise SolverUnavailableError(reason)
        begin = partial(self.kind, threads, tolerances, self.options)
        return RemoteSession(begin) if self.apart else begin()


def proven(
    bound: float, infinity: float, cost: FloatArray, point: FloatArray | None, slack: float = 0.0
) -> float:
    """Return a solver's dual ``bound`` as one that is never above the cost of its own ``point``.

    It is lowered by ``slack``, relatively; from ``infinity`` on it is none, -inf.
    """
    if abs(bound) >= infinity:
        return -np.inf
    bound -= slack * max(1.0, abs(bound))
    # what a cost of 1e-12 or so is rounded to, and a bound above a point of its own
    return bound if point is None else min(bound, float(cost @ point))


class OwnSession:
    """A session that keeps the program, and a model by ``_build``, ``_add_rest``, ``_change``.

    ``_package`` is its solver's ``package``, which raises ``_errors``; ``_open`` begins with it,
    and ``_solve`` minimises until ``_deadline``. ``parameters`` are all that are set; a solve takes
    at most ``longest`` seconds.
    """

    facts: ClassVar[SolverFacts]
    package: ClassVar[str]
    version: str
    capabilities: frozenset[str] = session.FULL
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = MappingProxyType({})
    _errors: tuple[type[Exception], ...] = ()
    _program: Program | None = None
    _widened: Program | None = None
    _model: Any = None
    _deadline = NO_LIMIT

    def __init__(
        self, threads: int, tolerances: Tolerances, given: NameOptions = NO_OPTIONS
    ) -> None:
        facts, self._given, self.longest = self.facts, given, given.seconds
        self._begun_with = threads, tolerances
        self.name = given.name or facts.name
        self.notes = solver_facts.notes_on(self.name, given.settings, None)
        # tolerances that a solver is shipped with are wider, and it drops larger entries
        trusted = solver_facts.UNKNOWN if given.shipped else facts
        self.largest_big_m, self.dropped = trusted.largest_big_m, trusted.dropped
        usual = facts.shipped(threads) if given.shipped else facts.usual(threads, tolerances)
        self.parameters = {**usual, **given.settings}
        self._package: Any = import_module(self.package)
        try:
            self._open()
        except self._errors as error:
            text = f"{self.name} gives no licence ({error}): renew it, or use another solver"
            raise SolverUnavailableError(f"{text}, such as highs") from error

    @classmethod
    def lacking(cls) -> str | None:
        """Return why the package cannot be used and what to do, or None if it can."""
        try:
            import_module(cls.package)
        except ImportError as error:
            return f"{cls.package} does not import ({error}): pip install {cls.package}"
        return None

    def _open(self) -> None:
        """Begin with the package: its version, an environment."""
        raise NotImplementedError

    def _of_balls(self, program: Program) -> dict[str, Any]:
        """Return the parameters for balls of ``program``, but for those that the name sets."""
        balls = self.facts.balls if program.quadratic_rows else {}
        return {name: balls[name] for name in balls.keys() - self._given.settings.keys()}

    def _before(self, act: str) -> Program:
        """Return the program loaded; ``SolverError`` without one, which ``act`` needs."""
        if self._program is None:
            raise SolverError(f"load a program before {act}")
        return self._program

    def load(self, program: Program) -> None:
        session.refuse_beyond(self, program)
        kept, self._program = program.without_tiny(self.dropped), None
        # rows widened for what is dropped hold for these bounds only
        self._widened = None if kept is program else program
        with self._translating(program):
            self._build(kept)
        self._program = program

    def extend(self, program: Program) -> None:
        """Replace the program; if it extends the loaded one, only add its new columns and rows."""
        old, self._program = self._program, None
        if (
            old is None
            or not program.extends(old)
            or program.without_tiny(self.dropped) is not program
        ):
            self.load(program)
            return
        with self._translating(program):
            self._grow(program, old)
        self._program = program

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        if self._widened is not None:
            self.load(self._widened.with_bounds(columns, lower, upper))
        else:
            self._change(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        program, targets = self._before("minimising"), targets.within(self.longest)
        given = session.start_of(targets, cost.size) if "start" in self.capabilities else None
        targets = replace(targets, start=given)
        self._deadline = targets.deadline()
        with self._translating(program):
            return self._solve(program, cost, targets)

    def _solve(self, program: Program, cost: FloatArray, targets: Targets) -> SolveResult:
        """Minimise as ``minimise`` says; the start of ``targets`` fits, if there is one."""
        raise NotImplementedError

    @contextmanager
    def _translating(self, program: Program) -> Iterator[None]:
        """Turn errors of the solver's package into ours."""
        try:
            yield
        except self._errors as error:
            if not self._beyond_licence(error):
                raise SolverError(f"{self.name}: {error}") from error
            raise LicenceLimitError(
                f"the licence of {self.name} does not cover {program.rows} rows and "
                f"{program.columns} columns ({error}): get a full licence, or use highs"
            ) from error

    def _beyond_licence(self, _error: Any) -> bool:
        return False

    def _build(self, kept: Program) -> None:
        raise NotImplementedError

    def _grow(self, program: Program, old: Program) -> None:
        ends = program.column_lower[: old.columns], program.column_upper[: old.columns]
        self._change(np.arange(old.columns), *ends)
        self._add_rest(program, old.columns, old.rows)

    def _add_rest(self, program: Program, columns: int, rows: int) -> None:
        """Add the columns and rows behind the first ones."""
        raise NotImplementedError

    def _change(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._program = self._model = None


Result = TypeVar("Result")


class LicenceFallback:
    """Solves with ``primary``; what is beyond its licence goes to ``open_other()``."""

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
        if (other := self._other) is None:
            return self._primary.notes
        note = f"{other.name} solved {counted(self.handed_over, 'program')}: {self._reason}"
        return (*self._primary.notes, note)

    def load(self, program: Program) -> None:
        self._program, self._current = program, self._primary
        self._tried(lambda: self._primary.load(program))

    def extend(self, program: Program) -> None:
        self._program = program
        self.handed_over += self._current is self._other
        self._tried(lambda: session.extend(self._current, program))

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        assert self._program is not None
        self._program = self._program.with_bounds(columns, lower, upper)
        self._current.set_bounds(columns, lower, upper)

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        result = self._tried(lambda: self._current.minimise(cost, targets))
        return self._current.minimise(cost, targets) if result is None else result

    def _tried(self, act: Callable[[], Result]) -> Result | None:
        """Return what ``act`` does; None if the program is the other solver's from now on."""
        try:
            return act()
        except LicenceLimitError as error:
            if self._current is self._other:
                raise
            self._hand_over(error)
            return None

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
            beyond = session.in_words(self._program.needs - self._other.capabilities)
            raise LicenceLimitError(f"{error}; {self._other.name} takes no {beyond}") from error
        self._other.load(self._program)
        self._current = self._other
        self._reason = str(error)
        self.handed_over += 1
