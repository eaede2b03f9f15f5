"""Facts of a solver that its file in ``backends`` states once, and the options of its name.

They are the only place where :class:`~milp_verix.base.tolerances.Tolerances` become a solver's own
parameters, directly or behind PuLP or Pyomo; ``python docs/solver_tables.py`` writes the tables of
``docs/solvers.md`` from them. Gaps are zero, presolve, cuts and heuristics off: on the programs of
checks this is several times faster than the defaults.

A name with options, as in ``gurobi?MIPFocus=1&seed=3``, may come from a stranger's study file or
journal. So it sets only options that cannot start a program, overwrite a file or weaken a proof:
threads, seeds, presolve, heuristics, cuts, focus, limits. Tolerances, cutoffs and paths are for
Python, see :func:`refusal`. A log is a file of the current folder whose name ends in ``.log``;
solvers append to it. Some options have a word that all solvers share: the facts say which of the
solver's own it becomes.
"""

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, listed, meant, refusing, shown
from milp_verix.base.tolerances import Tolerances

Parameters = dict[str, Any]
Values = tuple[int, int] | tuple[float, float] | tuple[str, ...]
"""The values of an option: whole numbers or numbers between two ends, or words."""


SWITCHES = ("presolve", "cuts", "heuristics")
"""Words that are on and off: at the value that a solver is shipped with, and at ours."""


def words(text: str) -> dict[str, str]:
    """Return words that solvers share, and options for each: ``"gap MIPGap, cuts Cuts"``."""
    return dict(entry.split(" ", 1) for entry in text.split(", "))


@dataclass(frozen=True, eq=False)
class SolverFacts:
    """A solver's parameters, the options of its name, and limits within which it is trusted.

    ``ours`` are parameters that we set, each beside the value that the solver is shipped with;
    ``always`` are more of these, which a session sets with shipped parameters, too; ``balls`` those
    for programs with an L2 ball, unless a name sets them; ``tolerances`` has those that ours
    become. The number of threads is passed on from ``least_threads`` on.

    ``options`` are those that a name may set, and ``words`` what it may call them. ``suffix`` is
    that of files of parameters which the solver writes itself.

    The licence that comes with its package ends at ``free``, if anywhere. Its proofs are trusted up
    to big-Ms of ``largest_big_m`` and coefficients of ``largest_coefficient``, over ``partition``
    formulations or not; entries of up to ``dropped`` are not kept in its matrix. If it calls a
    program with the row ``c·v ≤ t`` infeasible, costs are at least ``t − slack · max(1, |t|)``.
    ``proofs`` says what all of them rest on.
    """

    name: str
    licence: str
    free: str = ""
    tolerances: Callable[[Tolerances], Parameters] = lambda _tolerances: {}
    ours: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    always: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    balls: Parameters = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, Values] = field(default_factory=dict)
    suffix: str = ""
    least_threads: int = 1
    largest_big_m: float = 1e4
    largest_coefficient: float = 1e15
    partition: bool = True
    dropped: float = 1e-9
    slack: float = 1e-7
    proofs: str = "its dual bound"

    @property
    def of_ours(self) -> tuple[str, ...]:
        """Words for options of ours, which no solver needs to know."""
        return ("time", "log", "strict", "parameters") if self.options else ("time", "strict")

    def usual(self, threads: int, tolerances: Tolerances) -> Parameters:
        """Return the parameters that we set."""
        chosen = {name: value for name, (value, _) in self.ours.items()}
        return self.tolerances(tolerances) | chosen | self.shipped(threads)

    def shipped(self, threads: int) -> Parameters:
        """Return the parameters that are set where all others stay as shipped."""
        values = {name: value for name, (value, _) in self.always.items()}
        if (name := self.words.get("threads")) and threads >= self.least_threads:
            values[name] = min(threads, self.options[name][-1])
        return values

    def switched(self, word: str, text: str) -> Parameters:
        """Return the options that a ``word`` turns ``"off"`` or ``"on"``, if it is one for that."""
        if word not in SWITCHES or text not in ("off", "on"):
            return {}
        return {
            name: text
            if text in self.options[name]
            else self.ours.get(name, (False, True))[text == "on"]
            for name in self.words.get(word, "").split()
        }


def floored(least: float, feasibility: str, integrality: str) -> Callable[[Tolerances], Parameters]:
    """Return the function from tolerances, no less than ``least``, to parameters of these names."""
    return lambda tolerances: {
        **dict.fromkeys(feasibility.split(), max(tolerances.feasibility, least)),
        **dict.fromkeys(integrality.split(), max(tolerances.integrality, least)),
    }


def settable(text: str) -> dict[str, Values]:
    """Return options and their values from a text such as ``"Cuts -1 to 3, presolve off or on"``.

    Numbers with a point are of options that take more than whole numbers.
    """
    found: dict[str, Values] = {}
    for entry in text.split(", "):
        name, _, values = entry.partition(" ")
        kind = float if "." in values else int
        ends = values.split(" to ")
        found[name] = (kind(ends[0]), kind(ends[1])) if ends[1:] else tuple(values.split(" or "))
    return found


UNKNOWN = SolverFacts(
    "unknown",
    "its own",
    # tolerances of 1e-6, as most solvers have them, and nothing better known
    largest_big_m=50.0,
    largest_coefficient=1e9,
    slack=2e-6,
    partition=False,
)


def notes_on(name: str, options: Parameters, distrust: str | None) -> tuple[str, ...]:
    """Return notes for readers of a result: a user's own options, and why proofs are lacking."""
    notes = () if distrust is None else (distrust,)
    if not options:
        return notes
    given = ", ".join(f"{option}={value}" for option, value in options.items())
    note = f"{name.partition('?')[0]} was run with options of the user's own: {given}"
    return (note, *notes)


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
