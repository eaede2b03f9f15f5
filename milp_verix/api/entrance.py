"""The start of all public calls: options are parted, values checked, errors explained.

``docs/write_calls.py`` writes the signatures of the calls from the table of options;
:func:`delegated` makes them calls.
"""

from collections.abc import Callable, Collection
from dataclasses import fields
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from milp_verix.base.arguments import refusing_no_bounds
from milp_verix.base.clock import deadline_in
from milp_verix.base.errors import meant, shortened
from milp_verix.problem.option_rows import QUESTION, SEARCH, fitting, rows_of
from milp_verix.problem.search import Search

if TYPE_CHECKING:
    from milp_verix.api.problem_methods import Problem

P = ParamSpec("P")
R = TypeVar("R")

_OF_SEARCH = frozenset(one.name for one in fields(Search))


def parted(call: str, given: dict[str, Any]) -> tuple["Problem", dict[str, Any]]:
    """Return the problem, and the arguments of its method ``call``, from the arguments given.

    The search's options become one of the method's. The time limit runs from now on: reading the
    network and posing the problem count towards it. An explanation that is a result brings its
    groups. Raises ``InputError`` for an option that does not fit.
    """
    from milp_verix.api.problem_methods import Problem

    question = {name: given.pop(name) for name in ("network", "x")}
    question |= {row.name: given.pop(row.name) for row in rows_of(call, QUESTION)}
    if "epsilon" not in question:  # of calls that ask about several radii
        question["epsilon"] = radius_of_question(given.get("epsilons"), question["inputs"])
    search = {row.name: given.pop(row.name) for row in rows_of(call, SEARCH)}
    limit = fitting(call, {"time_limit": search.get("time_limit")})["time_limit"]
    if isinstance(limit, int | float) and limit > 0:
        search["time_limit"] = deadline_in(limit)
    options = {**fitting(call, given), "search": Search(**search)}
    if "explanation" in options and question["inputs"] is None:
        from milp_verix.searches.feature_sets import groups_for

        question["features"] = groups_for(options["explanation"], question["features"])
    return Problem(**question), options


def radius_of_question(several: Any, inputs: Any) -> Any:
    """Return the radius at which a question about ``several`` is posed.

    It is the first that has one for each coordinate of an input without a description, as these
    make one; else 0, the input alone.
    """
    if inputs is not None:
        return 0.0
    listed = several if isinstance(several, list | tuple) else [several]
    flat = int(listed is not several)  # an array of one axis has a radius in each entry
    own = (
        one
        for one in listed
        if getattr(one, "ndim", isinstance(one, list | tuple)) > flat or hasattr(one, "keys")
    )
    return next(own, 0.0)


def delegated(call: str, to: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for the signature of ``call``, a function without a body.

    The function ``to`` of this package, which is loaded at the first call, gets its arguments,
    checked, but for those that are the defaults; those that pose a problem make one first. The
    ``TypeError`` for a missing or unknown option says what to give instead. Bounds that are needed
    and do not exist are an ``InputError``.
    """
    module, _, name = f"milp_verix.{to}".rpartition(".")

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        plain = signature(function)
        known = plain.parameters
        usual = {name: one.default for name, one in known.items()}
        readable = [one.replace(annotation=_Annotation(one.annotation)) for one in known.values()]
        if "self" in known:
            readable[0] = known["self"]

        @wraps(function)
        def start(*args: P.args, **options: P.kwargs) -> R:
            try:
                function(*args, **options)
            except TypeError as error:
                text = str(error).replace("Problem.__init__", "Problem")
                raise TypeError(shortened(text + _remedy(text, known))) from None
            given: dict[str, Any] = dict(zip(known, args, strict=False)) | options
            first = [given.pop("self")] if "self" in given else []
            with refusing_no_bounds():
                if "x" in known and not first:
                    problem, given = parted(call, usual | given)
                    first = [problem]
                else:
                    own = {one: given[one] for one in known if one in given}
                    own = {one: own[one] for one in own if own[one] is not usual[one]}
                    given = fitting(call, own)
                answer: R = getattr(import_module(module), name)(*first, **given)
                return answer

        start.__signature__ = plain.replace(  # type: ignore[attr-defined]
            parameters=readable, return_annotation=_Annotation(plain.return_annotation)
        )
        return start

    return decorate


class _Annotation(str):
    """A type in words, without quotation marks in a signature."""

    __slots__ = ()
    __repr__ = str.__str__


def _remedy(text: str, known: Collection[str]) -> str:
    name = [*text.split("'"), ""][1]
    if "missing" in text and name == "epsilon":
        return ": give how far inputs may differ, such as epsilon=0.1, or 'inf' if described"
    if "missing" in text and name == "epsilons":
        return ": give several radii, such as epsilons=[0.05, 0.1]"
    if "positional arguments but" in text:
        return ": give options by name, such as epsilon=0.1"
    if "unexpected" not in text or "Did you mean" in text:
        return ""
    if "search" in known and name in _OF_SEARCH:
        return f"; give search=Search({name}=…)"
    return meant(name, known)
