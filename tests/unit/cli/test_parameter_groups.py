"""The fields of a group stand in a command's signature where the group stood."""

import inspect
from dataclasses import dataclass
from typing import Any

import pytest

from milp_verix.cli.parameters import with_groups_expanded


@dataclass(frozen=True, kw_only=True)
class Point:
    x: int
    y: int = 2


@dataclass(frozen=True, kw_only=True)
class Colour:
    name: str = "red"


def given_to_command(**arguments: Any) -> list[Any]:
    seen: list[Any] = []

    def command(*, first: str, point: Point, middle: int = 5, colour: Colour, last: int) -> None:
        """Draw a point."""
        seen.extend([first, point, middle, colour, last])

    expanded = with_groups_expanded(command)
    assert expanded.__doc__ == "Draw a point."
    names = ["first", "x", "y", "middle", "name", "last"]
    assert list(inspect.signature(expanded).parameters) == names
    assert inspect.signature(expanded).parameters["y"].default == 2
    assert inspect.signature(expanded).parameters["x"].default is inspect.Parameter.empty
    assert expanded.__annotations__["name"] is str
    expanded(**arguments)
    return seen


def test_a_command_is_given_its_groups() -> None:
    arguments = {"first": "a", "x": 1, "y": 7, "middle": 4, "name": "blue", "last": 9}
    assert given_to_command(**arguments) == ["a", Point(x=1, y=7), 4, Colour(name="blue"), 9]


def test_an_argument_of_no_parameter_is_refused() -> None:
    arguments = {"first": "a", "x": 1, "y": 7, "middle": 4, "name": "blue", "last": 9, "z": 0}
    with pytest.raises(TypeError, match="'z'"):
        given_to_command(**arguments)
