"""Options that the name of a solver may carry, as in ``gurobi?MIPFocus=1&seed=3``.

A name may come from a stranger's study file or journal. So it sets only options that cannot start a
program, overwrite a file or weaken a proof: threads, seeds, presolve, heuristics, cuts, focus,
limits. Tolerances, cutoffs and paths are for Python, see :func:`refusal`. A log is a file of the
current folder whose name ends in ``.log``; solvers append to it.

Some options have a word that all solvers share: each becomes the solver's own option, by its
:class:`~milp_verix.solvers.solver_facts.SolverFacts`.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, listed, meant, refusing, shown
from milp_verix.solvers.solver_facts import SWITCHES, SolverFacts, Values

_REASONS = {
    ("tol", "epsilon", "primalt", "dualt", "integert"): (
        "a point that breaks a row by the tolerance would count as feasible: give tolerances="
    ),
    ("cutoff", "objlimit", "objective_bound", "objective_target", "bestobjstop", "bestbdstop"): (
        "a cutoff leaves out a part of the program, whose bound is no bound of all of it"
    ),
    ("gap", "ratio", "allow", "increment"): (
        "this solver's proofs rest on its word that a point is optimal, which a gap makes untrue"
    ),
    ("log", "file", "dir", "path", "exe"): (
        "a name may stand in a stranger's file, so it names no file but a log such as log=mine.log"
    ),
}
"""Parts of names of options, and why a string may not set such an option."""


@dataclass(frozen=True, slots=True)
class NameOptions:
    """Options that the ``name`` of a solver of our own carries.

    ``settings`` are the solver's own; a solve takes at most ``seconds``; the solver appends to the
    file ``log``; if ``strict``, no other solver takes a program over. If ``shipped``, the solver
    keeps its own defaults in place of our parameters.
    """

    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = math.inf
    log: str | None = None
    strict: bool = False
    shipped: bool = False


NO_OPTIONS = NameOptions()
"""The options of a name that carries none."""


def read_name_options(name: str, facts: SolverFacts, pairs: list[tuple[str, str]]) -> NameOptions:
    """Return the options in the ``name`` of our own solver; ``InputError`` for a wrong one."""
    seconds, log, strict, shipped, others = math.inf, None, False, False, []
    settings: dict[str, Any] = {}
    for option, text in pairs:
        if option not in facts.of_ours:
            others.append((option, text))
        elif option == "time":
            seconds = _seconds(name, text)
        elif option == "log":
            log = _log(name, text)
        elif option == "strict":
            if text not in ("on", "off"):
                raise InputError(f"strict in the name of solver {name!r} is on or off")
            strict = text == "on"
        else:
            shipped = text == "shipped"
            settings = {} if shipped else _settings_in(name, facts, text)
    settings |= read_options(name, facts, facts.options, others)
    return NameOptions(name, settings, seconds, log, strict, shipped)


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(f"time in the name of solver {name!r} is a number of seconds above 0")
    return seconds


def _settings_in(name: str, facts: SolverFacts, file: str) -> dict[str, Any]:
    """Return the parameters in a ``file`` of the current folder, in the solver's own format."""
    suffix = facts.suffix
    if not suffix or not re.fullmatch(rf"[\w][\w.-]*\{suffix}", file):
        names = f" or a file of this folder such as mine{suffix}" if suffix else ""
        raise InputError(f"parameters in the name of solver {name!r} is shipped{names}")
    with refusing(f"cannot read {file}", OSError, UnicodeDecodeError):
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = {}
    for line in lines:
        option, _, text = line.partition("#")[0].replace("=", " ", 1).strip().partition(" ")
        values = facts.options.get(option)
        safe = values is not None and _read(values, text.strip()) is not None
        if not safe and any(part in option.lower() for parts in _REASONS for part in parts):
            raise refusal(name, facts, facts.options, f"{option}={text.strip()}")
        if option and option != "CPLEX":  # the head of its files
            found[option] = _value(text.strip().strip('"'))
    return found


def _value(text: str) -> int | float | str | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _log(name: str, text: str) -> str:
    if not re.fullmatch(r"[\w][\w.-]*\.log", text):
        raise InputError(
            f"the log in the name of solver {name!r} must be a file name that ends in .log, "
            f"without a folder, got {text!r}"
        )
    # a solver may run in another process, with another current folder
    return str(Path.cwd() / text)


def read_options(
    name: str,
    facts: SolverFacts,
    allowed: dict[str, Values],
    pairs: list[tuple[str, str]],
    in_python: str = "",
) -> dict[str, int | float | str]:
    """Return options by the solver's own names; ``InputError`` for a wrong option or value.

    A name may set those ``allowed``. ``in_python`` is a call that sets others, if there is one.
    """
    found: dict[str, int | float | str] = {}
    for option, text in pairs:
        several = facts.switched(option, text)
        if several and several.keys() <= allowed.keys():
            found |= several
            continue
        own = option if option in SWITCHES else facts.words.get(option, option)
        value = _read(allowed[own], text) if own in allowed else None
        if value is None:
            raise refusal(name, facts, allowed, f"{own}={text}", in_python)
        found[own] = value
    return found


def _read(values: Values, text: str) -> int | float | str | None:
    """Return ``text`` as one of ``values``, or None if it is none of them."""
    low, high = values[0], values[-1]
    if isinstance(low, str) or isinstance(high, str):
        word = text.lower()
        return {"true": True, "false": False}.get(word, word) if word in values else None
    try:
        value = type(low)(text)
    except ValueError:
        return None
    return value if low <= value <= high else None


def refusal(
    name: str, facts: SolverFacts, allowed: dict[str, Values], given: str, in_python: str = ""
) -> InputError:
    """Return the error for an option that a string may not set, with those that it may."""
    option = given.partition("=")[0]
    words = () if in_python else (*facts.words, *facts.of_ours)
    several = facts.switched(option, "on").keys()
    values = allowed.get(option) or (("off", "on") if several and several <= allowed.keys() else ())
    text = f"the name of solver {shown(name)} may not set {shown(given)}"
    if values:
        return InputError(f"{text}: {option} is {_values_text(values)}")
    lower, known = option.lower(), dict.fromkeys((*words, *allowed))
    reasons = [why for parts, why in _REASONS.items() if any(part in lower for part in parts)]
    reason = f" ({reasons[0]})" if reasons and lower not in map(str.lower, allowed) else ""
    most = listed(known, 5 if in_python else 10) or "no option"
    text += f"{reason}; it may set {most}{meant(option, known)}"
    if in_python:
        text += f"; files, tolerances and others are set in Python alone: solver={in_python}"
    return InputError(text)


def _values_text(values: Values) -> str:
    if isinstance(values[0], str):
        return " or ".join(map(str, values))
    return f"{values[0]} to {values[1]}"
