"""Kinds of features: the values that one feature of an input may have, and their names."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import (
    FLAG,
    INTEGER,
    NUMBER,
    SEVERAL,
    TEXT,
    checked,
    refuse_surrogates,
)
from milp_verix.base.errors import InputError, listed, meant, require_one_of, shown
from milp_verix.base.number_text import exact

DIRECTIONS = ("up", "down")
KINDS = ("continuous", "integer", "binary", "category", "ordinal", "fixed")
MISSING = "missing"
"""The word for a value that is missing."""
_MISSING = ("NoneType", "NAType", "NaTType")
_LARGEST_WHOLE = 2.0**53
_NO_END = 2.0**100
"""The largest number of a fixed feature that may be missing."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature: a coordinate of the input, or a one-hot block of coordinates.

    ``lower`` and ``upper`` are the ends of its domain, in the units of the network's input;
    ``deviation`` is the standard deviation of its data, if known. ``only`` is the one direction in
    which a person can change it, ``"up"`` or ``"down"``, or None: contrasts keep to it, and
    explanations do not.
    ``values`` are the words behind the whole numbers ``codes``, one each, empty for numbers. With
    ``one_hot`` there is a coordinate for each value, in their order. A value that is ``missing`` is
    the last word, or the number next to the largest one: any beyond ``last`` stands for NaN. Before
    a network that number is ``apart`` from the largest one, by the range. Made by the functions of
    this module.
    """

    name: str
    kind: str
    lower: float = -np.inf
    upper: float = np.inf
    unit: str | None = None
    values: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()
    one_hot: bool = False
    deviation: float | None = None
    only: str | None = None
    missing: bool = False
    apart: bool = False
    width: int = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a feature is named by a text, got {self.name!r}")
        if not isinstance(self.unit, str | None):
            raise InputError(f"{self.name}: the unit is a text, got {shown(self.unit)}")
        if not isinstance(self.values, list | tuple):
            raise InputError(f"{self.name}: values are a list of texts, got {shown(self.values)}")
        refuse_surrogates([self.name, self.unit or "", *self.values], "a feature's name or word")
        require_one_of(KINDS, self.kind, f"kind of {self.name}")
        if not isinstance(self.one_hot, bool):
            raise InputError(f"{self.name}: one_hot is true or false, got {shown(self.one_hot)}")
        spread = self.deviation
        if spread is not None and not (isinstance(spread, int | float) and 0 <= spread < np.inf):
            raise InputError(
                f"{self.name}: a standard deviation is finite and not negative, got {spread!r}"
            )
        if self.only is not None:
            require_one_of(DIRECTIONS, self.only, f"direction of {self.name} in only,")
        if self.only is not None and self.kind in ("category", "fixed"):
            raise InputError(f"{self.name}: a {self.kind} feature has no direction, as only says")
        if self.missing is not False:
            self._refuse_missing()
        object.__setattr__(self, "width", len(self.values) if self.one_hot else 1)

    def _refuse_missing(self) -> None:
        if self.missing is not True:
            raise InputError(f"{self.name}: missing is true or false, got {shown(self.missing)}")
        if self.only is not None:
            raise InputError(
                f"{self.name}: a value that may be missing has no direction, as only says: leave "
                "one of them out"
            )
        if not (np.isfinite(self.upper) or self.kind == "fixed"):
            raise InputError(f"{self.name} may be missing: give the upper end of its numbers, too")

    @property
    def last(self) -> float:
        """The largest coordinate that is no missing value."""
        if self.missing and self.values and not self.one_hot:
            return self.upper - 1.0
        return _NO_END if self.missing and np.isinf(self.upper) else self.upper

    @property
    def top(self) -> float:
        """The upper end of its coordinates: that of a missing value if there may be one."""
        if not self.missing or self.one_hot:
            return self.upper
        if self.apart:
            reach = self.range if 0 < self.range < np.inf else max(abs(self.last), 1.0)
            return max(self.last + reach, float(np.nextafter(self.last, np.inf)))
        return self.last + 1.0 if self.whole else float(np.nextafter(self.last, np.inf))

    @property
    def whole(self) -> bool:
        """True if the feature moves in whole steps, or among its values."""
        return self.kind in ("integer", "binary", "category", "ordinal")

    @property
    def unordered(self) -> bool:
        """True for a category: each value is as far from any other."""
        return self.kind == "category"

    @property
    def range(self) -> float:
        """The largest distance between two values, 1 for a category."""
        return 1.0 if self.unordered else self.upper - self.lower

    @checked(word=TEXT)
    def code_of(self, word: str) -> int:
        """Return the code of a value; ``InputError`` for a word that is none."""
        if word not in self.values:
            raise InputError(self.unknown(word))
        return self.codes[self.values.index(word)]

    def unknown(self, word: str) -> str:
        """Return the message that ``word`` is no value of the feature."""
        if not self.values:
            return f"{self.name} has numbers, got the word {shown(word)}"
        text = f"{self.name} has no value {shown(word)}; its values are {listed(self.values)}"
        return text + meant(str(word), self.values)

    def text(self, values: NDArray[np.floating]) -> str:
        """Return its coordinates, shape (width,), in words, such as ``"2.5 kg"``."""
        known = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
        if not known or values.shape != (self.width,):
            raise InputError(
                f"{self.name} has an array of {self.width} numbers, got {shown(values)}"
            )
        if self.one_hot:
            return self.values[int(np.argmax(values))]
        value = float(values[0])
        if self.missing and not value <= self.last:
            return MISSING
        if self.values and value in self.codes:
            return self.values[self.codes.index(int(value))]
        number = exact(values[0])
        return f"{number} {self.unit}" if self.unit else number


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN, or a missing value of pandas."""
    number = isinstance(cell, float | np.floating) and np.isnan(cell)
    return bool(number) or type(cell).__name__ in _MISSING


