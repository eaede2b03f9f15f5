"""A simple game between features that is known in part.

A set ``S`` of features is worth 1 if fixing it keeps the prediction, else 0. This value ``v`` is
monotone, so few known sets determine many values:

    v(S) = 1   if S ⊇ A for a known sufficient set A              ``won``
    v(S) = 0   if S ∩ C = ∅ for a known contrast C                 ``lost``
    open       otherwise

The values of all subsets of a *ground* ``W`` of at most ``LARGEST`` features are bit vectors of
length ``2^|W|``: bit ``b`` of an index says whether the set has the feature ``W[b]``. The closures
under supersets and subsets take ``|W|`` passes. Sets that lie outside of the ground are not used:
what is known is then less, and still true, for every ``S`` with the same ``S ∩ W``.

Bounds on the number of minimal explanations that are still unknown.

No minimal explanation holds another one: together they are an antichain. Those that contain a
feature ``i`` are one without it, among the ``m - 1`` other players, and so are those that do not
contain it. By the inequality of Lubell, Yamamoto and Meshalkin, ``a_k`` sets of size ``k`` in an
antichain among ``m`` players satisfy

    Σ_k a_k / C(m, k) ≤ 1,

and no more sets of size ``k`` come than there are candidates, ``0 ≤ x_k ≤ c_k``. Linear goals over
both are fractional knapsacks, which a greedy choice solves; their optima bound those over whole
sets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb, floor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from verix_encodings.arrays import BoolArray

Counts = Mapping[int, int]
"""Numbers of sets by their size."""

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Antichain:
    """Sets of ``players`` that may join an antichain of ``known`` ones, counted by size."""

    candidates: Counts
    known: Counts
    players: int

    def most(self) -> int:
        """Return how many candidates at most join the antichain."""
        return floor(sum(self.chosen(lambda _: ONE).values()))

    def chosen(self, worth: Callable[[int], Fraction]) -> dict[int, Fraction]:
        """Return the numbers of candidates by size that are worth the most together.

        A set of size ``k`` is ``worth(k)``; sets that are worth nothing are not chosen.
        """
        used = (Fraction(n, comb(self.players, k)) for k, n in self.known.items())
        left = 1 - sum(used, ZERO)
        wanted = {k: worth(k) for k, n in self.candidates.items() if n and worth(k) > 0}
        found: dict[int, Fraction] = {}
        for k in sorted(wanted, key=lambda k: -wanted[k] * comb(self.players, k)):
            found[k] = min(Fraction(self.candidates[k]), left * comb(self.players, k))
            left -= found[k] / comb(self.players, k)
        return found

    def best_ratio(
        self, part: Fraction, whole: int, weight: Callable[[int], Fraction], *, highest: bool
    ) -> Fraction:
        """Return the highest or lowest ``(part + Σ x_k weight(k)) / (whole + Σ x_k)``.

        The method is Dinkelbach's: the sets that improve on a ratio are those whose weight is on
        its better side. ``whole`` is above zero.
        """
        sign, ratio = 1 if highest else -1, part / whole
        while True:
            added = self.chosen(lambda k, now=ratio: sign * (weight(k) - now))  # type: ignore[misc]
            above = part + sum((x * weight(k) for k, x in added.items()), ZERO)
            better = above / (whole + sum(added.values(), ZERO))
            if sign * better <= sign * ratio:
                return ratio
            ratio = better


Vector: TypeAlias = NDArray[Any]
"""A number or truth for each subset of the ground."""

LARGEST = 20
"""Number of features in a ground: 2^20 sets take 0.2 s and 20 MB; each feature more doubles it."""


@dataclass(frozen=True)
class KnownGame:
    """The values of sets of ``players``, features that some input changes.

    ``sufficient`` are sets worth 1, ``contrasts`` are sets whose complement is worth 0.
    ``complete`` claims that the sufficient sets are all minimal explanations. Features that are no
    players are left out of the sets, since fixing them changes no value. Raises ``ValueError`` for
    sets that contradict each other.
    """

    players: tuple[int, ...]
    sufficient: tuple[tuple[int, ...], ...]
    contrasts: tuple[tuple[int, ...], ...]
    complete: bool = False

    def __post_init__(self) -> None:
        if any(not a & c for a in self.explaining for c in self.changing):
            raise ValueError("a sufficient set has a feature of each contrast")
        if self.complete and len(self.minimal) < len(self.explaining):
            raise ValueError("a complete list has minimal explanations alone")
        if self.complete and self.whole and bool(np.any(self.open)):
            raise ValueError("the list of explanations is not complete: a set is open")

    def masks(self, sets: Iterable[Sequence[int]]) -> list[int]:
        """Return sets of features as bit masks of players."""
        players = np.array(self.players)
        bits = (np.packbits(np.isin(players, one), bitorder="little") for one in sets)
        return [int.from_bytes(held.tobytes(), "little") for held in bits]

    @cached_property
    def explaining(self) -> tuple[int, ...]:
        """The sufficient sets as masks, without those that hold another one, smallest first."""
        everything = (1 << len(self.players)) - 1  # to fix all of them keeps the input itself
        return _smallest([everything, *self.masks(self.sufficient)])

    @cached_property
    def changing(self) -> tuple[int, ...]:
        """The contrasts as masks, without those that hold another one, smallest first."""
        return _smallest(self.masks(self.contrasts))

    @cached_property
    def minimal(self) -> tuple[int, ...]:
        """The known sets that are proven to be minimal explanations.

        For each of their features, a contrast has this one in common with the set.
        """
        return tuple(
            mask
            for mask in self.explaining
            if all(any(c & mask == bit for c in self.changing) for bit in _bits(mask))
        )

    @cached_property
    def ground(self) -> tuple[int, ...]:
        """The places of players in ``W``: those of the smallest known sets, while there is room."""
        chosen = 0
        for mask in sorted([*self.explaining, *self.changing], key=int.bit_count):
            if (chosen | mask).bit_count() <= LARGEST:
                chosen |= mask
        return tuple(place for place in range(len(self.players)) if chosen >> place & 1)

    @property
    def whole(self) -> bool:
        """True if all known sets lie in the ground."""
        inside = sum(1 << place for place in self.ground)
        return all(not mask & ~inside for mask in (*self.explaining, *self.changing))

    @property
    def outside(self) -> int:
        """Number of players outside of the ground."""
        return len(self.players) - len(self.ground)

    @cached_property
    def won(self) -> BoolArray:
        """The subsets of the ground that are known to be worth 1."""
        return self._at_least(self.explaining)

    @cached_property
    def lost(self) -> BoolArray:
        """The subsets of the ground that are known to be worth 0, also with players outside."""
        return self._at_least(self.changing)[::-1].copy()  # the complements of such sets

    @cached_property
    def open(self) -> BoolArray:
        """The subsets of the ground whose value is not known."""
        found: BoolArray = ~(self.won | self.lost)
        return found

    @cached_property
    def possible(self) -> BoolArray:
        """The subsets of the ground that may be minimal explanations which are not proven yet."""
        above = np.zeros_like(self.won)  # strictly above a sufficient set
        for place in range(len(self.ground)):
            halves(above, place)[1][:] |= halves(self.won, place)[0]
        found: BoolArray = ~(self.lost | above | self._marked(self.minimal))
        return found

    @cached_property
    def sizes(self) -> Vector:
        """The number of features in each subset of the ground."""
        return np.bitwise_count(np.arange(1 << len(self.ground), dtype=np.uint32))

    @property
    def exact(self) -> bool:
        """True if the value of every set is known."""
        return self.complete or (self.whole and not bool(np.any(self.open)))

    def _at_least(self, masks: Iterable[int]) -> BoolArray:
        """Return a vector with True for the sets that hold one of ``masks`` in the ground."""
        found = self._marked(masks)
        for place in range(len(self.ground)):
            without, with_ = halves(found, place)
            with_ |= without
        return found

    def _marked(self, masks: Iterable[int]) -> BoolArray:
        """Return a vector with True for the sets ``masks`` that lie in the ground."""
        found = np.zeros(1 << len(self.ground), dtype=bool)
        inside = sum(1 << place for place in self.ground)
        for mask in masks:
            if not mask & ~inside:
                at = sum(1 << b for b, place in enumerate(self.ground) if mask >> place & 1)
                found[at] = True
        return found


def halves(vector: Vector, place: int) -> tuple[Vector, Vector]:
    """Return views on the sets without and with one feature of the ground, in the same order."""
    pairs = vector.reshape(-1, 2, 1 << place)
    return pairs[:, 0], pairs[:, 1]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield mask & -mask
        mask &= mask - 1


def _smallest(masks: list[int]) -> tuple[int, ...]:
    """Return the masks that hold no other one, smallest first."""
    found: list[int] = []
    for mask in sorted({*masks}, key=lambda one: (one.bit_count(), one)):
        if not any(inner & ~mask == 0 for inner in found):
            found.append(mask)
    return tuple(found)
