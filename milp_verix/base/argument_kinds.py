"""The kinds of values that arguments of public functions take, checked before a function begins.

The calls that pose a question find them in the table of options, other functions name them in
:func:`checked`. What a value of the right kind may be, such as its range, is checked where it is
used.
"""

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from numbers import Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar

import numpy as np

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.names import meant
from verix_encodings.propagation.interval_bounds import NoBoundsError

P = ParamSpec("P")
R = TypeVar("R")

_LARGEST = int(np.finfo(np.float64).max)
_DEPTH = 8
"""Lists in lists beyond this depth are refused, among them lists that hold themselves."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of values: those that ``fits`` accepts, called ``told`` in a refusal."""

    told: str
    fits: Callable[[Any], bool]

    def or_none(self) -> "Kind":
        """Return the kind of these values and None, the default."""
        return Kind(self.told, lambda value: value is None or self.fits(value))


def instance_of(*classes: type) -> Kind:
    """Return the kind of the instances of some classes."""
    told = " or ".join(cls.__name__ for cls in classes)
    return Kind(f"an object of the class {told}", lambda value: isinstance(value, classes))


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_time_limit(value: Any) -> bool:
    # a search inside of another one has that one's deadline
    return _is_number(value) or (hasattr(value, "passed") and hasattr(value, "left"))


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and not value.ndim)


def _listing(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a function that tells lists whose entries all fit; an iterator would be used up."""
    return lambda value: (
        _is_several(value) and not isinstance(value, Iterator) and all(map(fits, value))
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_solver(value: Any) -> bool:
    # also an object that opens sessions, as those of SOLVERS do
    return isinstance(value, str) or (hasattr(value, "open") and hasattr(value, "capabilities"))


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_several(values) for values in value.values())


ANYTHING = Kind("anything", lambda _value: True)
"""Values that are checked where they are used alone."""
TEXT = Kind("a text", _is_text)
FLAG = Kind("True or False", lambda value: isinstance(value, bool | np.bool_))
NUMBER = Kind("a number", _is_number)
SECONDS = Kind("a number of seconds or None", _is_time_limit).or_none()
INTEGER = Kind("an integer", _is_integer)
SEVERAL = Kind("a list", _is_several)
TEXTS = Kind("a list of texts", _listing(_is_text))
NAMES = Kind("a name, or a list of names and indices", _is_several)
FEATURE = Kind("a name, an index, or a list of these", lambda v: _is_integer(v) or _is_several(v))
CLASS = Kind("a name or a whole number", lambda v: _is_integer(v) or _is_text(v))
METHOD = Kind("a name or a function", lambda v: _is_text(v) or callable(v))
PATH = Kind("the path of a file or folder", lambda value: isinstance(value, str | PathLike))
SOLVER = Kind("the name of a solver", _is_solver)
SOLVERS = Kind("a list of names", _listing(_is_solver))
NUMBER_OR_TEXT = Kind(
    "a number of bytes, a text or None", lambda value: _is_number(value) or _is_text(value)
)
GRID = Kind("a mapping from names of options to lists of values", _is_grid)


@contextmanager
def refusing_no_bounds() -> Iterator[None]:
    """Turn bounds that are needed and do not exist into an ``InputError``; NumPy warns of none."""
    try:
        with np.errstate(all="ignore"):  # what overflows is no bound, and is met as such
            yield
    except NoBoundsError as error:
        told = f"{error}: give a smaller ball, or variables narrower bounds"
        raise InputError(told) from error


def checked(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: arguments of other than these ``kinds`` raise ``InputError``.

    So do bounds that the function needs and that do not exist, while it runs. The ``TypeError`` for
    an option that is unknown suggests the closest.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        known = signature(function).parameters
        names, any_fits = list(known), any(one.kind is one.VAR_KEYWORD for one in known.values())

        @wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> R:
            if unknown := [name for name in options if name not in names and not any_fits]:
                called = function.__qualname__.removesuffix(".__init__")
                told = f"{called}() got an unexpected keyword argument {unknown[0]!r}"
                raise TypeError(told + meant(unknown[0], names))
            given = accepted({**dict(zip(names, args, strict=False)), **options}, kinds)
            placed: Any = [given.get(*pair) for pair in zip(names, args, strict=False)]
            named: Any = {name: given[name] for name in options}
            placed += args[len(names) :]
            with refusing_no_bounds():
                return function(*placed, **named)

        return run

    return decorate


def accepted(values: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return ``values``, arguments by name, with arrays in the place of tensors.

    Raises ``InputError`` for the first that is not of its kind in ``kinds``.
    """
    found = {}
    for name, given in values.items():
        if (fault := _fault(given, _DEPTH)) is not None:
            raise InputError(f"{name} holds {fault}")
        with refusing(f"{name} holds a tensor that is no array of NumPy", TypeError):
            value = found[name] = detached(given)
        kind = kinds.get(name)
        if kind is not None and not kind.fits(value):
            raise InputError(f"{name} must be {kind.told}, got {reprlib.repr(value)}")
    return found


def detached(value: Any) -> Any:
    """Return ``value`` with arrays for tensors, in lists and mappings, too."""
    if isinstance(getattr(value, "requires_grad", None), bool):
        return np.asarray(value.detach().cpu())  # of any device, with a gradient or without
    if type(value) is dict:  # which may hold itself, unlike lists
        deep = (dict, list, tuple)
        return {key: v if isinstance(v, deep) else detached(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        ones = [*map(detached, value)]
        make = getattr(value, "_make", type(value))  # of named tuples
        return make(ones) if any(a is not b for a, b in zip(ones, value, strict=True)) else value
    return value


def _fault(value: Any, depth: int) -> str | None:
    """Return what no argument may hold: a whole number beyond float64, or lists without end."""
    if isinstance(value, int):
        return "a whole number beyond those of float64" if abs(value) > _LARGEST else None
    if not isinstance(value, list | tuple | set | frozenset):
        return None
    if not depth:
        return f"lists that are nested more than {_DEPTH} deep"
    return next((fault for one in value if (fault := _fault(one, depth - 1))), None)
