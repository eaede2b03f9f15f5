"""Names and values in messages: the closest name, a list of names, a value as Python writes it."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

_LONGEST, _MOST_TOLD = 60, 20


def closest(given: str, known: Collection[str]) -> str | None:
    """Return the name in ``known`` that ``given`` may stand for; None if no name is close."""
    by_form = {name.strip().casefold(): name for name in known}
    form = given.strip().casefold()
    close = [form] if form in by_form else get_close_matches(form, by_form, n=1, cutoff=0.7)
    return by_form[close[0]] if close else None


def listed(names: Collection[str]) -> str:
    """Return names with commas between, at most twenty of them."""
    some = ", ".join(list(names)[:_MOST_TOLD])
    return some if len(names) <= _MOST_TOLD else f"{some}, … ({len(names)} in all)"


def shown(value: Any) -> str:
    """Return a value as Python writes it, shortened where it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of too many digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def meant(given: str, known: Collection[str]) -> str:
    """Return the words that suggest the name closest to ``given``, none if no name is close."""
    close = closest(given, known)
    return "" if close is None else f"; did you mean {close!r}?"


def no_feature(name: object, known: Collection[str]) -> str:
    """Return the message that there is no feature ``name``."""
    return f"there is no feature {name!r}; there are {listed(known)}{meant(str(name), known)}"