def word_of(value: Any) -> str:
    """Return a value's word: whole numbers have no decimal point, None and NaN are missing."""
    plain = value.item() if isinstance(value, np.generic) else value
    if is_missing(plain):
        return MISSING
    whole = isinstance(plain, float) and plain.is_integer()
    return str(int(plain)) if whole else str(plain)


_KINDS = {
    "name": TEXT,
    "lower": NUMBER,
    "upper": NUMBER,
    "deviation": NUMBER.or_none(),
    "only": TEXT.or_none(),
    "values": SEVERAL,
    "codes": SEVERAL.or_none(),
    "one_hot": FLAG,
    "first": INTEGER,
}
"""The kinds of values that the arguments of the functions below take."""


@checked(**_KINDS)
def continuous(
    name: str,
    lower: float = -np.inf,
    upper: float = np.inf,
    unit: str | None = None,
    *,
    deviation: float | None = None,
    only: str | None = None,
    missing: bool = False,
) -> Feature:
    """Return a feature of real numbers between ``lower`` and ``upper``, in words with ``unit``.

    ``deviation`` is its standard deviation, for radii such as ``"0.5sd"``. ``only="up"`` or
    ``"down"`` is the one direction in which contrasts change it. With ``missing`` a value may be
    NaN, for trees, and for networks behind an imputer: with the radius infinity another value may
    become missing, and a missing one any other; with a finite one neither does.
    """
    ends = _ends(name, lower, upper)
    return Feature(name, "continuous", *ends, unit, deviation=deviation, only=only, missing=missing)


@checked(**_KINDS)
def integer(
    name: str,
    lower: float = -np.inf,
    upper: float = np.inf,
    unit: str | None = None,
    *,
    deviation: float | None = None,
    only: str | None = None,
    missing: bool = False,
) -> Feature:
    """Return a feature of whole numbers from ``lower`` to ``upper``.

    ``deviation``, ``only`` and ``missing`` are as for :func:`continuous`.
    """
    ends = _ends(name, lower, upper)
    for end in ends:
        if np.isfinite(end) and end != np.rint(end):
            raise InputError(f"{name}: the ends of whole numbers are whole, got {end}")
        if np.isfinite(end) and abs(end) > _LARGEST_WHOLE:
            raise InputError(
                f"{name}: the ends of whole numbers are at most {_LARGEST_WHOLE:.0f}, up to which "
                f"float64 has all of them, got {exact(end)}: subtract an offset, leave the column "
                "out if it only counts rows, or call it continuous"
            )
    return Feature(name, "integer", *ends, unit, deviation=deviation, only=only, missing=missing)


