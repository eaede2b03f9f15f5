"""Limits of a search: techniques by name, and numbers that change no answer."""

from dataclasses import FrozenInstanceError
from typing import Any

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


def test_one_technique_by_its_name() -> None:
    for given in ("proposals", ["proposals"]):
        assert SearchLimits(without=given) == SearchLimits(without=frozenset({"proposals"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["a", -1, float("nan"), None, True, 1.5])
def test_a_number_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="most_free is an integer of at least 0"):
        SearchLimits(most_free=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"share_free": 0.5}, {"swaps": 3, "final_seconds": (1.0, 2.0)}, {"without": "subtrees"}],
)
def test_what_is_gone_is_ignored_with_a_warning(given: dict[str, Any]) -> None:
    with pytest.warns(FutureWarning, match="ignored"):
        assert SearchLimits(**given) == SearchLimits()


def test_an_unknown_limit_is_told_with_the_closest() -> None:
    with pytest.raises(TypeError, match="did you mean 'proposals'"):
        SearchLimits(proposal=3)  # type: ignore[call-arg]


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
