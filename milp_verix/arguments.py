"""Arguments of checks and explanations, checked: each refusal says which values are allowed."""

import re
from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.errors import InputError
from verix_encodings import Formulation, formulation_named
from verix_encodings.arrays import FloatArray

_RATIO = re.compile(r"([+-]?\d*\.?\d+) ?/ ?(\d*\.?\d+)", re.ASCII)


def resolve_formulation(formulation: str | Formulation) -> Formulation:
    """Return a formulation by its name, or as it is given; ``InputError`` for anything else."""
    if isinstance(formulation, Formulation):
        return formulation
    try:
        return formulation_named(str(formulation))
    except ValueError as error:
        raise InputError(str(error)) from error


LONGEST_CHECK = 300.0
"""Seconds for one check where no limit is given at all."""


def seconds_of(limit: float | None, name: str) -> float:
    """Return a time limit in seconds, infinite for None; ``InputError`` unless it is positive."""
    if limit is None:
        return float("inf")
    try:
        seconds = float(limit)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number of seconds or None, got {limit!r}") from error
    if not seconds > 0:
        raise InputError(f"{name} must be positive, got {limit}")
    return seconds


def check_seconds_of(check_time_limit: float | None, time_limit: float | None) -> float:
    """Return the limit of one check in seconds; ``InputError`` unless it is positive.

    Without one, a ``time_limit`` for all checks limits each; without either it is five minutes.
    """
    if check_time_limit is None and time_limit is None:
        return LONGEST_CHECK
    return seconds_of(check_time_limit, "check_time_limit")


def integer_of(value: int, name: str, least: int = 1) -> int:
    """Return an integer; ``InputError`` unless it is one of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def path_of(value: str | PathLike[str], name: str) -> Path:
    """Return the path of a file; ``InputError`` for a value that names none."""
    try:
        return Path(value)
    except TypeError as error:
        raise InputError(f"{name} must be the path of a file or folder, got {value!r}") from error


def number_in(text: str | float) -> float:
    """Return the number in a text: ``0.05``, ``inf``, or a ratio such as ``8/255``.

    A ratio is evaluated exactly and rounded once. Raises ``InputError`` for any other text.
    """
    ratio = _RATIO.fullmatch(str(text).strip())
    try:
        return float(Fraction(ratio[1]) / Fraction(ratio[2]) if ratio else text)
    except ZeroDivisionError as error:
        raise InputError(f"{text!r} divides by zero.") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{text!r} is no number; give one such as 0.05, 1e-3 or 8/255.") from error


def radius_in(text: str | float) -> float | str:
    """Return the radius in a text: a number; ``10%`` of ranges or ``0.5sd`` as they are."""
    relative = isinstance(text, str) and text.strip().endswith(("%", "sd"))
    return text if relative else number_in(text)


def indices_of(free: Sequence[int], count: int, name: str = "free") -> list[int]:
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
    at least zero; above zero if ``positive``.
    """
    if given is None:
        return np.ones(count)
    try:
        costs = np.array(given, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError(f"costs must be a number for each feature: {error}") from error
    if costs.size != count:
        raise InputError(f"costs must be a number for each of {count} features, got {costs.size}")
    allowed = costs > 0 if positive else costs >= 0
    wrong = np.flatnonzero(~(np.isfinite(costs) & allowed))
    if wrong.size:
        kind = "positive" if positive else "not negative"
        raise InputError(
            f"costs must be finite and {kind}, but feature {wrong[0]} costs {costs[wrong[0]]}"
        )
    return costs
