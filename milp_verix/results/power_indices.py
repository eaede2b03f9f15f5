"""Proven brackets of four power indices of features, exact where the game is known.

Let ``v`` be the game of :mod:`milp_verix.results.known_game` between ``m`` players,
and ``𝔸`` the set of its minimal sets worth 1, the minimal explanations.

    shapley          Σ_{S ∌ i} |S|! (m-1-|S|)! / m! · (v(S ∪ i) - v(S))
                     how often, over all orders, ``i`` turns a set into a sufficient one
                     (Shapley, Shubik 1954)
    holler-packel    |{A ∈ 𝔸 : i ∈ A}| / |𝔸|
                     (Holler, Packel 1983; the formal feature attribution of Yu, Ignatiev,
                     Stuckey 2023)
    deegan-packel    1 / |𝔸| · Σ_{A ∈ 𝔸, i ∈ A} 1 / |A|              (Deegan, Packel 1978)
    responsibility   max {1 / |A| : A ∈ 𝔸, i ∈ A}, 0 without such an A

(The last three for explanations: Biradar, Izza, Lobo, Viswanathan, Zick, AAAI 2024.)

**Shapley.** In an order, ``i`` is *surely* pivotal if the players before it are a lost set ``S``
and ``S ∪ i`` is won, and *possibly* if ``S`` is not won and ``S ∪ i`` is not lost. As ``v`` is
monotone, a term is 0 or 1, so the share of sure orders is a lower bound and that of possible ones
an upper bound. Both depend on the order of the ground alone, and a random order of all players
orders the ground at random. So counts over subsets of the ground bound the value among all players.
For a player outside of the ground no order is sure, and one is possible if the players of the
ground before it are an open set. Values sum up to ``v(N) - v(∅) ≤ 1``.

**Holler-Packel, Deegan-Packel.** Some explanations are proven, and candidates may join them: sets
of players that are neither lost nor strictly above a sufficient set. A candidate with players
outside of the ground is an open subset of it with any of them. :mod:`.known_game` bounds how many
candidates join. A ratio is lowest with the most explanations that do not contain ``i``, highest
with none of them. While many sets are open, these brackets are wide.

**Responsibility.** A sure pivot of ``S`` and ``S ∪ i`` proves a minimal explanation inside
``S ∪ i`` that contains ``i``: one inside ``S`` would make it worth 1. So the smallest such set
gives a lower bound, and the smallest candidate that contains ``i`` an upper one.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, inf, nextafter

import numpy as np

from milp_verix.results.known_game import ONE, ZERO, Antichain, Counts, KnownGame, Vector, halves


@dataclass(frozen=True, slots=True)
class IndexBracket:
    """Proven ends of a value."""

    lower: Fraction
    upper: Fraction

    def rounded(self) -> tuple[float, float]:
        """Return the ends in float64, rounded outward; an exact value is the nearest number."""
        if self.lower == self.upper:
            return float(self.lower), float(self.lower)
        low, high = float(self.lower), float(self.upper)
        low = low if Fraction(low) <= self.lower else nextafter(low, -inf)
        high = high if Fraction(high) >= self.upper else nextafter(high, inf)
        return low, high


@lru_cache(maxsize=8)  # a result is asked for its ends again and again
def brackets(game: KnownGame, index: str) -> dict[int, IndexBracket]:
    """Return a bracket of the ``index``, one of ``INDICES``, for each player."""
    return dict(zip(game.players, INDICES[index](game), strict=True))


def _shapley(game: KnownGame) -> list[IndexBracket]:
    count, ground = len(game.players), len(game.ground)
    if game.won[0]:
        return [IndexBracket(ZERO, ZERO)] * count
    orders = _shares(ground)
    found = [IndexBracket(ZERO, _outside(game))] * count
    for place, player in enumerate(game.ground):
        (lost, then_lost), (won, then_won) = halves(game.lost, place), halves(game.won, place)
        before = halves(game.sizes, place)[0]
        sure, possible = lost & then_won, ~won & ~then_lost
        found[player] = IndexBracket(
            _weighed(before[sure], orders), _weighed(before[possible], orders)
        )
    return _summing_up(found, to_one=bool(game.lost[0]))


def _outside(game: KnownGame) -> Fraction:
    """Return the upper bound for players outside of the ground; none matters in a known game."""
    if game.outside == 0 or (game.exact and game.whole):
        return ZERO
    return _weighed(game.sizes[game.open], _shares(len(game.ground) + 1))


def _shares(players: int) -> list[Fraction]:
    """Return for each size the share of orders in which one set of it comes before a player."""
    last = players - 1
    return [
        Fraction(factorial(k) * factorial(last - k), factorial(players)) for k in range(players)
    ]


def _weighed(sizes: Vector, shares: list[Fraction]) -> Fraction:
    counts = np.bincount(sizes, minlength=1).tolist()
    return sum((n * shares[k] for k, n in enumerate(counts) if n), ZERO)


def _summing_up(found: list[IndexBracket], *, to_one: bool) -> list[IndexBracket]:
    """Return brackets that use the sum of all values: at most one, or exactly one."""
    alike = {id(one): one for one in found}  # most players outside of the known sets share one
    parts = [(times, alike[one]) for one, times in Counter(map(id, found)).items()]
    lower = sum((times * one.lower for times, one in parts), ZERO)
    upper = sum((times * one.upper for times, one in parts), ZERO)
    made = {}
    for place, one in alike.items():
        least = 1 - (upper - one.upper) if to_one else ZERO
        made[place] = IndexBracket(max(one.lower, least), min(one.upper, 1 - (lower - one.lower)))
    return [made[id(one)] for one in found]


def _deegan_packel(game: KnownGame) -> list[IndexBracket]:
    found = _shared(game, lambda size: Fraction(1, size))
    empty = bool(game.won[0])
    return found if empty else _summing_up(found, to_one=bool(game.lost[0]))


def _shared(game: KnownGame, weight: Callable[[int], Fraction]) -> list[IndexBracket]:
    """Return brackets of ``1 / |𝔸| · Σ_{A ∋ i} weight(|A|)``."""
    proven, others = game.minimal, len(game.players) - 1
    sizes = [mask.bit_count() for mask in proven]
    every, per_player = ({}, {}) if game.exact else _candidates(game)
    outside: IndexBracket | None = None  # all players outside of every known set have the same one
    found = []
    for player in range(others + 1):
        has = [bool(mask >> player & 1) for mask in proven]
        own = [k for k, here in zip(sizes, has, strict=True) if here]
        part = sum(map(weight, own), ZERO)
        if game.exact:
            found.append(IndexBracket(part / len(proven), part / len(proven)))
            continue
        alike = player not in per_player and not own
        if alike and outside is not None:
            found.append(outside)
            continue
        with_it = per_player.get(player)
        if with_it is None:
            with_it = _joined({}, _counts(game.sizes, game.open), game.outside - 1, more=1)
        without = {k: n - with_it.get(k, 0) for k, n in every.items()}
        rest = [k for k, here in zip(sizes, has, strict=True) if not here]
        # without the feature, sets that contain it are one smaller
        smaller = {k - 1: n for k, n in with_it.items() if n}
        joining = Antichain(smaller, Counter(k - 1 for k in own), others)
        beside = Antichain(without, Counter(rest), others)
        found.append(_ratio(part, len(proven), joining, beside.most(), weight))
        outside = found[-1] if alike else outside
    return found


def _ratio(
    part: Fraction, proven: int, joining: Antichain, beside: int, weight: Callable[[int], Fraction]
) -> IndexBracket:
    """Return the bracket of a feature that has the ``part`` of ``proven`` explanations.

    Those in ``joining`` that contain it may be added, and as many ``beside`` that do not.
    """

    def own(k: int) -> Fraction:
        return weight(k + 1)

    if proven:
        high = joining.best_ratio(part, proven, own, highest=True)
        return IndexBracket(joining.best_ratio(part, proven + beside, own, highest=False), high)
    # there is one explanation at least, and none is known
    possible = [own(k) for k in joining.candidates]
    return IndexBracket(ZERO if beside else min(possible), max(possible, default=ZERO))


def _candidates(game: KnownGame) -> tuple[dict[int, int], dict[int, dict[int, int]]]:
    """Return the numbers of candidates by size, and of those with each player of the ground."""
    vectors = game.sizes, game.possible, game.open
    found = {}
    for place, player in enumerate(game.ground):
        sizes, possible, open_ = (halves(one, place)[1] for one in vectors)
        inside, beyond = _counts(sizes, possible), _counts(sizes, open_)
        found[player] = _joined(inside, beyond, game.outside)
    inside, beyond = _counts(game.sizes, game.possible), _counts(game.sizes, game.open)
    return _joined(inside, beyond, game.outside), found


def _joined(inside: Counts, open_: Counts, outside: int, more: int = 0) -> dict[int, int]:
    """Return counts of sets ``inside``, and of open ones with ``more`` or any players outside."""
    found = dict(inside)
    for size, count in open_.items():
        for extra in range(0 if more else 1, outside + 1):
            k = size + extra + more
            found[k] = found.get(k, 0) + count * comb(outside, extra)
    return found


def _counts(sizes: Vector, wanted: Vector) -> dict[int, int]:
    counts = np.bincount(sizes[wanted], minlength=1).tolist()
    return {k: n for k, n in enumerate(counts) if n}


def _responsibility(game: KnownGame) -> list[IndexBracket]:
    found = []
    any_open = np.flatnonzero(game.open) if game.outside and not game.exact else np.zeros(0, int)
    beyond = Fraction(1, int(game.sizes[any_open].min()) + 1) if len(any_open) else ZERO
    place_of = {player: place for place, player in enumerate(game.ground)}
    for player in range(len(game.players)):
        sizes = [mask.bit_count() for mask in game.minimal if mask >> player & 1]
        low, high = Fraction(1, min(sizes)) if sizes else ZERO, ZERO
        if not game.exact and player in place_of:
            place = place_of[player]
            sure = halves(game.lost, place)[0] & halves(game.won, place)[1]
            here = halves(game.sizes, place)[1]
            if np.any(sure):
                low = max(low, Fraction(1, int(here[sure].min())))
            possible = halves(game.possible, place)[1]
            if np.any(possible):
                high = Fraction(1, int(here[possible].min()))
        elif not game.exact:
            high = beyond
        found.append(IndexBracket(low, max(low, high)))
    return found


INDICES: dict[str, Callable[[KnownGame], list[IndexBracket]]] = {
    "shapley": _shapley,
    "holler-packel": lambda game: _shared(game, lambda _: ONE),
    "deegan-packel": _deegan_packel,
    "responsibility": _responsibility,
}
"""The indices by name."""
