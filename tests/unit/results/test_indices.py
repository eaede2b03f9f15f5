"""Brackets of power indices against their definitions over all sets, orders and explanations."""

from fractions import Fraction

import numpy as np
import pytest

from milp_verix.results import known_game
from milp_verix.results.known_game import KnownGame
from milp_verix.results.power_indices import INDICES, brackets
from tests.support.power_indices import Sets, Values, contrasts_of, defined_indices, minimal_sets


def _random_explanations(rng: np.random.Generator, players: int) -> Sets:
    """Return the minimal explanations of a random monotone game between ``players``."""
    drawn = [
        frozenset(rng.choice(players, rng.integers(1, players + 1), replace=False).tolist())
        for _ in range(rng.integers(1, 6))
    ]
    return minimal_sets(drawn)


def _sorted(sets: Sets) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(tuple(sorted(one)) for one in sets))


def _random_game(
    seed: int, fewest: int
) -> tuple[np.random.Generator, int, tuple[Sets, Sets], Values]:
    """Return how many players a random game has, its explanations and contrasts, and its indices.

    The generator that drew it comes first; it has ``fewest`` players or more.
    """
    rng = np.random.default_rng(seed)
    players = int(rng.integers(fewest, 7))
    sets = _random_explanations(rng, players)
    return rng, players, (sets, contrasts_of(sets, players)), defined_indices(sets, players)


def test_brackets_hold_the_values_whatever_is_known(
    mixed_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, players, (explanations, contrasts), values = _random_game(mixed_seed, 1)
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
        if share == 1.0 and players <= known_game.LARGEST:
            assert game.exact
            assert all(
                b.lower == b.upper for name in INDICES for b in brackets(game, name).values()
            )


def test_a_complete_list_gives_exact_shares_however_many_features_there_are(
    mixed_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, players, (explanations, contrasts), values = _random_game(mixed_seed, 2)
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
        contrasts = contrasts_of(explanations, players)
        every = tuple(range(players))
        before, after = (
            brackets(KnownGame(every, _sorted(explanations[:n]), _sorted(contrasts[:n])), name)
            for n in (1, 99)
        )
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
