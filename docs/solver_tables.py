"""The tables of ``solvers.md``, written from the files in ``milp_verix/solvers/backends``.

``python docs/solver_tables.py`` writes them between the marks in the page; a test compares them.
"""

import inspect
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

from marked_tables import marked

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "encodings")]

from milp_verix.base.tolerances import Tolerances  # noqa: E402
from milp_verix.solvers import SOLVERS  # noqa: E402
from milp_verix.solvers.backends.pulp_solvers import PulpSolver  # noqa: E402
from milp_verix.solvers.backends.pyomo_solvers import PyomoSolver  # noqa: E402
from milp_verix.solvers.own_solver import OwnSolver  # noqa: E402
from milp_verix.solvers.session import CAPABILITIES, PROGRAM_NEEDS  # noqa: E402
from milp_verix.solvers.solver_facts import SolverFacts, Values  # noqa: E402

PAGE = ROOT / "docs" / "solvers.md"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
OWN: dict[str, OwnSolver] = {
    name: solver for name, solver in SOLVERS.items() if isinstance(solver, OwnSolver)
}
FACTS: dict[str, SolverFacts] = {name: solver.kind.facts for name, solver in OWN.items()}

_OTHERS = """\
| `split` | branch and bound over boxes of inputs, a few hundred at a time, each with backward linear bounds; decides checks alone, HiGHS solves other programs | in process | bounds with rounding accounted for | always |
| `beta` | branch and bound over phases of ReLUs and of maxima and over parts of ranges that other functions read, up to 128 nodes at a time, each with backward linear bounds whose slopes and multipliers are optimised; decides checks alone, HiGHS solves other programs | in process | bounds with rounding accounted for | always |
| `leaves` | of trees: depth first over leaves that one input reaches, and over thresholds where there are too many; decides checks alone, HiGHS solves other programs | in process | sums with rounding accounted for | always |
| `pulp` | the CBC that PuLP brings, through PuLP | a process of its own | "infeasible" under a cutoff | always |
| `pulp:NAME` | what PuLP calls `NAME`: `HiGHS`, `GUROBI`, `COIN_CMD`, `SCIP_PY`, … | a process of its own | "infeasible" under a cutoff | its solver |
| `pyomo` | HiGHS through Pyomo (`appsi_highs`) | a process of its own | "infeasible" under a cutoff | `pip install '.[pyomo]'` |
| `pyomo:NAME` | what `SolverFactory` calls `NAME`: `highs`, `gurobi_persistent`, `scip_direct`, … | a process of its own | "infeasible" under a cutoff | `pip install '.[pyomo]'`; its solver |
| `auto` | for checks a portfolio: `phase`, `split` for up to 32 free coordinates, `beta`, and the first of `gurobi`, `scip`, `highs` that is here; for other programs the first of `phase`, `highs`, `cbc`, `scip`, `gurobi` that takes them. For trees `leaves`; with rules between features the solvers of programs after it | | | always |"""  # noqa: E501


def tables() -> dict[str, str]:
    """Return the tables of the page, by the name in their marks."""
    return {
        "solvers": _solvers(),
        "words": _words(),
        "options": _options(),
        "capabilities": _capabilities(),
        "tolerances": _tolerances(),
        "parameters": _parameters(),
    }


def written(page: str) -> str:
    """Return the text of the page with these tables in it."""
    return marked(page, tables(), "table", PAGE)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *map(list, rows)]
    return "\n".join(
        "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines
    )


