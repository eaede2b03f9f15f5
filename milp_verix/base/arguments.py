"""Arguments of public functions: the kinds of values that fit, and the ranges of values.

The calls that pose a question find kinds in the table of options, other functions name them in
:func:`checked`. What a value of the right kind may be, such as its range, is checked where it is
used; each refusal says which values are allowed.
"""

import os
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import wraps
from inspect import signature
from numbers import Real
from operator import is_not
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.errors import InputError, meant, refusing, shown
from verix_encodings.arrays import FloatArray
from verix_encodings.interval_bounds import NoBoundsError

P = ParamSpec("P")
R = TypeVar("R")

_LARGEST = int(np.finfo(np.float64).max)
_MOST_LISTED = 10_000_000
"""Numbers of a range, which takes no memory itself until it is made a list."""
_LONGEST_NAME = 255
"""Bytes in the name of a file or folder, on all common systems."""
_DEPTH = 8
"""Lists in lists beyond this depth are refused, among them lists that hold themselves."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of values: those that ``fits`` accepts, called ``text`` in a refusal."""

    text: str
    fits: Callable[[Any], bool]

    def or_none(self) -> "Kind":
        """Return the kind of these values and None, the default."""
        return Kind(self.text, lambda value: value is None or self.fits(value))


def instance_of(*classes: type) -> Kind:
    """Return the kind of the instances of some classes."""
    text = " or ".join(cls.__name__ for cls in classes)
    return Kind(f"an object of the class {text}", lambda value: isinstance(value, classes))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and not value.ndim)


