"""Faults of stored data are told by path, with what is there and what is expected."""

from typing import Any, Literal, TypedDict

import pytest

from milp_verix.base.stored_kinds import Amount, Count, Sha256
from milp_verix.results.conversion import READ, converted, difference


class Part(TypedDict):
    count: Count
    amounts: dict[str, Amount]


class Whole(TypedDict):
    parts: dict[str, list[Part]]
    hashed: Sha256
    way: Literal["up", "down"]


GOOD: dict[str, Any] = {
    "parts": {"a": [{"count": 1, "amounts": {}}], "b": [{"count": 2, "amounts": {"x": 1, "y": 2}}]},
    "hashed": "0" * 64,
    "way": "up",
}


def test_what_is_right_is_taken() -> None:
    assert converted({**GOOD, "more": 1}, Whole) == GOOD


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"way": "left"}, 'way is "left", expected "up" or "down"'),
        ({"way": None}, "way is null, expected a text"),
        ({"hashed": "0" * 65}, "expected a text of length <= 64"),
        ({"hashed": "0" * 63 + "\n"}, "expected a text like ^[0-9a-f]{64}$"),
        ({"parts": {"b": [{"count": -1, "amounts": {}}]}}, "parts.b[0].count is -1, expected"),
        ({"parts": {"b": [{"count": True, "amounts": {}}]}}, "parts.b[0].count is true, expected"),
        ({"parts": {"a": [], "b": [{"count": 1}]}}, "parts.b[0] lacks 'amounts'"),
        (
            {"parts": {"a": [], "b": [{"count": 1, "amounts": {"x": 1, "y": "2"}}]}},
            'parts.b[0].amounts.y is "2", expected a finite number',
        ),
    ],
)
def test_a_fault_is_told_by_its_path(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"expected|lacks") as refused:
        converted({**GOOD, **change}, Whole)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("stored", "made", "told"),
    [
        ({"a": [1, 2.0]}, {"a": (1, 2)}, None),
        ({"a": 1, "b": 2}, {"a": 1}, None),
        ({"a": [[1]]}, {"a": READ}, None),
        ({"a": 1}, {"a": True}, "a is 1, which"),
        ({"a": {}}, {"a": {"b": None}}, "a lacks 'b'"),
        ({"a": [1, 2]}, {"a": (1,)}, "a is [1, 2], which"),
        ({"a": [{"b": 3}]}, {"a": [{"b": 4}]}, "a[0].b is 3, which"),
    ],
)
def test_the_first_difference_is_told(stored: Any, made: Any, told: str | None) -> None:
    found = difference(stored, made)
    assert found is None if told is None else str(found).startswith(told)
