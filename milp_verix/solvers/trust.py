"""Names of solvers behind PuLP and Pyomo whose "infeasible" is a proof.

A proof by cutoff (:mod:`~milp_verix.solvers.cutoff`) is the word "infeasible". PuLP and Pyomo
translate what a solver said, and some of their classes say "infeasible" of a missing file, a time
limit or a message about a licence. So each name is listed with what its class maps, as read in the
sources of PuLP 3.3 and Pyomo 6.10; a solver that is not listed finds counterexamples alone.
"""

TRUSTED: dict[str, dict[str, str]] = {
    "pulp": {
        "PULP_CBC_CMD": "as COIN_CMD",
        "COIN_CMD": 'raises without a file or on an exit code; first word of the file "Infeasible" '
        'or "Integer": LpStatusInfeasible',
        "GLPK_CMD": 'raises without a file or on an exit code; "INFEASIBLE (FINAL)" or "INTEGER '
        'EMPTY" in one file, status "n" in the other',
        "GUROBI": "GRB.INFEASIBLE, INF_OR_UNBD: LpStatusInfeasible; limits: LpStatusNotSolved",
        "HiGHS": "kInfeasible, kUnboundedOrInfeasible: LpStatusInfeasible; limits: NotSolved",
        "HiGHS_CMD": 'raises without a log; the status in it is "Infeasible", else NotSolved',
        "SCIP_CMD": 'raises without a file or on an exit code; "solution status: infeasible"',
        "SCIP_PY": '"infeasible": LpStatusInfeasible; "inforunbd" and limits: LpStatusNotSolved',
    },
    "pyomo": {
        "appsi_cbc": 'raises on an exit code or without a file; "infeasible" in its first line',
        "appsi_gurobi": "GRB.INFEASIBLE: infeasible; INF_OR_UNBD: infeasibleOrUnbounded",
        "appsi_highs": "kInfeasible: infeasible; kUnboundedOrInfeasible: infeasibleOrUnbounded",
        "gurobi_direct": "GRB.INFEASIBLE: infeasible; INF_OR_UNBD: infeasibleOrUnbounded",
        "gurobi_direct_v2": "GRB.INFEASIBLE: provenInfeasible; INF_OR_UNBD: infeasibleOrUnbounded",
        "gurobi_persistent": "as gurobi_direct",
        "gurobi_persistent_v2": "as gurobi_direct_v2",
        "highs": "kInfeasible: provenInfeasible; kUnboundedOrInfeasible: infeasibleOrUnbounded",
        "scip_direct": '"infeasible": provenInfeasible; "inforunbd": infeasibleOrUnbounded',
        "scip_persistent": "as scip_direct",
    },
}
"""The statuses that the class of each trusted solver maps to "infeasible".

"Infeasible or unbounded" is "infeasible" here, since the bounds of columns bound the cost.
"""

DISTRUSTED: dict[str, dict[str, str]] = {
    "pulp": {
        "CPLEX_CMD": "a run that wrote no solution is infeasible to PuLP, whatever stopped it",
        "CPLEX_PY": "MIP_time_limit_infeasible is infeasible to PuLP",
        "COINMP_DLL": "statuses 1 and 2 are both infeasible to PuLP",
        "CyLP": "an unbounded relaxation is infeasible to PuLP",
        "FSCIP_CMD": "PuLP reads no infeasible from it",
        "GUROBI_CMD": "PuLP reads no infeasible from it",
        "PYGLPK": "GLP_INFEAS, the status of a point, is infeasible to PuLP",
        "YAPOSIB": "abandoned and limitreached are infeasible to PuLP",
    },
    "pyomo": {
        "cplex": "Pyomo searches its log for infeasible",
        "cbc": "Pyomo takes a line of its log for infeasible that CBC prints at a time limit, too",
        "glpk": "GLP_INFEAS, the status of a point, is infeasible to Pyomo",
        "ipopt": "it proves nothing about integers",
        "scip": 'Pyomo searches its message for "infeasible"',
    },
}
"""Reasons not to trust "infeasible" from some of the other solvers."""


def distrust(family: str, native: str) -> str | None:
    """Return why "infeasible" of the solver ``native`` behind ``family`` is no proof, or None."""
    if native in TRUSTED[family]:
        return None
    why = DISTRUSTED[family].get(native, "nobody has read what is infeasible there")
    return f"{native} behind {family} proves nothing ({why}): its counterexamples alone count"
