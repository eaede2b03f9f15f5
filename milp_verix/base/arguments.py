"""Arguments of checks and explanations, checked: each refusing says which values are allowed."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.errors import InputError, refusing
from verix_encodings.arrays import FloatArray

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
    try:
        path = Path(value)
    except TypeError as error:
        raise InputError(f"{name} must be the path of a file or folder, got {value!r}") from error
    if "\0" in str(path):
        raise InputError(f"{name} is the path of no file: {value!r} has a null character")
    return path


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


def radius_in(text: str | float) -> float | str:
    """Return the radius in a text: a number; ``10%`` of ranges or ``0.5sd`` as they are."""
    relative = isinstance(text, str) and text.strip().endswith(("%", "sd"))
    try:
        return text if relative else number_in(text)
    except InputError as error:
        raise InputError(
            f"{error} A description of the input allows 10%, 0.5sd and inf, too."
        ) from error


def indices_of(free: Sequence[int | str], count: int, name: str = "free") -> list[int]:
    """Return features by their indices; ``InputError`` unless they are distinct and exist.

    ``name`` is the name of the argument.
    """
    try:
        given = np.asarray(free)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{name} lists features by their integer indices") from error
    if given.size == 0:
        return []
    # NumPy makes 1 of True where other entries are numbers
    flags = isinstance(free, Sequence) and any(isinstance(i, bool | np.bool_) for i in free)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or flags:
        raise InputError(f"{name} lists features by their integer indices")
    outside = given[(given < 0) | (given >= count)]
    if outside.size:
        raise InputError(
            f"{name}: feature {outside[0]} is out of range: the features are 0..{count - 1}"
        )
    if np.unique(given).size != given.size:
        raise InputError(f"{name} lists a feature twice")
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
    """Return the greatest common divisor of positive whole ``costs``, of at most a billion units.

    Equal costs are one unit each. None for other costs.
    """
    if not costs.size or np.all(costs == costs[0]):
        return float(costs[0]) if costs.size else 1.0
    if np.any(costs != np.round(costs)) or costs.max() >= 2.0**53:
        return None
    unit = float(np.gcd.reduce(costs.astype(np.int64)))
    return unit if costs.sum() / unit <= MOST_UNITS else None