def _listing(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a function that tells lists whose entries all fit; an iterator would be used up."""
    return lambda v: _is_several(v) and not isinstance(v, Iterator) and all(map(fits, v))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    try:
        name = os.fsencode(value) if isinstance(value, str | PathLike) else b"\0"
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return b"\0" not in name and max(map(len, name.split(b"/"))) <= _LONGEST_NAME


ANYTHING = Kind("anything", lambda _value: True)
"""Values that are checked only where they are used."""
TEXT = Kind("a text", _is_text)
FLAG = Kind("True or False", lambda value: isinstance(value, bool | np.bool_))
NUMBER = Kind("a number", _is_number)
# a search inside of another one has that one's deadline
SECONDS = Kind(
    "a number of seconds or None",
    lambda v: _is_number(v) or (hasattr(v, "passed") and hasattr(v, "left")),
).or_none()
INTEGER = Kind("an integer", _is_integer)
SEVERAL = Kind("a list", _is_several)
INTEGERS = Kind("a list of integers", _listing(_is_integer))
TEXTS = Kind("a list of texts", _listing(_is_text))
NAMES = Kind("a name, or a list of names and indices", _is_several)
FEATURE = Kind("a name, an index, or a list of these", lambda v: _is_integer(v) or _is_several(v))
CLASS = Kind("a name or a whole number", lambda v: _is_integer(v) or _is_text(v))
FUNCTION = Kind("a function", callable)
ARRAY = Kind("an array of NumPy", lambda value: isinstance(value, np.ndarray))
BY_NAME = Kind("values by name", lambda value: isinstance(value, Mapping))
METHOD = Kind("a name or a function", lambda v: _is_text(v) or callable(v))
PATH = Kind("the path of a file or folder", _is_path)
# also an object that opens sessions, as those of SOLVERS do
SOLVER = Kind(
    "the name of a solver",
    lambda v: _is_text(v) or (hasattr(v, "open") and hasattr(v, "capabilities")),
)
SOLVERS = Kind("a list of names", _listing(SOLVER.fits))
NUMBER_OR_TEXT = Kind("a number of bytes, a text or None", lambda v: _is_number(v) or _is_text(v))
GRID = Kind(
    "a mapping from names of options to lists of values",
    lambda value: isinstance(value, Mapping) and all(map(_is_several, value.values())),
)


def names_of(given: str | Iterable[str]) -> list[str]:
    """Return the names in a list, or the one that is ``given``."""
    return [given] if isinstance(given, str) else [*given]


@contextmanager
def refusing_no_bounds() -> Iterator[None]:
    """Turn bounds that are needed and do not exist into an ``InputError``; NumPy warns of none."""
    try:
        with np.errstate(all="ignore"):  # what overflows is no bound, and is met as such
            yield
    except NoBoundsError as error:
        raise InputError(f"{error}: give a smaller ball, or variables narrower bounds") from error


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
            if not any_fits:
                _refuse_unknown(function.__qualname__.removesuffix(".__init__"), options, names)
            placed: Any = accepted(dict(zip(names, args, strict=False)), kinds).values()
            named: Any = accepted(options, kinds)
            more: Any = args[len(names) :]
            with refusing_no_bounds():
                return function(*placed, *more, **named)

        return run

    return decorate


def _refuse_unknown(called: str, given: Iterable[str], known: Collection[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        text = f"{called}() got an unexpected keyword argument {unknown[0]!r}"
        raise TypeError(text + meant(unknown[0], known))


class Options:
    """Options in a dataclass; the ``TypeError`` for an unknown one suggests the closest."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __new__(cls, *_placed: Any, **named: Any) -> Self:
        """Refuse a name that is no option, before fields are set."""
        _refuse_unknown(cls.__name__, named, cls.__dataclass_fields__)
        return super().__new__(cls)

    def _accept(self, kinds: Mapping[str, Kind]) -> None:
        """Take arrays for tensors; ``InputError`` for a value that is not of its kind."""
        named: Any = self  # a dataclass
        given = {one.name: getattr(self, one.name) for one in fields(named)}
        for name, value in accepted(given, kinds).items():
            object.__setattr__(self, name, value)


def accepted(values: Mapping[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return ``values`` by name, arrays for tensors; ``InputError`` for one not of its kind."""
    found = {}
    for name, given in values.items():
        if (fault := _fault(given, _DEPTH)) is not None:
            raise InputError(f"{name} holds {fault}")
        with refusing(f"{name} holds a tensor that is no array of NumPy", TypeError):
            value = found[name] = detached(given)
        kind = kinds.get(name)
        if kind is not None and not kind.fits(value):
            raise InputError(f"{name} must be {kind.text}, got {reprlib.repr(value)}")
    return found


def detached(value: Any) -> Any:
    """Return ``value`` with arrays for tensors and scalars for 0-d arrays, in lists, too."""
    if isinstance(getattr(value, "requires_grad", None), bool):
        value = np.asarray(value.detach().cpu())  # of any device, with a gradient or without
    if isinstance(value, np.ndarray):
        return value if value.ndim else value[()]
    if type(value) is dict:  # which may hold itself, unlike lists
        deep = (dict, list, tuple)
        return {key: v if isinstance(v, deep) else detached(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        ones = [*map(detached, value)]
        make = getattr(value, "_make", type(value))  # of named tuples
        return make(ones) if any(map(is_not, ones, value)) else value
    return value


def _fault(value: Any, depth: int) -> str | None:
    """Return what no argument may hold: a whole number beyond float64, or lists without end."""
    if isinstance(value, int):
        return "a whole number beyond those of float64" if abs(value) > _LARGEST else None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return "masked entries: fill them, or leave them out"
    if isinstance(value, range) and value[_MOST_LISTED:]:
        return f"a range of more than {_MOST_LISTED:,} numbers"
    if not isinstance(value, list | tuple | set | frozenset):
        return None
    if not depth:
        return f"lists that are nested more than {_DEPTH} deep"
    return next((fault for one in value if (fault := _fault(one, depth - 1))), None)


_RATIO = re.compile(r"([+-]?\d*\.?\d+) ?/ ?(\d*\.?\d+)", re.ASCII)


LONGEST_CHECK = 300.0
"""Seconds of work for one check where no limit is given at all."""


def refuse_surrogates(texts: Iterable[str], what: str) -> None:
    """Raise ``InputError`` for a text with half of a surrogate pair: no file can hold it."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{what} has half of a surrogate pair: {text!r}") from error


def seconds_of(limit: float | None, name: str) -> float:
    """Return a time limit in seconds, infinite for None; ``InputError`` unless it is positive."""
    if limit is None:
        return float("inf")
    try:
        seconds = float(limit)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a number of seconds or None, got {limit!r}") from error
    if not seconds > 0:
        raise InputError(f"{name} must be positive, got {limit}")
    return seconds


def integer_of(value: int, name: str, least: int = 1) -> int:
    """Return an integer; ``InputError`` unless it is one of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


MOST_SEGMENTS = 1000
"""Pieces of a tanh so short are about as close to it as the tolerance of a margin."""


def segments_of(value: int) -> int:
    """Return the number of pieces around a smooth activation, 1 to 1,000; else ``InputError``."""
    segments = integer_of(value, "segments")
    if segments > MOST_SEGMENTS:
        raise InputError(
            f"segments must be at most {MOST_SEGMENTS}, got {segments}: pieces that short are "
            "about as close to an activation as the tolerance of a margin"
        )
    return segments


def path_of(value: str | PathLike[str], name: str) -> Path:
    """Return the path of a file; ``InputError`` for a value that names none."""
    if not PATH.fits(value):
        raise InputError(f"{name} must be {PATH.text}, got {shown(value)}")
    return Path(value)


def number_in(text: str | float) -> float:
    """Return the number in a text: ``0.05``, ``inf``, or a ratio such as ``8/255``.

    A ratio is evaluated exactly and rounded once. Raises ``InputError`` for any other text, and for
    truth values, complex numbers and dates.
    """
    ratio = _RATIO.fullmatch(str(text).strip())
    try:
        if np.asarray(text).dtype.kind in "bcmM":
            raise TypeError
        return float(Fraction(ratio[1]) / Fraction(ratio[2]) if ratio else text)
    except ZeroDivisionError as error:
        raise InputError(f"{text!r} divides by zero.") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{text!r} is no number; give one such as 0.05, 1e-3 or 8/255.") from error


def refuse_file(given: Any, what: str) -> None:
    """Raise ``InputError`` where the argument ``what`` is the path of a file with its numbers."""
    if isinstance(given, PathLike) or (
        isinstance(given, str) and given.endswith((".npy", ".json"))
    ):
        raise InputError(
            f"{what} is the path {shown(str(given))}, expected numbers: read the file first, by "
            "numpy.load, json.loads or pandas.read_csv"
        )


def radius_in(text: str | float) -> float | str:
    """Return the radius in a text: a number; ``10%`` of ranges or ``0.5sd`` as they are."""
    relative = isinstance(text, str) and text.strip().endswith(("%", "sd"))
    try:
        return text if relative else number_in(text)
    except InputError as error:
        raise InputError(
            f"{error} A description of the input allows 10%, 0.5sd and inf, too."
        ) from error


LISTS = "lists features by their integer indices, or is a mask with True or False for each"


def indices_of(free: Sequence[int | str], count: int, name: str = "free") -> list[int]:
    """Return features by their indices; ``InputError`` unless they are distinct and exist."""
    try:
        given = np.asarray(free)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{name} {LISTS}") from error
    if given.size == 0:
        return []
    # NumPy makes 1 of True where other entries are numbers
    flags = isinstance(free, Sequence) and any(isinstance(i, bool | np.bool_) for i in free)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or flags:
        raise InputError(f"{name} {LISTS}")
    outside = given[(given < 0) | (given >= count)]
    if outside.size:
        raise InputError(
            f"{name}: feature {outside[0]} is out of range: the features are 0..{count - 1}"
        )
    if np.unique(given).size != given.size:
        mask = "; a mask holds True and False: give mask == 1" if np.all(given <= 1) else ""
        raise InputError(f"{name} lists a feature twice{mask}")
    return [int(i) for i in given]


def costs_of(given: ArrayLike | None, count: int, *, positive: bool = False) -> FloatArray:
    """Return the costs of ``count`` features, shape (count,); 1 each for None.

    An array of any shape with ``count`` entries is taken. ``InputError`` unless they are finite and
    at least zero, or above zero if ``positive``, and close enough for a solver to tell their sums
    apart: the largest is at most a million times the smallest above zero, or all are whole
    multiples of a unit and add up to at most a billion units.
    """
    if given is None:
        return np.ones(count)
    with refusing("costs must be a number for each feature", TypeError, ValueError):
        costs = np.array(given, dtype=np.float64).reshape(-1)
    if costs.size != count:
        raise InputError(f"costs must be a number for each of {count} features, got {costs.size}")
    allowed = costs > 0 if positive else costs >= 0
    wrong = np.flatnonzero(~(np.isfinite(costs) & allowed))
    if wrong.size:
        kind = "positive" if positive else "not negative"
        raise InputError(
            f"costs must be finite and {kind}, but feature {wrong[0]} costs {costs[wrong[0]]}"
        )
    paid = costs[costs > 0]
    if np.any((paid < 1 / _FARTHEST) | (paid > _FARTHEST)):
        raise InputError(
            f"costs must be between {1 / _FARTHEST:g} and {_FARTHEST:g}, got {paid.min():g} to "
            f"{paid.max():g}: only their ratios count, so multiply all by one number"
        )
    if whole_unit(paid) is None and paid.max() > _MOST_RATIO * paid.min():
        raise InputError(
            f"costs from {paid.min():g} to {paid.max():g} are too far apart to be added up "
            f"exactly: the largest may be {_MOST_RATIO:,.0f} times the smallest above zero, or "
            f"{MOST_UNITS:,.0f} units all together where all are whole numbers of one unit"
        )
    return costs


MOST_UNITS = 1e9
"""Whole costs up to this sum are added up, and bounded by solvers, to far less than one."""
_MOST_RATIO = 1e6
_FARTHEST = 1e100
"""Sums of costs up to this neither overflow, nor do shares of their inverses vanish."""


def whole_unit(costs: FloatArray) -> float | None:
    """Return the common divisor of whole ``costs``, or the equal one of all; None for others."""
    if not costs.size or np.all(costs == costs[0]):
        return float(costs[0]) if costs.size else 1.0
    if np.any(costs != np.round(costs)) or costs.max() >= 2.0**53:
        return None
    unit = float(np.gcd.reduce(costs.astype(np.int64)))
    return unit if costs.sum() / unit <= MOST_UNITS else None
