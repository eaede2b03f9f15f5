"""Power indices by their definitions, over all orders, sets and minimal explanations."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations

Sets = list[frozenset[int]]
Values = dict[str, list[Fraction]]


def minimal_sets(sets: Iterable[frozenset[int]]) -> Sets:
    """Return the sets that hold no other one."""
    every = {*sets}
    return [one for one in every if not any(other < one for other in every)]


def contrasts_of(explanations: Sequence[frozenset[int]], players: int) -> Sets:
    """Return all minimal hitting sets of the explanations."""
    every = [frozenset(c) for k in range(players + 1) for c in combinations(range(players), k)]
    return minimal_sets([one for one in every if all(one & other for other in explanations)])


def defined_indices(explanations: Sequence[frozenset[int]], players: int) -> Values:
    """Return the indices by their definitions; Shapley's over all orders."""
    count = len(explanations)
    orders, pivots = list(permutations(range(players))), [0] * players
    for order in orders:
        before: set[int] = set()
        for player in order:
            if not any(one <= before for one in explanations):
                before.add(player)
                if any(one <= before for one in explanations):
                    pivots[player] += 1
    own = [[one for one in explanations if player in one] for player in range(players)]
    return {
        "shapley": [Fraction(n, len(orders)) for n in pivots],
        "holler-packel": [Fraction(len(sets), count) for sets in own],
        "deegan-packel": [sum((Fraction(1, len(o)) for o in s), Fraction(0)) / count for s in own],
        "responsibility": [max((Fraction(1, len(o)) for o in s), default=Fraction(0)) for s in own],
    }
