"""Signatures for the eye: types under the names that the code gives them."""

import re
from collections.abc import Collection, Mapping
from inspect import Signature, formatannotation
from typing import Any

from milp_verix.base.names import meant


class _Told(str):
    """A type in words, without quotation marks in a signature."""

    __slots__ = ()
    __repr__ = str.__str__


def readable(signature: Signature, aliases: Mapping[str, object]) -> Signature:
    """Return ``signature`` with each type as a text: its name in ``aliases``, or without modules.

    ``aliases`` are the globals of a module; ``ArrayLike`` is otherwise a page of private names.
    """
    named = [(value, name) for name, value in aliases.items() if not name.startswith("_")]

    def told(annotation: Any) -> _Told:
        name = next((name for value, name in named if value is annotation), None)
        text = annotation if isinstance(annotation, str) else formatannotation(annotation)
        return _Told(name or re.sub(r"\b(?:\w+\.)+(?=[A-Za-z_])", "", text))

    parameters = [
        one if one.annotation is one.empty else one.replace(annotation=told(one.annotation))
        for one in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=told(signature.return_annotation)
    )


def with_remedy(error: TypeError, known: Collection[str]) -> str:
    """Return what a call's ``error`` says, and which of the arguments ``known`` was meant."""
    told, name = str(error), [*str(error).split("'"), ""][1]
    if "missing" in told and name == "epsilon":
        told += ": give how far inputs may differ, such as epsilon=0.1, or 'inf' if described"
    return told + (meant(name, known) if "unexpected" in told else "")
