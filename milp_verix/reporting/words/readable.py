"""Results for readers: names in files may hold characters that would command a terminal."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.passage import Passage
from milp_verix.printable import printable

Told = TypeVar("Told")
_PARTS = ("features", "rules", "class_names", "passage")


def readable(told: Told) -> Told:
    """Return a result, or a part of one, with escapes in all its texts; itself where none needs it.

    It is for words, pictures and pages alone: names are no keys any more. A passage stays as it is.
    """
    return cast(Told, _readable(told))


def _readable(told: Any) -> Any:
    if isinstance(told, str):
        return printable(told)
    if isinstance(told, tuple) and told and not isinstance(told[0], (int, float)):
        parts = [*map(_readable, told)]
        return told if _same(parts, told) else tuple(parts)
    if isinstance(told, Mapping) and isinstance(next(iter(told), None), str):
        return {printable(name): _readable(part) for name, part in told.items()}
    if isinstance(told, Passage) or not (isinstance(told, Inputs) or is_dataclass(told)):
        return told
    names = _PARTS if isinstance(told, Inputs) else [one.name for one in fields(cast(Any, told))]
    old = [getattr(told, name) for name in names]
    new = [*map(_readable, old)]
    if _same(new, old):
        return told
    made = object.__new__(type(told))
    for name, part in zip(names, new, strict=True):
        object.__setattr__(made, name, part)  # escapes may break rules between names
    return made


def _same(new: Any, old: Any) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))
