"""Options that the name of a solver may carry, as in ``pulp:HiGHS?presolve=on``.

A name may come from a stranger's study file or journal. So it sets only what cannot start a
program, name a file or weaken a proof: threads, seeds, presolve, heuristics, cuts, focus, limits on
nodes. Tolerances, gaps, cutoffs, logs and paths are for Python, see :func:`refusal`.
"""

from milp_verix.errors import InputError

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
    "mip_heuristic_run_feasibility_jump": _SWITCH,
    "mip_heuristic_run_rins": _SWITCH,
    "mip_heuristic_run_rens": _SWITCH,
    "mip_heuristic_run_root_reduced_cost": _SWITCH,
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


def read_option(name: str, family: str, native: str, option: str, text: str) -> int | float | str:
    """Return the value of one option; ``InputError`` for an option or value that is not allowed."""
    values = ALLOWED.get(native, {}).get(option)
    value = None if values is None else _read(values, text)
    if value is None:
        raise refusal(name, family, native, f"{option}={text}")
    return value


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
    found = ALLOWED.get(native, {})
    allowed = ", ".join(f"{option} ({_told(values)})" for option, values in found.items())
    kind = {"pulp": "PulpSolver", "pyomo": "PyomoSolver"}[family]
    return InputError(
        f"the name of solver {name!r} may not set {given!r}; it may set "
        f"{allowed or 'no option'}; files, tolerances and others are set in Python alone: "
        f"solver={kind}({f'{family}:{native}'!r}, {native!r}, {{OPTION: VALUE}})"
    )


def _told(values: Values) -> str:
    if isinstance(values[0], str):
        return " or ".join(map(str, values))
    return f"{values[0]} to {values[1]}"
