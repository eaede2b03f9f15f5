"""Options that the name of a solver may carry, as in ``gurobi?MIPFocus=1&seed=3``.

A name may come from a stranger's study file or journal. So it sets only options that cannot start a
program, overwrite a file or weaken a proof: threads, seeds, presolve, heuristics, cuts, focus,
limits. Tolerances, cutoffs and paths are for Python, see :func:`refusal`. A log is a file of the
current folder whose name ends in ``.log``; solvers append to it.

Some options have a word that all solvers share (``WORDS``): each becomes the solver's own option.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, listed, meant, refusing, shown
from milp_verix.solvers.solver_parameters import HIGHS_HEURISTICS, parameters_of

Values = tuple[int, int] | tuple[float, float] | tuple[str, ...]
"""The values of an option: whole numbers or numbers between two ends, or words."""

_SWITCH = ("true", "false")
_COUNT = (0, 2**31 - 1)
_THREADS = (1, 1024)
_HIGHS: dict[str, Values] = {
    "presolve": ("off", "choose", "on"),
    "parallel": ("off", "choose", "on"),
    "threads": _THREADS,
    "random_seed": _COUNT,
    "simplex_strategy": (0, 4),
    "mip_heuristic_effort": (0.0, 1.0),
    **dict.fromkeys(HIGHS_HEURISTICS, _SWITCH),
    "mip_allow_cut_separation_at_nodes": _SWITCH,
    "mip_allow_restart": _SWITCH,
    "mip_detect_symmetry": _SWITCH,
    "mip_max_nodes": _COUNT,
}
_GUROBI: dict[str, Values] = {
    "Threads": _THREADS,
    "Seed": (0, 2_000_000_000),
    "Presolve": (-1, 2),
    "Method": (-1, 5),
    "NodeMethod": (-1, 2),
    "MIPFocus": (0, 3),
    "NumericFocus": (0, 3),
    "IntegralityFocus": (0, 1),
    "Cuts": (-1, 3),
    "Heuristics": (0.0, 1.0),
    "RINS": (-1, 2_000_000_000),
    "Symmetry": (-1, 2),
    "VarBranch": (-1, 3),
    "NodeLimit": _COUNT,
}
_SCIP: dict[str, Values] = {
    "randomization/randomseedshift": _COUNT,
    "presolving/maxrounds": (-1, 2**31 - 1),
    "propagating/maxrounds": (-1, 2**31 - 1),
    "separating/maxrounds": (-1, 2**31 - 1),
    "separating/maxroundsroot": (-1, 2**31 - 1),
    "conflict/enable": _SWITCH,
    "misc/usesymmetry": (0, 7),
    "limits/nodes": (-1, 2**31 - 1),
}
_CBC: dict[str, Values] = {"threads": _THREADS, "strong": _COUNT, "maxNodes": _COUNT}
_ON_OFF = ("off", "on")

ALLOWED: dict[str, dict[str, Values]] = {
    "PULP_CBC_CMD": _CBC,
    "COIN_CMD": _CBC,
    "GUROBI": _GUROBI,
    "HiGHS": _HIGHS,
    "HiGHS_CMD": {"threads": _THREADS},
    "SCIP_CMD": {"maxNodes": _COUNT},
    "SCIP_PY": {"maxNodes": _COUNT},
    **dict.fromkeys(("appsi_highs", "highs"), _HIGHS),
    **dict.fromkeys(("gurobi_direct", "gurobi_persistent", "appsi_gurobi"), _GUROBI),
    **dict.fromkeys(("gurobi_direct_v2", "gurobi_persistent_v2"), _GUROBI),
    **dict.fromkeys(("scip_direct", "scip_persistent"), _SCIP),
}
"""For each name that PuLP or Pyomo has for a solver, the options that a string may set."""

OWN: dict[str, dict[str, Values]] = {
    "highs": {**_HIGHS, "mip_rel_gap": (0.0, 1.0)},
    "phase": {},
    "gurobi": {**_GUROBI, "MIPGap": (0.0, 1.0)},
    "scip": {**_SCIP, "limits/gap": (0.0, 1.0), "heuristics": _SWITCH},
    "cbc": {
        **_CBC,
        "randomSeed": _COUNT,
        "randomCbcSeed": _COUNT,
        **dict.fromkeys(("presolve", "preprocess", "cuts", "heur"), _ON_OFF),
    },
}
"""For each solver of ours, its own options that a string may set."""

_Both = dict[str, dict[str, Any]]


def _both(off: Any, on: Any, *options: str) -> _Both:
    return {"off": dict.fromkeys(options, off), "on": dict.fromkeys(options, on)}


WORDS: dict[str, dict[str, str | _Both]] = {
    "highs": {
        "threads": "threads",
        "seed": "random_seed",
        "gap": "mip_rel_gap",
        "presolve": _both("off", "on", "presolve"),
        "cuts": _both(False, True, "mip_allow_cut_separation_at_nodes"),
        "heuristics": {
            "off": {"mip_heuristic_effort": 0.0, **dict.fromkeys(HIGHS_HEURISTICS, False)},
            "on": {"mip_heuristic_effort": 0.05, **dict.fromkeys(HIGHS_HEURISTICS, True)},
        },
    },
    "gurobi": {
        "threads": "Threads",
        "seed": "Seed",
        "gap": "MIPGap",
        "presolve": _both(0, -1, "Presolve"),
        "cuts": _both(0, -1, "Cuts"),
        "heuristics": _both(0.0, 0.05, "Heuristics"),
    },
    "scip": {
        "seed": "randomization/randomseedshift",
        "gap": "limits/gap",
        "presolve": _both(0, -1, "presolving/maxrounds"),
        "cuts": _both(0, -1, "separating/maxrounds", "separating/maxroundsroot"),
        "heuristics": _both(False, True, "heuristics"),
    },
    "cbc": {
        "threads": "threads",
        "seed": "randomCbcSeed",
        "presolve": _both("off", "on", "presolve", "preprocess"),
        "cuts": _both("off", "on", "cuts"),
        "heuristics": _both("off", "on", "heur"),
    },
}
"""Words for options that solvers share, and what each solver calls them.

``"on"`` of presolve, cuts and heuristics is the solver's default, ``"off"`` is ours.
"""

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

SHARED = {
    "phase": ("time", "strict"),
    **dict.fromkeys(("highs", "gurobi", "scip", "cbc"), ("time", "log", "strict", "parameters")),
}
"""Words for options of ours, which no solver needs to know."""


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


_SUFFIXES = {"gurobi": ".prm", "highs": ".opt", "scip": ".set"}
"""The file of parameters that each solver writes itself."""


def _settings_in(name: str, base: str, file: str) -> dict[str, Any]:
    """Return the parameters in a ``file`` of the current folder, in the solver's own format."""
    suffix = _SUFFIXES.get(base)
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
        if option:
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
    words, allowed = WORDS.get(parameters_of(native).name, {}), _allowed(family, native)
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
