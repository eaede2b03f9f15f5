"""What the table of options gives: checks of values, arguments of calls, options of commands.

Signatures, docstrings and pages are written from it by ``docs/write_calls.py``; keys of study files
are the names of rows. How a command spells a value is said in :mod:`milp_verix.cli.call_options`.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter
from math import inf
from typing import Any

from milp_verix.base.arguments import Kind, accepted
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.option_rows import (
    COURSE,
    OWN,
    QUESTION,
    REQUIRED,
    SEARCH,
    Line,
    Option,
)

_DEFAULTS = {"UNIT_DOMAIN": UNIT_DOMAIN, "math.inf": inf, "()": "", '("big_m",)': "big_m"}
"""Defaults that are no literals, or that texts of the command line stand for."""


@cache
def rows_of(call: str, *parts: tuple[Option, ...]) -> tuple[Option, ...]:
    """Return the options that ``call`` takes, of some ``parts`` of the table or of all of it."""
    table = parts or (QUESTION, OWN, SEARCH, COURSE)
    return tuple(row for part in table for row in part if call in row.calls)


@cache
def kinds_of(call: str) -> Mapping[str, Kind]:
    """Return the kinds of values that the options of ``call`` take, by name."""
    return {row.name: row.fits for row in (*rows_of("methods"), *rows_of(call))}


def fitting(call: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``call`` but ``self``, with arrays in the place of tensors.

    Raises ``InputError`` for a value of a wrong kind.
    """
    values = dict(given)
    values.pop("self", None)
    return accepted(values, kinds_of(call))


def flag_of(row: Option) -> str:
    """Return the name of an option on the command line."""
    assert row.line is not None
    return "--" + (row.line.flag or row.name).replace("_", "-")


def default_of(row: Option, line: Line) -> Any:
    """Return the default of a command's option."""
    if row.name == "epsilon":
        return None  # a message needs none
    if row.default == REQUIRED:
        return Parameter.empty
    if line.reads in ("free", "not"):
        return "all" if line.reads == "free" else False
    return _DEFAULTS[row.default] if row.default in _DEFAULTS else ast.literal_eval(row.default)


@dataclass(frozen=True)
class CommandOptions:
    """The options of a ``call`` in its command, but for those ``without`` that it declares itself.

    A ``study`` has options of several calls: one that is left out has the default of its own call.
    """

    call: str
    without: tuple[str, ...] = ()
    study: bool = False

    @property
    def rows(self) -> tuple[Option, ...]:
        """The rows of the table."""
        rows = rows_of(self.call, QUESTION, OWN, SEARCH, COURSE)
        return tuple(row for row in rows if row.line and row.name not in self.without)


@dataclass(frozen=True, eq=False)
class GivenOptions:
    """The options of a call as a command is given them: ``values`` by name.

    ``read`` turns the value of an option into what the call takes, once the network is known.
    """

    options: CommandOptions
    values: Mapping[str, Any]
    read: Callable[[Option, Any, Any], Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def inputs(self) -> list[Any]:
        """The values that may name files to be left as they are; a result goes on in its own."""
        return [self.values[row.name] for row in self.options.rows if row not in COURSE]

    def question(self, network: Any) -> dict[str, Any]:
        """Return the options of the question; raises ``InputError``."""
        return self._read(QUESTION, network)

    def own(self, network: Any) -> dict[str, Any]:
        """Return the options of the call that belong neither to the question nor to the search."""
        return self._read((*OWN, *COURSE), network)

    def searched(self) -> dict[str, Any]:
        """Return the options of the search."""
        return {row.name: self.values[row.name] for row in self.options.rows if row in SEARCH}

    def _read(self, part: tuple[Option, ...], network: Any) -> dict[str, Any]:
        rows = [row for row in self.options.rows if row in part]
        return {row.name: self.read(row, self.values[row.name], network) for row in rows}
