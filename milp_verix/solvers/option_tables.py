"""Tables of the options that the name of a solver may carry, solver by solver."""

from typing import Any

from milp_verix.solvers.solver_parameters import HIGHS_HEURISTICS

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
_XPRESS: dict[str, Values] = {
    "THREADS": _THREADS,
    "RANDOMSEED": _COUNT,
    "PRESOLVE": (0, 1),
    "MIPPRESOLVE": (-1, 2**16 - 1),
    "CUTSTRATEGY": (-1, 3),
    "HEUREMPHASIS": (-1, 3),
    "NODESELECTION": (1, 5),
    "VARSELECTION": (-1, 9),
    "SYMMETRY": (0, 2),
    "MAXNODE": _COUNT,
    "MIPRELSTOP": (0.0, 1.0),
}
_COPT: dict[str, Values] = {
    "Threads": (1, 128),
    "RandSeed": _COUNT,
    "Presolve": (-1, 4),
    "CutLevel": (-1, 3),
    "HeurLevel": (-1, 3),
    "StrongBranching": (-1, 3),
    "ConflictAnalysis": (-1, 1),
    "MipTasks": (-1, 256),
    "NodeLimit": (-1, 2**31 - 1),
    "RelGap": (0.0, 1.0),
}
_CPLEX: dict[str, Values] = {
    "threads": _THREADS,
    "randomseed": (0, 2_100_000_000),
    "lpmethod": (0, 6),
    "emphasis.mip": (0, 5),
    "emphasis.numerical": (0, 1),
    "preprocessing.presolve": (0, 1),
    "preprocessing.symmetry": (-1, 5),
    "mip.limits.cutsfactor": (-1.0, 1000.0),
    "mip.limits.nodes": _COUNT,
    "mip.strategy.heuristiceffort": (0.0, 1.0),
    "mip.strategy.nodeselect": (0, 3),
    "mip.strategy.probe": (-1, 3),
    "mip.strategy.search": (0, 2),
    "mip.strategy.startalgorithm": (0, 6),
    "mip.strategy.subalgorithm": (0, 5),
    "mip.strategy.variableselect": (-1, 4),
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
    "xpress": _XPRESS,
    "copt": _COPT,
    "cplex": {**_CPLEX, "mip.tolerances.mipgap": (0.0, 1.0)},
    "cbc": {
        **_CBC,
        "randomSeed": _COUNT,
        "randomCbcSeed": _COUNT,
        **dict.fromkeys(("presolve", "preprocess", "cuts", "heur"), _ON_OFF),
    },
}
OWN["ortools"] = OWN["scip"]
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
    "xpress": {
        "threads": "THREADS",
        "seed": "RANDOMSEED",
        "gap": "MIPRELSTOP",
        "presolve": _both(0, 1, "PRESOLVE"),
        "cuts": _both(0, -1, "CUTSTRATEGY"),
        "heuristics": _both(0, -1, "HEUREMPHASIS"),
    },
    "copt": {
        "threads": "Threads",
        "seed": "RandSeed",
        "gap": "RelGap",
        "presolve": _both(0, -1, "Presolve"),
        "cuts": _both(0, -1, "CutLevel"),
        "heuristics": _both(0, -1, "HeurLevel"),
    },
    "cplex": {
        "threads": "threads",
        "seed": "randomseed",
        "gap": "mip.tolerances.mipgap",
        "presolve": _both(0, 1, "preprocessing.presolve"),
        "cuts": _both(0.0, -1.0, "mip.limits.cutsfactor"),
        "heuristics": _both(0.0, 1.0, "mip.strategy.heuristiceffort"),
    },
    "cbc": {
        "threads": "threads",
        "seed": "randomCbcSeed",
        "presolve": _both("off", "on", "presolve", "preprocess"),
        "cuts": _both("off", "on", "cuts"),
        "heuristics": _both("off", "on", "heur"),
    },
}
WORDS["ortools"] = WORDS["scip"]
"""Words for options that solvers share, and what each solver calls them.

``"on"`` of presolve, cuts and heuristics is the solver's default, ``"off"`` is ours.
"""

SHARED = {
    "phase": ("time", "strict"),
    **dict.fromkeys(WORDS, ("time", "log", "strict", "parameters")),
}
"""Words for options of ours, which no solver needs to know."""

SUFFIXES = {"gurobi": ".prm", "highs": ".opt", "scip": ".set", "cplex": ".prm"}
"""The file of parameters that each solver writes itself."""
