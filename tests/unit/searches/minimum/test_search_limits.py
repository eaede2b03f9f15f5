"""Limits of a search: techniques by name, and numbers that change no answer."""

from dataclasses import FrozenInstanceError

import pytest

from milp_verix import InputError, minimum
from milp_verix.searches.minimum.search_limits import TECHNIQUES, SearchLimits
from tests.support.digits_example import images, network


def test_every_technique_is_on_unless_left_out() -> None:
    assert all(SearchLimits().uses(technique) for technique in TECHNIQUES)
    for left_out in TECHNIQUES:
        limits = SearchLimits(without=frozenset({left_out}))
        assert [t for t in TECHNIQUES if not limits.uses(t)] == [left_out]


@pytest.mark.parametrize("given", [{"speed"}, {"proposals", "Proposals"}, {""}])
def test_an_unknown_technique_is_refused_by_name(given: set[str]) -> None:
    unknown = min(given - TECHNIQUES.keys())
    with pytest.raises(InputError) as raised:
        SearchLimits(without=frozenset(given))
    message = str(raised.value)
    assert message.startswith(f"unknown technique {unknown!r}; choose one of ")
    assert all(technique in message for technique in TECHNIQUES)


def test_limits_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        SearchLimits().most_free = 1  # type: ignore[misc]


@pytest.mark.slow
def test_a_search_follows_its_limits() -> None:
    options = {"epsilon": 0.1}
    plain = minimum(network(), images()[15], **options)
    bare = minimum(
        network(), images()[15], **options, limits=SearchLimits(without=frozenset(TECHNIQUES))
    )
    assert plain.proven
    assert bare.proven
    assert plain.cost == bare.cost
    bare_stages, plain_stages = (dict(f.statistics.search.stages) for f in (bare, plain))
    assert bare_stages["better explanations"] == 0 < plain_stages["better explanations"]
    assert bare.statistics.search.nodes > plain.statistics.search.nodes
