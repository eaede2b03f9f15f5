"""Parameters and limits of trust of each solver, called directly or through PuLP or Pyomo.

This is the only place where :class:`~milp_verix.base.tolerances.Tolerances` become a solver's own
parameters; ``docs/solvers.md`` has them as a table. Gaps are zero, presolve, cuts and heuristics
off: on the programs of checks this is several times faster than the defaults.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from milp_verix.base.tolerances import Tolerances

Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SolverParameters:
    """A solver's parameters, and the limits within which its answers are trusted.

    ``options`` maps threads and tolerances to its parameters. Its proofs are trusted up to big-Ms
    of ``largest_big_m`` and coefficients of ``largest_coefficient``; entries of up to ``dropped``
    are not kept in its matrix. If it calls a program with the row ``c·v ≤ t`` infeasible, costs are
    at least ``t − slack · max(1, |t|)``.
    """

    name: str
    licence: str
    options: Callable[[int, Tolerances], Options]
    largest_big_m: float = 1e4
    largest_coefficient: float = 1e15
    dropped: float = 1e-9
    slack: float = 1e-7
    capabilities: frozenset[str] = field(default=frozenset({"partition"}))


def highs_options(threads: int, tolerances: Tolerances) -> Options:
    """HiGHS: tolerances from 1e-10 on."""
    return {
        "output_flag": False,
        "threads": threads,
        "mip_rel_gap": 0.0,
        "mip_feasibility_tolerance": max(tolerances.integrality, 1e-10),
        "primal_feasibility_tolerance": max(tolerances.feasibility, 1e-10),
        "dual_feasibility_tolerance": max(tolerances.feasibility, 1e-10),
        # entries up to this are dropped from the matrix without a word
        "small_matrix_value": HIGHS_DROPS,
        **HIGHS_LEAN,
    }


HIGHS_DROPS = 1e-12
HIGHS_HEURISTICS = tuple(
    f"mip_heuristic_run_{name}"
    for name in ("feasibility_jump", "rins", "rens", "root_reduced_cost")
)
HIGHS_LEAN: Options = {
    "presolve": "off",
    # an effort of zero alone leaves most of them running
    "mip_heuristic_effort": 0.0,
    **dict.fromkeys(HIGHS_HEURISTICS, False),
    "mip_allow_cut_separation_at_nodes": False,
    "mip_detect_symmetry": False,
    "mip_abs_gap": 0.0,
}


def gurobi_options(threads: int, tolerances: Tolerances) -> Options:
    """Gurobi: tolerances from 1e-9 on."""
    return {
        "Threads": threads,
        "Presolve": 0,
        "Cuts": 0,
        "Heuristics": 0.0,
        "MIPGap": 0.0,
        "MIPGapAbs": 0.0,
        "FeasibilityTol": max(tolerances.feasibility, 1e-9),
        "OptimalityTol": max(tolerances.feasibility, 1e-9),
        # by linear cuts: its bounds are those of linear programs
        "MIQCPMethod": 1,
        # at the default of 1e-6 its bound was up to 2e-6 of itself above the minimum
        "BarQCPConvTol": 1e-10,
        # sets are branched on as they are: as binaries they would bring big-Ms
        "PreSOS1BigM": 0.0,
        "IntFeasTol": max(tolerances.integrality, 1e-9),
    }


def scip_options(_threads: int, tolerances: Tolerances) -> Options:
    """SCIP: one thread; integrality follows feasibility; its LPs keep 1e-10 at best."""
    return {
        "numerics/epsilon": SCIP_DROPS,
        "numerics/sumepsilon": 1e-10,
        "numerics/feastol": max(min(tolerances.feasibility, tolerances.integrality), 1e-10),
        "numerics/dualfeastol": max(tolerances.feasibility, 1e-10),
        "limits/gap": 0.0,
        "limits/absgap": 0.0,
        "presolving/maxrounds": 0,
        "separating/maxrounds": 0,
        "separating/maxroundsroot": 0,
    }


SCIP_DROPS = 1e-12
# feasibility of a ball's row: below 1e-7 SCIP cuts off nodes with better points, and bounds were up
# to 6e-4 of themselves above the minimum on 12 of 120 random programs
SCIP_BALLS = 1e-6


# by its barrier method: by linear cuts it calls balls empty that are not
CPLEX_BALLS: Options = {"mip.strategy.miqcpstrat": 1, "barrier.qcpconvergetol": 1e-9}


def cplex_options(threads: int, tolerances: Tolerances) -> Options:
    """CPLEX: tolerances from 1e-9 on, any of integrality."""
    return {
        "threads": threads,
        "preprocessing.presolve": 0,
        # it drops entries after scaling: without it is known which
        "read.scale": -1,
        # sets are branched on as they are
        "preprocessing.sos1reform": -1,
        "mip.limits.cutsfactor": 0.0,
        "mip.strategy.heuristiceffort": 0.0,
        "mip.tolerances.mipgap": 0.0,
        "mip.tolerances.absmipgap": 0.0,
        "mip.tolerances.integrality": min(tolerances.integrality, 0.5),
        "simplex.tolerances.feasibility": max(tolerances.feasibility, 1e-9),
        "simplex.tolerances.optimality": max(tolerances.feasibility, 1e-9),
    }


def cbc_options(threads: int, tolerances: Tolerances) -> Options:
    """CBC: any tolerance; its big-Ms leak earlier than those of others."""
    return {
        **({"threads": threads} if threads > 1 else {}),
        "primalT": f"{tolerances.feasibility:g}",
        "dualT": f"{tolerances.feasibility:g}",
        "integerT": f"{tolerances.integrality:g}",
        "ratio": 0,
        "allow": 0,
        "increment": 1e-9,
        "presolve": "off",
        "preprocess": "off",
        "cuts": "off",
        "heur": "off",
    }


def xpress_options(threads: int, tolerances: Tolerances) -> Options:
    """Xpress: tolerances from 1e-9 on, as its documents advise no less."""
    return {
        "THREADS": threads,
        "PRESOLVE": 0,
        "CUTSTRATEGY": 0,
        "HEUREMPHASIS": 0,
        "MIPRELSTOP": 0.0,
        "MIPABSSTOP": 0.0,
        **XPRESS_SOUND,
        "FEASTOL": max(tolerances.feasibility, 1e-9),
        "OPTIMALITYTOL": max(tolerances.feasibility, 1e-9),
        "MIPTOL": max(tolerances.integrality, 1e-9),
        "MATRIXTOL": XPRESS_DROPS,
    }


XPRESS_DROPS = 1e-12
XPRESS_SOUND: Options = {
    # nodes that improve a point by less would be cut off, and its bound would not know them
    "MIPADDCUTOFF": 0.0,
    "MIPRELCUTOFF": 0.0,
    # by linear cuts: its bounds are those of linear programs
    "MIQCPALG": 1,
    "QCROOTALG": 1,
    # at its default bounds over balls were up to 1e-6 of themselves higher
    "BARGAPSTOP": 1e-12,
}


def copt_options(threads: int, tolerances: Tolerances) -> Options:
    """COPT: tolerances from 1e-9 on, and up to 128 threads."""
    return {
        "Threads": min(threads, 128),
        "Presolve": 0,
        "CutLevel": 0,
        "HeurLevel": 0,
        "RelGap": 0.0,
        "AbsGap": 0.0,
        "FeasTol": max(tolerances.feasibility, 1e-9),
        "DualTol": max(tolerances.feasibility, 1e-9),
        "IntTol": max(tolerances.integrality, 1e-9),
        "MatrixTol": COPT_DROPS,
    }


COPT_DROPS = 1e-12


HIGHS = SolverParameters("highs", "MIT", highs_options, dropped=HIGHS_DROPS)
GUROBI = SolverParameters("gurobi", "proprietary", gurobi_options, dropped=1e-13)
SCIP = SolverParameters("scip", "Apache-2.0", scip_options, dropped=SCIP_DROPS)
XPRESS = SolverParameters("xpress", "proprietary", xpress_options, dropped=XPRESS_DROPS)
COPT = SolverParameters("copt", "proprietary", copt_options, dropped=COPT_DROPS)
CPLEX = SolverParameters("cplex", "proprietary", cplex_options, dropped=1e-10)
CBC = SolverParameters(
    "cbc",
    "EPL-2.0",
    cbc_options,
    largest_big_m=50.0,
    largest_coefficient=1e9,
    dropped=1e-13,
    # on the degenerate rows of the partition formulation it prunes optima
    capabilities=frozenset(),
)
UNKNOWN = SolverParameters(
    "unknown",
    "its own",
    lambda _threads, _tolerances: {},
    # tolerances of 1e-6, as most solvers have them, and nothing better known
    largest_big_m=50.0,
    largest_coefficient=1e9,
    slack=2e-6,
    capabilities=frozenset(),
)


def parameters_of(name: str) -> SolverParameters:
    """Return the parameters of the solver that PuLP or Pyomo calls ``name``."""
    lowered = name.lower().replace("coin", "cbc")
    if lowered.endswith("_cmd") and CBC.name not in lowered:
        # PuLP's classes for programs get none of our tolerances, except those for CBC
        return UNKNOWN
    for parameters in (HIGHS, GUROBI, SCIP, CBC):
        if parameters.name in lowered:
            return parameters
    return UNKNOWN


def notes_on(name: str, options: Options, distrust: str | None) -> tuple[str, ...]:
    """Return notes for readers of a result: a user's own options, and why proofs are lacking."""
    notes = () if distrust is None else (distrust,)
    if not options:
        return notes
    given = ", ".join(f"{option}={value}" for option, value in options.items())
    note = f"{name.partition('?')[0]} was run with options of the user's own: {given}"
    return (note, *notes)
