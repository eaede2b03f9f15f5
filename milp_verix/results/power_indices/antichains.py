"""Bounds on the number of minimal explanations that are still unknown.

No minimal explanation holds another one: together they are an antichain. Those that contain a
feature ``i`` are one without it, among the ``m - 1`` other players, and so are those that do not
contain it. By the inequality of Lubell, Yamamoto and Meshalkin, ``a_k`` sets of size ``k`` in an
antichain among ``m`` players satisfy

    Σ_k a_k / C(m, k) ≤ 1,

and no more sets of size ``k`` come than there are candidates, ``0 ≤ x_k ≤ c_k``. Linear goals over
both are fractional knapsacks, which a greedy choice solves; their optima bound those over whole
sets.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, floor

Counts = Mapping[int, int]
"""Numbers of sets by their size."""

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Antichain:
    """Sets of ``players`` that may join an antichain of ``known`` ones, counted by size."""

    candidates: Counts
    known: Counts
    players: int

    def most(self) -> int:
        """Return how many candidates at most join the antichain."""
        return floor(sum(self.chosen(lambda _: _ONE).values()))

    def chosen(self, worth: Callable[[int], Fraction]) -> dict[int, Fraction]:
        """Return the numbers of candidates by size that are worth the most together.

        A set of size ``k`` is ``worth(k)``; sets that are worth nothing are not chosen.
        """
        used = (Fraction(n, comb(self.players, k)) for k, n in self.known.items())
        room = 1 - sum(used, _ZERO)
        wanted = {k: worth(k) for k, n in self.candidates.items() if n and worth(k) > 0}
        found: dict[int, Fraction] = {}
        for k in sorted(wanted, key=lambda k: -wanted[k] * comb(self.players, k)):
            found[k] = min(Fraction(self.candidates[k]), room * comb(self.players, k))
            room -= found[k] / comb(self.players, k)
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
            above = part + sum((x * weight(k) for k, x in added.items()), _ZERO)
            better = above / (whole + sum(added.values(), _ZERO))
            if sign * better <= sign * ratio:
                return ratio
            ratio = better
