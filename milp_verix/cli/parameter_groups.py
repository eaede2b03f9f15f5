"""Parameters that several commands share, as one dataclass for each group of them."""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any


def with_groups_expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the fields of its dataclass parameters in the place of these.

    Typer makes an option of each parameter of a function, in their order: a group stands in the
    signature of a command where its options stand in the help.
    """
    groups: dict[str, tuple[type, list[Parameter]]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        kind = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[name] = kind, [*signature(kind).parameters.values()]
            parameters += groups[name][1]
        else:
            parameters.append(parameter)

    @wraps(command)
    def expanded(**given: Any) -> None:
        grouped = {
            name: kind(**{field.name: given.pop(field.name) for field in fields})
            for name, (kind, fields) in groups.items()
        }
        command(**grouped, **given)

    expanded.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    return expanded