def _solvers() -> str:
    rows = []
    for name, solver in OWN.items():
        told = inspect.getdoc(import_module(solver.kind.__module__)) or ""
        told = " ".join(told.split())
        what = told[: min(told.find(end) % len(told) for end in (":", ";", ". ", ", by", ", in"))]
        process = "a process of its own" if solver.apart else "in process"
        process = "a process for each solve" if name == "cbc" else process
        install = f"`pip install '.[{name}]'`" if name in EXTRAS else "always"
        install = "always, with PuLP; or a `cbc` on the path" if name == "cbc" else install
        rows.append((f"`{name}`", what, process, FACTS[name].proofs, install))
    return _table(("name", "solver", "process", "proofs rest on", "installed by"), rows) + (
        f"\n{_OTHERS}"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _words() -> str:
    def taking(word: str) -> str:
        return _listed(name for name, facts in FACTS.items() if word in facts.words)

    settable = _listed(name for name, facts in FACTS.items() if facts.options)
    files = [f"`mine{facts.suffix}` of `{name}`" for name, facts in FACTS.items() if facts.suffix]
    everyone = _listed(FACTS)
    shipped = (
        "`shipped` leaves the solver its own defaults in place of ours, also its wider tolerances: "
        "its proofs are trusted up to big-Ms of 50 then. A file sets more than a name may, in the "
        f"solver's own format: {', '.join(files)}; tolerances, cutoffs and files are refused "
        "there, too"
    )
    rows = (
        ("`threads`", "1 to 1024", "threads of this solver", taking("threads")),
        ("`seed`", "whole numbers", "random seed", taking("seed")),
        (
            "`gap`",
            "0 to 1",
            "relative gap at which a solve ends; checks may stay unknown",
            f"{taking('gap')}, whose proofs rest on their dual bound",
        ),
        (
            "`presolve`, `cuts`, `heuristics`",
            "`on`, `off`",
            "the solver's own default, or none (ours)",
            taking("cuts"),
        ),
        ("`time`", "seconds", "most for each solve", everyone),
        (
            "`log`",
            "a file name that ends in `.log`",
            "the solver appends its log there, in the current folder",
            settable,
        ),
        (
            "`strict`",
            "`on`, `off`",
            "no other solver takes a program over: where the licence ends, checks are unknown",
            everyone,
        ),
        ("`parameters`", "`shipped`; or a file of the current folder", shipped, settable),
    )
    return _table(("word", "values", "meaning", "taken by"), rows)


def _options() -> str:
    """Return a row for each set of options, and the names that may set them."""
    families = [
        *((f"pulp:{native}", values) for native, values in PulpSolver.allowed.items()),
        *((f"pyomo:{native}", values) for native, values in PyomoSolver.allowed.items()),
    ]
    sets: dict[str, list[str]] = {}
    own = ((name, facts.options) for name, facts in FACTS.items())
    for name, options in (*own, *families):
        usual = {"pulp:PULP_CBC_CMD": ("pulp",), "pyomo:appsi_highs": ("pyomo",)}.get(name, ())
        sets.setdefault(_told(options) or "none", []).extend((*usual, name))
    rows = [(_listed(names), told) for told, names in sets.items() if told != "none"]
    nothing = f"{_listed(sets.get('none', []))}, any other behind `pulp:` and `pyomo:`"
    return _table(("name", "options, with their values"), [*rows, (nothing, "none")])


def _told(options: Mapping[str, Values]) -> str:
    """Return options and their values, those with the same values together."""
    groups: dict[Values, list[str]] = {}
    for option, values in options.items():
        groups.setdefault(values, []).append(option)
    return "; ".join(f"{_listed(names)} ({_ends(values)})" for values, names in groups.items())


def _ends(values: Values) -> str:
    if isinstance(values[0], str):
        return _listed(map(str, values))
    low, high = map(_number, values)
    return f"from {low} on" if values[1] == 2**31 - 1 else f"{low} to {high}"


def _capabilities() -> str:
    names = [name for name in CAPABILITIES if name != "duals"]
    asked = [(f"`{name}`", solver.capabilities) for name, solver in OWN.items()]
    asked += [
        ("`pulp`", PulpSolver().capabilities),
        ("`pulp:HiGHS`, `pulp:GUROBI`, `pulp:SCIP_PY`", PulpSolver("", "HiGHS").capabilities),
        ("`pyomo`, `pyomo:appsi_…`", PyomoSolver().capabilities),
    ]
    rows = ([name, *("yes" if one in has else "" for one in names)] for name, has in asked)
    needs = {name: f" (`{name}`)" for name in PROGRAM_NEEDS}
    heads = ("", *(CAPABILITIES[name] + needs.get(name, "") for name in names))
    return _table(heads, rows)


def _tolerances() -> str:
    """Return what becomes of tolerances: asked for with two of them, and with none."""
    rows = []
    for name, facts in FACTS.items():
        told = facts.tolerances(Tolerances(feasibility=1e-3, integrality=1e-4))
        least = facts.tolerances(Tolerances(feasibility=0.0, integrality=0.0))
        from_on = {
            option: f"from {_number(end)} on" if float(end) else "any"
            for option, end in least.items()
        }
        cells = [
            "; ".join(f"`{one}`, {from_on[one]}" for one in told if float(told[one]) == asked)
            for asked in (1e-3, 1e-4)
        ]
        big_m = _number(facts.largest_big_m).replace("inf", "`Tolerances.largest_big_m`")
        rows.append((f"`{name}`", *cells, f"≤ {_number(facts.dropped)}", big_m))
    rows.append(("any other behind PuLP or Pyomo", "its own default", "its own", "≤ 1e-9", "50"))
    heads = ("solver", "feasibility", "integrality", "entries it drops", "largest big-M trusted")
    return _table(heads, rows)


def _parameters() -> str:
    def told(pairs: Mapping[str, tuple[object, object]]) -> str:
        return ", ".join(
            f"`{name}` {_number(ours)} ({_number(shipped)})"
            for name, (ours, shipped) in pairs.items()
        )

    rows = (
        (
            f"`{name}`",
            told(facts.ours),
            told(facts.always),
            ", ".join(f"`{option}` {_number(value)}" for option, value in facts.balls.items()),
        )
        for name, facts in FACTS.items()
        if facts.ours
    )
    heads = ("solver", "ours (as shipped)", "with `parameters=shipped`, too", "with an L2 ball")
    return _table(heads, rows)


def _number(value: object) -> str:
    """Return a parameter as people write it: 1e-4, and words in small letters."""
    if not isinstance(value, float):
        return str(value).lower()
    text = f"{value:.0e}" if 0 < abs(value) < 1e-3 or value == 1e4 else f"{value:g}"
    return text.replace("e-0", "e-").replace("e+0", "e")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
