"""A model of another library, and the translation of a program into its variables and rows.

Each library has a class with the methods of :class:`Host` in ``embedding.hosts``. The translations
themselves are those of ``solvers.backends``.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from milp_verix.base.errors import InputError
from milp_verix.inputs.frame import named_frame
from verix_encodings import Program
from verix_encodings.arrays import relative_error

Solution: TypeAlias = Mapping[Any, float]
"""Values by the model's own variables."""

Pairs: TypeAlias = list[tuple[Hashable, Any]]
"""Keys, and what stands at them."""

LARGEST = 1e20
"""Solvers take bounds of this size and more as infinite."""


class Ends(NamedTuple):
    """Bounds of a variable or an expression, infinite where there are none."""

    lower: float
    upper: float


class Solved(NamedTuple):
    """The end of a solve: ``optimal`` if the solver calls its solution that, and its objective.

    ``status`` are the solver's own words; the objective is NaN without a solution.
    """

    optimal: bool
    objective: float
    status: str


class Host(Protocol):
    """One model, and the network's part of it."""

    model: Any

    to_bound: str
    """Words for how a variable of this library gets bounds."""

    bytes_each: int = 80
    """Bytes that an entry of a program takes in a model of this library: measured."""

    def keyed(self, given: Any) -> Pairs | None:
        """Return keys and parts of a mapping, a named tuple, a Series or a frame of one row.

        Raises ``InputError`` for a DataFrame of several rows.
        """
        if isinstance(given, tuple) and hasattr(given, "_asdict"):
            given = given._asdict()
        if isinstance(given, Mapping):
            return list(given.items())
        if hasattr(given, "columns"):
            if (rows := len(named_frame(given))) != 1:
                raise InputError(
                    f"a DataFrame of one row is expected, {rows} were seen: embed the network once "
                    "for each row, such as df.iloc[i]"
                )
            return [(key, given.iloc[0, place]) for place, key in enumerate(given.columns)]
        if hasattr(given, "index") and hasattr(given, "to_numpy"):
            return list(zip(given.index, given, strict=True))
        return None

    def parts(self, given: Any) -> list[Any] | None:
        """Return the parts of a list or array, which have no keys; None for a single entry."""
        if isinstance(given, np.ndarray) or hasattr(given, "to_numpy"):
            return np.asarray(given, dtype=object).reshape(-1).tolist()
        return list(given) if isinstance(given, list | tuple) else None

    def is_variable(self, entry: Any) -> bool:
        """Return whether ``entry`` is a variable of the model."""

    def is_expression(self, entry: Any) -> bool:
        """Return whether ``entry`` is an expression that a row of the model may equate."""

    def key(self, variable: Any) -> Hashable:
        """Return what tells a variable apart from others: its identity."""
        return id(variable)

    def ends(self, entry: Any) -> Ends:
        """Return the bounds of a variable, whole for an integer one, or of an expression."""

    def taken(self, name: str) -> bool:
        """Return whether the model has variables or rows whose names begin with ``name``."""

    def add(self, program: Program, own: Sequence[Any], name: str) -> list[Any]:
        """Add a program, whose first columns are ``own``, under a ``name``; return all variables.

        Raises ``InputError`` for what the library lacks.
        """

    def equate(self, variable: Any, entry: Any, name: str) -> None:
        """Add the row ``variable = entry`` for an expression."""

    def remove(self) -> None:
        """Take away everything that was added."""

    def value(self, variable: Any, solution: Solution | None) -> float:
        """Return the value of a variable in ``solution``, or in the model; NaN if it has none.

        Raises ``KeyError`` for a variable that ``solution`` lacks.
        """

    def set_start(self, variable: Any, value: float) -> None:
        """Let solvers begin with this value of a variable."""

    def solvers(self) -> list[str]:
        """Return names of solvers that are installed and take the model."""

    def solve(self, solver: str, seconds: float) -> Solved:
        """Solve the model by ``solver``, with its defaults, within ``seconds``.

        The solution stays in the model. Errors are the library's own.
        """


def named(name: str, part: str) -> str:
    """Return the name of a variable or row of the network called ``name``."""
    return f"{name}_{part}"


def of_sum(terms: Sequence[tuple[float, Ends]], constant: float) -> Ends:
    """Bound ``constant + Σ c v`` for pairs of ``c`` and the bounds of ``v``, rounded outward."""
    if not terms:
        return Ends(constant, constant)
    factors = np.array([factor for factor, _ in terms])
    sides = np.array([ends for _, ends in terms]) * factors[:, None]
    low, high = sides.min(axis=1), sides.max(axis=1)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return Ends(-np.inf, np.inf)
    size = np.maximum(np.abs(low), np.abs(high)).sum() + abs(constant)
    error = relative_error(len(terms)) * float(size)
    return Ends(float(low.sum()) + constant - error, float(high.sum()) + constant + error)


def ends_of(lower: float | None, upper: float | None, *, whole: bool) -> Ends:
    """Return bounds of a variable, None and huge ones as infinite."""
    low = -np.inf if lower is None or lower <= -LARGEST else float(lower)
    high = np.inf if upper is None or upper >= LARGEST else float(upper)
    return Ends(float(np.ceil(low)), float(np.floor(high))) if whole else Ends(low, high)