@checked(**_KINDS)
def binary(name: str, values: Sequence[str] = ("no", "yes"), *, only: str | None = None) -> Feature:
    """Return a feature that is 0 or 1; ``values`` are the words for these.

    ``only`` is as for :func:`integer`.
    """
    words = _words(name, values)
    if len(words) != 2:
        raise InputError(f"{name}: a binary feature has two values, got {len(words)}")
    return Feature(name, "binary", 0.0, 1.0, values=words, codes=(0, 1), only=only)


@checked(**_KINDS)
def category(
    name: str,
    values: Sequence[str],
    *,
    codes: Sequence[int] | None = None,
    one_hot: bool = False,
    missing: bool = False,
) -> Feature:
    """Return a feature with one of ``values``, none nearer to one than to another.

    The network's input has the codes of the values in one coordinate, 0, 1, … unless ``codes`` are
    given; or, with ``one_hot``, a coordinate for each value, 1 for its own and 0 for the others.
    With ``missing`` a value may be NaN, for trees and pipelines that take it: it is the word
    "missing", with the next code, or the last coordinate of a block.
    """
    words = _words(name, values)
    if one_hot and codes is not None:
        raise InputError(f"{name}: a one-hot block has no codes")
    found = _codes(name, codes, len(words))
    if missing is True:
        words, found = _words(name, [*words, MISSING]), (*found, max(found) + 1)
    low, high = (0.0, 1.0) if one_hot else (float(min(found)), float(max(found)))
    return Feature(
        name, "category", low, high, values=words, codes=found, one_hot=one_hot, missing=missing
    )


@checked(**_KINDS)
def ordinal(
    name: str, values: Sequence[str], *, first: int = 0, only: str | None = None
) -> Feature:
    """Return a feature with one of ``values``, in their order; the code of the first is ``first``.

    A step leads from one value to the next. ``only`` is as for :func:`integer`.
    """
    words = _words(name, values)
    found = _codes(name, range(first, first + len(words)), len(words))
    low, high = float(found[0]), float(found[-1])
    return Feature(name, "ordinal", low, high, values=words, codes=found, only=only)


@checked(**_KINDS)
def fixed(name: str, unit: str | None = None, *, missing: bool = False) -> Feature:
    """Return a feature that keeps the value of the input explained, which may be ``missing``."""
    return Feature(name, "fixed", unit=unit, missing=missing)


def _ends(name: str, lower: float, upper: float) -> tuple[float, float]:
    low, high = float(lower), float(upper)
    if not low <= high or low == np.inf or high == -np.inf:
        text = f"{exact(low)} must be at most the upper end {exact(high)}"
        raise InputError(f"{name}: the lower end {text}")
    return low, high


def _words(name: str, values: Sequence[str]) -> tuple[str, ...]:
    listing = isinstance(values, Iterable) and not isinstance(values, str)
    given = tuple(values) if listing else ()
    words = tuple(str(word) if isinstance(word, bool) else word for word in given)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise InputError(f"{name}: values are a list of texts, none empty, got {shown(values)}")
    if twice := next((word for word, count in Counter(words).items() if count > 1), None):
        way = (
            f", for NaN and a word of its own: fit on a df after df[{name!r}] = df[{name!r}].map("
            f"lambda one: 'not given' if one == {MISSING!r} else one), and give its rows"
        )
        raise InputError(f"{name}: the value {twice!r} is listed twice{way * (twice == MISSING)}")
    return words


def _codes(name: str, codes: Sequence[int] | None, count: int) -> tuple[int, ...]:
    given = range(count) if codes is None else codes
    found = tuple(given) if isinstance(given, Iterable) else ()
    whole = all(isinstance(c, (int, np.integer)) and not isinstance(c, bool) for c in found)
    if not whole or len(found) != count or len({*found}) != count:
        raise InputError(f"{name}: codes are {count} distinct whole numbers, got {codes!r}")
    return tuple(int(c) for c in found)


def class_names_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return the words for the classes; ``InputError`` unless they are distinct texts."""
    listed = isinstance(given, Iterable) and not isinstance(given, str)
    names = tuple(given) if listed else ()
    right = all(isinstance(name, str) and name for name in names) and len({*names}) == len(names)
    if not (listed and right):
        raise InputError(f"class_names are a list of distinct texts, one a class; got {given!r}")
    refuse_surrogates(names, "class_names")
    return names
