"""What the table of options gives: checks of values, arguments of calls.

Signatures, docstrings and pages are written from it by ``docs/write_calls.py``; keys of study files
are the names of rows. The options of commands are in :mod:`milp_verix.cli.call_options`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from milp_verix.base.arguments import Kind, accepted
from milp_verix.problem.option_rows import COURSE, OWN, QUESTION, SEARCH, Option


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
