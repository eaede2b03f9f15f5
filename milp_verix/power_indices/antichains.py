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
from fractions import Fraction
from math import comb, floor

Counts = Mapping[int, int]
"""Numbers of sets by their size."""


def most(candidates: Counts, known: Counts, players: int) -> int:
    """Return how many ``candidates`` at most join an antichain of ``known`` sets."""
    return floor(sum(chosen(candidates, known, players, lambda _: Fraction(1)).values()))


def chosen(
    candidates: Counts, known: Counts, players: int, worth: Callable[[int], Fraction]
) -> dict[int, Fraction]:
    """Return the numbers of candidates by size that are worth the most together.

    A set of size ``k`` is ``worth(k)``; sets that are worth nothing are not chosen.
    """
    room = 1 - sum((Fraction(n, comb(players, k)) for k, n in known.items()), Fraction(0))
    wanted = {k: worth(k) for k, count in candidates.items() if count and worth(k) > 0}
    found: dict[int, Fraction] = {}
    for k in sorted(wanted, key=lambda k: -wanted[k] * comb(players, k)):
        found[k] = min(Fraction(candidates[k]), room * comb(players, k))
        room -= found[k] / comb(players, k)
    return found


def best_ratio(
    candidates: Counts,
    known: Counts,
    players: int,
    part: Fraction,
    whole: int,
    weight: Callable[[int], Fraction],
    *,
    highest: bool,
) -> Fraction:
    """Return the highest or lowest ``(part + Σ x_k weight(k)) / (whole + Σ x_k)``.

    The method is Dinkelbach's: the sets that improve on a ratio are those whose weight is on its
    better side. ``whole`` is above zero.
    """
    sign, ratio = 1 if highest else -1, part / whole
    while True:
        now = ratio
        added = chosen(candidates, known, players, lambda k: sign * (weight(k) - now))
        above = part + sum((x * weight(k) for k, x in added.items()), Fraction(0))
        ratio = above / (whole + sum(added.values(), Fraction(0)))
        if sign * ratio <= sign * now:
            return now
