"""Public functions that pose a problem and answer it in one call.

Such a function takes a network, an input and ``**asked``: the options of the question, of the
search, and its own. Each option is documented once: in ``Problem``, in ``Search``, or in the
function that answers the problem. Help, signature and completion of the one-liner are put together
from these.
"""

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any, ParamSpec, TypeVar, cast

from milp_verix.base.argument_kinds import Kind, checked
from milp_verix.models.onnx.onnx_network import NetworkLike
from milp_verix.problem.options import Asked, Given, InputLike
from milp_verix.problem.problem import PosedProblem
from milp_verix.problem.search import Search
from milp_verix.problem.signatures import readable, with_remedy

P = ParamSpec("P")
R = TypeVar("R")
Own = TypeVar("Own")

_LEAST = 1e-9
"""Seconds left to a search whose limit passed while its problem was posed."""
_COURSE = ("progress", "snapshots", "resume")
"""Options that come last: how a search is watched, and what it goes on from."""


def parted(
    network: NetworkLike, x: InputLike, asked: Mapping[str, object], own: type[Own]
) -> tuple[PosedProblem, Search, Own]:
    """Return the problem and the search that ``asked`` describes, and the options of ``own``.

    ``own`` is the typed dictionary of a function's own options. The time that reading the network
    and posing the problem takes counts towards the limit of time. Raises as ``Problem`` does.
    """
    started = time.monotonic()
    search = Search(**_part(asked, Search))
    problem = PosedProblem(network, x, **cast("Asked", _part(asked, Given)))
    if isinstance(search.time_limit, int | float):
        left = search.time_limit - (time.monotonic() - started)
        search = replace(search, time_limit=max(left, _LEAST))
    return problem, search, cast("Own", _part(asked, own))


def _part(asked: Mapping[str, object], kind: type) -> dict[str, Any]:
    return {name: asked[name] for name in kind.__annotations__ if name in asked}


def one_liner(
    answer: Callable[..., R], *others: Callable[..., object], **kinds: Kind
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for the function that poses a problem and gives it to ``answer``.

    The function has the signature and the documentation of all its options, also those of
    ``others``; where it documents arguments itself, its documentation begins with its own text. It
    raises ``TypeError`` for an option that there is not or that is missing, and ``InputError`` for
    one of a wrong kind, see :func:`~milp_verix.base.argument_kinds.checked`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        whole = _signature(function, "asked", [Given, answer, *others, Search])
        run = _bound(function, whole)
        own = function.__doc__ if "Args:" in (function.__doc__ or "") else answer.__doc__
        texts = [own, *(one.__doc__ for one in others), PosedProblem.__doc__, Search.__doc__]
        run.__doc__ = _documentation(texts, [*whole.parameters])
        return checked(**kinds)(run)

    return decorate


def spelt_out(
    name: str, source: Callable[..., object]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: the signature has the options that ``**name`` takes, as in ``source``.

    The function raises ``TypeError`` for an option that there is not.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return _bound(function, _signature(function, name, [source]))

    return decorate


def _bound(function: Callable[P, R], whole: Signature) -> Callable[P, R]:
    """Return the function with the signature ``whole``, to which each call is held."""

    @wraps(function)
    def run(*args: P.args, **options: P.kwargs) -> R:
        try:
            whole.bind(*args, **options)
        except TypeError as error:
            told = with_remedy(error, whole.parameters)
            raise TypeError(f"{function.__name__}(): {told}") from None
        return function(*args, **options)

    run.__signature__ = whole  # type: ignore[attr-defined]
    return run


def _signature(
    function: Callable[..., object], several: str, sources: Iterable[Callable[..., object]]
) -> Signature:
    """Return the signature with all options, as in ``sources``, in the place of ``**several``."""
    plain = signature(function)
    taken = plain.parameters[several].annotation.__args__[0].__annotations__
    known: dict[str, Parameter] = {}
    for kind in sources:
        aliases = vars(sys.modules[kind.__module__])
        for name, parameter in readable(signature(kind), aliases).parameters.items():
            if name in taken and name not in plain.parameters:
                known.setdefault(name, parameter.replace(kind=Parameter.KEYWORD_ONLY))
    course = {name: known.pop(name) for name in _COURSE if name in known}
    plain = readable(plain, function.__globals__)
    named = [one for one in plain.parameters.values() if one.name != several]
    return plain.replace(parameters=[*named, *known.values(), *course.values()])


def _documentation(texts: list[str | None], names: list[str]) -> str | None:
    """Return the first of ``texts``, with all arguments in it that one of the texts documents."""
    if texts[0] is None:  # python -OO
        return None
    head, _, tail = _sections(texts[0])
    told = {name: entry for one in reversed(texts) for name, entry in _sections(one)[1].items()}
    arguments = "\n".join(told[name] for name in names if name in told)
    return f"{head}\n\nArgs:\n{arguments}\n\n{tail}"


def _sections(text: str | None) -> tuple[str, dict[str, str], str]:
    """Return a docstring's text before its ``Args:``, the entry of each argument, and the rest."""
    head, _, rest = cleandoc(text or "").partition("\n\nArgs:\n")
    entries, _, tail = rest.partition("\n\n")
    found = re.split(r"^(?=    \w+: )", entries, flags=re.MULTILINE)
    return head, {one.split(":")[0].strip(): one.rstrip() for one in found if one.strip()}, tail
