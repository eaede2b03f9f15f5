"""Brackets of power indices against their definitions over all sets, orders and explanations."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from milp_verix.power_indices import known_game
from milp_verix.power_indices.indices import INDICES, brackets
from milp_verix.power_indices.known_game import KnownGame

Sets = list[frozenset[int]]


def _minimal(sets: Sets) -> Sets:
    return [one for one in {*sets} if not any(other < one for other in sets)]


def _random_explanations(rng: np.random.Generator, players: int) -> Sets:
    """Return the minimal explanations of a random monotone game between ``players``."""
    drawn = [
        frozenset(rng.choice(players, rng.integers(1, players + 1), replace=False).tolist())
        for _ in range(rng.integers(1, 6))
    ]
    return _minimal(drawn)


def _contrasts(explanations: Sets, players: int) -> Sets:
    """Return all minimal hitting sets of the explanations."""
    every = [frozenset(c) for k in range(players + 1) for c in combinations(range(players), k)]
    return _minimal([one for one in every if all(one & other for other in explanations)])


def _defined(explanations: Sets, players: int) -> dict[str, list[Fraction]]:
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


def _sorted(sets: Sets) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(tuple(sorted(one)) for one in sets))


def test_brackets_hold_the_values_whatever_is_known(
    mixed_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(mixed_seed)
    players = int(rng.integers(1, 7))
    explanations = _random_explanations(rng, players)
    contrasts, values = _contrasts(explanations, players), _defined(explanations, players)
    # a small ground leaves some known sets out, as it does where there are many features
    monkeypatch.setattr(known_game, "LARGEST", int(rng.integers(1, 8)))
    for share in (0.0, 0.3, 0.6, 0.9, 1.0):
        known = [one for one in explanations if rng.random() < share]
        changing = [one for one in contrasts if rng.random() < share]
        # sets that are not minimal are known, too, while a search is under way
        for sets in (known, changing):
            for place, one in enumerate(sets):
                if rng.random() < 0.3 * (1 - share):
                    sets[place] = one | {int(rng.integers(players))}
        game = KnownGame(tuple(range(players)), _sorted(known), _sorted(changing))
        for name in INDICES:
            found = brackets(game, name)
            for player, value in enumerate(values[name]):
                low, high = found[player].rounded()
                assert found[player].lower <= value <= found[player].upper, (name, player)
                assert Fraction(low) <= value <= Fraction(high) or low == high == float(value)
        if share == 1.0 and known_game.LARGEST >= players:
            assert game.exact
            assert all(b.lower == b.upper for name in INDICES for b in brackets(game, name).values())


def test_a_complete_list_gives_exact_shares_however_many_features_there_are(
    mixed_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(mixed_seed)
    players = int(rng.integers(2, 7))
    explanations = _random_explanations(rng, players)
    contrasts, values = _contrasts(explanations, players), _defined(explanations, players)
    monkeypatch.setattr(known_game, "LARGEST", int(rng.integers(1, players + 1)))
    many = (*range(players), *range(100, 300))  # others that play no part
    game = KnownGame(many, _sorted(explanations), _sorted(contrasts), complete=True)
    for name in INDICES:
        found = brackets(game, name)
        for player in many:
            value = values[name][player] if player < players else Fraction(0)
            assert found[player].lower <= value <= found[player].upper
            if name != "shapley" or game.whole:
                assert found[player].lower == found[player].upper == value


@pytest.mark.parametrize("name", INDICES)
def test_knowing_more_makes_no_bracket_wider(name: str) -> None:
    rng = np.random.default_rng(5)
    narrower = 0
    for _ in range(20):
        players = 5
        explanations = _random_explanations(rng, players)
        contrasts = _contrasts(explanations, players)
        wide: Callable[..., KnownGame] = lambda a, c: KnownGame(
            tuple(range(players)), _sorted(a), _sorted(c)
        )
        before = brackets(wide(explanations[:1], contrasts[:1]), name)
        after = brackets(wide(explanations, contrasts), name)
        for player in range(players):
            assert before[player].lower <= after[player].lower
            assert after[player].upper <= before[player].upper
            narrower += before[player] != after[player]
    assert narrower


def test_sets_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="each contrast"):
        KnownGame((0, 1, 2), ((0,),), ((1, 2),))
    with pytest.raises(ValueError, match="not complete"):
        KnownGame((0, 1, 2), ((0,),), ((0, 1),), complete=True)
    with pytest.raises(ValueError, match="minimal"):
        KnownGame((0, 1, 2), ((0, 1),), ((0, 1),), complete=True)


def test_nothing_to_explain_is_worth_nothing() -> None:
    robust = KnownGame((0, 1), ((),), ())
    assert {b.upper for name in INDICES for b in brackets(robust, name).values()} == {0}
    assert [brackets(KnownGame((), (), ()), name) for name in INDICES] == [{}] * 4
