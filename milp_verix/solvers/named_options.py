"""Options that the name of a solver may carry, as in ``gurobi?MIPFocus=1&seed=3``.

A name may come from a stranger's study file or journal. So it sets only options that cannot start a
program, overwrite a file or weaken a proof: threads, seeds, presolve, heuristics, cuts, focus,
limits. Tolerances, cutoffs and paths are for Python, see :func:`refusal`. A log is a file of the
current folder whose name ends in ``.log``; solvers append to it.

Some options have a word that all solvers share: each becomes the solver's own option, by the tables
of :mod:`~milp_verix.solvers.option_tables`.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, listed, meant, refusing, shown
from milp_verix.solvers.option_tables import ALLOWED, OWN, SHARED, SUFFIXES, WORDS, Values
from milp_verix.solvers.solver_parameters import parameters_of

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


def read_name_options(name: str, base: str, pairs: list[tuple[str, str]]) -> NameOptions:
    """Return the options in the ``name`` of our solver ``base``; ``InputError`` for a wrong one."""
    seconds, log, strict, shipped, others = math.inf, None, False, False, []
    settings: dict[str, Any] = {}
    for option, text in pairs:
        if option == "time":
            seconds = _seconds(name, text)
        elif option == "log" and "log" in SHARED[base]:
            log = _log(name, text)
        elif option == "strict":
            if text not in ("on", "off"):
                raise InputError(f"strict in the name of solver {name!r} is on or off")
            strict = text == "on"
        elif option == "parameters" and option in SHARED[base]:
            shipped = text == "shipped"
            settings = {} if shipped else _settings_in(name, base, text)
        else:
            others.append((option, text))
    settings |= read_options(name, "", base, others)
    return NameOptions(name, settings, seconds, log, strict, shipped)


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(f"time in the name of solver {name!r} is a number of seconds above 0")
    return seconds


def _settings_in(name: str, base: str, file: str) -> dict[str, Any]:
    """Return the parameters in a ``file`` of the current folder, in the solver's own format."""
    suffix = SUFFIXES.get(base)
    if suffix is None or not re.fullmatch(rf"[\w][\w.-]*\{suffix}", file):
        names = f" or a file of this folder such as mine{suffix}" if suffix else ""
        raise InputError(f"parameters in the name of solver {name!r} is shipped{names}")
    with refusing(f"cannot read {file}", OSError, UnicodeDecodeError):
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = {}
    for line in lines:
        option, _, text = line.partition("#")[0].replace("=", " ", 1).strip().partition(" ")
        if any(part in option.lower() for parts in _REASONS for part in parts):
            raise refusal(name, "", base, f"{option}={text.strip()}")
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
    name: str, family: str, native: str, pairs: list[tuple[str, str]]
) -> dict[str, int | float | str]:
    """Return options by the solver's own names; ``InputError`` for a wrong option or value."""
    found: dict[str, int | float | str] = {}
    known = parameters_of(native).name if family else native
    words, allowed = WORDS.get(known, {}), _allowed(family, native)
    for option, text in pairs:
        word = words.get(option)
        if isinstance(word, dict) and text in word and word[text].keys() <= allowed.keys():
            found |= word[text]
        else:
            own = word if isinstance(word, str) else option
            found[own] = read_option(name, family, native, own, text)
    return found


def read_option(name: str, family: str, native: str, option: str, text: str) -> int | float | str:
    """Return the value of one option; ``InputError`` for an option or value that is not allowed."""
    values = _allowed(family, native).get(option)
    value = None if values is None else _read(values, text)
    if value is None:
        raise refusal(name, family, native, f"{option}={text}")
    return value


def _allowed(family: str, native: str) -> dict[str, Values]:
    return (ALLOWED if family else OWN).get(native, {})


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


def refusal(name: str, family: str, native: str, given: str) -> InputError:
    """Return the error for an option that a string may not set, with those that it may."""
    found, option = _allowed(family, native), given.partition("=")[0]
    words = () if family else (*WORDS.get(native, ()), *SHARED[native])
    values = found.get(option) or tuple(WORDS.get(native, {}).get(option, ()))
    text = f"the name of solver {shown(name)} may not set {shown(given)}"
    if values:
        return InputError(f"{text}: {option} is {_values_text(values)}")
    lower, known = option.lower(), dict.fromkeys((*words, *found))
    reasons = [why for parts, why in _REASONS.items() if any(part in lower for part in parts)]
    reason = f" ({reasons[0]})" if reasons and lower not in map(str.lower, found) else ""
    most = listed(known, 5 if family else 10) or "no option"
    text += f"{reason}; it may set {most}{meant(option, known)}"
    if kind := {"pulp": "PulpSolver", "pyomo": "PyomoSolver"}.get(family):
        text += (
            "; files, tolerances and others are set in Python alone: "
            f"solver={kind}({f'{family}:{native}'!r}, {native!r}, {{OPTION: VALUE}})"
        )
    return InputError(text)


def _values_text(values: Values) -> str:
    if isinstance(values[0], str):
        return " or ".join(map(str, values))
    return f"{values[0]} to {values[1]}"
